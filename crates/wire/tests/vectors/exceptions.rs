//! User exceptions: the replies that carry them, and what is inside.
//!
use std::fmt;

use floe_wire::encoding::{
    ClassInfo, ClassTable, ExceptionFormat, ExceptionReader, ExceptionWriter, Link, UserException,
};
use floe_wire::message::RequestId;
use floe_wire::message::reply::write_user_exception;
use floe_wire::{DecodeError, Encapsulation};
use serde_json::Value;

use crate::file::{Vector, from_hex, hex, load};
use crate::json::FromJson;
use crate::messages::text;
use crate::types::{Build, Graph, Point, class};

#[test]
fn replies_with_exceptions_are_read_and_written_as_ice_does() {
    load("exceptions").iter().for_each(crate::replies::run);
}

#[test]
fn exceptions_are_read_as_ice_does() {
    for vector in &load("exceptions") {
        let bytes = encapsulation(vector);
        let read = open(&bytes).and_then(|reader| Thrown::read(reader));
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        assert_eq!(read, Thrown::build(vector.value()), "{}", vector.name);
    }
}

#[test]
fn exceptions_are_written_as_ice_does() {
    for vector in &load("exceptions") {
        let format = match vector.json["format"].as_str() {
            Some("compact") => ExceptionFormat::Compact,
            Some("sliced") | None => ExceptionFormat::Sliced,
            Some(other) => panic!("{}: no format {other}", vector.name),
        };
        let mut reply = Vec::new();
        let id = RequestId(i32::from_json(&vector.json["message"]["request_id"]));
        let thrown = Thrown::build(vector.value());
        write_user_exception(&mut reply, id, vector.encoding(), format, |writer| {
            thrown.write(writer);
        })
        .expect("encodable");
        assert_eq!(hex(&reply), hex(&vector.bytes), "{}", vector.name);
    }
}

#[test]
fn an_unknown_exception_is_sliced_to_the_base_that_is_known() {
    let mut sliced = 0;
    for vector in &load("exceptions") {
        if vector.json["format"] == "compact" || vector.value()["code"].is_null() {
            continue;
        }
        let bytes = encapsulation(vector);
        let mut reader = open(&bytes).expect(&vector.name);
        while reader.type_id() != E1::TYPE_ID {
            assert_eq!(reader.skip(), Ok(true), "{}", vector.name);
        }
        let base = E1::decode_slices(&mut reader).expect(&vector.name);
        reader.finish().expect(&vector.name);
        assert_eq!(base.code, i32::from_json(&vector.value()["code"]));
        sliced += 1;
    }
    assert_eq!(sliced, 10);
}

#[test]
fn an_unknown_exception_with_class_members_is_skipped_to_its_end() {
    let vectors = load("exceptions");
    let with_class = vectors
        .iter()
        .filter(|vector| vector.value()["$exception"] == EClass::TYPE_ID);
    let skipped: Vec<_> = with_class
        .map(|vector| {
            let bytes = encapsulation(vector);
            let decoder = Encapsulation::parse(&bytes).and_then(|bytes| bytes.decoder());
            let decoder = decoder.expect("an encapsulation").with_classes(&CLASSES);
            ExceptionReader::new(decoder).and_then(|mut reader| reader.skip())
        })
        .collect();
    assert_eq!(skipped, [Ok(false), Ok(false), Ok(false)]);
}

fn encapsulation(vector: &Vector) -> Vec<u8> {
    from_hex(text(&vector.json["message"]["encapsulation"]))
}

fn open(encapsulation: &[u8]) -> Result<ExceptionReader<'_>, DecodeError> {
    ExceptionReader::new(Encapsulation::parse(encapsulation)?.decoder()?)
}

/// The exceptions that an operation of the vectors throws, as in its generated error.
#[derive(Debug, PartialEq)]
enum Thrown {
    E0(E0),
    E1(E1),
    E2(E2),
    E3(E3),
    EOpt(EOpt),
    EClass(EClass),
}

impl Thrown {
    fn read(mut reader: ExceptionReader<'_>) -> Result<Self, DecodeError> {
        let read = match reader.type_id() {
            E0::TYPE_ID => Self::E0(E0::decode_slices(&mut reader)?),
            E1::TYPE_ID => Self::E1(E1::decode_slices(&mut reader)?),
            E2::TYPE_ID => Self::E2(E2::decode_slices(&mut reader)?),
            E3::TYPE_ID => Self::E3(E3::decode_slices(&mut reader)?),
            EOpt::TYPE_ID => Self::EOpt(EOpt::decode_slices(&mut reader)?),
            EClass::TYPE_ID => Self::EClass(EClass::decode_slices(&mut reader)?),
            other => panic!("no exception {other}"),
        };
        reader.finish()?;
        Ok(read)
    }

