//! Where in a value something is: `params.items[3].name`.

use std::borrow::Cow;
use std::fmt;

use crate::wording::quote;

/// The way from a root (`value`, `params`, `results`) to a part of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path<'n> {
    root: &'static str,
    segments: Vec<Segment<'n>>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment<'n> {
    /// A member or parameter: `.name`.
    Member(Cow<'n, str>),
    /// An element of a sequence, or an entry of a dictionary that is written as pairs: `[3]`.
    Index(usize),
    /// An entry of a dictionary that is written as an object: `["key"]`.
    Key(Cow<'n, str>),
}

impl<'n> Path<'n> {
    pub(crate) fn new(root: &'static str) -> Self {
        Self {
            root,
            segments: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, segment: Segment<'n>) {
        self.segments.push(segment);
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.segments.truncate(len);
    }

    pub(crate) fn pop(&mut self) {
        self.segments.pop();
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root)?;
        self.segments.iter().try_for_each(|segment| match segment {
            Segment::Member(name) if is_plain(name) => write!(f, ".{name}"),
            Segment::Index(index) => write!(f, "[{index}]"),
            Segment::Member(key) | Segment::Key(key) => write!(f, "[{}]", quote(key)),
        })
    }
}

/// Returns true if a name, which may be anything that stood in JSON, can stand in a path as it is.
fn is_plain(name: &str) -> bool {
    const MAX_LEN: usize = 64;
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '$';
    name.len() <= MAX_LEN && !name.is_empty() && name.chars().all(is_word)
}

/// An error with the way back from where it happened: each level that it passes adds its segment.
#[derive(Debug)]
pub(crate) struct Located<E> {
    pub(crate) error: E,
    /// Innermost first.
    segments: Vec<Segment<'static>>,
}

impl<E> Located<E> {
    pub(crate) fn new(error: E) -> Box<Self> {
        Box::new(Self {
            error,
            segments: Vec::new(),
        })
    }

    pub(crate) fn into_parts(self) -> (E, Vec<Segment<'static>>) {
        (self.error, self.segments)
    }

    /// An error with the segments that it passed already, innermost first.
    pub(crate) fn from_parts(error: E, segments: Vec<Segment<'static>>) -> Box<Self> {
        Box::new(Self { error, segments })
    }

    pub(crate) fn within(mut self: Box<Self>, segment: Segment<'static>) -> Box<Self> {
        self.segments.push(segment);
        self
    }

    /// Another error at the same place.
    pub(crate) fn map<F>(self, map: impl FnOnce(E) -> F) -> Box<Located<F>> {
        let Self { error, segments } = self;
        Located::from_parts(map(error), segments)
    }

    /// The path, and the error.
    pub(crate) fn resolve(self, root: &'static str) -> (Path<'static>, E) {
        let mut segments = self.segments;
        segments.reverse();
        (Path { root, segments }, self.error)
    }
}

/// Adds a segment to the errors of a step.
pub(crate) trait Within {
    fn within(self, segment: impl FnOnce() -> Segment<'static>) -> Self;
}

impl<T, E> Within for Result<T, Box<Located<E>>> {
    fn within(self, segment: impl FnOnce() -> Segment<'static>) -> Self {
        self.map_err(|located| located.within(segment()))
    }
}
