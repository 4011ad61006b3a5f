//! The walk: drives a writer from a reader along a layout. No tree of values is built on the way, but for class graphs,
//! which most formats write in another order than they are read, and where two formats want members in different orders.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;

use floe_slice::model::Primitive;
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use crate::path::{Located, Segment, Within};
use crate::value::{ValueReader, ValueWriter, links};
use crate::{Enumeration, Layout, Order, Reader, Record, Shape, Value, Writer};

/// Values that could not be walked from one format to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkError<R, W> {
    /// Which part of the values: `params.items[3].name`.
    pub path: String,
    /// The format that could not go on, and why.
    pub cause: Cause<R, W>,
}

/// The format at which a walk ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause<R, W> {
    /// The reader: the input is wrong.
    Read(R),
    /// The writer: its format cannot say the value.
    Write(W),
}

impl<R> Cause<R, Infallible> {
    /// The cause of a walk to a format that can say everything.
    pub(crate) fn only_read(self) -> R {
        match self {
            Self::Read(error) => error,
            Self::Write(never) => match never {},
        }
    }
}

impl<R: fmt::Display, W: fmt::Display> fmt::Display for WalkError<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        match &self.cause {
            Cause::Read(error) => error.fmt(f),
            Cause::Write(error) => error.fmt(f),
        }
    }
}

impl<R, W> std::error::Error for WalkError<R, W>
where
    R: fmt::Debug + fmt::Display,
    W: fmt::Debug + fmt::Display,
{
}

/// An error on its way up: each level adds its segment of the path.
pub(crate) type Lost<R, W> = Box<Located<Cause<R, W>>>;

type Step<R, W> = Result<(), Lost<<R as Reader>::Error, <W as Writer>::Error>>;

/// Walks one value that stands alone from a reader into a writer.
///
/// # Errors
/// [`WalkError`]; its path begins with `value`.
pub fn walk<R: Reader, W: Writer>(
    layout: &Layout,
    reader: &mut R,
    writer: &mut W,
) -> Result<(), WalkError<R::Error, W::Error>> {
    let walked = whole(&Subject::Value(layout), reader, writer);
    walked.map_err(|lost| resolve(*lost, "value"))
}

/// Walks the parameters or results of an operation from a reader into a writer.
///
/// # Errors
/// [`WalkError`]; its path begins with `root`.
pub fn walk_record<R: Reader, W: Writer>(
    record: &Record,
    root: &'static str,
    reader: &mut R,
    writer: &mut W,
) -> Result<(), WalkError<R::Error, W::Error>> {
    let walked = whole(&Subject::Record(record), reader, writer);
    walked.map_err(|lost| resolve(*lost, root))
}

fn resolve<R, W>(lost: Located<Cause<R, W>>, root: &'static str) -> WalkError<R, W> {
    let (path, cause) = lost.resolve(root);
    WalkError {
        path: path.to_string(),
        cause,
    }
}

/// The whole that is walked, with all class instances that belong to it.
pub(crate) enum Subject<'l> {
    Value(&'l Layout),
    Record(&'l Record),
}

impl Subject<'_> {
    fn has_classes(&self) -> bool {
        match self {
            Self::Value(layout) => layout.has_classes(),
            Self::Record(record) => record.has_classes(),
        }
    }

    fn has_untagged_classes(&self) -> bool {
        match self {
            Self::Value(layout) => layout.has_classes(),
            Self::Record(record) => record.has_untagged_classes,
        }
    }

    /// Returns true if no order suits both formats.
    fn has_conflict(&self, one: Order, other: Order) -> bool {
        match self {
            Self::Value(_) => false,
            Self::Record(record) => {
                one != other
                    && one != Order::Any
                    && other != Order::Any
                    && !record.is_in_wire_order()
            }
        }
    }

    fn step<R: Reader, W: Writer>(&self, reader: &mut R, writer: &mut W) -> Step<R, W> {
        match self {
            Self::Value(layout) => value(layout, reader, writer),
            Self::Record(record) => members(record, reader, writer),
        }
    }
}

