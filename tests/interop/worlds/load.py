"""Loads WSDL files with zeep, compiles their schemas with libxml2, and binds each service.

The first file is that of `Market.ice`: messages of it are built, and validated by the schemas.
"""

import sys
import tempfile
from pathlib import Path

from lxml import etree
from zeep import Client

XS = "{http://www.w3.org/2001/XMLSchema}"


def main(files):
    show_market(files[0])
    for file in files:
        schemas(file)
        client = Client(file)
        for name, service in client.wsdl.services.items():
            for port in service.ports:
                client.bind(name, port)
        print("loaded", file)


def show_market(file):
    market = Client(file)
    validator = schemas(file)
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
        "names": {"item": [{"item": ["one", "two"]}, {"item": []}]},
        "books": {"entry": [{"key": "börse", "value": levels}]},
    }
    for port in ["Soap11", "Soap12"]:
        for interface, operation, parameters in [
            ("Ticker", "tick", {"tick": tick}),
            ("Trading", "opened", {"exchange": "x"}),
            ("Trading", "resumed", {}),
            ("Orders", "place", {"level": level}),
        ]:
            service = market.bind("Market." + interface, port)
            message = market.create_message(service, operation, **parameters)
            body = [it for it in message if it.tag.endswith("}Body")][0]
            show(body[0], validator)
    event = market.get_element("{urn:floe:slice:Market}Trading_Event")
    node = etree.Element("any")
    event.render(node, event(traded=tick))
    show(node[0], validator)


def show(element, validator):
    """Prints an element, which must be valid."""
    text = etree.tostring(element, encoding="unicode")
    print(text)
    validator.assertValid(etree.fromstring(text))


def schemas(file):
    """Compiles the schemas of a WSDL file, which import one another without a location."""
    found = list(etree.parse(file).iter(XS + "schema"))
    places = {it.get("targetNamespace"): f"{index}.xsd" for index, it in enumerate(found)}
    with tempfile.TemporaryDirectory() as folder:
        all_of_them = etree.Element(XS + "schema")
        for schema in found:
            for it in schema.iter(XS + "import"):
                it.set("schemaLocation", places[it.get("namespace")])
            namespace = schema.get("targetNamespace")
            Path(folder, places[namespace]).write_bytes(etree.tostring(schema))
            etree.SubElement(all_of_them, XS + "import", namespace=namespace, schemaLocation=places[namespace])
        whole = Path(folder, "all.xsd")
        whole.write_bytes(etree.tostring(all_of_them))
        return etree.XMLSchema(etree.parse(str(whole)))


main(sys.argv[1:])
