//! Makes values of `Values.ice` from a tape of numbers, so that a shorter tape or a smaller number makes a simpler value.

use std::collections::BTreeMap;

use floe::classes::{AnyClass, Class, ClassType, Draft, Extends, Graph, Link};

use super::older::contract::values::*;
use super::older::tell::Any;

/// Ice 3.8 has no optional classes, and its Python does not tell an optional nil from unset.
const ICE_38: bool = cfg!(feature = "ice38");

/// The most instances in a graph; well below what nesting is allowed.
const INSTANCES_MAX: usize = 40;

/// Reads a tape; past its end all numbers are 0.
pub(crate) struct Draw<'a> {
    tape: std::slice::Iter<'a, u64>,
    has_tagged: bool,
    has_nan: bool,
    graph: Graph,
    /// The instances made so far.
    instances: Vec<Made>,
}

/// An instance that has been made; nil while it is being made.
#[derive(Default)]
struct Made {
    link: Any,
    type_ids: Vec<String>,
}

impl<'a> Draw<'a> {
    /// `has_tagged` is whether the encoding has optional values.
    pub(crate) fn new(tape: &'a [u64], has_tagged: bool) -> Self {
        Self {
            tape: tape.iter(),
            has_tagged,
            has_nan: true,
            graph: Graph::new(),
            instances: Vec::new(),
        }
    }

    /// Completes all instances that were made.
    pub(crate) fn finish(self) {
        self.graph.finish().expect("a whole graph");
    }

    /// Makes no floating-point number of which Python might write another pattern of bits.
    pub(crate) fn without_nan(mut self) -> Self {
        self.has_nan = false;
        self
    }

    fn number(&mut self) -> u64 {
        self.tape.next().copied().unwrap_or_default()
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    // ---- instances

    /// A link to an earlier instance of class `T`, to a new one, or to none.
    fn link<T: ClassType + ?Sized>(&mut self, makers: &[fn(&mut Self) -> Any]) -> Link<T> {
        match self.below(4) {
            0 => Link::nil(),
            1 if !self.instances.is_empty() => {
                let at = self.below(self.instances.len());
                self.typed(at)
            }
            _ if self.instances.len() < INSTANCES_MAX => {
                let make = self.one_of(makers);
                make(self).cast().expect("a maker of that class")
            }
            _ => Link::nil(),
        }
    }

    /// The link to the instance if it is one of class `T`.
    fn typed<T: ClassType + ?Sized>(&self, at: usize) -> Link<T> {
        let Made { link, type_ids } = &self.instances[at];
        match T::NAME == <dyn AnyClass>::NAME || type_ids.iter().any(|id| id == T::NAME) {
            true => link.cast().unwrap_or_default(),
            false => Link::nil(),
        }
    }

    /// Makes an instance to which its own members can refer.
    fn new_instance<T: Class>(&mut self, make: impl FnOnce(&mut Self, &Draft<T>) -> T) -> Any {
        let at = self.instances.len();
        self.instances.push(Made::default());
        let draft = self.graph.draft::<T>();
        let value = make(self, &draft);
        let levels = std::iter::successors(Some(&value as &dyn AnyClass), |level| level.base());
        let type_ids = levels.map(|level| level.class_type_id().to_owned());
        let type_ids = type_ids.collect();
        self.graph.fill(&draft, value);
        let link: Any = draft.link();
        self.instances[at] = Made {
            link: link.clone(),
            type_ids,
        };
        link
    }

    pub(crate) fn any(&mut self) -> Any {
        let makers: [fn(&mut Self) -> Any; 8] = [
            Self::make_node,
            Self::make_shape,
            Self::make_circle,
            Self::make_kept,
            Self::make_square,
            Self::make_sample,
            Self::make_optionals,
            |draw| draw.new_instance(|_, _: &Draft<Empty>| Empty {}),
        ];
        self.link(&makers)
    }

    pub(crate) fn node(&mut self) -> Link<Node> {
        self.link(&[Self::make_node])
    }

    fn shape(&mut self) -> Link<Shape> {
        self.link(&[Self::make_shape, Self::make_circle])
    }

    fn kept(&mut self) -> Link<Kept> {
        self.link(&[Self::make_kept, Self::make_square])
    }

    /// A member: often the instance that has it, which makes a cycle.
    fn or_back<T: Extends<U>, U: ClassType + ?Sized>(
        &mut self,
        back: &Draft<T>,
        make: fn(&mut Self) -> Link<U>,
    ) -> Link<U> {
        match self.below(5) {
            4 => back.link(),
            _ => make(self),
        }
    }

    fn make_node(&mut self) -> Any {
        self.new_instance(|draw, back: &Draft<Node>| Node {
            name: draw.text(),
            left: draw.or_back(back, Self::node),
            right: draw.or_back(back, Self::node),
        })
    }

    fn make_shape(&mut self) -> Any {
        self.new_instance(|draw, _: &Draft<Shape>| draw.shape_members())
    }

    fn shape_members(&mut self) -> Shape {
        Shape {
            id: self.int(),
            note: self.maybe(Self::text),
            mark: self.node(),
        }
    }

    fn make_circle(&mut self) -> Any {
        self.new_instance(|draw, _: &Draft<Circle>| Circle {
            base: draw.shape_members(),
            radius: draw.double(),
            center: draw.maybe(Self::pair),
        })
    }

    fn make_kept(&mut self) -> Any {
        self.new_instance(|draw, back: &Draft<Kept>| Kept {
            name: draw.text(),
            other: draw.or_back(back, Self::kept),
        })
    }

    fn make_square(&mut self) -> Any {
        self.new_instance(|draw, back: &Draft<Square>| Square {
            base: Kept {
                name: draw.text(),
                other: draw.or_back(back, Self::kept),
            },
            side: draw.int(),
            corner: draw.node(),
        })
    }

    pub(crate) fn make_sample(&mut self) -> Any {
        self.new_instance(|draw, _: &Draft<Sample>| Sample {
            flag: draw.flag(),
            octet: draw.byte(),
            small: draw.short(),
            number: draw.int(),
            large: draw.long(),
            ratio: draw.float(),
            exact: draw.double(),
            text: draw.text(),
            shade: draw.shade(),
            pair: draw.pair(),
            label: draw.label(),
            flags: draw.many(Self::flag),
            bytes: draw.bytes(),
            shorts: draw.many(Self::short),
            doubles: draw.many(Self::double),
            strings: draw.many(Self::text),
            shades: draw.many(Self::shade),
            pairs: draw.many(Self::pair),
            labels: draw.many(Self::label),
            proxies: draw.many(|_| None),
            table: draw.table(),
            legend: draw.legend(),
            object: None,
            nodes: draw.many(Self::node),
            index: draw.index(),
            node: draw.node(),
        })
    }

    pub(crate) fn make_optionals(&mut self) -> Any {
        self.new_instance(|draw, _: &Draft<Optionals>| Optionals {
            flag: draw.maybe(Self::flag),
            octet: draw.maybe(Self::byte),
            small: draw.maybe(Self::short),
            number: draw.maybe(Self::int),
            large: draw.maybe(Self::long),
            ratio: draw.maybe(Self::float),
            exact: draw.maybe(Self::double),
            text: draw.maybe(Self::text),
            shade: draw.maybe(Self::shade),
            pair: draw.maybe(Self::pair),
            label: draw.maybe(Self::label),
            flags: draw.maybe(|draw| draw.many(Self::flag)),
            bytes: draw.maybe(Self::bytes),
            shorts: draw.maybe(|draw| draw.many(Self::short)),
            strings: draw.maybe(|draw| draw.many(Self::text)),
            shades: draw.maybe(|draw| draw.many(Self::shade)),
            pairs: draw.maybe(|draw| draw.many(Self::pair)),
            labels: draw.maybe(|draw| draw.many(Self::label)),
            table: draw.maybe(Self::table),
            legend: draw.maybe(Self::legend),
            object: draw.maybe(|_| None).filter(|_| !ICE_38),
            between: draw.int(),
            shape: draw.maybe(Self::shape).filter(|_| !ICE_38),
            nodes: draw.maybe(|draw| draw.many(Self::node)).filter(|_| !ICE_38),
        })
    }

    // ---- other values

    pub(crate) fn held(&mut self) -> Held {
        Held {
            before: self.int(),
            shape: self.shape(),
            any: self.any(),
            value: self.any(),
            nodes: self.many(Self::node),
            index: self.index(),
            after: self.int(),
        }
    }

    pub(crate) fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let is_set = self.below(3) != 0;
        (is_set && self.has_tagged).then(|| make(self))
    }

