//! Reads Ice's encoding.

use std::any::Any;
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::sync::Mutex;

use floe_wire::encoding::{AnyClass, CLASS_MEMORY_PER_BYTE, Link, TaggedScope};
use floe_wire::reference::Reference;
use floe_wire::{Decode, DecodeError, DecodeErrorKind, Decoder, Encapsulation};

use crate::path::{Located, Path, Segment};
use crate::value::ValueWriter;
use crate::walk::{Cause, Subject, members, whole};
use crate::{
    Contract, Enumeration, Instance, Layout, MAX_DEPTH, Order, Reader, Record, Shape, Value, Writer,
};

/// The most memory that decoding to a [`Value`] takes for each byte of input, whatever the bytes say.
///
/// Each level of a type holds at most one [`Value`] for each byte, in a list that grows as values
/// come (so it is at most three times as long while it grows); strings and byte sequences are no
/// longer than their bytes, which the last level pays for; a class instance takes at least a byte.
/// The memory of the type itself, such as the members of a struct or class, comes on top: that is the
/// contract's doing and not the sender's.
pub const MAX_MEMORY_PER_BYTE: usize =
    3 * size_of::<Value>() * (MAX_DEPTH + 1) + CLASS_MEMORY_PER_BYTE + size_of::<Instance>();

/// Reads values in Ice's encoding, without a copy.
///
/// ```
/// use floe_dynamic::{Contract, IceReader, JsonWriter, walk};
/// use floe_slice::check_source;
/// use floe_wire::{Decoder, EncodingVersion};
///
/// let contract = Contract::new(check_source(b"module M { struct P { int x; string s; } }").model);
/// let layout = contract.layout_of(contract.data_type("M::P")?);
/// let mut decoder = Decoder::new(b"\x07\0\0\0\x02hi", EncodingVersion::V1_1);
/// let mut json = JsonWriter::new(&contract);
/// walk(&layout, &mut IceReader::new(&contract, &mut decoder), &mut json)?;
/// assert_eq!(json.into_text(), r#"{"x":7,"s":"hi"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IceReader<'d, 'a> {
    decoder: &'d mut Decoder<'a>,
    /// The contract, until its classes are needed.
    contract: Option<&'a Contract>,
    /// The optional value that is being read. There is none in another: optional are only members of classes, which are
    /// read by readers of their own, and parameters.
    tagged: Option<TaggedScope<'a>>,
}

/// Bytes that are no value of the expected type, and where in class instances they were found.
pub struct IceReadError(Box<Located<DecodeError>>);

impl IceReadError {
    /// The error in the bytes.
    pub fn error(&self) -> &DecodeError {
        &self.0.error
    }
}

impl From<DecodeError> for IceReadError {
    #[cold]
    fn from(error: DecodeError) -> Self {
        Self(Located::new(error))
    }
}

impl fmt::Debug for IceReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl fmt::Display for IceReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl std::error::Error for IceReadError {}

impl<'d, 'a> IceReader<'d, 'a> {
    /// A reader that makes instances of the classes of a contract.
    pub fn new(contract: &'a Contract, decoder: &'d mut Decoder<'a>) -> Self {
        Self {
            contract: Some(contract),
            ..Self::inside(decoder)
        }
    }

    /// A reader for what is inside an instance or exception, whose decoder knows its classes.
    fn inside(decoder: &'d mut Decoder<'a>) -> Self {
        Self {
            decoder,
            contract: None,
            tagged: None,
        }
    }

    /// Tells the decoder of the classes, which takes memory: before the first instance that may come.
    fn know_classes(&mut self) {
        if let Some(contract) = self.contract.take() {
            self.decoder.know_classes(contract.classes());
        }
    }

    #[inline]
    fn get<T: Decode>(&mut self) -> Result<T, IceReadError> {
        self.decoder.get().map_err(IceReadError::from)
    }
}

impl Reader for IceReader<'_, '_> {
    type Error = IceReadError;
    const ORDER: Order = Order::Wire;

