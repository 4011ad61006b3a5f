//! The values that the benchmarks encode and decode, in the shapes that code generation gives.
//!
//! The scenario `codec` of the lab has the published values, and the peers; here are values of the
//! same kinds and about the same sizes that need no contract and no file.

use floe_wire::encoding::{Packed, packed_len};
use floe_wire::{Decode, DecodeError, Decoder, Encode, Encoder, EncodingVersion, View};

/// 16 bytes of fixed size.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Inner {
    pub(crate) l: i64,
    pub(crate) d: f64,
}

/// A record of records.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outer {
    pub(crate) inner: Vec<Inner>,
}

/// A record of records, in place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OuterView<'a> {
    pub(crate) inner: Packed<'a, Inner>,
}

/// Short strings and small numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Entry {
    pub(crate) authors: Vec<String>,
    pub(crate) title: String,
    pub(crate) journal: String,
    pub(crate) year: i16,
    pub(crate) publisher: String,
    pub(crate) hyperlink: String,
}

/// Short strings and small numbers, in place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EntryView<'a> {
    pub(crate) authors: Vec<&'a str>,
    pub(crate) title: &'a str,
    pub(crate) journal: &'a str,
    pub(crate) year: i16,
    pub(crate) publisher: &'a str,
    pub(crate) hyperlink: &'a str,
}

macro_rules! structure {
    ($name:ident, $($member:ident: $type:ty),+) => {
        impl Encode for $name {
            #[inline]
            fn encode(&self, encoder: &mut Encoder<'_>) {
                $(encoder.put(&self.$member);)+
            }
        }

        impl Decode for $name {
            const MIN_WIRE_LEN: usize = 0 $(+ <$type as Decode>::MIN_WIRE_LEN)+;
            const PACKED_LEN: Option<usize> = packed_len(&[$(<$type as Decode>::PACKED_LEN),+]);

            #[inline]
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Ok(Self { $($member: decoder.get()?,)+ })
            }

            fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
                $(decoder.get_into(&mut self.$member)?;)+
                Ok(())
            }
        }
    };
}

structure!(Inner, l: i64, d: f64);
structure!(Outer, inner: Vec<Inner>);
structure!(
    Entry,
    authors: Vec<String>,
    title: String,
    journal: String,
    year: i16,
    publisher: String,
    hyperlink: String
);

macro_rules! view {
    ($name:ident of $owned:ident, $($member:ident),+) => {
        impl<'a> View<'a> for $name<'a> {
            type Owned = $owned;

            const MIN_WIRE_LEN: usize = <$owned as Decode>::MIN_WIRE_LEN;

            #[inline]
            fn decode_view(decoder: &mut Decoder<'a>) -> Result<Self, DecodeError> {
                Ok(Self { $($member: decoder.view()?,)+ })
            }

            fn into_owned(self) -> $owned {
                $owned { $($member: self.$member.into_owned(),)+ }
            }
        }
    };
}

view!(OuterView of Outer, inner);
view!(EntryView of Entry, authors, title, journal, year, publisher, hyperlink);

/// 65,536 bytes.
pub(crate) fn bytes() -> Vec<u8> {
    (0..65_536_usize).map(|index| (index * 31) as u8).collect()
}

/// 100,000 doubles.
pub(crate) fn doubles() -> Vec<f64> {
    (0..100_000).map(|index| f64::from(index) * 0.001).collect()
}

/// 1,024 records of 4: 66,565 bytes.
pub(crate) fn nested() -> Vec<Outer> {
    let inner = |number: i64| Inner {
        l: number,
        d: number as f64 * 0.25,
    };
    let outer = |record: i64| Outer {
        inner: (0..4).map(|index| inner(record * 4 + index)).collect(),
    };
    (0..1024).map(outer).collect()
}

/// 116 lines of up to 72 bytes.
pub(crate) fn text() -> Vec<String> {
    let line =
        |number: usize| "many words to a line, and ".repeat(3)[..number * 17 % 73].to_owned();
    (0..116).map(line).collect()
}

/// 75 entries with 12 strings or fewer, of which some are empty.
pub(crate) fn bibliography() -> Vec<Entry> {
    let words =
        |len: usize| "A Survey of Bytes and Their Meaning, Revised".repeat(2)[..len].to_owned();
    let entry = |number: usize| Entry {
        authors: (0..number % 4 + 1)
            .map(|author| words(6 + author))
            .collect(),
        title: words(30 + number % 40),
        journal: words(number % 30),
        year: 1950 + number as i16,
        publisher: words(number % 2 * 12),
        hyperlink: words(number % 3 * 20),
    };
    (0..75).map(entry).collect()
}

/// The bytes of a value in encoding 1.1.
pub(crate) fn encoded<T: Encode>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(value, &mut bytes);
    bytes
}

/// Replaces what is in the buffer.
pub(crate) fn encode<T: Encode>(value: &T, buffer: &mut Vec<u8>) {
    buffer.clear();
    let mut encoder = Encoder::new(buffer, EncodingVersion::V1_1);
    encoder.put(value);
    encoder.finish().expect("a value that has an encoding");
}

/// Reads a value that owns all that is in it.
pub(crate) fn decode<T: Decode>(bytes: &[u8]) -> T {
    decoder(bytes).get().expect("bytes of the type")
}

/// Reads a value over another.
pub(crate) fn decode_into<T: Decode>(value: &mut T, bytes: &[u8]) {
    decoder(bytes).get_into(value).expect("bytes of the type");
}

/// Reads a value in place.
pub(crate) fn view<'a, V: View<'a>>(bytes: &'a [u8]) -> V {
    decoder(bytes).view().expect("bytes of the type")
}

fn decoder(bytes: &[u8]) -> Decoder<'_> {
    Decoder::new(bytes, EncodingVersion::V1_1)
}
