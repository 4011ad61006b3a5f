//! Events as XML: out and back, and what is no event.
#![cfg(feature = "soap")]

use floe_bridges::core::mapping::EventTypes;
use floe_bridges::soap::codec::{Document, SoapReader, SoapWriter};
use floe_bridges::soap::mapping::Names;
use floe_dynamic::{Contract, Layout, Shape, Value, ValueReader};
use floe_slice::check_source;
use floe_slice::model::Primitive;
use proptest::prelude::*;

const BASE: &str = "urn:floe:slice";

/// A topic of random types, with its events' names.
#[derive(Debug)]
struct Topic {
    events: EventTypes,
    names: Names,
}

impl Topic {
    fn new(slice: &str) -> Self {
        let compilation = check_source(slice.as_bytes());
        assert!(
            !compilation.has_errors(),
            "{}\n{slice}",
            compilation.render()
        );
        let contract = Contract::new(compilation.model);
        let events = EventTypes::new(&contract, "::M::Topic").expect("they are events");
        let names = Names::new(&events, BASE);
        Self { events, names }
    }

    fn encoded(&self, kind: usize, parameters: Vec<Value>) -> Vec<u8> {
        let value = Value::Struct(parameters);
        let encoded = self.events.kinds()[kind].read_from(&mut ValueReader::new(&value, false));
        encoded.expect("values of the types")
    }

    fn written(&self, kind: usize, parameters: &[u8]) -> Result<String, String> {
        let mut writer = SoapWriter::new(&self.names, kind);
        let written = self.events.kinds()[kind].write_to(parameters, &mut writer);
        written.map_err(|it| it.to_string())?;
        Ok(writer.into_text())
    }

    fn read(&self, text: &str) -> Result<(usize, Vec<u8>), String> {
        let document = Document::parse(text).map_err(|it| it.to_string())?;
        let reader = SoapReader::new(&document, &self.names, document.root());
        let (mut reader, kind) = reader.map_err(|it| it.to_string())?;
        let read = self.events.kinds()[kind].read_from(&mut reader);
        read.map(|bytes| (kind, bytes)).map_err(|it| it.to_string())
    }
}

/// A definition; numbers choose among the types before it.
#[derive(Debug, Clone)]
enum Recipe {
    Enum(u8),
    Struct(Vec<usize>),
    Sequence(usize),
    Dictionary(usize, usize),
}

fn recipes() -> impl Strategy<Value = (Vec<Recipe>, Vec<Vec<(usize, bool)>>)> {
    let recipe = prop_oneof![
        (1..5_u8).prop_map(Recipe::Enum),
        prop::collection::vec(any::<usize>(), 1..5).prop_map(Recipe::Struct),
        any::<usize>().prop_map(Recipe::Sequence),
        (any::<usize>(), any::<usize>()).prop_map(|(key, value)| Recipe::Dictionary(key, value)),
    ];
    let operations = prop::collection::vec(
        prop::collection::vec((any::<usize>(), prop::bool::weighted(0.3)), 0..4),
        1..4,
    );
    (prop::collection::vec(recipe, 1..7), operations)
}

/// A contract whose names are the hostile ones of Slice: words of other languages, and names that are one another's.
fn slice(recipes: &[Recipe], operations: &[Vec<(usize, bool)>]) -> String {
    const KEYS: [&str; 4] = ["short", "int", "long", "string"];
    const NAMES: [&str; 5] = ["xmlns", "item", "key", "value", "XMLdata"];
    let mut types: Vec<String> = KEYS.map(str::to_owned).to_vec();
    types.extend(
        [
            "bool", "byte", "float", "double", "Object*", "O::Bytes", "O::Out",
        ]
        .map(str::to_owned),
    );
    let mut text =
        "module O { sequence<byte> Bytes; struct Out { string item; } }\nmodule M {\n".to_owned();
    for (index, recipe) in recipes.iter().enumerate() {
        let choose = |choice: usize| types[types.len() - 1 - choice % types.len()].clone();
        text += &match recipe {
            Recipe::Enum(count) => {
                let names: Vec<String> = (0..*count).map(|it| format!("e{index}x{it}")).collect();
                format!("enum T{index} {{ {} }}\n", names.join(", "))
            }
            Recipe::Struct(members) => {
                let members = members.iter().zip(NAMES);
                let members: String = members
                    .map(|(it, name)| format!("{} {name}; ", choose(*it)))
                    .collect();
                format!("struct T{index} {{ {members}}}\n")
            }
            Recipe::Sequence(element) => format!("sequence<{}> T{index};\n", choose(*element)),
            Recipe::Dictionary(key, value) => {
                let key = KEYS[key % KEYS.len()];
                format!("dictionary<{key}, {}> T{index};\n", choose(*value))
            }
        };
        types.push(format!("T{index}"));
    }
    text += "interface Topic {\n";
    for (index, parameters) in operations.iter().enumerate() {
        let parameters: Vec<String> = parameters
            .iter()
            .enumerate()
            .map(|(place, (choice, is_optional))| {
                let r#type = &types[types.len() - 1 - choice % types.len()];
                // Tags go down, so that the order on the wire is another one.
                let tag = is_optional.then(|| format!("optional({}) ", 9 - place));
                format!("{}{type} p{place}", tag.unwrap_or_default())
            })
            .collect();
        text += &format!("void op{index}({});\n", parameters.join(", "));
    }
    text + "} }"
}

