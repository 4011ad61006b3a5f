"""The side of omniORB for Python. `peer.py <what> <corbaloc of a naming service>`; ends when its input is closed."""

import json
import os
import sys

import omniORB
from omniORB import CORBA, PortableServer, any

omniORB.importIDL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "market.idl"))
import CosEventChannelAdmin
import CosEventComm
import CosEventComm__POA
import CosNaming
import Market
import Market__POA


def tick(number):
    return Market.Tick(
        instrument="Zürich €%d" % number,
        direction=Market.SELL,
        place=Market.Venue("Börse", 0.25),
        depth=[Market.Level(1.5, 2**40 + number), Market.Level(2.5, -number)],
        payload=bytes([0, 1, 255, number % 256]),
        live=number % 2 == 0,
        at=-(2**62) + number,
        price=number + 0.125,
        note="\U0001f980 Москва %d" % number,
    )


def shown(tick):
    return {
        "instrument": tick.instrument,
        "direction": tick.direction._n,
        "place": [tick.place.name, tick.place.fee],
        "depth": [[level.price, level.quantity] for level in tick.depth],
        "payload": list(tick.payload),
        "live": bool(tick.live),
        "at": tick.at,
        "price": tick.price,
        "note": tick.note,
    }


class Consumer(CosEventComm__POA.PushConsumer):
    def push(self, data):
        value = data.value(CORBA.TypeCode(CORBA.id(Market.Tick)))
        print(json.dumps(shown(value)), flush=True)

    def disconnect_push_consumer(self):
        print("disconnected", flush=True)


class Feed(Market__POA.Feed):
    def __init__(self):
        self.heard = 0

    def echo(self, value):
        return value

    def flip(self, value):
        if value._d == Market.BUY:
            flipped = Market.Change(Market.SELL, str(value.more))
        else:
            flipped = Market.Change(Market.BUY, int(value.text))
        return flipped, Market.Order(1, [Market.Order(2, [Market.Order(3, [])]), Market.Order(4, [])])

    def refuse(self, why):
        raise Market.Refused(why, 42)

    def fail(self):
        raise CORBA.NO_PERMISSION(0x42, CORBA.COMPLETED_MAYBE)

    def note(self, text):
        self.heard += len(text)

    def notes(self):
        return self.heard


def name(*ids):
    return [CosNaming.NameComponent(one, "") for one in ids]


def naming(orb, where):
    return orb.string_to_object(where)._narrow(CosNaming.NamingContext)


def channel(orb, where):
    found = naming(orb, where).resolve(name("events", "ticks"))
    return found._narrow(CosEventChannelAdmin.EventChannel)


def activate(orb, servant):
    poa = orb.resolve_initial_references("RootPOA")
    poa._get_the_POAManager().activate()
    poa.activate_object(servant)
    return servant._this()


def consume(orb, where):
    proxy = channel(orb, where).for_consumers().obtain_push_supplier()
    proxy.connect_push_consumer(activate(orb, Consumer()))
    print("ready", flush=True)
    sys.stdin.read()
    proxy.disconnect_push_supplier()


def supply(orb, where, count):
    proxy = channel(orb, where).for_suppliers().obtain_push_consumer()
    try:
        proxy.push(any.to_any(0))
    except CosEventComm.Disconnected:
        print("refused before connecting", flush=True)
    proxy.connect_push_supplier(None)
    try:
        proxy.connect_push_supplier(None)
    except CosEventChannelAdmin.AlreadyConnected:
        print("refused a second time", flush=True)
    for number in range(count):
        proxy.push(CORBA.Any(CORBA.TypeCode(CORBA.id(Market.Tick)), tick(number)))
    proxy.disconnect_push_consumer()
    print("done", flush=True)