    fn write(&self, writer: &mut ExceptionWriter<'_, '_>) {
        match self {
            Self::E0(exception) => exception.encode_slices(writer),
            Self::E1(exception) => exception.encode_slices(writer),
            Self::E2(exception) => exception.encode_slices(writer),
            Self::E3(exception) => exception.encode_slices(writer),
            Self::EOpt(exception) => exception.encode_slices(writer),
            Self::EClass(exception) => exception.encode_slices(writer),
        }
    }

    fn build(json: &Value) -> Self {
        Graph::default().finished(|graph| match text(&json["$exception"]) {
            E0::TYPE_ID => Self::E0(E0::build(json, graph)),
            E1::TYPE_ID => Self::E1(E1::build(json, graph)),
            E2::TYPE_ID => Self::E2(E2::build(json, graph)),
            E3::TYPE_ID => Self::E3(E3::build(json, graph)),
            EOpt::TYPE_ID => Self::EOpt(EOpt::build(json, graph)),
            EClass::TYPE_ID => Self::EClass(EClass::build(json, graph)),
            other => panic!("no exception {other}"),
        })
    }
}

/// An exception in the shape that generated code has: the members of its bases first, as fields;
/// then its slices, its own first. `classes` says that it has, or inherits, members of class types.
macro_rules! exception {
    (
        $name:ident { $($field:ident: $field_type:ty),* }
        $($type_id:literal ($is_last:literal) {
            $($member:ident: $type:ty),* $(; $($tag:literal $tagged:ident: $tagged_type:ty),*)?
        })+
        $(in $classes:ident)?
    ) => {
        #[derive(Debug, Clone, PartialEq, Default)]
        pub(crate) struct $name {
            $($field: $field_type,)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Self::TYPE_ID)
            }
        }

        impl std::error::Error for $name {}

        impl UserException for $name {
            const TYPE_ID: &'static str = concat!("::M::", stringify!($name));

            #[allow(unused_variables)]
            fn encode_slices(&self, writer: &mut ExceptionWriter<'_, '_>) {
                let slices = |writer: &mut ExceptionWriter<'_, '_>| {
                    $(writer.slice($type_id, $is_last, |encoder| {
                        $(encoder.put(&self.$member);)*
                        $($(encoder.tagged($tag, self.$tagged.as_ref());)*)?
                    });)+
                };
                exception!(@write writer, slices $(, $classes)?);
            }

            #[allow(unused_variables, clippy::let_unit_value)]
            fn decode_slices(reader: &mut ExceptionReader<'_>) -> Result<Self, DecodeError> {
                $(reader.know_classes(&$classes);)?
                $(let ($($member,)* $($($tagged,)*)?) = reader.members(|decoder| {
                    Ok(($(decoder.get::<$type>()?,)* $($(decoder.tagged($tag)?,)*)?))
                })?;)+
                Ok(Self { $($field,)* })
            }
        }

        impl Build for $name {
            #[allow(unused_variables)]
            fn build(json: &Value, graph: &mut Graph) -> Self {
                $(
                    $(let $member = Build::build(&json[stringify!($member)], graph);)*
                    $($(let $tagged = graph.tagged(&json[stringify!($tagged)]);)*)?
                )+
                Self { $($field,)* }
            }
        }
    };
    (@write $writer:ident, $slices:ident) => { $slices($writer) };
    (@write $writer:ident, $slices:ident, $classes:ident) => { $writer.with_classes($slices) };
}

exception!(E0 {} "::M::E0" (true) {});
exception!(E1 { code: i32 } "::M::E1" (true) { code: i32 });
exception!(E2 { code: i32, msg: String }
    "::M::E2" (false) { msg: String }
    "::M::E1" (true) { code: i32 }
);
exception!(E3 { code: i32, msg: String, at: Point }
    "::M::E3" (false) { at: Point }
    "::M::E2" (false) { msg: String }
    "::M::E1" (true) { code: i32 }
);
exception!(EOpt { code: i32, why: Option<String>, n: Option<i32> }
    "::M::EOpt" (false) { ; 1 n: i32, 3 why: String }
    "::M::E1" (true) { code: i32 }
);
exception!(EClass { node: Link<Node> } "::M::EClass" (true) { node: Link<Node> } in CLASSES);

class!("::M::Node" in CLASSES, Node { value: i32, next: Link<Node> });

static CLASSES: ClassTable = ClassTable::new(&[ClassInfo::of::<Node>()], &[]);
