"""The samples of Values.ice and how they are told as text, the same in each language.

`load(newer)` loads the contract as the older or the newer version. Works with Ice 3.7 and 3.8.

A text has no names of members: `Circle#1(2,unset,nil,0.5,Pair(1,-1))`. The number is that of an instance in the order
of their appearance; an instance that was told already is its number alone, `#1`. One of an unknown class is `?#1`.
"""

import enum
import inspect
import math
import pathlib
import struct

import Ice

CONTRACT = pathlib.Path(__file__).with_name("Values.ice")
IS_38 = Ice.intVersion() >= 30800
# Ice 3.8 has no value of its own for what is unset.
UNSET = None if IS_38 else Ice.Unset
OPTIONAL = {"note", "center", "code", "newer", "labels"}
# The optional members of class types, behind which members they stand.
LACKING = {
    "Optionals": [("between", ["shape", "nodes"]), ("newStrings", ["newNode"])],
    "FailedDeep": [("labels", ["shape"])],
    "FailedNewer": [("labels", ["shape"])],
}


def initialize(arguments):
    """A communicator that takes cycles and deep graphs, which Ice 3.8 refuses by default."""
    settings = Ice.InitializationData()
    settings.properties = Ice.createProperties([argument for argument in arguments if argument != "--newer"])
    settings.properties.setProperty("Ice.Warn.Dispatch", "0")
    settings.properties.setProperty("Ice.AcceptClassCycles", "1")
    settings.properties.setProperty("Ice.ClassGraphDepthMax", "100")
    return Ice.initialize(initData=settings) if IS_38 else Ice.initialize(settings)


def load(newer):
    options = ["-DNEWER"] if newer else []
    if IS_38:
        Ice.loadSlice([*options, "-DWITHOUT_OPTIONAL_CLASSES", str(CONTRACT)])
    else:
        Ice.loadSlice("", [*options, str(CONTRACT)])
    import Values

    return Values


class Teller:
    """Tells values as text, and remembers which instances it told."""

    def __init__(self):
        self.instances = []

    def tell(self, value):
        if value is None:
            return "nil"
        if not IS_38 and value is Ice.Unset:
            return "unset"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return tell_float(value)
        if isinstance(value, int) and not isinstance(value, enum.Enum):
            return str(value)
        if isinstance(value, str):
            return f'"{value}"'
        if isinstance(value, (bytes, list, tuple)):
            return "[" + ",".join(self.tell(item) for item in value) + "]"
        if isinstance(value, dict):
            return "{" + ",".join(f"{self.tell(key)}:{self.tell(value[key])}" for key in sorted(value)) + "}"
        if hasattr(value, "ice_getIdentity"):
            identity = value.ice_getIdentity()
            return f"{identity.category}/{identity.name}"
        if isinstance(value, Ice.EnumBase if not IS_38 else enum.Enum):
            return value.name
        if isinstance(value, Ice.Value):
            return self.instance(value)
        return type(value).__name__ + self.members(value)

    def instance(self, value):
        for number, known in enumerate(self.instances, 1):
            if known is value:
                return f"#{number}"
        self.instances.append(value)
        number = len(self.instances)
        if isinstance(value, Ice.UnknownSlicedValue):
            return f"?#{number}"
        return f"{type(value).__name__}#{number}{self.members(value)}"

    def members(self, value):
        return "(" + ",".join(self.member(value, name) for name in names(type(value))) + ")"

    def member(self, value, name):
        is_optional = name in OPTIONAL or (type(value).__name__ == "Optionals" and name != "between")
        is_optional = is_optional or (name == "shape" and isinstance(value, Ice.UserException))
        is_optional = is_optional or (name == "more" and isinstance(value, Ice.UserException))
        if IS_38 and is_optional and getattr(value, name, None) is None:
            return "unset"
        return self.tell(getattr(value, name, UNSET))


def tell_float(value):
    """Quarters below a thousand look alike in all languages; the bits of others do."""
    if math.isnan(value):
        return "nan"
    if abs(value) < 1000 and value * 4 == int(value * 4):
        return f"{value:g}"
    return struct.pack(">d", value).hex()


def names(kind):
    """The members of a type in order, those of its base first."""
    if kind.__init__ is object.__init__:
        return []
    found = [name for name in inspect.signature(kind.__init__).parameters if name != "self"]
    if IS_38:
        # What it lacks is told as unset.
        for name, lacking in LACKING.get(kind.__name__, []):
            if name in found:
                found[found.index(name) + 1 : found.index(name) + 1] = lacking
    return found


def tell(*values):
    teller = Teller()
    return " ".join(teller.tell(value) for value in values)


# What a newer peer has samples of, and asks all peers for.
OLDER = ["nil", "empty", "leaf", "tree", "shared", "ring", "shape", "circle", "kept", "square", "sample", "set", "unset"]
NEWER = ["keptMore", "keptMost", "keptInside", "hoop", "alone", "aloneById", "newer"]
FAILURES = ["failed", "unset", "at", "deep", "newer", "none"]


