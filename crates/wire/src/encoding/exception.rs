//! User exceptions: a list of slices, most derived first, each with the members of one type.
//!
//! Members of class types are references to instances. In encoding 1.0 the instances follow the
//! last slice; in the sliced format of 1.1 each slice has an indirection table.

use super::slice::{self, Extent, HAS_SIZE, IS_LAST};
use super::{
    ClassFormat, Classes, DecodeError, Decoder, Encoder, EncodingVersion, SliceId, UnknownSlice,
};

/// An exception declared in Slice.
pub trait UserException: std::error::Error + Sized {
    /// Its type id: `::Module::Name`.
    const TYPE_ID: &'static str;

    /// Writes the slice of this type and then those of its bases.
    fn encode_slices(&self, writer: &mut ExceptionWriter<'_, '_>);

    /// Reads the slice of this type, at the reader's position, and then those of its bases.
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
/// 1.0:  bool uses_classes, per slice: string type_id, i32 size, members; [class instances]
/// 1.1:  per slice: u8 flags, string type_id, [i32 size], members, [tagged members, FF], [table]
/// ```
///
/// Source: Ice manual, "Data Encoding for Exceptions". Vectors: `tests/vectors/exceptions.json`.
#[derive(Debug)]
pub struct ExceptionWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    format: ExceptionFormat,
    /// The position of the flag in encoding 1.0 that says whether class instances follow.
    uses_classes: Option<usize>,
}

impl<'e, 'b> ExceptionWriter<'e, 'b> {
    /// Starts an exception. Encoding 1.0 is always sliced, whatever the `format`.
    pub fn new(encoder: &'e mut Encoder<'b>, format: ExceptionFormat) -> Self {
        let is_1_0 = encoder.encoding() == EncodingVersion::V1_0;
        let uses_classes = is_1_0.then(|| {
            encoder.byte(0);
            encoder.position() - 1
        });
        encoder.set_class_format(match format {
            ExceptionFormat::Compact => ClassFormat::Compact,
            ExceptionFormat::Sliced => ClassFormat::Sliced,
        });
        Self {
            encoder,
            format,
            uses_classes,
        }
    }

    /// Writes the slices of an exception that has, or inherits, members of class types. In encoding
    /// 1.0 a flag in front says so, and the instances follow the slices.
    pub fn with_classes(&mut self, slices: impl FnOnce(&mut Self)) {
        if let Some(position) = self.uses_classes {
            self.encoder.patch(position, 1);
        }
        slices(self);
        self.encoder.finish_classes();
    }

    /// Writes slices from [`ExceptionReader::take_unknown`], in front of those of known types.
    ///
    /// Encoding 1.0 and the compact format cannot carry them.
    pub fn unknown_slices(&mut self, slices: &[UnknownSlice]) {
        let is_1_0 = self.encoder.encoding() == EncodingVersion::V1_0;
        if is_1_0 || self.format == ExceptionFormat::Compact {
            return;
        }
        for kept in slices {
            let SliceId::Name(type_id) = kept.id() else {
                continue;
            };
            self.slice(type_id, false, |encoder| encoder.kept_members(kept));
        }
    }

    /// Writes the slice of one type.
    pub fn slice(&mut self, type_id: &str, is_last: bool, members: impl FnOnce(&mut Encoder<'_>)) {
        if self.encoder.encoding() == EncodingVersion::V1_0 {
            self.encoder.string(type_id);
            let start = self.encoder.begin_len();
            members(self.encoder);
            return self.encoder.end_len(start, start);
        }
        let last = if is_last { IS_LAST } else { 0 };
        let size = match self.format {
            ExceptionFormat::Compact => 0,
            ExceptionFormat::Sliced => HAS_SIZE,
        };
        let write_type_id = |encoder: &mut Encoder<'_>| encoder.string(type_id);
        slice::write(self.encoder, last | size, write_type_id, members);
    }
}

/// Reads a user exception, slice by slice.
///
/// The caller looks at [`type_id`](Self::type_id), and skips slices of types that it does not know.
/// From the first known one on, it reads the [`members`](Self::members) of each type in the chain
/// of bases.
#[derive(Debug)]
pub struct ExceptionReader<'a> {
    decoder: Decoder<'a>,
    type_id: &'a str,
    extent: Extent,
    /// True if the members of the current slice have been read.
    is_read: bool,
    /// True if class instances follow the last slice. Encoding 1.0 only.
    has_instances: bool,
    /// The slices that were skipped; encoding 1.1 only.
    unknown: Vec<UnknownSlice>,
}

