//! Contracts and events out of random bytes.

use std::collections::HashSet;
use std::sync::Arc;

use floe_dynamic::{Contract, Value};
use floe_slice::check_source;
use floe_slice::model::{DefinitionKind, Primitive, Type};
use floe_wire::{Encoder, EncodingVersion};
use proptest::prelude::*;

use crate::core::mapping::EventTypes;

/// A definition; numbers choose among the types before it.
#[derive(Debug, Clone)]
pub(super) enum Recipe {
    Enum(u8),
    Struct(Vec<usize>),
    Sequence(usize),
    Dictionary(usize, usize),
}

pub(super) fn recipes() -> impl Strategy<Value = Vec<Recipe>> {
    let recipe = prop_oneof![
        (1..5_u8).prop_map(Recipe::Enum),
        prop::collection::vec(any::<usize>(), 1..5).prop_map(Recipe::Struct),
        any::<usize>().prop_map(Recipe::Sequence),
        (any::<usize>(), any::<usize>()).prop_map(|(key, value)| Recipe::Dictionary(key, value)),
    ];
    prop::collection::vec(recipe, 1..8)
}

/// The events of a contract of these definitions, and the parameters of one of each kind: the first has the last type alone,
/// the second more beside it.
pub(super) fn event(recipes: &[Recipe], entropy: &[u8]) -> (Arc<EventTypes>, [Vec<u8>; 2]) {
    let contract = Contract::new(check_source(slice(recipes).as_bytes()).model);
    let events = EventTypes::new(&contract, "::M::I").expect("they are events");
    let mut entropy = Entropy(entropy);
    let last = format!("M::T{}", recipes.len() - 1);
    let mut parameters = |names: &[&str]| {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
        encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
            for name in names {
                let data_type = contract.data_type(name).expect("it is there");
                let value = entropy.value(&contract, data_type.get());
                let encoded = contract.encode(data_type, &value, encoder);
                encoded.expect("the value is of the type");
            }
        });
        encoder.finish().expect("the values have an encoding");
        bytes
    };
    let both = [
        parameters(&[&last]),
        parameters(&["string", &last, "double"]),
    ];
    (Arc::new(events), both)
}

fn slice(recipes: &[Recipe]) -> String {
    const SIMPLE: [&str; 6] = ["bool", "byte", "short", "int", "long", "string"];
    let mut types: Vec<String> = SIMPLE.map(str::to_owned).to_vec();
    let mut keys = types.clone();
    types.extend(["float", "double", "Object*"].map(str::to_owned));
    let mut text = "module M {\n".to_owned();
    for (index, recipe) in recipes.iter().enumerate() {
        let choose = |choice: usize| types[types.len() - 1 - choice % types.len()].clone();
        let name = format!("T{index}");
        let mut is_key = false;
        text += &match recipe {
            Recipe::Enum(count) => {
                is_key = true;
                let names: Vec<String> = (0..*count).map(|at| format!("e{index}x{at}")).collect();
                format!("enum {name} {{ {} }};\n", names.join(", "))
            }
            Recipe::Struct(members) => {
                let members: Vec<String> = members.iter().map(|it| choose(*it)).collect();
                is_key = members.iter().all(|member| keys.contains(member));
                let members = members.iter().enumerate();
                let members = members.map(|(at, member)| format!("{member} m{at}; "));
                format!("struct {name} {{ {}}};\n", members.collect::<String>())
            }
            Recipe::Sequence(element) => format!("sequence<{}> {name};\n", choose(*element)),
            Recipe::Dictionary(key, value) => {
                let key = &keys[keys.len() - 1 - key % keys.len()];
                format!("dictionary<{key}, {}> {name};\n", choose(*value))
            }
        };
        if is_key {
            keys.push(name.clone());
        }
        types.push(name);
    }
    let last = format!("T{}", recipes.len() - 1);
    text + &format!(
        "interface I {{ void one({last} it); void more(string a, {last} b, double c); }};\n}};\n"
    )
}

/// Random bytes that decide what a value holds; when they run out, all is small.
struct Entropy<'a>(&'a [u8]);

impl Entropy<'_> {
    fn value(&mut self, contract: &Contract, data_type: Type) -> Value {
        let Type::Named(id) = data_type else {
            return self.simple(contract, data_type);
        };
        match &contract.model().definition(id).kind {
            DefinitionKind::Enum(all) => {
                let index = usize::from(self.byte()) % all.enumerators.len();
                Value::Enumerator(all.enumerators[index].value)
            }
            DefinitionKind::Struct(structure) => {
                let members = structure.members.iter();
                let values = members.map(|member| self.value(contract, member.r#type));
                Value::Struct(values.collect())
            }
            DefinitionKind::Sequence(sequence) => {
                let count = self.count();
                if sequence.element == Type::Primitive(Primitive::Byte) {
                    return Value::Bytes((0..count).map(|_| self.byte()).collect());
                }
                let elements = (0..count).map(|_| self.value(contract, sequence.element));
                Value::Sequence(elements.collect())
            }
            DefinitionKind::Dictionary(dictionary) => {
                let mut seen = HashSet::new();
                let mut entries = Vec::new();
                for _ in 0..self.count() {
                    let key = self.value(contract, dictionary.key);
                    let value = self.value(contract, dictionary.value);
                    if seen.insert(format!("{key:?}")) {
                        entries.push((key, value));
                    }
                }
                Value::Dictionary(entries)
            }
            other => panic!("no such type is generated: {other:?}"),
        }
    }

    fn simple(&mut self, contract: &Contract, data_type: Type) -> Value {
        let Type::Primitive(primitive) = data_type else {
            let texts = ["", "cat/hello:tcp -h 10.0.0.1 -p 4061", "hello @ Adapter"];
            let text = texts[usize::from(self.byte()) % texts.len()];
            let proxy = contract.data_type("Object*").expect("any proxy");
            return contract
                .value_from_json(proxy, &text.into())
                .expect("a proxy");
        };
        match primitive {
            Primitive::Bool => Value::Bool(self.byte() & 1 == 1),
            Primitive::Byte => Value::Byte(self.byte()),
            Primitive::Short => Value::Short(i16::from_le_bytes(self.array())),
            Primitive::Int => Value::Int(i32::from_le_bytes(self.array())),
            Primitive::Long => Value::Long(i64::from_le_bytes(self.array())),
            // JSON keeps no payload of a NaN.
            Primitive::Float => {
                let value = f32::from_le_bytes(self.array());
                Value::Float(if value.is_nan() { f32::NAN } else { value })
            }
            Primitive::Double => {
                let value = f64::from_le_bytes(self.array());
                Value::Double(if value.is_nan() { f64::NAN } else { value })
            }
            Primitive::String => {
                let count = self.count();
                let chars = (0..count).map(|_| char::from_u32(u32::from_le_bytes(self.array())));
                Value::String(chars.map(|char| char.unwrap_or('\u{FFFD}')).collect())
            }
        }
    }

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
        usize::from(self.byte() % 5)
    }
}
