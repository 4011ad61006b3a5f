//! Writes Ice's encoding.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;

use floe_wire::encoding::{AnyClass, ClassFormat, Link, Nilable, TagFormat, TaggedStart};
use floe_wire::reference::Reference;
use floe_wire::{EncodeError, Encoder, EncodingVersion};

use crate::path::Located;
use crate::value::ValueReader;
use crate::walk::{Cause, Subject, members, whole_value};
use crate::{Enumeration, Layout, Order, Record, Shape, Value, Writer};

/// Writes values in Ice's encoding.
///
/// A value that has no bytes, such as a sequence too long for its size, is noted by the encoder, whose
/// [`finish`](Encoder::finish) tells of it.
#[derive(Debug)]
pub struct IceWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    /// The optional value that is being written; see [`IceReader`](crate::IceReader) for why there is one at most.
    tagged: Option<TaggedStart>,
    /// True if the number of bytes of the sequence or dictionary that follows stands in front of it.
    has_len_in_front: bool,
}

impl<'e, 'b> IceWriter<'e, 'b> {
    /// A writer that appends to what an encoder has. Instances are written in the encoder's class format.
    pub fn new(encoder: &'e mut Encoder<'b>) -> Self {
        Self {
            encoder,
            tagged: None,
            has_len_in_front: false,
        }
    }

    /// Begins a sequence or dictionary; each entry has so many bytes.
    #[inline]
    fn begin_counted(&mut self, count: usize, part_len: Option<usize>) {
        if std::mem::take(&mut self.has_len_in_front) {
            let size_len = if count < 255 { 1 } else { 5 };
            self.encoder
                .size(size_len + count * part_len.unwrap_or_default());
        }
        self.encoder.size(count);
    }
}

