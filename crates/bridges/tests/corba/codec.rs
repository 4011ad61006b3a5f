//! Events as CDR: out and back, and bytes that are no event.

use floe_bridges::corba::codec::{CdrReader, CdrWriter};
use floe_bridges::core::mapping::EventTypes;
use floe_dynamic::{Contract, Layout, Record, Shape, Value, ValueReader};
use floe_giop::cdr::{CodeSet, CodeSets, Decoder, EncodeError, Encoder, Endian, Format};
use floe_slice::check_source;
use floe_slice::model::Primitive;
use floe_wire::reference::Reference;
use proptest::prelude::*;

/// A definition; numbers choose among the types before it.
#[derive(Debug, Clone)]
enum Recipe {
    Enum(u8),
    Struct(Vec<usize>),
    Sequence(usize),
    Dictionary(usize, usize),
}

/// Definitions, and the parameters of an operation: their types, and whether they are optional.
fn recipes() -> impl Strategy<Value = (Vec<Recipe>, Vec<(usize, bool)>)> {
    let recipe = prop_oneof![
        (1..5_u8).prop_map(Recipe::Enum),
        prop::collection::vec(any::<usize>(), 1..5).prop_map(Recipe::Struct),
        any::<usize>().prop_map(Recipe::Sequence),
        (any::<usize>(), any::<usize>()).prop_map(|(key, value)| Recipe::Dictionary(key, value)),
    ];
    let parameters = prop::collection::vec((any::<usize>(), prop::bool::weighted(0.3)), 0..5);
    (prop::collection::vec(recipe, 1..7), parameters)
}

fn events(recipes: &[Recipe], parameters: &[(usize, bool)]) -> EventTypes {
    const KEYS: [&str; 4] = ["short", "int", "long", "string"];
    let mut types: Vec<String> = KEYS.map(str::to_owned).to_vec();
    types.extend(["bool", "byte", "float", "double", "Object*", "Bytes"].map(str::to_owned));
    let mut text = "module M {\nsequence<byte> Bytes;\n".to_owned();
    for (index, recipe) in recipes.iter().enumerate() {
        let choose = |choice: usize| types[types.len() - 1 - choice % types.len()].clone();
        text += &match recipe {
            Recipe::Enum(count) => {
                let names: Vec<String> = (0..*count)
                    .map(|it| format!("e{it}x{index} = {}", it * 3))
                    .collect();
                format!("enum T{index} {{ {} }}\n", names.join(", "))
            }
            Recipe::Struct(members) => {
                let members = members.iter().enumerate();
                let members = members.map(|(at, it)| format!("{} m{at}; ", choose(*it)));
                format!("struct T{index} {{ {}}}\n", members.collect::<String>())
            }
            Recipe::Sequence(element) => format!("sequence<{}> T{index};\n", choose(*element)),
            Recipe::Dictionary(key, value) => {
                format!(
                    "dictionary<{}, {}> T{index};\n",
                    KEYS[key % 4],
                    choose(*value)
                )
            }
        };
        types.push(format!("T{index}"));
    }
    let parameters = parameters.iter().enumerate();
    let parameters: Vec<String> = parameters
        .map(|(at, (choice, is_optional))| {
            let name = &types[types.len() - 1 - choice % types.len()];
            match is_optional {
                true => format!("optional({at}) {name} p{at}"),
                false => format!("{name} p{at}"),
            }
        })
        .collect();
    text += &format!(
        "interface Topic {{ void told({}); }}\n}}",
        parameters.join(", ")
    );
    let checked = check_source(text.as_bytes());
    assert!(!checked.has_errors(), "{}\n{text}", checked.render());
    let contract = Contract::new(checked.model);
    EventTypes::new(&contract, "::M::Topic").expect("they are events")
}

/// Values out of random bytes.
struct Entropy<'a>(&'a [u8]);