    fn unsupported(&mut self, _layout: &Layout) -> IceReadError {
        let kind = DecodeErrorKind::NotSupported("values of this type");
        self.decoder.error("value", kind).into()
    }

    #[inline]
    fn bool(&mut self) -> Result<bool, IceReadError> {
        self.get()
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, IceReadError> {
        self.get()
    }

    #[inline]
    fn short(&mut self) -> Result<i16, IceReadError> {
        self.get()
    }

    #[inline]
    fn int(&mut self) -> Result<i32, IceReadError> {
        self.get()
    }

    #[inline]
    fn long(&mut self) -> Result<i64, IceReadError> {
        self.get()
    }

    #[inline]
    fn float(&mut self) -> Result<f32, IceReadError> {
        self.get()
    }

    #[inline]
    fn double(&mut self) -> Result<f64, IceReadError> {
        self.get()
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'_, str>, IceReadError> {
        let text = self.decoder.str("string")?;
        Ok(Cow::Borrowed(text))
    }

    fn bytes(&mut self, _layout: &Layout) -> Result<Cow<'_, [u8]>, IceReadError> {
        let count = self.decoder.count(1, "sequence")?;
        Ok(Cow::Borrowed(self.decoder.bytes(count, "sequence")?))
    }

    fn enumerator(&mut self, _layout: &Layout, all: &Enumeration) -> Result<usize, IceReadError> {
        let start = self.decoder.position();
        let value = all.width.decode(self.decoder, "enumerator")?;
        let found = all.position(value);
        found.ok_or_else(|| {
            // The error names where the enumerator begins.
            let mut error = self
                .decoder
                .error("enumerator", DecodeErrorKind::UnknownEnumerator(value));
            error.offset -= self.decoder.position() - start;
            error.into()
        })
    }

    fn proxy(&mut self, _layout: &Layout) -> Result<Option<Cow<'_, Reference>>, IceReadError> {
        let proxy = self.get::<Option<Reference>>()?;
        Ok(proxy.map(Cow::Owned))
    }

    fn instance(&mut self, layout: &Layout) -> Result<Link<dyn AnyClass>, IceReadError> {
        self.know_classes();
        let link = match layout.shape() {
            Shape::Class {
                type_id: Some(type_id),
                ..
            } => self.decoder.class_link(type_id),
            _ => self.decoder.get(),
        };
        link.map_err(|error| Trail::follow(self.decoder.context(), error))
    }

    #[inline]
    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, IceReadError> {
        let member = &record.members()[index];
        let Some(tag) = member.tag() else {
            return Ok(true);
        };
        let shape = member.layout().tag;
        let opened = self
            .decoder
            .open_tagged(tag, shape.format, shape.has_len_in_front)?;
        self.tagged = opened;
        Ok(self.tagged.is_some())
    }

    #[inline]
    fn end_member(&mut self, record: &Record, index: usize) -> Result<(), IceReadError> {
        // The members of a struct that is optional itself end before it does.
        if record.members()[index].tag().is_some()
            && let Some(scope) = self.tagged.take()
        {
            self.decoder.close_tagged(scope)?;
        }
        Ok(())
    }

    #[inline]
    fn begin_sequence(
        &mut self,
        _layout: &Layout,
        element: &Layout,
    ) -> Result<usize, IceReadError> {
        let len = element.min_wire_len;
        Ok(self.decoder.count(len, "sequence")?)
    }

    fn begin_dictionary(
        &mut self,
        _layout: &Layout,
        key: &Layout,
        value: &Layout,
    ) -> Result<usize, IceReadError> {
        let len = key.min_wire_len.saturating_add(value.min_wire_len);
        Ok(self.decoder.count(len, "dictionary")?)
    }

    /// Reads the class instances that follow in encoding 1.0.
    fn end(&mut self, has_classes: bool) -> Result<(), IceReadError> {
        if has_classes {
            self.know_classes();
            let finished = self.decoder.finish_classes();
            finished.map_err(|error| Trail::follow(self.decoder.context(), error))?;
        }
        Ok(())
    }
}

