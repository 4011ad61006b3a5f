"""A stock Cyclone DDS program for Python at the topic `ticks` of `Worlds::Ticker`, whose type is `Worlds::Tick`.

Usage: dds.py subscribe DOMAIN COUNT
       dds.py publish DOMAIN WORLD SEED...

The first prints `ready`, then each event as a line of JSON, and ends after COUNT; the second waits for a reader, writes the event
of each seed, and ends when all are acknowledged.
"""

import json
import sys
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


class Side(IdlEnum, typename="Worlds.Side"):
    Side_buy = 0
    Side_sell = 1


@dataclass
@annotate.final
class Venue(IdlStruct, typename="Worlds.Venue"):
    name: str
    line: int32


@dataclass
@annotate.final
class Level(IdlStruct, typename="Worlds.Level"):
    price: float64
    size: int64


@dataclass
@annotate.final
class Tick(IdlStruct, typename="Worlds.Tick"):
    side: Side
    venue: Venue
    book: sequence[Level]
    raw: sequence[uint8]
    firm: bool
    id: int64
    price: float64
    text: str


def event(world, seed):
    is_odd = seed % 2 != 0
    return Tick(
        side=Side.Side_sell if is_odd else Side.Side_buy,
        venue=Venue(f"Zürich 東京 {world}", seed),
        book=[Level(seed + 0.25, -1099511627776 - seed), Level(-0.5, 9007199254740993)],
        raw=[0, 1, 127, 128, 255, seed % 256],
        firm=is_odd,
        id=4611686018427387904 + seed,
        price=seed / 8.0,
        text=f"naïve ✓ {world} {seed}",
    )


def show(tick):
    line = {
        "side": "buy" if tick.side == Side.Side_buy else "sell",
        "venue": {"name": tick.venue.name, "line": tick.venue.line},
        "book": [{"price": it.price, "size": it.size} for it in tick.book],
        "raw": bytes(tick.raw).hex(),
        "firm": tick.firm,
        "id": tick.id,
        "price": tick.price,
        "text": tick.text,
    }
    print(json.dumps(line), flush=True)


def is_bridge(endpoint):
    # The GUID of the bridge begins with no vendor's number, as those of Cyclone do.
    return endpoint is not None and endpoint.participant_key.bytes[:2] == b"\0\0"


def publish(participant, topic, qos, world, seeds):
    writer = DataWriter(participant, topic, qos=qos)
    while not any(map(is_bridge, map(writer.get_matched_subscription_data, writer.get_matched_subscriptions()))):
        time.sleep(0.005)
    for seed in seeds:
        writer.write(event(world, int(seed)))
    if not writer.wait_for_acks(duration(seconds=50)):
        sys.exit("not acknowledged")


def subscribe(participant, topic, qos, count):
    reader = DataReader(participant, topic, qos=qos)
    while not any(map(is_bridge, map(reader.get_matched_publication_data, reader.get_matched_publications()))):
        time.sleep(0.005)
    print("ready", flush=True)
    while count > 0:
        for tick in reader.take(16):
            if isinstance(tick, Tick):
                show(tick)
                count -= 1
        time.sleep(0.001)


def main():
    role, domain, *rest = sys.argv[1:]
    qos = Qos(Policy.Reliability.Reliable(duration(seconds=50)), Policy.History.KeepAll)
    participant = DomainParticipant(int(domain))
    topic = Topic(participant, "ticks", Tick)
    if role == "subscribe":
        subscribe(participant, topic, qos, int(rest[0]))
    else:
        publish(participant, topic, qos, rest[0], rest[1:])


main()
