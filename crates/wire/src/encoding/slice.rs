//! Slices: what one class or exception of an inheritance chain adds, on the wire.
//!
//! Shared by user exceptions and class instances in encoding 1.1. A slice is a header (flags, type
//! id, size), the members, tagged members with an end marker, and an indirection table.
//!
//! Source: Ice manual, "Data Encoding for Classes".

use super::class::TableEntry;
use super::{DecodeError, DecodeErrorKind, Decoder, Encoder, tagged};

/// Which form the type id has: the low bits of the flags.
pub(super) const TYPE_ID_KIND: u8 = 0x03;
pub(super) const HAS_TAGGED: u8 = 0x04;
pub(super) const HAS_TABLE: u8 = 0x08;
pub(super) const HAS_SIZE: u8 = 0x10;
pub(super) const IS_LAST: u8 = 0x20;

/// Where tagged values are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagScope {
    /// At the end of the encapsulation.
    Parameters,
    /// In a slice, up to the end marker, if it has any.
    Slice { has_tagged: bool },
}

/// The flags of a slice, and where its members end if it says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) flags: u8,
    /// Position after the members, if the slice has a size.
    pub(super) end: Option<usize>,
}

impl Extent {
    pub(super) fn is_last(self) -> bool {
        self.flags & IS_LAST != 0
    }

    /// Reads the size, if `flags` say that there is one; the decoder then stands at the members.
    pub(super) fn read(
        decoder: &mut Decoder<'_>,
        flags: u8,
        what: &'static str,
    ) -> Result<Self, DecodeError> {
        let end = match flags & HAS_SIZE {
            0 => None,
            _ => Some(read_size(decoder, flags, what)?),
        };
        if flags & HAS_TABLE != 0 && end.is_none() {
            let kind = DecodeErrorKind::InvalidValue(i64::from(flags));
            return Err(decoder.error("flags of a slice with a table but no size", kind));
        }
        Ok(Self { flags, end })
    }
}

fn read_size(
    decoder: &mut Decoder<'_>,
    flags: u8,
    what: &'static str,
) -> Result<usize, DecodeError> {
    let start = decoder.position();
    let size = decoder.int(what)?;
    let least = if flags & HAS_TAGGED != 0 { 5 } else { 4 };
    let Some(size) = usize::try_from(size).ok().filter(|size| *size >= least) else {
        let kind = DecodeErrorKind::InvalidValue(i64::from(size));
        return Err(decoder.error_at(start, what, kind));
    };
    let (needed, remaining) = (size - 4, decoder.remaining());
    if needed > remaining {
        let kind = DecodeErrorKind::EndOfData { needed, remaining };
        return Err(decoder.error(what, kind));
    }
    Ok(decoder.position() + needed)
}

/// Reads the members of a slice at which the decoder stands, and all that belongs to it.
///
/// The indirection table stands after the members that refer to it, and is read first.
pub(super) fn read<'a, T>(
    decoder: &mut Decoder<'a>,
    extent: Extent,
    what: &'static str,
    members: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let has_tagged = extent.flags & HAS_TAGGED != 0;
    let (table, after) = read_table(decoder, extent)?;
    let has_table = table.is_some();
    let outer_table = decoder.replace_table(table);
    let outer_tags = decoder.replace_tag_scope(TagScope::Slice { has_tagged });
    let outer_bytes = extent.end.map(|end| decoder.narrow(end));

    let value = members(decoder)?;
    if has_tagged {
        tagged::skip_to_end_marker(decoder)?;
    }
    if let Some(bytes) = outer_bytes {
        if decoder.remaining() != 0 {
            let kind = DecodeErrorKind::TrailingBytes(decoder.remaining());
            return Err(decoder.error(what, kind));
        }
        decoder.widen(bytes);
    }
    decoder.replace_tag_scope(outer_tags);
    let is_used = decoder.restore_table(outer_table);
    if has_table && !is_used && !has_tagged {
        let kind = DecodeErrorKind::UnusedIndirectionTable;
        return Err(decoder.error(what, kind));
    }
    if let Some(after) = after {
        decoder.seek(after);
    }
    Ok(value)
}

/// The indirection table of a slice, and the position after it. The decoder stays where it is.
pub(super) fn read_table(
    decoder: &mut Decoder<'_>,
    extent: Extent,
) -> Result<(Option<Vec<TableEntry>>, Option<usize>), DecodeError> {
    let Some(end) = extent.end.filter(|_| extent.flags & HAS_TABLE != 0) else {
        return Ok((None, None));
    };
    let start = decoder.position();
    decoder.seek(end);
    let table = decoder.indirection_table()?;
    let after = decoder.position();
    decoder.seek(start);
    Ok((Some(table), Some(after)))
}

/// Writes a slice: `flags` and `type_id` in front, then what `members` writes.
pub(super) fn write(
    encoder: &mut Encoder<'_>,
    flags: u8,
    type_id: impl FnOnce(&mut Encoder<'_>),
    members: impl FnOnce(&mut Encoder<'_>),
) {
    let start = encoder.position();
    encoder.byte(flags);
    type_id(encoder);
    let is_sliced = flags & HAS_SIZE != 0;
    let size = is_sliced.then(|| encoder.begin_len());
    let outer = encoder.begin_slice(is_sliced);
    members(encoder);
    let (has_tagged, table) = encoder.end_slice(outer);
    let mut flags = flags;
    if has_tagged {
        encoder.byte(tagged::END_MARKER);
        flags |= HAS_TAGGED;
    }
    if let Some(size) = size {
        encoder.end_len(size, size);
    }
    if !table.is_empty() {
        encoder.indirection_table(table);
        flags |= HAS_TABLE;
    }
    encoder.patch(start, flags);
}
