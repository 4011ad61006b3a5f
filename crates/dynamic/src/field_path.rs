//! Compiled paths to one field, which is read out of encoded bytes: what stands before it is stepped over, and nothing is
//! built.

use std::fmt;
use std::sync::Arc;

use floe_slice::model::Primitive;
use floe_wire::encoding::EnumWidth;
use floe_wire::reference::Reference;
use floe_wire::{DecodeError, DecodeErrorKind, Decoder, Encapsulation};

use crate::layout::TagShape;
use crate::wording::suggest;
use crate::{DecodeValueError, Enumeration, Layout, Operation, Record, Shape};

/// A path from the parameters of an operation to one field: `order.items[0].price`.
///
/// It is compiled once, and finds the field in the bytes of any number of requests. Fields of fixed length that stand
/// before it are one step together.
///
/// ```
/// use floe_dynamic::{Contract, Field};
/// use floe_slice::check_source;
///
/// let slice = b"module M { interface Feed { void tick(string symbol, double price); } }";
/// let contract = Contract::new(check_source(slice).model);
/// let price = contract.operation("tick")?.field("price")?;
/// let event = b"\x12\0\0\0\x01\x01\x03ICE\0\0\0\0\0\0\xf8\x3f";
/// assert_eq!(price.read(event)?, Some(Field::Double(1.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FieldPath {
    text: String,
    steps: Vec<Step>,
    target: Arc<Layout>,
    kind: Kind,
}

/// The value of a field. Strings and bytes are those of the request.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Field<'a> {
    /// `bool`.
    Bool(bool),
    /// `byte`.
    Byte(u8),
    /// `short`.
    Short(i16),
    /// `int`.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `string`.
    String(&'a str),
    /// An enumerator, by its position in [`FieldPath::enumeration`].
    Enumerator(usize),
    /// `sequence<byte>`.
    Bytes(&'a [u8]),
}

/// One step through the bytes.
#[derive(Debug, Clone)]
enum Step {
    /// Over so many bytes.
    Over(usize),
    /// Over a string, or a sequence of bytes: so many as stand in front.
    OverText,
    /// Over any other value whose length is in its bytes.
    OverValue(Arc<Layout>),
    /// Into an optional value.
    Tagged(u32, TagShape),
    /// Into a sequence, to an element.
    Element(usize, Arc<Layout>),
}

/// The kind of value at the end.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Primitive(Primitive),
    Enum(EnumWidth),
    Bytes,
}

/// A path that leads to no field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPathError {
    /// The path as far as it leads somewhere.
    pub path: String,
    /// The problem there.
    pub problem: String,
}

impl fmt::Display for FieldPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.problem),
            path => write!(f, "{path}: {}", self.problem),
        }
    }
}

impl std::error::Error for FieldPathError {}

impl Operation {
    /// Compiles a path to a field of the in-parameters.
    ///
    /// # Errors
    /// [`FieldPathError`]: there is no such field, it has several parts, or the bytes before it have no length that could be
    /// known without reading them, because a class instance is among them.
    pub fn field(&self, path: &str) -> Result<FieldPath, FieldPathError> {
        FieldPath::compile(self.inputs(), path)
    }
}

impl FieldPath {
    fn compile(record: &Record, text: &str) -> Result<Self, FieldPathError> {
        let mut compiler = Compiler {
            path: String::new(),
            steps: Vec::new(),
        };
        let (name, mut rest) = split_name(text);
        let mut target = compiler.member(record, name)?;
        while !rest.is_empty() {
            target = match rest.strip_prefix('.') {
                Some(after) => {
                    let (name, after) = split_name(after);
                    rest = after;
                    let Shape::Struct(record) = target.shape() else {
                        let problem = format!("{} has no members", target.name());
                        return Err(compiler.error(problem));
                    };
                    compiler.member(record, name)?
                }
                None => {
                    let (index, after) = compiler.index(rest)?;
                    rest = after;
                    compiler.element(&target, index)?
                }
            };
        }
        let kind = match target.shape() {
            Shape::Primitive(primitive) => Kind::Primitive(*primitive),
            Shape::Enum(all) => Kind::Enum(all.width),
            Shape::Bytes => Kind::Bytes,
            _ => {
                let problem = format!(
                    "{} has several parts: expected a path to a bool, number, string, enumerator or sequence<byte>",
                    target.name()
                );
                return Err(compiler.error(problem));
            }
        };
        Ok(Self {
            text: text.to_owned(),
            steps: compiler.steps,
            target,
            kind,
        })
    }