    pub(crate) fn many<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| make(self)).collect()
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn byte(&mut self) -> u8 {
        self.number() as u8
    }

    fn short(&mut self) -> i16 {
        let other = self.number() as i16;
        self.one_of(&[0, i16::MAX, i16::MIN, other])
    }

    pub(crate) fn int(&mut self) -> i32 {
        let other = self.number() as i32;
        self.one_of(&[0, i32::MAX, i32::MIN, other])
    }

    fn long(&mut self) -> i64 {
        let other = self.number() as i64;
        self.one_of(&[0, i64::MAX, i64::MIN, other])
    }

    fn float(&mut self) -> f32 {
        let bits = f32::from_bits(self.number() as u32);
        let other = if self.has_nan || !bits.is_nan() {
            bits
        } else {
            1.5
        };
        self.one_of(&[0.0, -0.0, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, other])
    }

    fn double(&mut self) -> f64 {
        let bits = f64::from_bits(self.number());
        let other = if self.has_nan || !bits.is_nan() {
            bits
        } else {
            1.5
        };
        self.one_of(&[0.0, -0.0, f64::MAX, 5e-324, f64::NEG_INFINITY, other])
    }

    pub(crate) fn text(&mut self) -> String {
        let len = self.one_of(&[0, 1, 3, 253, 254, 255]);
        let one = self.one_of(&['a', 'é', '你', '😀', '\0', '"', '\n', '\u{10ffff}']);
        std::iter::repeat_n('x', len).chain([one]).collect()
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.one_of(&[0, 1, 254, 255]);
        vec![self.byte(); len]
    }

    fn shade(&mut self) -> Shade {
        self.one_of(&[Shade::Dark, Shade::Light, Shade::Glowing])
    }

    fn pair(&mut self) -> Pair {
        Pair {
            x: self.int(),
            y: self.int(),
        }
    }

    pub(crate) fn label(&mut self) -> Label {
        Label {
            text: self.text(),
            shade: self.shade(),
        }
    }

    fn table(&mut self) -> Table {
        BTreeMap::from_iter(self.many(|draw| (draw.short(), draw.double())))
    }

    fn legend(&mut self) -> Legend {
        BTreeMap::from_iter(self.many(|draw| (draw.text(), draw.shade())))
    }

    fn index(&mut self) -> Index {
        BTreeMap::from_iter(self.many(|draw| (draw.text(), draw.node())))
    }
}