class Samples:
    """Makes values by name; `None` stands for nil, and an unknown name is a KeyError."""

    def __init__(self, contract, communicator, newer):
        self.v = contract
        self.proxy = communicator.stringToProxy("some/thing:tcp -h 127.0.0.1 -p 1")
        self._is_newer = newer

    def names(self):
        return OLDER + NEWER if self._is_newer else OLDER

    def make(self, name):
        if name not in self.names():
            raise KeyError(name)
        return getattr(self, name)()

    def nil(self):
        return None

    def empty(self):
        return self.v.Empty()

    def leaf(self):
        return self.v.Node("leaf", None, None)

    def tree(self):
        node = self.v.Node
        return node("root", node("left"), node("right", None, node("deep \u00e9")))

    def shared(self):
        both = self.leaf()
        return self.v.Node("top", both, self.v.Node("side", both, None))

    def ring(self):
        first = self.v.Node("first")
        first.left = self.v.Node("second", first, None)
        first.right = first
        first.left.right = first.left
        return first

    def shape(self):
        return self.v.Shape(1, "noted", self.leaf())

    def circle(self):
        return self.v.Circle(2, UNSET, self.ring(), 2.5, self.v.Pair(1, -1))

    def kept(self):
        return self.v.Kept("outer", self.v.Kept("inner", None))

    def square(self):
        square = self.v.Square("square", None, 4, self.leaf())
        square.other = square
        return square

    def sample(self):
        v = self.v
        node = self.ring()
        return v.Sample(
            True, 255, -32768, -2147483648, 2**63 - 1, 0.5, -0.25, "text \u00e9\u4f60\U0001f600", v.Shade.glowing,
            v.Pair(-1, 1), v.Label("label", v.Shade.light), [True, False], bytes(range(5)), [-1, 0, 1], [0.5, -1.5],
            ["", "a"], [v.Shade.light, v.Shade.dark], [v.Pair(1, 2)], [v.Label("", v.Shade.dark)], [self.proxy, None],
            {-1: 0.5, 7: 1.5}, {"a": v.Shade.light, "b": v.Shade.glowing}, self.proxy,
            [node, None, node, node.left], {"one": node.left, "two": None}, node,
        )  # fmt: skip

    def set(self):
        v = self.v
        values = [
            False, 0, -5, 70000, -(2**40), -0.5, 1.25, "x", v.Shade.glowing, v.Pair(3, 4), v.Label("l", v.Shade.dark),
            [True], b"\1\2", [1, 2, 3], ["s", ""], [v.Shade.glowing], [v.Pair(5, 6), v.Pair(7, 8)],
            [v.Label("m", v.Shade.light)], {1: 0.5}, {"k": v.Shade.dark}, self.proxy, 9,
        ]  # fmt: skip
        if not IS_38:
            values += [self.circle(), [self.leaf(), None]]
        return v.Optionals(*values)

    def unset(self):
        unset = self.v.Optionals()
        unset.between = 10
        return unset

    def keptMore(self):
        return self.v.KeptMore("kept", None, 5, self.leaf(), self.kept(), "more", "note")

    def keptMost(self):
        leaf = self.leaf()
        most = self.v.KeptMost("kept", None, 5, leaf, self.kept(), "more", "note", 6, leaf, self.ring())
        most.other = most
        return most

    def keptInside(self):
        return self.v.Kept("holds", self.keptMost())

    def hoop(self):
        return self.v.Ring(3, "noted", None, 0.5, UNSET, 8, self.leaf())

    def alone(self):
        return self.v.Alone(42, self.keptMore())

    def aloneById(self):
        return self.v.AloneById("hidden")

    def newer(self):
        v = self.v
        newer = self.set()
        newer.newFirst = "first"
        newer.newFlag = True
        newer.newSmall = 3
        newer.newNumber = -7
        newer.newExact = 0.5
        newer.newShade = v.Shade.glowing
        newer.newShorts = [1, 2]
        newer.newStrings = ["a", "b"]
        if not IS_38:
            newer.newNode = self.ring()
        newer.newLast = v.Label("last", v.Shade.light)
        return newer

    def held(self):
        node = self.ring()
        shape = self.circle()
        return self.v.Held(1, shape, shape, self.v.Empty(), [node, node.left], {"n": node}, 2)

    def failure(self, name):
        """An exception; the same kind says that there is none of that name."""
        v = self.v
        node = self.ring()
        more = ["newer text"] if self._is_newer else []
        deep = ["deep", 3, node, UNSET, *more, self.held(), [v.Label("l", v.Shade.light)]]
        if not IS_38:
            deep.append(self.shape())
        if name == "failed":
            return v.Failed("failed", 7)
        if name == "unset":
            return v.Failed("", UNSET)
        if name == "at":
            return v.FailedAt("at", UNSET, node, "more", *more)
        if name == "deep":
            return v.FailedDeep(*deep)
        if name == "newer" and self._is_newer:
            return v.FailedNewer(*deep, 12, node)
        return v.Failed("no such sample", UNSET)