/// Random bytes that decide what a value holds; when they run out, all is small.
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

    fn value(&mut self, layout: &Layout) -> Value {
        match layout.shape() {
            Shape::Primitive(primitive) => self.primitive(*primitive),
            Shape::Enum(all) => {
                let index = usize::from(self.byte()) % all.names().count();
                Value::Enumerator(all.value(index))
            }
            Shape::Struct(record) => Value::Struct(
                record
                    .members()
                    .iter()
                    .map(|it| self.value(it.layout()))
                    .collect(),
            ),
            Shape::Bytes => Value::Bytes((0..self.count()).map(|_| self.byte()).collect()),
            Shape::Sequence(element) => {
                Value::Sequence((0..self.count()).map(|_| self.value(element)).collect())
            }
            Shape::Dictionary { key, value } => Value::Dictionary(
                (0..self.count())
                    .map(|_| (self.value(key), self.value(value)))
                    .collect(),
            ),
            Shape::Proxy => Value::Proxy(match self.byte() % 3 {
                0 => None,
                _ => {
                    let text =
                        "a & b/<c> -f é -o:tcp -h 10.0.0.1 -p 4061".replace("a & b", "\"a & b\"");
                    let text = text.replace("\"a & b\"/<c>", "\"a & b/<c>\"");
                    floe_wire::reference::Reference::parse(&text)
                        .expect("a proxy")
                        .map(Box::new)
                }
            }),
            other => panic!("no such type is generated: {other:?}"),
        }
    }

    fn primitive(&mut self, primitive: Primitive) -> Value {
        match primitive {
            Primitive::Bool => Value::Bool(self.byte() & 1 == 1),
            Primitive::Byte => Value::Byte(self.byte()),
            Primitive::Short => Value::Short(i16::from_le_bytes(self.array())),
            Primitive::Int => Value::Int(i32::from_le_bytes(self.array())),
            Primitive::Long => Value::Long(i64::from_le_bytes(self.array())),
            // XML keeps no payload of a NaN.
            Primitive::Float => {
                let value = f32::from_le_bytes(self.array());
                Value::Float(if value.is_nan() { f32::NAN } else { value })
            }
            Primitive::Double => {
                let value = f64::from_le_bytes(self.array());
                Value::Double(if value.is_nan() { f64::NAN } else { value })
            }
            Primitive::String => {
                const CHARACTERS: [char; 16] = [
                    ' ',
                    '\t',
                    '\r',
                    '\n',
                    '<',
                    '>',
                    '&',
                    '"',
                    '\'',
                    ']',
                    'a',
                    '0',
                    'é',
                    '東',
                    '\u{85}',
                    '\u{1f980}',
                ];
                let count = self.count() * 2;
                let characters = (0..count).map(|_| CHARACTERS[usize::from(self.byte()) % 16]);
                Value::String(characters.collect())
            }
        }
    }
}

