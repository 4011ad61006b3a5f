"""An unmodified Ice for Python peer of Relay.ice, with Ice 3.7 or 3.8.

Usage: peer.py source [ICE OPTIONS]
       peer.py middle [ICE OPTIONS]
       peer.py call MIDDLE SOURCE [ICE OPTIONS]

`source` knows the newer contract, `middle` the older one; they print `ready PROXY` on standard output and end when
standard input does. `call` knows the newer contract too: it asks MIDDLE for everything that SOURCE has, in each encoding,
and prints a line for each answer. The last line is `done`.
"""

import pathlib
import sys

import Ice

IS_38 = Ice.intVersion() >= 30800
CONTRACT = str(pathlib.Path(__file__).with_name("Relay.ice"))
UNSET = None if IS_38 else Ice.Unset
KINDS = ("kept", "nearer", "more", "most", "cut", "cutMore")


def load(role):
    options = [] if role == "middle" else ["-DNEWER"]
    if IS_38:
        Ice.loadSlice([*options, "-DWITHOUT_PRESERVE_SLICE", CONTRACT])
    else:
        Ice.loadSlice("", [*options, CONTRACT])
    import Relay

    return Relay


def initialize(arguments):
    settings = Ice.InitializationData()
    settings.properties = Ice.createProperties(arguments)
    settings.properties.setProperty("Ice.Warn.Dispatch", "0")
    return Ice.initialize(initData=settings) if IS_38 else Ice.initialize(settings)


def failure(relay, kind):
    node = relay.Node("node", relay.Node("next", None))
    made = {
        "kept": lambda: relay.Kept("kept"),
        "nearer": lambda: relay.KeptNearer("nearer", 1),
        "more": lambda: relay.KeptMore("more", UNSET, "more text", 2, node, node),
        "most": lambda: relay.KeptMost("most", 3, "most text", UNSET, node, None, node.next),
        "cut": lambda: relay.Cut("cut"),
        "cutMore": lambda: relay.CutMore("cut more", "more text"),
    }
    return made[kind]()


def make_source(relay):
    class Source(relay.Source):
        def fail(self, kind, current=None):
            raise failure(relay, kind)

        failCompact = fail

    return Source()


def make_middle(relay):
    class Middle(relay.Middle):
        def fail(self, source, kind, current=None):
            source.ice_encodingVersion(current.encoding).fail(kind)

        def failCompact(self, source, kind, current=None):
            source.ice_encodingVersion(current.encoding).fail(kind)

    return Middle()


def tell(error):
    """The name of an exception and its members; of instances their names, and whether two are one."""
    if not isinstance(error, Ice.UserException):
        return type(error).__name__
    told = [type(error).__name__]
    seen = []
    for name in ("why", "level", "more", "code", "node", "again", "last"):
        value = getattr(error, name, UNSET)
        if name in ("node", "again", "last") and value is not None and value is not UNSET:
            seen.append(value)
            value = f"{value.name}#{[one is value for one in seen].index(True)}"
        told.append(f"{name}={'-' if value is UNSET or value is None else value}")
    return " ".join(told)


def ask(what, question):
    try:
        print(f"{what}: {tell(question())}")
    except Ice.Exception as error:
        print(f"{what}: {tell(error)}")


def call(relay, communicator, middle, source):
    middle = relay.MiddlePrx.uncheckedCast(communicator.stringToProxy(middle))
    source = relay.SourcePrx.uncheckedCast(communicator.stringToProxy(source))
    for encoding in (Ice.Encoding_1_1, Ice.Encoding_1_0):
        proxy = middle.ice_encodingVersion(encoding)
        version = f"{encoding.major}.{encoding.minor}"
        for kind in KINDS:
            ask(f"{version} fail {kind}", lambda: proxy.fail(source, kind))
            ask(f"{version} fail compact {kind}", lambda: proxy.failCompact(source, kind))
    print("done", flush=True)


def serve(communicator, servant):
    adapter = communicator.createObjectAdapterWithEndpoints("Server", "tcp -h 127.0.0.1 -p 0")
    proxy = adapter.add(servant, Ice.stringToIdentity("relay"))
    adapter.activate()
    print("ready", proxy, flush=True)
    sys.stdin.read()


def main():
    role, *arguments = sys.argv[1:] or sys.exit(__doc__)
    relay = load(role)
    with initialize(arguments) as communicator:
        if role == "call":
            call(relay, communicator, *arguments[:2])
        else:
            serve(communicator, make_source(relay) if role == "source" else make_middle(relay))


main()
