"""A peer of Cyclone DDS for Python; takes and says what peer.c does."""

import sys
import select
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlEnum, IdlStruct
from cyclonedds.idl import annotations as annotate
from cyclonedds.idl.types import float64, int32, int64, sequence, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration


class Mode(IdlEnum, typename="Telemetry.Mode"):
    IDLE = 0
    RUN = 1
    FAULT = 2


@dataclass
@annotate.final
class Point(IdlStruct, typename="Telemetry.Point"):
    x: float64
    y: float64


@dataclass
@annotate.final
class Sample(IdlStruct, typename="Telemetry.Sample"):
    id: int32
    annotate.key("id")
    mode: Mode
    origin: Point
    track: sequence[Point]
    raw: sequence[uint8]
    ok: bool
    stamp: int64
    level: float64
    label: str


def made(k, raw_len):
    return Sample(
        id=k,
        mode=Mode(k % 3),
        origin=Point(x=k, y=-k),
        track=[Point(x=i, y=k) for i in range(k % 4)],
        raw=[(i * 7 + k) % 256 for i in range(raw_len)],
        ok=k % 2 == 1,
        stamp=k * 10_000_000_000,
        level=k / 4.0,
        label=f"Größe-{k}-温度",
    )


def say(*words):
    print(*words, flush=True)


def show(s):
    total = 0
    for octet in s.raw:
        total = (total * 31 + octet) % 2**32
    track = " ".join(f"{p.x:g},{p.y:g}" for p in s.track)
    say(
        f"{s.id} {s.mode.value} {s.origin.x:g},{s.origin.y:g} [{track}] "
        f"{len(s.raw)}:{total} {int(s.ok)} {s.stamp} {s.level:g} {s.label}"
    )


def is_input_open():
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return not ready or sys.stdin.readline() != ""


def publish(participant, topic, qos, first, count, raw_len):
    writer = DataWriter(participant, topic, qos=qos)
    say("ready")
    while not writer.get_matched_subscriptions() and is_input_open():
        time.sleep(0.01)
    say("matched")
    for k in range(first, first + count):
        writer.write(made(k, raw_len))
    if not writer.wait_for_acks(duration(seconds=50)):
        sys.exit("not acknowledged")
    say("written")
    while is_input_open():
        time.sleep(0.02)


def subscribe(participant, topic, qos, count):
    reader = DataReader(participant, topic, qos=qos)
    say("ready")
    is_matched = False
    while count > 0 and is_input_open():
        if not is_matched and reader.get_matched_publications():
            say("matched")
            is_matched = True
        for sample in reader.take(16):
            if isinstance(sample, Sample):
                show(sample)
                count -= 1
            else:
                say("disposed")
        time.sleep(0.002)
    say("end")


def main():
    role, domain, durability, first, count, raw_len = sys.argv[1:]
    policies = [Policy.Reliability.Reliable(duration(seconds=50)), Policy.History.KeepAll]
    if durability == "transient":
        policies.append(Policy.Durability.TransientLocal)
        policies.append(Policy.DurabilityService(0, Policy.History.KeepAll, -1, -1, -1))
    qos = Qos(*policies)
    participant = DomainParticipant(int(domain))
    topic = Topic(participant, "FloeTelemetry", Sample)
    if role == "pub":
        publish(participant, topic, qos, int(first), int(count), int(raw_len))
    else:
        subscribe(participant, topic, qos, int(count))


main()