proptest! {
    #[test]
    fn an_event_is_the_same_after_it_has_been_xml(
        (recipes, operations) in recipes(),
        entropy in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let topic = Topic::new(&slice(&recipes, &operations));
        let mut entropy = Entropy(&entropy);
        for (index, kind) in topic.events.kinds().iter().enumerate() {
            let members = kind.operation().inputs().members().iter();
            let parameters = members.map(|it| match it.tag().is_some() && entropy.byte() & 1 == 0 {
                true => Value::Unset,
                false => entropy.value(it.layout()),
            });
            let bytes = topic.encoded(index, parameters.collect());
            let text = topic.written(index, &bytes).expect("XML can say it");
            prop_assert_eq!(topic.read(&text), Ok((index, bytes)), "{}", text);
        }
    }

    #[test]
    fn a_damaged_event_is_read_or_refused(
        (recipes, operations) in recipes(),
        entropy in prop::collection::vec(any::<u8>(), 0..400),
        place in any::<prop::sample::Index>(),
        piece in prop_oneof!["[<>&/:=\"' a-z0-9;!?\\-\\[\\]]{0,6}", Just("<ns1:item/>".to_owned())],
        removed in 0..6_usize,
    ) {
        let topic = Topic::new(&slice(&recipes, &operations));
        let mut entropy = Entropy(&entropy);
        let members = topic.events.kinds()[0].operation().inputs().members().iter();
        let parameters = members.map(|it| entropy.value(it.layout())).collect();
        let text = topic.written(0, &topic.encoded(0, parameters)).expect("XML can say it");
        let mut characters: Vec<char> = text.chars().collect();
        let place = place.index(characters.len());
        let end = characters.len().min(place + removed);
        characters.splice(place..end, piece.chars());
        let damaged: String = characters.into_iter().collect();
        if let Ok((kind, bytes)) = topic.read(&damaged) {
            let again = topic.written(kind, &bytes).expect("it came from XML");
            prop_assert_eq!(topic.read(&again), Ok((kind, bytes)), "{}", again);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "([<>&/:=\"'! \\-\\[\\]?;#x]|[a-c]|\\PC){0,60}") {
        if let Ok(document) = Document::parse(&text) {
            prop_assert!(!document.name(document.root()).is_empty());
        }
    }
}

const TICKER: &str = "module M {
    enum Side { buy, sell }
    struct Venue { string name; int line; }
    sequence<int> Ints;
    dictionary<string, Venue> Venues;
    sequence<byte> Bytes;
    struct Tick { Side side; Venue venue; Ints ints; Venues venues; Bytes raw; bool firm; double price; }
    interface Topic { void tick(Tick tick); }
}";

/// An event whose members are these, in the order in which they come.
fn tick(members: &[(&str, &str)]) -> String {
    let members: String = members
        .iter()
        .map(|(name, content)| format!("<{name}>{content}</{name}>"))
        .collect();
    format!(
        "<Topic_Event xmlns='urn:floe:slice:M' xmlns:x='http://www.w3.org/2001/XMLSchema-instance'>{members}</Topic_Event>"
    )
}

const FINE: [(&str, &str); 7] = [
    ("side", "sell"),
    ("venue", "<name> a\r\nb </name><line> +7 </line>"),
    ("ints", "<item>1</item><!-- x --><item>-2</item>"),
    (
        "venues",
        "<entry><key>k</key><value><line>1</line><name/></value></entry>",
    ),
    ("raw", " AP\n8B "),
    ("firm", "1"),
    ("price", " -INF "),
];

#[test]
fn another_writer_may_say_it_in_other_ways() {
    let topic = Topic::new(TICKER);
    let (_, bytes) = topic.read(&tick(&FINE)).expect("an event");
    let text = topic.written(0, &bytes).expect("XML can say it");
    let expected = "<ns1:side>sell</ns1:side><ns1:venue><ns1:name> a\nb </ns1:name><ns1:line>7</ns1:line></ns1:venue>\
        <ns1:ints><ns1:item>1</ns1:item><ns1:item>-2</ns1:item></ns1:ints>\
        <ns1:venues><ns1:entry><ns1:key>k</ns1:key><ns1:value><ns1:name></ns1:name><ns1:line>1</ns1:line></ns1:value></ns1:entry></ns1:venues>\
        <ns1:raw>AP8B</ns1:raw><ns1:firm>true</ns1:firm><ns1:price>-INF</ns1:price>";
    let whole =
        format!("<ns1:Topic_Event xmlns:ns1=\"urn:floe:slice:M\">{expected}</ns1:Topic_Event>");
    assert_eq!(text, whole);
    let mut reversed = FINE;
    reversed.reverse();
    assert_eq!(topic.read(&tick(&reversed)), Ok((0, bytes)));
}