impl Entropy<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn count(&mut self) -> usize {
        usize::from(self.byte() % 4)
    }

    fn record(&mut self, record: &Record) -> Value {
        let members = record.members().iter().map(|member| {
            match member.tag().is_some() && self.byte() & 1 == 0 {
                true => Value::Unset,
                false => self.value(member.layout()),
            }
        });
        Value::Struct(members.collect())
    }

    fn text(&mut self) -> String {
        let count = self.count();
        let code = |bytes: [u8; 2]| 1 + u32::from(u16::from_le_bytes(bytes));
        let characters = (0..count).map(|_| char::from_u32(code(self.array())));
        characters.map(|it| it.unwrap_or('\u{1f980}')).collect()
    }

    fn value(&mut self, layout: &Layout) -> Value {
        match layout.shape() {
            Shape::Primitive(primitive) => match primitive {
                Primitive::Bool => Value::Bool(self.byte() & 1 == 1),
                Primitive::Byte => Value::Byte(self.byte()),
                Primitive::Short => Value::Short(i16::from_le_bytes(self.array())),
                Primitive::Int => Value::Int(i32::from_le_bytes(self.array())),
                Primitive::Long => Value::Long(i64::from_le_bytes(self.array())),
                Primitive::Float => Value::Float(f32::from_le_bytes(self.array())),
                Primitive::Double => Value::Double(f64::from_le_bytes(self.array())),
                Primitive::String => Value::String(self.text()),
            },
            Shape::Enum(all) => {
                let count = all.names().count();
                Value::Enumerator(all.value(usize::from(self.byte()) % count))
            }
            Shape::Struct(record) => self.record(record),
            Shape::Bytes => {
                let count = self.count();
                Value::Bytes((0..count).map(|_| self.byte()).collect())
            }
            Shape::Sequence(element) => {
                let count = self.count();
                Value::Sequence((0..count).map(|_| self.value(element)).collect())
            }
            Shape::Dictionary { key, value } => {
                let count = self.count();
                let entries = (0..count).map(|_| (self.value(key), self.value(value)));
                Value::Dictionary(entries.collect())
            }
            Shape::Proxy => {
                let texts = [
                    "cat/hello -f v2:tcp -h 10.0.0.1 -p 4061 -t 5000",
                    "hello @ Adapter",
                ];
                let text = texts.get(usize::from(self.byte() % 3));
                let parsed = text.map(|text| text.parse::<Reference>().expect("it is a proxy"));
                Value::Proxy(parsed.map(Box::new))
            }
            other => panic!("no such type is made: {other:?}"),
        }
    }
}

fn parameters(events: &EventTypes, entropy: &[u8]) -> Vec<u8> {
    let kind = events.only().expect("it has one");
    let value = Entropy(entropy).record(kind.operation().inputs());
    let encoded = kind.read_from(&mut ValueReader::new(&value, false));
    encoded.expect("values of the types")
}

proptest! {
    #[test]
    fn an_event_is_the_same_after_it_has_been_cdr(
        (recipes, parameter_types) in recipes(),
        entropy in prop::collection::vec(any::<u8>(), 0..300),
        origin in 0..8_usize,
        is_little in any::<bool>(),
    ) {
        let events = events(&recipes, &parameter_types);
        let kind = events.only().expect("it has one");
        let bytes = parameters(&events, &entropy);
        let format = Format::utf8(Endian::from_flag(is_little));
        let mut encoder = Encoder::at(origin, format);
        kind.write_to(&bytes, &mut CdrWriter::new(&mut encoder)).expect("CORBA can say it");
        let cdr = encoder.into_bytes();
        let mut decoder = Decoder::at(&cdr, origin, format);
        let read = kind.read_from(&mut CdrReader::new(&mut decoder));
        prop_assert_eq!(read.expect("our own bytes"), bytes);
        prop_assert_eq!(decoder.remaining(), 0);
    }

    #[test]
    fn bytes_that_are_no_event_are_an_error_and_nothing_worse(
        (recipes, parameter_types) in recipes(),
        bytes in prop::collection::vec(prop_oneof![Just(0), Just(255), any::<u8>()], 0..200),
        is_little in any::<bool>(),
    ) {
        let events = events(&recipes, &parameter_types);
        let kind = events.only().expect("it has one");
        let format = Format::utf8(Endian::from_flag(is_little));
        let mut decoder = Decoder::new(&bytes, format);
        if let Ok(read) = kind.read_from(&mut CdrReader::new(&mut decoder)) {
            // It was one: then it can be written again.
            let mut encoder = Encoder::new(format);
            kind.write_to(&read, &mut CdrWriter::new(&mut encoder)).expect("it came from CDR");
        }
    }
}

#[test]
fn a_value_that_cannot_be_said_is_named_by_its_field() {
    let events = events(&[Recipe::Struct(vec![6, 6])], &[(0, false)]);
    let kind = events.only().expect("it has one");
    assert_eq!(
        kind.operation().inputs().members()[0].layout().name(),
        "::M::T0"
    );
    let write = |text: &str, narrow| {
        let fields = vec![
            Value::String("fine".to_owned()),
            Value::String(text.to_owned()),
        ];
        let value = Value::Struct(vec![Value::Struct(fields)]);
        let bytes = kind
            .read_from(&mut ValueReader::new(&value, false))
            .expect("it is one");
        let mut format = Format::utf8(Endian::Big);
        format.code_sets = CodeSets { narrow, wide: None };
        let mut encoder = Encoder::new(format);
        let written = kind.write_to(&bytes, &mut CdrWriter::new(&mut encoder));
        written.map_err(|error| (error.path.clone(), error.cause))
    };
    let (path, cause) = write("a\0", CodeSet::UTF_8).expect_err("it has a NUL");
    assert_eq!(path, "params.p0.m1");
    assert!(
        matches!(cause, floe_dynamic::Cause::Write(EncodeError::InnerNul)),
        "{cause:?}"
    );
    let (path, _) = write("東", CodeSet::ISO_8859_1).expect_err("it is not in the code set");
    assert_eq!(path, "params.p0.m1");
    write("é", CodeSet::ISO_8859_1).expect("it is in the code set");
}
