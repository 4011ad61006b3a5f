"""An unmodified Ice for Python server of Values.ice.

Usage: server.py [--newer] [ICE OPTIONS]

Prints `ready PROXY` on standard output, PROXY being that of the object "values"; beside it is an object "maker". Ends when standard input does.
"""

import sys

import dreams
import Ice
import values

NEWER = "--newer" in sys.argv
Values = values.load(NEWER)


class Peer(Values.Peer):
    """Gives back what it gets, and makes samples."""

    def __init__(self, samples):
        self._samples = samples

    def sliced(self, value, current=None):
        return value, values.tell(value)

    def compact(self, value, current=None):
        return value, values.tell(value)

    def typed(self, shape, node, current=None):
        return shape, node, values.tell(shape, node)

    def hold(self, held, current=None):
        return held, values.tell(held)

    def options(self, required, *rest):
        *options, _ = rest
        same = [options[0], options[1], options[2], *options[4:9]]
        seen = values.tell(required, *[values.UNSET if o is None and values.IS_38 else o for o in options])
        if values.IS_38:
            seen = seen.replace("nil", "unset")
        return (options[3], seen, *same)

    def optionalClass(self, shape, node, other, current=None):
        return shape, node, other, values.tell(shape, node, other)

    def make(self, sample, current=None):
        try:
            return self._samples.make(sample)
        except KeyError:
            raise self._samples.failure("none") from None

    makeCompact = make

    def fail(self, sample, current=None):
        raise self._samples.failure(sample)

    failCompact = fail

    def echoSample(self, value, current=None):
        return value

    echoOptionals = echoSample
    echoNodes = echoSample

    def left(self, node, current=None):
        return node.left

    leftCompact = left

    def both(self, node, current=None):
        return node, node.left


class Maker(Values.Maker):
    """Makes values of all kinds at random, and throws what it is told."""

    def dream(self, seed, current=None):
        value = dreams.dream(Values, seed, current.encoding == Ice.Encoding_1_1)
        return value, values.tell(value)

    dreamCompact = dream

    def fall(self, why, code, place, more, held, labels, current=None):
        if held.before == 0:
            raise Values.FailedAt(why, code, place, more)
        raise Values.FailedDeep(why, code, place, more, held, labels)


def main():
    with values.initialize(sys.argv) as communicator:
        adapter = communicator.createObjectAdapterWithEndpoints("Server", "tcp -h 127.0.0.1 -p 0")
        samples = values.Samples(Values, communicator, NEWER)
        proxy = adapter.add(Peer(samples), Ice.stringToIdentity("values"))
        adapter.add(Maker(), Ice.stringToIdentity("maker"))
        adapter.activate()
        print("ready", proxy, flush=True)
        sys.stdin.read()


main()