/// Walks a whole.
pub(crate) fn whole<R: Reader, W: Writer>(
    subject: &Subject<'_>,
    reader: &mut R,
    writer: &mut W,
) -> Step<R, W> {
    let needs_graph = W::NEEDS_GRAPH && subject.has_classes();
    if needs_graph || subject.has_conflict(R::ORDER, W::ORDER) {
        let mut built = ValueWriter::default();
        subject
            .step(reader, &mut built)
            .map_err(|lost| unbuilt(*lost))?;
        end_reading(subject, reader)?;
        let built = built.into_value();
        return whole_value(subject, &built, writer).map_err(|lost| {
            lost.map(|cause| match cause {
                Cause::Read(error) => unreachable!("the value was built of the type: {error}"),
                Cause::Write(error) => Cause::Write(error),
            })
        });
    }
    subject.step(reader, writer)?;
    end_reading(subject, reader)?;
    writer.end(subject.has_untagged_classes()).map_err(written)
}

/// Walks a whole out of a value, whose instances are all there.
pub(crate) fn whole_value<'v, W: Writer>(
    subject: &Subject<'_>,
    whole: &'v Value,
    writer: &mut W,
) -> Step<ValueReader<'v>, W> {
    if subject.has_classes() && W::NEEDS_GRAPH {
        let mut found = Vec::new();
        links(whole, W::HAS_KEYS_ONCE, &mut found);
        writer.begin_graph(&found).map_err(written)?;
    }
    let mut reader = ValueReader::new(whole, W::HAS_KEYS_ONCE);
    subject.step(&mut reader, writer)?;
    writer.end(subject.has_untagged_classes()).map_err(written)
}

fn end_reading<R: Reader, W>(
    subject: &Subject<'_>,
    reader: &mut R,
) -> Result<(), Lost<R::Error, W>> {
    reader.end(subject.has_untagged_classes()).map_err(read)
}

fn unbuilt<R, W>(lost: Located<Cause<R, Infallible>>) -> Lost<R, W> {
    lost.map(|cause| match cause {
        Cause::Read(error) => Cause::Read(error),
        Cause::Write(never) => match never {},
    })
}

/// Walks one value inside a whole.
pub(crate) fn value<R: Reader, W: Writer>(
    layout: &Layout,
    reader: &mut R,
    writer: &mut W,
) -> Step<R, W> {
    match layout.shape() {
        Shape::Primitive(primitive) => self::primitive(*primitive, reader, writer),
        Shape::Enum(all) => {
            let index = reader.enumerator(layout, all).map_err(read)?;
            writer.enumerator(all, index).map_err(written)
        }
        Shape::Struct(record) => members(record, reader, writer),
        Shape::Bytes => {
            let bytes = reader.bytes(layout).map_err(read)?;
            writer.bytes(&bytes).map_err(written)
        }
        Shape::Sequence(element) => sequence(layout, element, reader, writer),
        Shape::Dictionary { key, value } => dictionary(layout, (key, value), reader, writer),
        Shape::Proxy => {
            let proxy = reader.proxy(layout).map_err(read)?;
            writer.proxy(proxy).map_err(written)
        }
        Shape::Class { .. } => {
            let link = reader.instance(layout).map_err(read)?;
            writer.instance(&link).map_err(written)
        }
        Shape::Unsupported => Err(read(reader.unsupported(layout))),
    }
}

#[inline]
fn primitive<R: Reader, W: Writer>(
    primitive: Primitive,
    reader: &mut R,
    writer: &mut W,
) -> Step<R, W> {
    let result = match primitive {
        Primitive::Bool => writer.bool(reader.bool().map_err(read)?),
        Primitive::Byte => writer.byte(reader.byte().map_err(read)?),
        Primitive::Short => writer.short(reader.short().map_err(read)?),
        Primitive::Int => writer.int(reader.int().map_err(read)?),
        Primitive::Long => writer.long(reader.long().map_err(read)?),
        Primitive::Float => writer.float(reader.float().map_err(read)?),
        Primitive::Double => writer.double(reader.double().map_err(read)?),
        Primitive::String => writer.string(&reader.string().map_err(read)?),
    };
    result.map_err(written)
}

/// Walks the members of a record, in the order that suits both formats.
pub(crate) fn members<R: Reader, W: Writer>(
    record: &Record,
    reader: &mut R,
    writer: &mut W,
) -> Step<R, W> {
    reader.begin_record(record).map_err(read)?;
    writer.begin_record(record).map_err(written)?;
    let is_wire = R::ORDER == Order::Wire || W::ORDER == Order::Wire;
    if is_wire && !record.is_in_wire_order() {
        for index in record.wire_order() {
            member(record, *index, reader, writer)?;
        }
    } else {
        for index in 0..record.members().len() {
            member(record, index, reader, writer)?;
        }
    }
    reader.end_record(record).map_err(read)?;
    writer.end_record(record).map_err(written)
}

