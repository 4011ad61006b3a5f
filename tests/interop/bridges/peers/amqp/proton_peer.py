"""An unmodified Proton for Python program at a topic of `Worlds::Ticker`.

Usage: proton_peer.py subscribe ADDRESS COUNT
       proton_peer.py publish ADDRESS WORLD SEED...

See ../../main.rs for what it prints. With JMS_BODY=map it publishes a map of maps and lists, as AMQP has them.
"""

import json
import os
import sys

from proton import Message
from proton.utils import BlockingConnection

PATIENCE = 60


def event(world, seed):
    is_odd = seed % 2 != 0
    return {
        "side": "sell" if is_odd else "buy",
        "venue": {"name": f"Zürich 東京 {world}", "line": seed},
        "book": [
            {"price": seed + 0.25, "size": -1099511627776 - seed},
            {"price": -0.5, "size": 9007199254740993},
        ],
        "raw": bytes([0, 1, 127, 128, 255, seed % 256]),
        "firm": is_odd,
        "id": 4611686018427387904 + seed,
        "price": seed / 8.0,
        "text": f"naïve ✓ {world} {seed}",
    }


def of_map(body):
    return {
        "side": body["side"],
        "venue": {"name": body["venue.name"], "line": body["venue.line"]},
        "book": [
            {"price": body[f"book[{at}].price"], "size": body[f"book[{at}].size"]} for at in range(body["book.length"])
        ],
        "raw": bytes(body["raw"]).hex(),
        "firm": body["firm"],
        "id": body["id"],
        "price": body["price"],
        "text": body["text"],
    }


def of_text(body):
    tick = json.loads(body)
    tick["raw"] = bytes(tick["raw"]).hex()
    return tick


def subscribe(connection, count):
    receiver = connection.create_receiver("ticks", credit=10)
    print("ready", flush=True)
    for _ in range(count):
        message = receiver.receive(timeout=PATIENCE)
        assert message.properties["operation"] == "tick", message
        tick = of_map(message.body) if isinstance(message.body, dict) else of_text(message.body)
        print(json.dumps(tick), flush=True)
        receiver.accept()


def publish(connection, world, seeds):
    sender = connection.create_sender("ticks")
    for seed in seeds:
        tick = event(world, int(seed))
        if os.environ.get("JMS_BODY") != "map":
            tick["raw"] = list(tick["raw"])
            tick = json.dumps(tick)
        # It raises an error unless the broker accepts the message.
        sender.send(Message(body=tick, properties={"operation": "tick"}), timeout=PATIENCE)


def main():
    _, action, address, *rest = sys.argv
    connection = BlockingConnection(f"amqp://{address}", timeout=PATIENCE)
    if action == "subscribe":
        subscribe(connection, int(rest[0]))
    else:
        publish(connection, rest[0], rest[1:])
    connection.close()


if __name__ == "__main__":
    main()
