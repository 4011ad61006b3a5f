"""A program with zeep at a bridge's broker of WS-Notification.

Usage: soap.py [--soap12] [--push] subscribe ADDRESS COUNT
       soap.py [--soap12] publish ADDRESS WORLD SEED...

ADDRESS is the host and port of the broker, of which zeep gets the WSDL. The first makes a pull point, or with `--push` serves
HTTP itself, prints `ready`, then each event as a line of JSON, and ends after COUNT; the second publishes the event of each
seed, and ends when all are acknowledged.
"""

import http.server
import json
import queue
import sys
import threading
import time

from lxml import etree
from zeep import Client

CONCRETE = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete"
TOPIC = "ticks"


def event(world, seed):
    is_odd = seed % 2 != 0
    return {
        "side": "sell" if is_odd else "buy",
        "venue": {"name": f"Zürich 東京 {world}", "line": seed},
        "book": {
            "item": [
                {"price": seed + 0.25, "size": -1099511627776 - seed},
                {"price": -0.5, "size": 9007199254740993},
            ]
        },
        "raw": bytes([0, 1, 127, 128, 255, seed % 256]),
        "firm": is_odd,
        "id": 4611686018427387904 + seed,
        "price": seed / 8.0,
        "text": f"naïve ✓ {world} {seed}",
    }


def show(message):
    tick = message["Message"]["Ticker_Event"]
    assert message["Topic"]["_value_1"] == TOPIC, message
    shown = {
        "side": tick["side"],
        "venue": {"name": tick["venue"]["name"], "line": tick["venue"]["line"]},
        "book": [{"price": it["price"], "size": it["size"]} for it in tick["book"]["item"]],
        "raw": bytes(tick["raw"]).hex(),
        "firm": tick["firm"],
        "id": tick["id"],
        "price": tick["price"],
        "text": tick["text"],
    }
    print(json.dumps(shown), flush=True)


class Broker:
    def __init__(self, address, version):
        self.client = Client(f"http://{address}/?wsdl")
        self.version = version
        self.broker = self.client.bind("Notification", f"NotificationBroker{version}")

    def at(self, port_type, url):
        """The service of a pull point or subscription, at the URL that came when it was made."""
        binding = f"{{urn:floe:slice}}{port_type}{self.version}"
        return self.client.create_service(binding, url)

    def subscribe(self, consumer):
        topic = {"TopicExpression": {"_value_1": TOPIC, "Dialect": CONCRETE}}
        return self.broker.Subscribe(
            ConsumerReference={"Address": consumer}, Filter=topic, InitialTerminationTime="PT10M"
        )


def publish(broker, world, seeds):
    for seed in seeds:
        message = {
            "Topic": {"_value_1": TOPIC, "Dialect": CONCRETE},
            "Message": {"Ticker_Event": event(world, int(seed))},
        }
        broker.broker.Notify([message])


def pull(broker, count):
    # An answer with a single element is what that holds: here the reference to the pull point.
    url = broker.broker.CreatePullPoint()["Address"]["_value_1"]
    pull_point = broker.at("PullPoint", url)
    subscription = broker.subscribe(url)
    print("ready", flush=True)
    deadline = time.monotonic() + 60
    while count > 0 and time.monotonic() < deadline:
        for message in pull_point.GetMessages(MaximumNumber=10) or []:
            show(message)
            count -= 1
    manager = broker.at("SubscriptionManager", subscription["SubscriptionReference"]["Address"]["_value_1"])
    assert manager.Renew("PT5M")["TerminationTime"] > subscription["CurrentTime"]
    manager.Unsubscribe()
    pull_point.DestroyPullPoint()
    return count == 0


def push(broker, count):
    events = queue.Queue()
    notify = broker.client.get_element("{http://docs.oasis-open.org/wsn/b-2}Notify")

    class Consumer(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            content = etree.fromstring(body).find("{*}Body")[0]
            for message in notify.parse(content, broker.client.wsdl.types)["NotificationMessage"]:
                events.put(message)
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Consumer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    subscription = broker.subscribe(f"http://127.0.0.1:{server.server_port}/events")
    print("ready", flush=True)
    for _ in range(count):
        show(events.get(timeout=60))
    url = subscription["SubscriptionReference"]["Address"]["_value_1"]
    broker.at("SubscriptionManager", url).Unsubscribe()
    return True


def main():
    arguments = sys.argv[1:]
    options = [it for it in arguments if it.startswith("--")]
    action, address, *rest = [it for it in arguments if not it.startswith("--")]
    broker = Broker(address, "Soap12" if "--soap12" in options else "Soap11")
    if action == "publish":
        publish(broker, rest[0], rest[1:])
        return True
    return (push if "--push" in options else pull)(broker, int(rest[0]))


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