/// Bytes that are no value of the expected type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeValueError {
    /// Which part of the value: `params.items[3].name`.
    pub path: String,
    /// The error in its bytes.
    pub error: DecodeError,
}

impl fmt::Display for DecodeValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.error)
    }
}

impl std::error::Error for DecodeValueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl DecodeValueError {
    /// An error of a whole list of values.
    pub(crate) fn at_root(root: &'static str, error: DecodeError) -> Self {
        let path = Path::new(root).to_string();
        Self { path, error }
    }

    /// An error whose path begins with its first member, which stands for the root.
    pub(crate) fn without_root(located: Located<DecodeError>) -> Self {
        let mut located = Self::located(located, "");
        located.path.remove(0);
        located
    }

    pub(crate) fn located(located: Located<DecodeError>, root: &'static str) -> Self {
        let (path, error) = located.resolve(root);
        let path = path.to_string();
        Self { path, error }
    }
}

/// Walks a whole out of a decoder.
pub(crate) fn decode_whole<'a, W: Writer<Error = Infallible>>(
    contract: &'a Contract,
    subject: &Subject<'_>,
    decoder: &mut Decoder<'a>,
    writer: &mut W,
) -> Result<(), Box<Located<DecodeError>>> {
    let mut reader = IceReader::new(contract, decoder);
    whole(subject, &mut reader, writer).map_err(|lost| unwritten(*lost))
}

/// Reads the values of the members of one slice of a class or exception.
pub(crate) fn decode_slots(
    record: &Record,
    decoder: &mut Decoder<'_>,
) -> Result<Vec<Value>, Box<Located<DecodeError>>> {
    let mut writer = ValueWriter::default();
    members(record, &mut IceReader::inside(decoder), &mut writer)
        .map_err(|lost| unwritten(*lost))?;
    Ok(writer.into_members())
}

/// The error in the bytes, with the whole path.
fn unwritten(lost: Located<Cause<IceReadError, Infallible>>) -> Box<Located<DecodeError>> {
    let (cause, outer) = lost.into_parts();
    match cause {
        Cause::Read(IceReadError(inner)) => {
            let (error, mut segments) = inner.into_parts();
            segments.extend(outer);
            Located::from_parts(error, segments)
        }
        Cause::Write(never) => match never {},
    }
}

/// Where in a class instance decoding failed: the path from there to the reference that led to the
/// instance, which the decoder between them does not carry. It is the context of a decoder.
#[derive(Debug, Default)]
pub(crate) struct Trail(Mutex<Vec<Segment<'static>>>);

impl Trail {
    /// Leaves the path behind.
    pub(crate) fn leave(
        context: Option<&(dyn Any + Send + Sync)>,
        located: Located<DecodeError>,
    ) -> DecodeError {
        let (error, segments) = located.into_parts();
        if let Some(Self(trail)) = context.and_then(|context| context.downcast_ref())
            && let Ok(mut trail) = trail.lock()
        {
            *trail = segments;
        }
        error
    }

    /// Takes up the path that was left, if any was.
    #[cold]
    pub(crate) fn follow(
        context: Option<&(dyn Any + Send + Sync)>,
        error: DecodeError,
    ) -> IceReadError {
        let trail = context.and_then(|context| context.downcast_ref());
        let segments = trail.and_then(|Self(trail)| Some(std::mem::take(&mut *trail.lock().ok()?)));
        IceReadError(Located::from_parts(error, segments.unwrap_or_default()))
    }
}

impl From<IceReadError> for Box<Located<DecodeError>> {
    fn from(error: IceReadError) -> Self {
        error.0
    }
}

/// A decoder for the payload of an encapsulation, unless the header of that makes no sense.
pub(crate) type Opened<'a> = Result<Decoder<'a>, DecodeError>;

/// A decoder for the payload of an encapsulation that stands alone.
pub(crate) fn open(encapsulation: &[u8]) -> Opened<'_> {
    Encapsulation::parse(encapsulation)?.decoder()
}
