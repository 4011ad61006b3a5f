//! User exceptions: a list of slices, most derived first, each with the members of one type.
//!
//! Exceptions with class members or tagged members are not written here yet; tagged members of a
//! peer are skipped, class members are refused.

use super::{DecodeError, DecodeErrorKind, Decoder, Encoder, EncodingVersion, tagged};

const HAS_TAGGED: u8 = 0x04;
const HAS_INDIRECTION_TABLE: u8 = 0x08;
const HAS_SIZE: u8 = 0x10;
const IS_LAST: u8 = 0x20;

/// An exception declared in Slice.
pub trait UserException: std::error::Error + Sized {
    /// Its type id: `::Module::Name`.
    const TYPE_ID: &'static str;

    /// Writes the slice of this type and then those of its bases.
    fn encode_slices(&self, writer: &mut ExceptionWriter<'_, '_>);

    /// Reads the slice of this type, at which the reader stands, and then those of its bases.
    ///
    /// # Errors
    /// [`DecodeError`] if a slice is malformed.
    fn decode_slices(reader: &mut ExceptionReader<'_>) -> Result<Self, DecodeError>;
}

/// The formats of a user exception in encoding 1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExceptionFormat {
    /// Without sizes: a receiver that does not know the type cannot read any of it.
    Compact,
    /// With the size of each slice: a receiver skips the types that it does not know.
    #[default]
    Sliced,
}

/// Writes a user exception, slice by slice.
///
/// ```text
/// 1.0:  bool uses_classes, then per slice: string type_id, i32 size, members
/// 1.1:  per slice: u8 flags, string type_id, [i32 size], members
/// ```
///
/// Source: Ice manual, "Data Encoding for Exceptions". Vectors: `tests/vectors/exceptions.json`.
#[derive(Debug)]
pub struct ExceptionWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    format: ExceptionFormat,
}

impl<'e, 'b> ExceptionWriter<'e, 'b> {
    /// Starts an exception; encoding 1.0 is always sliced, whatever the `format`.
    pub fn new(encoder: &'e mut Encoder<'b>, format: ExceptionFormat) -> Self {
        if encoder.encoding() == EncodingVersion::V1_0 {
            encoder.byte(0);
        }
        Self { encoder, format }
    }

    /// Writes the slice of one type.
    pub fn slice(&mut self, type_id: &str, is_last: bool, members: impl FnOnce(&mut Encoder<'_>)) {
        let has_size = self.format == ExceptionFormat::Sliced
            || self.encoder.encoding() == EncodingVersion::V1_0;
        if self.encoder.encoding() != EncodingVersion::V1_0 {
            let last = if is_last { IS_LAST } else { 0 };
            let size = if has_size { HAS_SIZE } else { 0 };
            self.encoder.byte(last | size);
        }
        self.encoder.string(type_id);
        if has_size {
            let start = self.encoder.begin_len();
            members(self.encoder);
            self.encoder.end_len(start, start);
        } else {
            members(self.encoder);
        }
    }
}

/// Reads a user exception, slice by slice.
///
/// The reader looks at [`type_id`](Self::type_id), skips slices of types that it does not know, and
/// from the first known one on reads the [`members`](Self::members) of each type of its chain.
#[derive(Debug)]
pub struct ExceptionReader<'a> {
    decoder: Decoder<'a>,
    type_id: &'a str,
    flags: u8,
    /// Whether the members of the current slice have been read.
    is_read: bool,
    /// Bytes that were left when the members ended, by the slice's own size.
    end_remaining: Option<usize>,
}

impl<'a> ExceptionReader<'a> {
    /// Starts at the first slice.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are no exception, or one with class members.
    pub fn new(mut decoder: Decoder<'a>) -> Result<Self, DecodeError> {
        if decoder.encoding() == EncodingVersion::V1_0 && decoder.get::<bool>()? {
            return Err(classes_not_supported(&decoder));
        }
        let mut reader = Self {
            decoder,
            type_id: "",
            flags: 0,
            is_read: false,
            end_remaining: None,
        };
        reader.next_slice()?;
        Ok(reader)
    }