def name_things(orb, where):
    root = naming(orb, where)
    here = activate(orb, Feed())
    root.bind_new_context(name("a"))
    root.bind(name("a", "é"), here)
    assert root.resolve(name("a", "é"))._is_equivalent(here)
    for call, expected in [
        (lambda: root.bind(name("a", "é"), here), CosNaming.NamingContext.AlreadyBound),
        (lambda: root.resolve([]), CosNaming.NamingContext.InvalidName),
        (lambda: root.resolve(name("a"))._narrow(CosNaming.NamingContext).destroy(), CosNaming.NamingContext.NotEmpty),
    ]:
        try:
            call()
        except expected:
            continue
        raise AssertionError("expected %s" % expected)
    try:
        root.resolve(name("a", "none", "x"))
    except CosNaming.NamingContext.NotFound as error:
        assert error.why == CosNaming.NamingContext.missing_node, error
        assert [one.id for one in error.rest_of_name] == ["none", "x"], error
    for number in range(10):
        root.bind(name("n%d" % number), here)
    first, rest = root.list(3)
    more, last = rest.next_n(100)
    assert [one.binding_name[0].id for one in first] == ["a", "events", "n0"], first
    assert len(last) == 9 and more, last
    assert rest.next_one()[0] == 0
    rest.destroy()
    root.unbind(name("a", "é"))
    ext = root._narrow(CosNaming.NamingContextExt)
    assert ext.to_string(name("a.b", "c")) == "a\\.b/c"
    assert ext.resolve_str("events/ticks")._is_a("IDL:omg.org/CosEventChannelAdmin/EventChannel:1.0")
    try:
        root.resolve(name("n1"))._non_existent()
    except CORBA.TRANSIENT:
        pass
    assert orb.string_to_object(where.replace("NameService", "Nothing"))._non_existent()
    print("done", flush=True)


def serve(orb):
    print("ready " + orb.object_to_string(activate(orb, Feed())), flush=True)
    sys.stdin.read()


def call_feed(orb, where):
    feed = naming(orb, where).resolve(name("feed"))._narrow(Market.Feed)
    tc = lambda it: CORBA.TypeCode(CORBA.id(it))
    for value in [
        CORBA.Any(tc(Market.Tick), tick(7)),
        CORBA.Any(tc(Market.Order), Market.Order(1, [Market.Order(2, []), Market.Order(3, [Market.Order(4, [])])])),
        CORBA.Any(tc(Market.Change), Market.Change(Market.SELL, "é")),
        CORBA.Any(CORBA.TC_any, CORBA.Any(tc(Market.Side), Market.SELL)),
        CORBA.Any(CORBA.TC_TypeCode, tc(Market.Order)),
        CORBA.Any(CORBA.TC_Object, feed),
        any.to_any([1.5, 2.5]),
        any.to_any("\u20ac"),
    ]:
        back = feed.echo(value)
        assert back.typecode().equal(value.typecode()), (back, value)
        if value.typecode().kind() != CORBA.tk_objref:
            assert repr(back.value()) == repr(value.value()), (back, value)
    big = CORBA.Any(tc(Market.Tick), tick(8))
    big._v.payload = bytes(300000)
    assert feed.echo(big).value().payload == big._v.payload
    try:
        feed.refuse("n\u00f6")
        raise AssertionError("expected an exception")
    except Market.Refused as error:
        assert (error.why, error.code) == ("n\u00f6", 42), error
    try:
        feed.fail()
        raise AssertionError("expected an exception")
    except CORBA.NO_PERMISSION as error:
        assert (error.minor, error.completed) == (0x42, CORBA.COMPLETED_MAYBE), error
    feed.note("\u041c\u043e")
    assert feed.notes() == 2
    assert feed._non_existent() == 0
    print("done", flush=True)


def main():
    what, *arguments = sys.argv[1:]
    options = [word for word in arguments if word.startswith("-ORB")]
    arguments = [word for word in arguments if not word.startswith("-ORB")]
    options = sum((word.split("=", 1) for word in options), ["peer", "-ORBendPoint", "giop:tcp:127.0.0.1:"])
    orb = CORBA.ORB_init(options, CORBA.ORB_ID)
    if what == "consume":
        consume(orb, arguments[0])
    elif what == "supply":
        supply(orb, arguments[0], int(arguments[1]))
    elif what == "name":
        name_things(orb, arguments[0])
    elif what == "call":
        call_feed(orb, arguments[0])
    elif what == "serve":
        serve(orb)
    orb.destroy()


main()