    /// The layout of the field's type.
    pub fn layout(&self) -> &Layout {
        &self.target
    }

    /// The enumeration of which the field is one enumerator.
    pub fn enumeration(&self) -> Option<&Enumeration> {
        match self.target.shape() {
            Shape::Enum(all) => Some(all),
            _ => None,
        }
    }

    /// Reads the field out of a request's parameters, which are a whole encapsulation. `None` if the field is optional and
    /// unset, or an element of a sequence that is shorter.
    ///
    /// What is stepped over is not checked, but for its lengths; nor is what follows.
    ///
    /// # Errors
    /// [`DecodeValueError`]: the sender has other parameters in mind.
    #[inline]
    pub fn read<'a>(&self, encapsulation: &'a [u8]) -> Result<Option<Field<'a>>, DecodeValueError> {
        let encapsulation = Encapsulation::parse(encapsulation);
        let found = match encapsulation.and_then(|opened| opened.decoder()) {
            Ok(mut decoder) => self.find(&mut decoder),
            Err(error) => Err(error),
        };
        found.map_err(|error| self.error(error))
    }

    #[cold]
    fn error(&self, error: DecodeError) -> DecodeValueError {
        DecodeValueError {
            path: format!("params.{}", self.text),
            error,
        }
    }

    #[inline]
    fn find<'a>(&self, decoder: &mut Decoder<'a>) -> Result<Option<Field<'a>>, DecodeError> {
        for step in &self.steps {
            match step {
                Step::Over(len) => {
                    decoder.bytes(*len, STEP)?;
                }
                Step::OverText => {
                    let len = decoder.size(STEP)?;
                    decoder.bytes(len, STEP)?;
                }
                Step::OverValue(layout) => step_over(layout, decoder)?,
                Step::Tagged(tag, shape) => {
                    let (format, has_len) = (shape.format, shape.has_len_in_front);
                    if decoder.open_tagged(*tag, format, has_len)?.is_none() {
                        return Ok(None);
                    }
                }
                Step::Element(index, element) => {
                    let count = decoder.count(element.min_wire_len, STEP)?;
                    if *index >= count {
                        return Ok(None);
                    }
                    step_over_all(*index, &[element], decoder)?;
                }
            }
        }
        self.end(decoder).map(Some)
    }

    #[inline]
    fn end<'a>(&self, decoder: &mut Decoder<'a>) -> Result<Field<'a>, DecodeError> {
        Ok(match self.kind {
            Kind::Primitive(primitive) => match primitive {
                Primitive::Bool => Field::Bool(decoder.get()?),
                Primitive::Byte => Field::Byte(decoder.get()?),
                Primitive::Short => Field::Short(decoder.get()?),
                Primitive::Int => Field::Int(decoder.get()?),
                Primitive::Long => Field::Long(decoder.get()?),
                Primitive::Float => Field::Float(decoder.get()?),
                Primitive::Double => Field::Double(decoder.get()?),
                Primitive::String => Field::String(decoder.str("string")?),
            },
            Kind::Enum(width) => {
                let value = width.decode(decoder, "enumerator")?;
                let position = self.enumeration().and_then(|all| all.position(value));
                let unknown = DecodeErrorKind::UnknownEnumerator(value);
                Field::Enumerator(position.ok_or_else(|| decoder.error("enumerator", unknown))?)
            }
            Kind::Bytes => {
                let len = decoder.count(1, "sequence")?;
                Field::Bytes(decoder.bytes(len, "sequence")?)
            }
        })
    }
}

const STEP: &str = "value before the field";

/// Steps over a value.
fn step_over(layout: &Layout, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
    if let Some(len) = layout.fixed_len {
        return decoder.bytes(len, STEP).map(drop);
    }
    match layout.shape() {
        // A string: a primitive with a length in its bytes.
        Shape::Primitive(_) | Shape::Bytes => {
            let len = decoder.size(STEP)?;
            decoder.bytes(len, STEP).map(drop)
        }
        Shape::Enum(all) => all.width.decode(decoder, STEP).map(drop),
        Shape::Struct(record) => {
            let mut members = record.members().iter();
            members.try_for_each(|member| step_over(member.layout(), decoder))
        }
        Shape::Sequence(element) => {
            let count = decoder.count(element.min_wire_len, STEP)?;
            step_over_all(count, &[element], decoder)
        }
        Shape::Dictionary { key, value } => {
            let min_len = key.min_wire_len.saturating_add(value.min_wire_len);
            let count = decoder.count(min_len, STEP)?;
            step_over_all(count, &[key, value], decoder)
        }
        Shape::Proxy => decoder.get::<Option<Reference>>().map(drop),
        Shape::Class { .. } | Shape::Unsupported => {
            let kind = DecodeErrorKind::NotSupported("steps over class instances");
            Err(decoder.error(STEP, kind))
        }
    }
}