impl Writer for IceWriter<'_, '_> {
    type Error = Infallible;
    const ORDER: Order = Order::Wire;

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), Infallible> {
        self.encoder.byte(u8::from(value));
        Ok(())
    }

    #[inline]
    fn byte(&mut self, value: u8) -> Result<(), Infallible> {
        self.encoder.byte(value);
        Ok(())
    }

    #[inline]
    fn short(&mut self, value: i16) -> Result<(), Infallible> {
        self.encoder.bytes(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn int(&mut self, value: i32) -> Result<(), Infallible> {
        self.encoder.int(value);
        Ok(())
    }

    #[inline]
    fn long(&mut self, value: i64) -> Result<(), Infallible> {
        self.encoder.bytes(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn float(&mut self, value: f32) -> Result<(), Infallible> {
        self.encoder.bytes(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn double(&mut self, value: f64) -> Result<(), Infallible> {
        self.encoder.bytes(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn string(&mut self, text: &str) -> Result<(), Infallible> {
        self.encoder.string(text);
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.encoder.size(bytes.len());
        self.encoder.bytes(bytes);
        Ok(())
    }

    fn enumerator(&mut self, all: &Enumeration, index: usize) -> Result<(), Infallible> {
        all.width.encode(all.value(index), self.encoder);
        Ok(())
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), Infallible> {
        Nilable::encode_nilable(proxy.as_deref(), self.encoder);
        Ok(())
    }

    fn instance(&mut self, link: &Link<dyn AnyClass>) -> Result<(), Infallible> {
        self.encoder.put(link);
        Ok(())
    }

    #[inline]
    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, Infallible> {
        let member = &record.members()[index];
        let Some(tag) = member.tag() else {
            return Ok(true);
        };
        let layout = member.layout();
        self.tagged = self.encoder.open_tagged(tag, layout.tag.format);
        if self.tagged.is_some()
            && layout.tag.has_len_in_front
            && layout.tag.format == TagFormat::VSize
        {
            match (layout.fixed_len, layout.shape()) {
                (Some(len), _) => self.encoder.size(len),
                // A string starts with its length, and all others with their count, of which the length follows.
                (None, Shape::Sequence(_) | Shape::Dictionary { .. }) => {
                    self.has_len_in_front = true;
                }
                (None, _) => {}
            }
        }
        Ok(self.tagged.is_some())
    }

    #[inline]
    fn end_member(&mut self, record: &Record, index: usize) -> Result<(), Infallible> {
        // The members of a struct that is optional itself end before it does.
        if record.members()[index].tag().is_some()
            && let Some(start) = self.tagged.take()
        {
            self.encoder.close_tagged(start);
        }
        Ok(())
    }

    #[inline]
    fn begin_sequence(&mut self, layout: &Layout, count: usize) -> Result<(), Infallible> {
        let part_len = match layout.shape() {
            Shape::Sequence(element) => element.fixed_len,
            _ => None,
        };
        self.begin_counted(count, part_len);
        Ok(())
    }

    fn begin_dictionary(&mut self, layout: &Layout, count: usize) -> Result<(), Infallible> {
        let part_len = match layout.shape() {
            Shape::Dictionary { key, value } => TagFormat::sum(key.fixed_len, value.fixed_len),
            _ => None,
        };
        self.begin_counted(count, part_len);
        Ok(())
    }

    /// Writes the class instances that follow in encoding 1.0.
    fn end(&mut self, has_classes: bool) -> Result<(), Infallible> {
        if has_classes {
            self.encoder.finish_classes();
        }
        Ok(())
    }
}

/// A value that does not fit the type as which it is to be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeValueError {
    /// Which part of the value: `value.items[3].name`.
    pub path: String,
    /// The kind of error.
    pub kind: EncodeValueErrorKind,
}

/// A reason why a value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeValueErrorKind {
    /// The value is of another kind than its type.
    Mismatch {
        /// The type, as written in Slice.
        expected: String,
        /// The kind of the value, or the class of an instance.
        found: String,
    },
    /// The value has no encoding.
    Encode(EncodeError),
}

impl fmt::Display for EncodeValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}

impl fmt::Display for EncodeValueErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { expected, found } => write!(f, "expected {expected}, got {found}"),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EncodeValueError {}
impl std::error::Error for EncodeValueErrorKind {}

impl EncodeValueError {
    pub(crate) fn located(located: Located<EncodeValueErrorKind>, root: &'static str) -> Self {
        let (path, kind) = located.resolve(root);
        let path = path.to_string();
        Self { path, kind }
    }
}

pub(crate) type Failure = Box<Located<EncodeValueErrorKind>>;

/// Appends a value and all class instances that belong to it. After an error the bytes have no meaning.
pub(crate) fn encode_whole(
    subject: &Subject<'_>,
    value: &Value,
    encoder: &mut Encoder<'_>,
) -> Result<(), Failure> {
    let walked = whole_value(subject, value, &mut IceWriter::new(encoder));
    walked.map_err(|lost| lost.map(Cause::only_read))
}

/// Appends the values of the members of one slice of a class or exception.
pub(crate) fn encode_slots(
    record: &Record,
    values: &[Value],
    encoder: &mut Encoder<'_>,
) -> Result<(), Failure> {
    let mut reader = ValueReader::of_members(values, false);
    let walked = members(record, &mut reader, &mut IceWriter::new(encoder));
    walked.map_err(|lost| lost.map(Cause::only_read))
}

/// A whole encapsulation with what `body` writes.
pub(crate) fn encapsulation<E>(
    encoding: EncodingVersion,
    format: ClassFormat,
    body: impl FnOnce(&mut Encoder<'_>) -> Result<(), E>,
) -> Result<Result<Vec<u8>, EncodeError>, E> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    let mut result = Ok(());
    encoder.encapsulation(encoding, |encoder| {
        encoder.set_class_format(format);
        result = body(encoder);
    });
    result?;
    let finished = encoder.finish();
    Ok(finished.map(|()| bytes))
}
