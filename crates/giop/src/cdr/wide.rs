//! Wide characters and strings, which are UTF-16 here.
//!
//! ```text
//! GIOP 1.1  wchar    2 bytes, aligned, in the byte order of the message
//!           wstring  ulong count of units with the NUL, units, NUL
//! GIOP 1.2  wchar    octet length, bytes
//!           wstring  ulong length in bytes, bytes; no NUL
//! ```
//!
//! In GIOP 1.2 the bytes are big-endian, unless they begin with a byte order mark. GIOP 1.0 has none of these.
//!
//! Source: CORBA 3.0.3, 15.3.1.6 and 15.3.2.7.

use super::{CodeSet, DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder, Version};

pub(super) fn decode_char(
    decoder: &mut Decoder<'_>,
    what: &'static str,
) -> Result<char, DecodeError> {
    let code_set = decodable(decoder, what)?;
    let here = decoder.clone();
    let text = match decoder.format().version {
        Version::V1_2 => {
            let len = decoder.octet(what)?;
            from_bytes(decoder.octets(len.into(), what)?)
        }
        _ => String::from_utf16(&[decoder.ushort(what)?]).ok(),
    };
    let mut characters = text.iter().flat_map(|text| text.chars());
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(here.error(what, DecodeErrorKind::InvalidText(code_set))),
    }
}

pub(super) fn decode_string(
    decoder: &mut Decoder<'_>,
    what: &'static str,
) -> Result<String, DecodeError> {
    let code_set = decodable(decoder, what)?;
    let here = decoder.clone();
    let text = match decoder.format().version {
        Version::V1_2 => from_bytes(decoder.octet_sequence(what)?),
        _ => {
            let count = decoder.count(2, usize::MAX, what)?;
            let units = (0..count).map(|_| decoder.ushort(what));
            let mut units = units.collect::<Result<Vec<_>, _>>()?;
            if units.pop() != Some(0) {
                return Err(here.error(what, DecodeErrorKind::NoNul));
            }
            String::from_utf16(&units).ok()
        }
    };
    match text {
        Some(text) if text.contains('\0') => Err(here.error(what, DecodeErrorKind::InnerNul)),
        Some(text) => Ok(text),
        None => Err(here.error(what, DecodeErrorKind::InvalidText(code_set))),
    }
}

fn decodable(decoder: &Decoder<'_>, what: &'static str) -> Result<CodeSet, DecodeError> {
    let format = decoder.format();
    match format.code_sets.wide {
        Some(set) if format.version > Version::V1_0 => match set {
            CodeSet::UTF_16 | CodeSet::UCS_2 => Ok(set),
            _ => Err(decoder.error(what, DecodeErrorKind::InvalidText(set))),
        },
        _ => Err(decoder.error(what, DecodeErrorKind::NoWideCodeSet)),
    }
}

fn from_bytes(bytes: &[u8]) -> Option<String> {
    let (is_little, bytes) = match bytes {
        [0xff, 0xfe, rest @ ..] => (true, rest),
        [0xfe, 0xff, rest @ ..] => (false, rest),
        _ => (false, bytes),
    };
    let (units, rest) = bytes.as_chunks::<2>();
    let unit = |unit: &[u8; 2]| match is_little {
        true => u16::from_le_bytes(*unit),
        false => u16::from_be_bytes(*unit),
    };
    let text = String::from_utf16(&units.iter().map(unit).collect::<Vec<_>>()).ok();
    text.filter(|_| rest.is_empty())
}

pub(super) fn encode_char(encoder: &mut Encoder, character: char) -> Result<(), EncodeError> {
    let code_set = encodable(encoder)?;
    let mut units = [0; 2];
    let units = &*character.encode_utf16(&mut units);
    match (encoder.format().version, units) {
        (Version::V1_2, _) => {
            let bytes = to_bytes(units.iter().copied());
            encoder.octet(bytes.len() as u8);
            encoder.octets(&bytes);
        }
        (_, [unit]) => encoder.ushort(*unit),
        _ => {
            return Err(EncodeError::NotInCodeSet {
                character,
                code_set,
            });
        }
    }
    Ok(())
}

pub(super) fn encode_string(encoder: &mut Encoder, text: &str) -> Result<(), EncodeError> {
    encodable(encoder)?;
    if text.contains('\0') {
        return Err(EncodeError::InnerNul);
    }
    match encoder.format().version {
        Version::V1_2 => encoder.octet_sequence(&to_bytes(text.encode_utf16())),
        _ => {
            encoder.len_of("wide string", text.encode_utf16().count() + 1)?;
            text.encode_utf16().for_each(|unit| encoder.ushort(unit));
            encoder.ushort(0);
            Ok(())
        }
    }
}

fn encodable(encoder: &Encoder) -> Result<CodeSet, EncodeError> {
    let format = encoder.format();
    match format.code_sets.wide {
        Some(set) if format.version > Version::V1_0 => Ok(set),
        _ => Err(EncodeError::NoWideCodeSet),
    }
}

/// Big-endian without a mark, but for a text that begins with what would be taken for one.
fn to_bytes(units: impl Iterator<Item = u16> + Clone) -> Vec<u8> {
    let is_mark = |unit: u16| unit == 0xfeff || unit == 0xfffe;
    let mark = units.clone().next().filter(|unit| is_mark(*unit));
    let mark = mark.map(|_| 0xfeff);
    mark.into_iter()
        .chain(units)
        .flat_map(u16::to_be_bytes)
        .collect()
}