#[test]
fn what_is_wrong_is_named_with_its_field() {
    let topic = Topic::new(TICKER);
    for (name, content, expected) in [
        (
            "side",
            "hold",
            "params.tick.side: expected one of buy, sell for ::M::Side, got \"hold\"",
        ),
        (
            "side",
            "<b/>",
            "params.tick.side: expected a text, got the element {urn:floe:slice:M}b",
        ),
        (
            "venue",
            "<name>x</name>",
            "params.tick.venue.line: expected the element {urn:floe:slice:M}line, and it is not there",
        ),
        (
            "venue",
            "<name/><line>2147483648</line>",
            "params.tick.venue.line: expected an int (-2147483648 to 2147483647), got \"2147483648\"",
        ),
        (
            "venue",
            "<name/><line>1</line><x/>",
            "params.tick.venue: did not expect the element {urn:floe:slice:M}x",
        ),
        (
            "venue",
            "<name xmlns='u'/><line>1</line>",
            "params.tick.venue.name: expected the element {urn:floe:slice:M}name, and it is not there",
        ),
        (
            "venue",
            "<name x:nil='true'/><line>1</line>",
            "params.tick.venue.name: expected a value, got nil",
        ),
        (
            "venue",
            "x<name/><line>1</line>",
            "params.tick.venue: expected elements only, got \"x\"",
        ),
        (
            "ints",
            "<item>1</item><b/>",
            "params.tick.ints[1]: expected the element {urn:floe:slice:M}item, got {urn:floe:slice:M}b",
        ),
        (
            "venues",
            "<entry><key>k</key></entry>",
            "params.tick.venues[0]: expected an entry of two elements, key and value",
        ),
        (
            "raw",
            "AP8",
            "params.tick.raw: expected bytes in Base64, got \"AP8\"",
        ),
        (
            "firm",
            "yes",
            "params.tick.firm: expected true or false, got \"yes\"",
        ),
        (
            "price",
            "infinity",
            "params.tick.price: expected a double, got \"infinity\"",
        ),
        (
            "price",
            "nan",
            "params.tick.price: expected a double, got \"nan\"",
        ),
    ] {
        let members = FINE.map(|(of, fine)| (of, if of == name { content } else { fine }));
        assert_eq!(topic.read(&tick(&members)), Err(expected.to_owned()));
    }
    let twice = FINE.map(|(name, content)| {
        if name == "raw" {
            ("firm", "1")
        } else {
            (name, content)
        }
    });
    let error = topic.read(&tick(&twice)).expect_err("raw is missing");
    assert!(
        error.starts_with("params.tick.raw: expected the element"),
        "{error}"
    );
    let error = topic.read("<a/>").expect_err("no event");
    assert_eq!(
        error,
        "expected the element {urn:floe:slice:M}Topic_Event, got {}a"
    );
}

#[test]
fn a_character_that_xml_cannot_hold_is_refused_with_its_field() {
    let topic = Topic::new(
        "module M { struct Tick { string text; } interface Topic { void tick(Tick tick); } }",
    );
    let tick = Value::Struct(vec![Value::String("a\u{1}".to_owned())]);
    let bytes = topic.encoded(0, vec![tick]);
    let error = topic.written(0, &bytes).expect_err("XML cannot say it");
    assert_eq!(
        error,
        "params.tick.text: XML cannot hold the character U+0001"
    );
}

#[test]
fn an_event_of_several_operations_is_a_choice() {
    let topic = Topic::new(
        "module M { interface Topic { void opened(string at, optional(1) int volume); void closed(); } }",
    );
    let bytes = topic.encoded(0, vec![Value::String("x".to_owned()), Value::Unset]);
    let text = topic.written(0, &bytes).expect("XML can say it");
    let expected = "<ns1:Topic_Event xmlns:ns1=\"urn:floe:slice:M\"><ns1:opened><ns1:at>x</ns1:at></ns1:opened></ns1:Topic_Event>";
    assert_eq!(text, expected);
    let nil = text.replace(
        "</ns1:at>",
        "</ns1:at><ns1:volume xmlns:i='http://www.w3.org/2001/XMLSchema-instance' i:nil='1'/>",
    );
    assert_eq!(topic.read(&nil), Ok((0, bytes)));
    for (wrong, expected) in [
        (
            text.replace("opened", "halted"),
            "expected one of opened, closed within Topic_Event, got {urn:floe:slice:M}halted",
        ),
        (
            text.replace("<ns1:opened>", "<ns1:closed/><ns1:opened>"),
            "expected one element within Topic_Event, got 2",
        ),
    ] {
        assert_eq!(topic.read(&wrong), Err(expected.to_owned()));
    }
}