const WHAT: &str = "exception slice";

impl<'a> ExceptionReader<'a> {
    /// Starts at the first slice.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are not an exception.
    pub fn new(mut decoder: Decoder<'a>) -> Result<Self, DecodeError> {
        let is_1_0 = decoder.encoding() == EncodingVersion::V1_0;
        let has_instances = is_1_0 && decoder.get::<bool>()?;
        let mut reader = Self {
            decoder,
            type_id: "",
            extent: Extent {
                flags: 0,
                end: None,
            },
            is_read: false,
            has_instances,
            unknown: Vec::new(),
        };
        reader.next_slice()?;
        Ok(reader)
    }

    /// Adds classes that the reader can make instances of. Call it before reading or skipping a
    /// slice, because the instances of a slice are read before its members.
    pub fn know_classes(&mut self, classes: &'a dyn Classes) {
        self.decoder.know_classes(classes);
    }

    /// Type id of the current slice.
    pub fn type_id(&self) -> &'a str {
        self.type_id
    }

    /// Type id of the slice that [`members`](Self::members) reads next: the current one, or the one
    /// after it if its members have been read.
    ///
    /// # Errors
    /// [`DecodeError`] if that slice is malformed, or if there is none.
    pub fn next_type_id(&mut self) -> Result<&'a str, DecodeError> {
        if self.is_read {
            self.next_slice()?;
        }
        Ok(self.type_id)
    }

    /// Skips the current slice, and keeps it in encoding 1.1. Returns `false` if no slice follows,
    /// or if the slice has no size (compact format). The exception is then of an unknown type.
    ///
    /// # Errors
    /// [`DecodeError`] if the next slice is malformed.
    pub fn skip(&mut self) -> Result<bool, DecodeError> {
        let Some(end) = self.extent.end else {
            return Ok(false);
        };
        if self.decoder.encoding() == EncodingVersion::V1_0 {
            self.decoder.seek(end);
        } else {
            let id = SliceId::Name(self.type_id.into());
            let kept = self.decoder.unknown_slice(id, self.extent)?;
            self.unknown.push(kept);
        }
        if self.is_last() {
            return Ok(false);
        }
        match self.next_slice() {
            Ok(()) => Ok(true),
            // Encoding 1.0 does not mark the last slice, and the bytes after it are not a slice.
            Err(_) if self.has_instances => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The skipped slices, most derived first, for an exception that is declared
    /// `["preserve-slice"]`.
    pub fn take_unknown(&mut self) -> Vec<UnknownSlice> {
        std::mem::take(&mut self.unknown)
    }

    /// Reads the members of the current slice, or, if those have been read, of the next one.
    ///
    /// # Errors
    /// [`DecodeError`] from `read`, or if the slice does not end where its size says.
    pub fn members<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.next_type_id()?;
        let value = slice::read(&mut self.decoder, self.extent, WHAT, read)?;
        self.is_read = true;
        Ok(value)
    }

    /// Ends the exception: no slice may be left. In encoding 1.0 the class instances come here, and
    /// links are empty before.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TrailingBytes`](super::DecodeErrorKind::TrailingBytes), or as
    /// [`Decoder::finish_classes`].
    pub fn finish(mut self) -> Result<(), DecodeError> {
        if self.has_instances {
            self.decoder.finish_classes()?;
        }
        match self.decoder.encoding() {
            EncodingVersion::V1_0 => self.decoder.finish(),
            _ => self.decoder.finish_exact("user exception"),
        }
    }

    /// The flag is only a hint: it is absent in 1.0, and Ice for C++ does not set it in the compact
    /// format. The end of the encapsulation ends an exception for sure.
    ///
    /// Source: observed, Ice 3.7.8 for C++.
    fn is_last(&self) -> bool {
        self.extent.is_last() || self.decoder.remaining() == 0
    }

    fn next_slice(&mut self) -> Result<(), DecodeError> {
        let is_1_0 = self.decoder.encoding() == EncodingVersion::V1_0;
        let flags = if is_1_0 {
            HAS_SIZE
        } else {
            self.decoder.byte("exception slice flags")?
        };
        self.type_id = self.decoder.str("exception type id")?;
        self.is_read = false;
        self.extent = Extent::read(&mut self.decoder, flags, "exception slice size")?;
        Ok(())
    }
}