/// Steps over so many elements, which consist of these parts.
fn step_over_all(
    count: usize,
    parts: &[&Arc<Layout>],
    decoder: &mut Decoder<'_>,
) -> Result<(), DecodeError> {
    let fixed_len = parts
        .iter()
        .try_fold(0_usize, |sum, part| sum.checked_add(part.fixed_len?));
    if let Some(len) = fixed_len {
        return decoder.bytes(count.saturating_mul(len), STEP).map(drop);
    }
    for _ in 0..count {
        for part in parts {
            step_over(part, decoder)?;
        }
    }
    Ok(())
}

/// A path on its way to the field.
struct Compiler {
    path: String,
    steps: Vec<Step>,
}

impl Compiler {
    fn error(&self, problem: String) -> FieldPathError {
        FieldPathError {
            path: self.path.clone(),
            problem,
        }
    }

    fn over(&mut self, layout: &Arc<Layout>) -> Result<(), FieldPathError> {
        if layout.has_classes() || matches!(layout.shape(), Shape::Unsupported) {
            let problem = format!(
                "a class instance ({}) stands before the field; expected a field in front of all class instances",
                layout.name()
            );
            return Err(self.error(problem));
        }
        if let (Some(Step::Over(sum)), Some(len)) = (self.steps.last_mut(), layout.fixed_len) {
            *sum = sum.saturating_add(len);
            return Ok(());
        }
        self.steps.push(match (layout.fixed_len, layout.shape()) {
            (Some(len), _) => Step::Over(len),
            (None, Shape::Primitive(_) | Shape::Bytes) => Step::OverText,
            (None, _) => Step::OverValue(Arc::clone(layout)),
        });
        Ok(())
    }

    fn member(&mut self, record: &Record, name: &str) -> Result<Arc<Layout>, FieldPathError> {
        let members = record.members();
        let Some(index) = members.iter().position(|member| member.name() == name) else {
            let noun = record.noun;
            let names = members.iter().map(|member| member.name());
            let problem = match suggest(name, names) {
                Some(close) => format!(
                    "{} has no {noun} `{name}`; did you mean `{close}`?",
                    record.name()
                ),
                None => format!(
                    "expected a {noun} of {} ({}), got `{name}`",
                    record.name(),
                    record.list()
                ),
            };
            return Err(self.error(problem));
        };
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path += name;
        let member = &members[index];
        let order = record.wire_order().iter();
        let before = order.take_while(|position| **position != index);
        for position in before {
            // Other optional values are passed when the tag is looked for.
            if members[*position].tag().is_none() {
                self.over(members[*position].layout())?;
            }
        }
        if let Some(tag) = member.tag() {
            self.steps.push(Step::Tagged(tag, member.layout().tag));
        }
        Ok(Arc::clone(member.layout()))
    }

    fn element(&mut self, sequence: &Layout, index: usize) -> Result<Arc<Layout>, FieldPathError> {
        let Shape::Sequence(element) = sequence.shape() else {
            let problem = format!(
                "{} has no elements that a path can lead to",
                sequence.name()
            );
            return Err(self.error(problem));
        };
        self.path += &format!("[{index}]");
        self.steps.push(Step::Element(index, Arc::clone(element)));
        // The elements before it are stepped over.
        if element.has_classes() {
            let problem = format!("{} has class instances", element.name());
            return Err(self.error(problem));
        }
        Ok(Arc::clone(element))
    }

    /// The index at the start of a path, and the rest of the path.
    fn index<'t>(&self, text: &'t str) -> Result<(usize, &'t str), FieldPathError> {
        let inside = text.strip_prefix('[');
        let parts = inside.and_then(|inside| inside.split_once(']'));
        let index = parts.and_then(|(index, after)| Some((index.parse().ok()?, after)));
        index.ok_or_else(|| {
            self.error(format!(
                "expected .member or [index], as in `items[0].price`, got `{text}`"
            ))
        })
    }
}

/// The name at the start of a path, and the rest of the path.
fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    text.split_at(end)
}
