"""An unmodified Ice for Python client of Values.ice.

Usage: client.py [--newer] PROXY [ICE OPTIONS]

PROXY is that of an object "values". Sends all samples, asks for all, and prints what came of each, a line for each call.
The last line is `done`.
"""

import sys

import Ice
import values

NEWER = "--newer" in sys.argv
Values = values.load(NEWER)
UNSET = values.UNSET


def ask(what, question):
    """Prints the answer, and returns its first part."""
    try:
        answer = question()
    except Ice.UserException as error:
        print(f"{what}: throws {values.tell(error)}")
        return None
    except Ice.Exception as error:
        print(f"{what}: {failure(error)}")
        return None
    answer = answer if isinstance(answer, tuple) else (answer,)
    parts = [values.tell(part) for part in answer]
    if values.IS_38 and " options " in what:
        # Ice 3.8 does not tell nil from unset.
        parts = ["unset" if part == "nil" else part for part in parts]
    print(f"{what}: {' | '.join(parts)}")
    return answer[0]


def failure(error):
    """What was observed of a failure, without its text."""
    name = type(error).__name__
    return name if name.startswith("Unknown") else "cannot be decoded"


class Conversation:
    def __init__(self, proxy, samples, version):
        self.proxy = proxy
        self.samples = samples
        self.version = version

    def ask(self, what, question):
        return ask(f"{self.version} {what}", question)

    def send(self):
        for name in self.samples.names():
            value = self.samples.make(name)
            self.ask(f"sliced {name}", lambda: self.proxy.sliced(value))
            self.ask(f"compact {name}", lambda: self.proxy.compact(value))

    def receive(self):
        for name in values.OLDER + values.NEWER:
            made = self.ask(f"make {name}", lambda: self.proxy.make(name))
            if made is not None:
                self.ask(f"again {name}", lambda: self.proxy.sliced(made))
                self.ask(f"again compact {name}", lambda: self.proxy.compact(made))
            self.ask(f"make compact {name}", lambda: self.proxy.makeCompact(name))

    def typed(self):
        samples = self.samples
        ring = samples.ring()
        circle = samples.circle()
        circle.mark = ring
        self.ask("typed", lambda: self.proxy.typed(circle, ring))
        self.ask("typed nil", lambda: self.proxy.typed(None, None))
        self.ask("hold", lambda: self.proxy.hold(samples.held()))
        self.ask("sample", lambda: self.proxy.echoSample(samples.sample()))
        self.ask("optionals", lambda: self.proxy.echoOptionals(samples.set()))
        self.ask("nodes", lambda: self.proxy.echoNodes([ring, None, ring.left]))

    def parts(self):
        ring = self.samples.ring()
        self.ask("left", lambda: self.proxy.left(ring))
        self.ask("left compact", lambda: self.proxy.leftCompact(ring))
        _, left = self.proxy.both(ring)
        self.ask("left kept", lambda: left)
        self.ask("left again", lambda: self.proxy.left(left))

    def options(self):
        v = Values
        newer = [["n"], v.Label("newest", v.Shade.light)] if NEWER else []
        labels = [v.Label("a", v.Shade.glowing)]
        options = [False, -3, 2**40, "text", v.Shade.glowing, v.Pair(1, 2), labels, {3: 0.5}, self.samples.proxy]
        self.ask("options set", lambda: self.proxy.options(1, *options, *newer))
        self.ask("options unset", lambda: self.proxy.options(2, *[UNSET] * (len(options) + len(newer))))
        nothing = [UNSET] * 8 + [None] + [UNSET] * len(newer)
        self.ask("options nil", lambda: self.proxy.options(3, *nothing))

    def optional_classes(self):
        call = self.proxy.optionalClass
        ring = self.samples.ring()
        self.ask("class set", lambda: call(self.samples.circle(), ring, ring.left))
        self.ask("class nil", lambda: call(None, None, None))
        self.ask("class unset", lambda: call(UNSET, ring, UNSET))

    def failures(self):
        for name in values.FAILURES:
            self.ask(f"fail {name}", lambda: self.proxy.fail(name))
            self.ask(f"fail compact {name}", lambda: self.proxy.failCompact(name))


def main():
    arguments = [argument for argument in sys.argv if argument != "--newer"]
    with values.initialize(arguments) as communicator:
        proxy = communicator.stringToProxy(arguments[1])
        for encoding in (Ice.Encoding_1_1, Ice.Encoding_1_0):
            version = f"{encoding.major}.{encoding.minor}"
            encoded = Values.PeerPrx.uncheckedCast(proxy.ice_encodingVersion(encoding))
            conversation = Conversation(encoded, values.Samples(Values, communicator, NEWER), version)
            conversation.send()
            conversation.receive()
            conversation.typed()
            conversation.parts()
            conversation.options()
            if not values.IS_38:
                conversation.optional_classes()
            conversation.failures()
        print("done", flush=True)


main()
