"""Values of Values.ice that nobody wrote down: of all kinds, with graphs that share and close cycles."""

import random
import struct

import values

INSTANCES_MAX = 12
TEXTS = ["", "a", "caf\u00e9", "\u4f60\u597d", "\U0001f600", "\0", 'quo"te', "line\nend", "\ud7ff\ue000\uffff\U0010ffff"]
DOUBLES = [0.0, -0.0, 1.5, -1e300, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf")]


def dream(contract, seed, has_tagged):
    """The value of a seed; without tagged members if the encoding has none."""
    return Dream(contract, random.Random(seed), has_tagged).any()


class Dream:
    def __init__(self, contract, chance, has_tagged):
        self.v = contract
        self.chance = chance
        self.has_tagged = has_tagged
        self.instances = []

    def pick(self, base, *makers):
        """An instance of a class: an earlier one, nil, or a new one while there are few."""
        known = [instance for instance in self.instances if isinstance(instance, base)]
        if known and self.chance.random() < 0.4:
            return self.chance.choice(known)
        if len(self.instances) >= INSTANCES_MAX or self.chance.random() < 0.2:
            return None
        return self.chance.choice(makers)()

    def new(self, kind):
        """An instance that can be referred to before it has its members."""
        instance = kind()
        self.instances.append(instance)
        return instance

    def any(self):
        makers = [self.make_node, self.make_shape, self.make_circle, self.make_kept, self.make_square]
        makers += [self.make_sample, self.make_optionals, lambda: self.new(self.v.Empty)]
        return self.pick(object, *makers)

    def node(self):
        return self.pick(self.v.Node, self.make_node)

    def shape(self):
        return self.pick(self.v.Shape, self.make_shape, self.make_circle)

    def kept(self):
        return self.pick(self.v.Kept, self.make_kept, self.make_square)

    def make_node(self):
        node = self.new(self.v.Node)
        node.name, node.left, node.right = self.text(), self.node(), self.node()
        return node

    def make_shape(self):
        return self.fill_shape(self.new(self.v.Shape))

    def fill_shape(self, shape):
        shape.id, shape.note, shape.mark = self.integer(32), self.maybe(self.text), self.node()
        return shape

    def make_circle(self):
        circle = self.fill_shape(self.new(self.v.Circle))
        circle.radius, circle.center = self.double(), self.maybe(self.pair)
        return circle

    def make_kept(self):
        kept = self.new(self.v.Kept)
        kept.name, kept.other = self.text(), self.kept()
        return kept

    def make_square(self):
        square = self.new(self.v.Square)
        square.name, square.other, square.side, square.corner = self.text(), self.kept(), self.integer(32), self.node()
        return square

    def make_sample(self):
        sample = self.new(self.v.Sample)
        for name, make in self.members().items():
            setattr(sample, name, make())
        sample.doubles = self.many(self.double)
        sample.proxies = []
        sample.nodes = self.many(self.node)
        sample.index = {self.text(): self.node() for _ in range(self.chance.randrange(3))}
        sample.node = self.node()
        return sample

    def make_optionals(self):
        optionals = self.new(self.v.Optionals)
        for name, make in self.members().items():
            setattr(optionals, name, self.maybe(make))
        optionals.between = self.integer(32)
        if not values.IS_38:
            optionals.shape = self.maybe(self.shape)
            optionals.nodes = self.maybe(lambda: self.many(self.node))
        return optionals

    def members(self):
        """What both a Sample and Optionals have."""
        return {
            "flag": self.flag,
            "octet": lambda: self.chance.randrange(256),
            "small": lambda: self.integer(16),
            "number": lambda: self.integer(32),
            "large": lambda: self.integer(64),
            "ratio": self.ratio,
            "exact": self.double,
            "text": self.text,
            "shade": self.shade,
            "pair": self.pair,
            "label": self.label,
            "flags": lambda: self.many(self.flag),
            "bytes": lambda: self.chance.randbytes(self.chance.choice([0, 1, 254, 255])),
            "shorts": lambda: self.many(lambda: self.integer(16)),
            "strings": lambda: self.many(self.text),
            "shades": lambda: self.many(self.shade),
            "pairs": lambda: self.many(self.pair),
            "labels": lambda: self.many(self.label),
            "table": lambda: {self.integer(16): self.double() for _ in range(self.chance.randrange(4))},
            "legend": lambda: {self.text(): self.shade() for _ in range(self.chance.randrange(4))},
            "object": lambda: None,
        }

    def maybe(self, make):
        return make() if self.has_tagged and self.chance.random() < 0.6 else values.UNSET

    def many(self, make):
        count = self.chance.choice([0, 1, 2, 3])
        return [make() for _ in range(count)]

    def flag(self):
        return self.chance.random() < 0.5

    def integer(self, bits):
        limit = 2 ** (bits - 1)
        return self.chance.choice([0, -1, limit - 1, -limit, self.chance.randrange(-limit, limit)])

    def double(self):
        return self.chance.choice([*DOUBLES, self.chance.uniform(-1e9, 1e9)])

    def ratio(self):
        (ratio,) = struct.unpack("<f", struct.pack("<f", self.chance.uniform(-1e30, 1e30)))
        return ratio

    def text(self):
        return self.chance.choice([*TEXTS, "x" * self.chance.choice([253, 254, 255, 300])])

    def shade(self):
        return self.chance.choice([self.v.Shade.dark, self.v.Shade.light, self.v.Shade.glowing])

    def pair(self):
        return self.v.Pair(self.integer(32), self.integer(32))

    def label(self):
        return self.v.Label(self.text(), self.shade())