fn member<R: Reader, W: Writer>(
    record: &Record,
    index: usize,
    reader: &mut R,
    writer: &mut W,
) -> Step<R, W> {
    let member = &record.members()[index];
    let mut step = || {
        if matches!(member.layout().shape(), Shape::Unsupported) {
            // Not even the tag of such a member is looked for.
            return value(member.layout(), reader, writer);
        }
        if !reader.begin_member(record, index).map_err(read)? {
            return writer.unset_member(record, index).map_err(written);
        }
        if writer.begin_member(record, index).map_err(written)? {
            value(member.layout(), reader, writer)?;
            writer.end_member(record, index).map_err(written)?;
        } else {
            value(member.layout(), reader, &mut Nowhere).map_err(|lost| unbuilt(*lost))?;
        }
        reader.end_member(record, index).map_err(read)
    };
    step().within(|| Segment::Member(Cow::Owned(member.name().to_owned())))
}

fn sequence<R: Reader, W: Writer>(
    layout: &Layout,
    element: &Layout,
    reader: &mut R,
    writer: &mut W,
) -> Step<R, W> {
    let count = reader.begin_sequence(layout, element).map_err(read)?;
    writer.begin_sequence(layout, count).map_err(written)?;
    for index in 0..count {
        let mut step = || {
            reader.begin_element(index).map_err(read)?;
            writer.begin_element(index).map_err(written)?;
            value(element, reader, writer)
        };
        step().within(|| Segment::Index(index))?;
    }
    reader.end_sequence().map_err(read)?;
    writer.end_sequence(layout).map_err(written)
}

fn dictionary<R: Reader, W: Writer>(
    layout: &Layout,
    (key, content): (&Layout, &Layout),
    reader: &mut R,
    writer: &mut W,
) -> Step<R, W> {
    let count = reader
        .begin_dictionary(layout, key, content)
        .map_err(read)?;
    writer.begin_dictionary(layout, count).map_err(written)?;
    for index in 0..count {
        let mut step = || {
            reader.begin_key(index).map_err(read)?;
            writer.begin_key(index).map_err(written)?;
            value(key, reader, writer)?;
            reader.begin_value(index).map_err(read)?;
            writer.begin_value(index).map_err(written)?;
            value(content, reader, writer)
        };
        step().within(|| Segment::Index(index))?;
    }
    reader.end_sequence().map_err(read)?;
    writer.end_dictionary(layout).map_err(written)
}

#[cold]
fn read<R, W>(error: R) -> Lost<R, W> {
    Located::new(Cause::Read(error))
}

#[cold]
fn written<R, W>(error: W) -> Lost<R, W> {
    Located::new(Cause::Write(error))
}

/// A writer of values that nobody wants: they are checked, and passed over.
pub(crate) struct Nowhere;

impl Writer for Nowhere {
    type Error = Infallible;
    const ORDER: Order = Order::Any;
    const NEEDS_GRAPH: bool = false;

    fn bool(&mut self, _: bool) -> Result<(), Infallible> {
        Ok(())
    }

    fn byte(&mut self, _: u8) -> Result<(), Infallible> {
        Ok(())
    }

    fn short(&mut self, _: i16) -> Result<(), Infallible> {
        Ok(())
    }

    fn int(&mut self, _: i32) -> Result<(), Infallible> {
        Ok(())
    }

    fn long(&mut self, _: i64) -> Result<(), Infallible> {
        Ok(())
    }

    fn float(&mut self, _: f32) -> Result<(), Infallible> {
        Ok(())
    }

    fn double(&mut self, _: f64) -> Result<(), Infallible> {
        Ok(())
    }

    fn string(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn bytes(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }

    fn enumerator(&mut self, _: &Enumeration, _: usize) -> Result<(), Infallible> {
        Ok(())
    }

    fn proxy(&mut self, _: Option<Cow<'_, Reference>>) -> Result<(), Infallible> {
        Ok(())
    }

    fn instance(&mut self, _: &Link<dyn AnyClass>) -> Result<(), Infallible> {
        Ok(())
    }

    fn begin_member(&mut self, _: &Record, _: usize) -> Result<bool, Infallible> {
        Ok(true)
    }

    fn begin_sequence(&mut self, _: &Layout, _: usize) -> Result<(), Infallible> {
        Ok(())
    }

    fn begin_dictionary(&mut self, _: &Layout, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}