    /// Type id of the current slice.
    pub fn type_id(&self) -> &'a str {
        self.type_id
    }

    /// Type id of the slice that [`members`](Self::members) reads next: the current one, or, if its
    /// members have been read, the one after it.
    ///
    /// # Errors
    /// [`DecodeError`] if that slice is malformed, or if there is none.
    pub fn next_type_id(&mut self) -> Result<&'a str, DecodeError> {
        if self.is_read {
            self.next_slice()?;
        }
        Ok(self.type_id)
    }

    /// Skips the current slice. `false` if no slice follows, or if the slice has no size (compact
    /// format): then the exception is of an unknown type.
    ///
    /// # Errors
    /// [`DecodeError`] if the next slice is malformed.
    pub fn skip(&mut self) -> Result<bool, DecodeError> {
        let Some(end_remaining) = self.end_remaining else {
            return Ok(false);
        };
        let rest = self.decoder.remaining() - end_remaining;
        self.decoder.bytes(rest, "exception slice")?;
        self.refuse_indirection_table()?;
        if self.is_last() {
            return Ok(false);
        }
        self.next_slice()?;
        Ok(true)
    }

    /// Reads the members of the current slice, or, if those have been read, of the next one.
    ///
    /// # Errors
    /// [`DecodeError`] from `read`, or if the slice does not end where it said.
    pub fn members<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.next_type_id()?;
        let value = read(&mut self.decoder)?;
        if self.flags & HAS_TAGGED != 0 {
            tagged::skip_to_end_marker(&mut self.decoder)?;
        }
        if let Some(end_remaining) = self.end_remaining
            && self.decoder.remaining() != end_remaining
        {
            let left = self.decoder.remaining().abs_diff(end_remaining);
            return Err(self
                .decoder
                .error("exception slice", DecodeErrorKind::TrailingBytes(left)));
        }
        self.refuse_indirection_table()?;
        self.is_read = true;
        Ok(value)
    }

    /// Ends the reading of the exception: no slice may be left.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TrailingBytes`].
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.decoder.encoding() {
            EncodingVersion::V1_0 => self.decoder.finish(),
            _ => self.decoder.finish_exact("user exception"),
        }
    }

    /// The flag is a hint only: it is absent in 1.0, and Ice for C++ does not set it in the compact
    /// format. What ends an exception for sure is the end of its encapsulation.
    ///
    /// Source: observed, Ice 3.7.8 for C++.
    fn is_last(&self) -> bool {
        self.flags & IS_LAST != 0 || self.decoder.remaining() == 0
    }

    fn next_slice(&mut self) -> Result<(), DecodeError> {
        let is_1_0 = self.decoder.encoding() == EncodingVersion::V1_0;
        self.flags = if is_1_0 {
            HAS_SIZE
        } else {
            self.decoder.byte("exception slice flags")?
        };
        self.type_id = self.decoder.str("exception type id")?;
        self.is_read = false;
        self.end_remaining = None;
        if self.flags & HAS_SIZE != 0 {
            self.end_remaining = Some(self.slice_end()?);
        }
        Ok(())
    }

    fn slice_end(&mut self) -> Result<usize, DecodeError> {
        let start = self.decoder.clone();
        let size = self.decoder.int("exception slice size")?;
        let Some(body) = usize::try_from(size)
            .ok()
            .and_then(|size| size.checked_sub(4))
        else {
            let kind = DecodeErrorKind::InvalidValue(i64::from(size));
            return Err(start.error("exception slice size", kind));
        };
        let remaining = self.decoder.remaining();
        remaining.checked_sub(body).ok_or_else(|| {
            let kind = DecodeErrorKind::EndOfData {
                needed: body,
                remaining,
            };
            self.decoder.error("exception slice", kind)
        })
    }

    fn refuse_indirection_table(&self) -> Result<(), DecodeError> {
        if self.flags & HAS_INDIRECTION_TABLE != 0 {
            return Err(classes_not_supported(&self.decoder));
        }
        Ok(())
    }
}

fn classes_not_supported(decoder: &Decoder<'_>) -> DecodeError {
    decoder.error(
        "user exception",
        DecodeErrorKind::NotSupported("class members"),
    )
}
