//! The values that are encoded and decoded: the same for every contender.

use std::fmt::Write;

use floe::encoding::{Decode, Decoder, Encode, Encoder};
use floe::{DecodeError, EncodeError, EncodingVersion};
use serde_json::Value as Json;

use super::contract::floe_lab::{Author, Bibliography, Bytes, Doubles, Entry, Inner, Lines, Outer};
use super::contract::floe_lab::{OuterSeq, PageRange};

/// A value of one of the published types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Bytes(Bytes),
    Doubles(Doubles),
    Nested(OuterSeq),
    Text(Lines),
    Bibliography(Bibliography),
}

impl Value {
    /// The value that the cases `NAME/encode` and `NAME/decode` are about.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name.split_once('-') {
            Some(("bytes", count)) => Some(Self::Bytes(bytes(count.parse().ok()?))),
            Some(("doubles", count)) => Some(Self::Doubles(doubles(count.parse().ok()?))),
            Some(_) => None,
            None => match name {
                "nested" => Some(Self::Nested(records(RECORDS))),
                "text" => Some(Self::Text(text())),
                "bibliography" => Some(Self::Bibliography(bibliography())),
                _ => None,
            },
        }
    }

    /// Its bytes in the Ice encoding, without an encapsulation around them.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        match self {
            Self::Bytes(value) => encode(value, &mut bytes),
            Self::Doubles(value) => encode(value, &mut bytes),
            Self::Nested(value) => encode(value, &mut bytes),
            Self::Text(value) => encode(value, &mut bytes),
            Self::Bibliography(value) => encode(value, &mut bytes),
        }?;
        Ok(bytes)
    }
}

/// Replaces what is in the buffer.
pub(super) fn encode<T: Encode>(value: &T, buffer: &mut Vec<u8>) -> Result<(), EncodeError> {
    buffer.clear();
    let mut encoder = Encoder::new(buffer, EncodingVersion::V1_1);
    encoder.put(value);
    encoder.finish()
}

/// Makes a value that owns all that is in it.
pub(super) fn decode<T: Decode>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let value = decoder.get()?;
    decoder.finish()?;
    Ok(value)
}

/// No two neighbours are equal, so that a lost or moved byte is noticed.
pub(crate) fn bytes(count: usize) -> Bytes {
    (0..count)
        .map(|index| (index * 31 + index / 256) as u8)
        .collect()
}

/// Numbers that need all their digits.
pub(crate) fn doubles(count: usize) -> Doubles {
    (0..count).map(|index| index as f64 * 0.001).collect()
}

/// So many records, each with a sequence of 4 of an integer and a double.
pub(crate) fn records(count: usize) -> OuterSeq {
    let inner = |number: usize| Inner {
        l: number as i64,
        d: number as f64 * 0.25,
    };
    let outer = |record: usize| Outer {
        inner: (0..4).map(|index| inner(record * 4 + index)).collect(),
    };
    (0..count).map(outer).collect()
}

pub(crate) fn text() -> Lines {
    TEXT.lines().map(str::to_owned).collect()
}

pub(crate) fn bibliography() -> Bibliography {
    let json: Json = serde_json::from_str(BIBLIOGRAPHY).expect("the data file is JSON");
    items(&json).iter().map(entry).collect()
}

fn entry(json: &Json) -> Entry {
    Entry {
        authors: items(&json["authors"]).iter().map(author).collect(),
        title: string(&json["title"]),
        journal: string(&json["journal"]),
        year: short(&json["year"]),
        publisher: string(&json["publisher"]),
        location: string(&json["location"]),
        edition: string(&json["edition"]),
        hyperlink: string(&json["hyperlink"]),
        volume: short(&json["volume"]),
        issue: short(&json["issue"]),
        page: PageRange {
            start: short(&json["page"]["start"]),
            end: short(&json["page"]["end"]),
        },
    }
}

fn author(json: &Json) -> Author {
    Author {
        lastname: string(&json["lastname"]),
        initials: string(&json["initials"]),
    }
}

fn items(json: &Json) -> &[Json] {
    json.as_array().expect("an array in the data file")
}

fn string(json: &Json) -> String {
    json.as_str().expect("a string in the data file").to_owned()
}

fn short(json: &Json) -> i16 {
    let number = json.as_i64().and_then(|number| number.try_into().ok());
    number.expect("a short in the data file")
}

/// The text and the bibliography as a C++ header, with their types: see `contenders/codec.hpp`, which includes it.
pub(in crate::contender) fn cpp_header() -> (&'static str, String) {
    let mut header = "// Made from the lab's data files.\n\n#pragma once\n\n".to_owned();
    header.push_str(include_str!("../../../contenders/values.hpp"));
    header.push_str("inline const std::vector<std::string> TEXT = {\n");
    for line in text() {
        // Here and below: writing to a string cannot fail.
        let _ = writeln!(header, "    {},", literal(&line));
    }
    header.push_str("};\n\ninline const std::vector<Entry> BIBLIOGRAPHY = {\n");
    for entry in bibliography() {
        let _ = writeln!(header, "    {},", cpp_entry(&entry));
    }
    header.push_str("};\n");
    ("data.hpp", header)
}

fn cpp_entry(entry: &Entry) -> String {
    let authors = entry.authors.iter().map(|author| {
        let (lastname, initials) = (literal(&author.lastname), literal(&author.initials));
        format!("Author{{{lastname}, {initials}}}")
    });
    let authors: Vec<_> = authors.collect();
    format!(
        "Entry{{{{{}}}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {{{}, {}}}}}",
        authors.join(", "),
        literal(&entry.title),
        literal(&entry.journal),
        entry.year,
        literal(&entry.publisher),
        literal(&entry.location),
        literal(&entry.edition),
        literal(&entry.hyperlink),
        entry.volume,
        entry.issue,
        entry.page.start,
        entry.page.end,
    )
}

/// The data files are ASCII without control characters.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Of the case `nested`.
const RECORDS: usize = 1_024;

const TEXT: &str = include_str!("../../../data/christmas-carol.txt");
const BIBLIOGRAPHY: &str = include_str!("../../../data/bibliography.json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_published_sizes() {
        let len = |name: &str| Value::named(name).unwrap().to_bytes().unwrap().len();
        assert_eq!(len("bytes-1000"), 1_005);
        assert_eq!(len("doubles-1000000"), 8_000_005);
        assert_eq!(len("nested"), 66_565);
        assert_eq!(len("text"), 6_917);
        assert_eq!(len("bibliography"), 13_251);
    }

    #[test]
    fn there_is_a_value_for_each_case_and_for_nothing_else() {
        let codec = crate::scenario::ScenarioInfo::named("codec").unwrap();
        for case in codec.cases {
            let (name, _) = case.name.split_once('/').unwrap();
            assert!(Value::named(name).is_some(), "{name}");
        }
        for name in ["", "bytes", "bytes-x", "words-10"] {
            assert_eq!(Value::named(name), None);
        }
    }

    #[test]
    fn quotes_and_backslashes_survive_as_cpp() {
        assert_eq!(literal(r#"a "b" \c"#), r#""a \"b\" \\c""#);
        assert!(
            cpp_header()
                .1
                .contains("Entry{{Author{\"Arulanthu\", \"A. B.\"}, ")
        );
    }
}
