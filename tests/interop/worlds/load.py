"""Loads WSDL files with zeep, binds each service, and builds messages of the written contract.

The first file is that of `Market.ice`.
"""

import sys

from lxml import etree
from zeep import Client


def main(files):
    market = Client(files[0])
    money = {"cents": 2**40, "currency": "Größe €"}
    level = {"side": "sell", "price": money, "count": 3}
    levels = {"item": [level, level]}
    tick = {
        "tick": "a & b < c",
        "side": "buy",
        "isFinal": True,
        "octet": 255,
        "any": -1,
        "sequence1": -(2**63),
        "ratio": 0.5,
        "value": 0.1,
        "levels": levels,
        "raw": b"\x00\xff\x01",
        "names": {"item": [{"item": ["one", "two"]}]},
        "books": {"entry": [{"key": "börse", "value": levels}]},
    }
    for port in ["Soap11", "Soap12"]:
        service = market.bind("Market.Ticker", port)
        show(market.create_message(service, "tick", tick=tick))
        trading = market.bind("Market.Trading", port)
        show(market.create_message(trading, "opened", exchange="x"))
    event = market.get_element("{urn:floe:slice:Market}Trading_Event")
    node = etree.Element("any")
    event.render(node, event(traded=tick))
    show(node)
    for file in files:
        client = Client(file)
        for name, service in client.wsdl.services.items():
            for port in service.ports:
                client.bind(name, port)
        print("loaded", file)


def show(message):
    print(etree.tostring(message, encoding="unicode"))


main(sys.argv[1:])
