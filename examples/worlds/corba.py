"""An unmodified omniORB for Python at the event channel of `Worlds::Ticker`.

Usage: corba.py subscribe ADDRESS COUNT
       corba.py publish ADDRESS WORLD SEED...

ADDRESS is host:port of the bridge. The first is a push consumer: it prints `ready`, then each event as a line of JSON, and
ends after COUNT. The second is a push supplier: it pushes the event of each seed, and ends when all have returned. The
environment variable WORLDS_IDL names the contract, as `floe slice idl --corba Worlds.ice` writes it.
"""

import json
import os
import queue
import sys

import omniORB
from omniORB import CORBA

omniORB.importIDL(os.environ["WORLDS_IDL"])
import CosEventChannelAdmin  # noqa: E402  (these come with omniORB)
import CosEventComm__POA  # noqa: E402
import CosNaming  # noqa: E402
import Worlds  # noqa: E402  (made of the contract by the line above)

TOPIC = "ticks"
# Text is UTF-8 between the bridge and this program, whatever the locale says.
OPTIONS = ["-ORBnativeCharCodeSet", "UTF-8"]


class Consumer(CosEventComm__POA.PushConsumer):
    def __init__(self, lines):
        self.lines = lines

    def push(self, data):
        tick = data.value(CORBA.TypeCode(CORBA.id(Worlds.Tick)))
        self.lines.put(
            json.dumps(
                {
                    "side": str(tick.side).removeprefix("Side_"),
                    "venue": {"name": tick.venue.name, "line": tick.venue.line},
                    "book": [{"price": it.price, "size": it.size} for it in tick.book],
                    "raw": bytes(tick.raw).hex(),
                    "firm": bool(tick.firm),
                    "id": tick.id,
                    "price": tick.price,
                    "text": tick.text,
                }
            )
        )

    def disconnect_push_consumer(self):
        pass


def event(world, seed):
    is_odd = seed % 2 != 0
    return Worlds.Tick(
        side=Worlds.Side_sell if is_odd else Worlds.Side_buy,
        venue=Worlds.Venue(f"Zürich 東京 {world}", seed),
        book=[Worlds.Level(seed + 0.25, -1099511627776 - seed), Worlds.Level(-0.5, 9007199254740993)],
        raw=bytes([0, 1, 127, 128, 255, seed % 256]),
        firm=is_odd,
        id=4611686018427387904 + seed,
        price=seed / 8.0,
        text=f"naïve ✓ {world} {seed}",
    )


def find_channel(orb, address):
    """The channel by its name. At a bridge, `corbaloc::HOST:PORT/ticks` leads to it, too."""
    naming = orb.string_to_object(f"corbaloc:iiop:1.2@{address}/NameService")
    naming = naming._narrow(CosNaming.NamingContext)
    found = naming.resolve([CosNaming.NameComponent(TOPIC, "")])
    return found._narrow(CosEventChannelAdmin.EventChannel)


def subscribe(orb, address, count):
    lines = queue.Queue()
    poa = orb.resolve_initial_references("RootPOA")
    consumer = Consumer(lines)
    poa.activate_object(consumer)
    poa._get_the_POAManager().activate()
    proxy = find_channel(orb, address).for_consumers().obtain_push_supplier()
    proxy.connect_push_consumer(consumer._this())
    print("ready", flush=True)
    for _ in range(count):
        print(lines.get(timeout=60), flush=True)
    proxy.disconnect_push_supplier()


def publish(orb, address, world, seeds):
    proxy = find_channel(orb, address).for_suppliers().obtain_push_consumer()
    proxy.connect_push_supplier(None)
    code = CORBA.TypeCode(CORBA.id(Worlds.Tick))
    for seed in seeds:
        proxy.push(CORBA.Any(code, event(world, int(seed))))
    proxy.disconnect_push_consumer()


def main():
    action, address, *rest = sys.argv[1:]
    orb = CORBA.ORB_init(["peer.py", *OPTIONS], CORBA.ORB_ID)
    if action == "subscribe":
        subscribe(orb, address, int(rest[0]))
    else:
        publish(orb, address, rest[0], rest[1:])
    orb.destroy()


if __name__ == "__main__":
    main()
