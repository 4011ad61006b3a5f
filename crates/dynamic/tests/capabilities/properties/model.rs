//! Contracts and values out of random bytes.

use std::collections::HashSet;

use floe_dynamic::{Contract, DataType, Instance, Value};
use floe_slice::model::{Class, DefinitionId, DefinitionKind, Member, Primitive, Type};
use floe_wire::encoding::{AnyClass, GRAPH_DEPTH_MAX, Link};
use proptest::prelude::*;

use crate::support::contract;

/// A contract, and its last type, which may contain all others.
#[derive(Debug)]
pub(crate) struct RandomContract {
    pub(crate) contract: Contract,
    pub(crate) r#type: DataType,
    /// True if it has optional members, which encoding 1.0 does not carry.
    pub(crate) has_optionals: bool,
}

/// A definition; numbers choose among the types before it.
#[derive(Debug, Clone)]
enum Recipe {
    Enum(Vec<i32>),
    Struct(Vec<usize>),
    Sequence(usize),
    Dictionary(usize, usize),
    /// Types of members, tags of those that are optional, and whether it extends the class before.
    Class(Vec<(usize, Option<u16>)>, bool),
}

/// Some definitions that need one another.
pub(crate) fn random_contract() -> impl Strategy<Value = RandomContract> {
    let values = prop_oneof![0..300_i32, any::<i32>().prop_map(|value| value & i32::MAX)];
    let recipe = prop_oneof![
        prop::collection::hash_set(values, 1..5)
            .prop_map(|values| Recipe::Enum(values.into_iter().collect())),
        prop::collection::vec(any::<usize>(), 1..5).prop_map(Recipe::Struct),
        any::<usize>().prop_map(Recipe::Sequence),
        (any::<usize>(), any::<usize>()).prop_map(|(key, value)| Recipe::Dictionary(key, value)),
        (
            prop::collection::vec((any::<usize>(), prop::option::of(0..400_u16)), 0..5),
            any::<bool>()
        )
            .prop_map(|(members, is_derived)| Recipe::Class(members, is_derived)),
    ];
    prop::collection::vec(recipe, 1..8).prop_map(|recipes| {
        let contract = contract(&slice(&recipes));
        let last = format!("M::T{}", recipes.len() - 1);
        let r#type = contract.data_type(&last).expect("the type is supported");
        let has_optionals = slice(&recipes).contains("optional(");
        RandomContract {
            contract,
            r#type,
            has_optionals,
        }
    })
}

fn slice(recipes: &[Recipe]) -> String {
    const SIMPLE: [&str; 6] = ["bool", "byte", "short", "int", "long", "string"];
    let mut types: Vec<String> = SIMPLE.map(str::to_owned).to_vec();
    let mut keys = types.clone();
    types.extend(["float", "double", "Object*", "Value"].map(str::to_owned));
    let mut text = "module M {\n".to_owned();
    let mut base: Option<String> = None;
    for (index, recipe) in recipes.iter().enumerate() {
        let choose = |choice: &usize| types[types.len() - 1 - choice % types.len()].clone();
        let name = format!("T{index}");
        let mut is_key = false;
        text += &match recipe {
            Recipe::Enum(values) => {
                is_key = true;
                let values = values.iter();
                let values: Vec<String> = values
                    .map(|value| format!("e{index}x{value} = {value}"))
                    .collect();
                format!("enum {name} {{ {} }}\n", values.join(", "))
            }
            Recipe::Struct(members) => {
                let members: Vec<String> = members.iter().map(choose).collect();
                is_key = members.iter().all(|member| keys.contains(member));
                let members = members.iter().enumerate();
                let members: String = members
                    .map(|(i, member)| format!("{member} m{i}; "))
                    .collect();
                format!("struct {name} {{ {members}}}\n")
            }
            Recipe::Sequence(element) => format!("sequence<{}> {name};\n", choose(element)),
            Recipe::Class(members, is_derived) => {
                let mut taken = HashSet::new();
                let members = members.iter().enumerate();
                let members: String = members
                    .map(|(i, (choice, tag))| {
                        // Its own type among them.
                        let r#type = match choice % 3 {
                            0 => name.clone(),
                            _ => choose(&(choice / 3)),
                        };
                        let tag = tag.filter(|tag| taken.insert(*tag));
                        let tag = tag.map_or(String::new(), |tag| format!("optional({tag}) "));
                        format!("{tag}{type} m{index}x{i}; ")
                    })
                    .collect();
                let base = base.replace(name.clone()).filter(|_| *is_derived);
                let extends = base.map_or(String::new(), |base| format!(" extends {base}"));
                let id = if index % 2 == 0 {
                    format!("({index})")
                } else {
                    String::new()
                };
                format!("class {name}{id}{extends} {{ {members}}}\n")
            }
            Recipe::Dictionary(key, value) => {
                let key = &keys[keys.len() - 1 - key % keys.len()];
                format!("dictionary<{key}, {}> {name};\n", choose(value))
            }
        };
        if is_key {
            keys.push(name.clone());
        }
        types.push(name);
    }
    text + "}"
}

/// Random bytes that decide what a value holds; when they run out, all is small.
pub(crate) struct Entropy<'a> {
    bytes: &'a [u8],
    /// Instances that others may refer to as well.
    shared: Vec<(DefinitionId, Link<dyn AnyClass>)>,
    /// Instances inside one another.
    depth: usize,
}

impl<'a> Entropy<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            shared: Vec::new(),
            depth: 0,
        }
    }

    pub(crate) fn value(&mut self, contract: &Contract, r#type: DataType) -> Value {
        self.of(contract, r#type.get())
    }

    fn of(&mut self, contract: &Contract, r#type: Type) -> Value {
        let Type::Named(id) = r#type else {
            return self.simple(contract, r#type);
        };
        match &contract.model().definition(id).kind {
            DefinitionKind::Enum(r#enum) => {
                let index = usize::from(self.byte()) % r#enum.enumerators.len();
                Value::Enumerator(r#enum.enumerators[index].value)
            }
            DefinitionKind::Struct(structure) => {
                let members = structure.members.iter();
                Value::Struct(
                    members
                        .map(|member| self.of(contract, member.r#type))
                        .collect(),
                )
            }
            DefinitionKind::Sequence(sequence) => {
                let count = self.count();
                if sequence.element == Type::Primitive(Primitive::Byte) {
                    return Value::Bytes((0..count).map(|_| self.byte()).collect());
                }
                let elements = (0..count).map(|_| self.of(contract, sequence.element));
                Value::Sequence(elements.collect())
            }
            DefinitionKind::Dictionary(dictionary) => {
                let mut seen = HashSet::new();
                let mut entries = Vec::new();
                for _ in 0..self.count() {
                    let key = self.of(contract, dictionary.key);
                    let value = self.of(contract, dictionary.value);
                    if seen.insert(format!("{key:?}")) {
                        entries.push((key, value));
                    }
                }
                Value::Dictionary(entries)
            }
            DefinitionKind::Class(_) => self.instance(contract, Some(id)),
            other => panic!("no such type is generated: {other:?}"),
        }
    }

    /// Nil, an instance that others refer to as well, or a new one.
    fn instance(&mut self, contract: &Contract, wanted: Option<DefinitionId>) -> Value {
        let fits = |id: DefinitionId| match wanted {
            Some(wanted) => chain(contract, id).contains(&wanted),
            None => true,
        };
        let classes = contract.model().iter().filter(|(id, definition)| {
            matches!(definition.kind, DefinitionKind::Class(_)) && fits(*id)
        });
        let classes: Vec<DefinitionId> = classes.map(|(id, _)| id).collect();
        let choice = usize::from(self.byte());
        // Instances that are shared may be deep themselves.
        if choice < 60 || classes.is_empty() || self.depth > GRAPH_DEPTH_MAX / 10 {
            return Value::Instance(Link::nil());
        }
        let known = self.shared.iter().filter(|(id, _)| fits(*id));
        let known: Vec<&Link<dyn AnyClass>> = known.map(|(_, link)| link).collect();
        if choice > 150 && !known.is_empty() && self.depth < 3 {
            return Value::Instance(known[choice % known.len()].clone());
        }
        let class = classes[choice % classes.len()];
        self.depth += 1;
        let mut values = Vec::new();
        for id in chain(contract, class).into_iter().rev() {
            for member in members(contract, id) {
                let is_unset = member.tag.is_some() && self.byte() & 1 == 0;
                values.push(match is_unset {
                    true => Value::Unset,
                    false => self.of(contract, member.r#type),
                });
            }
        }
        self.depth -= 1;
        let type_id = &contract.model().definition(class).scoped;
        let instance = Instance::new(contract, type_id, values).expect("all its members");
        let link = instance.share();
        self.shared.push((class, link.clone()));
        Value::Instance(link)
    }

    fn simple(&mut self, contract: &Contract, r#type: Type) -> Value {
        let primitive = match r#type {
            Type::Primitive(primitive) => primitive,
            Type::AnyClass => return self.instance(contract, None),
            _ => return self.proxy(contract),
        };
        match primitive {
            Primitive::Bool => Value::Bool(self.byte() & 1 == 1),
            Primitive::Byte => Value::Byte(self.byte()),
            Primitive::Short => Value::Short(i16::from_le_bytes(self.array())),
            Primitive::Int => Value::Int(i32::from_le_bytes(self.array())),
            Primitive::Long => Value::Long(i64::from_le_bytes(self.array())),
            Primitive::Float => {
                let value = f32::from_le_bytes(self.array());
                // JSON keeps no payload of a NaN.
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

    fn proxy(&mut self, contract: &Contract) -> Value {
        let texts = [
            "",
            "cat/hello -f v2 -o -e 1.0:tcp -h 10.0.0.1 -p 4061 -t 5000 -z",
            "hello -e 1.0 @ Adapter",
            "hello -d -e 1.0:udp -h 239.255.1.1 -p 10002:opaque -t 99 -e 1.1 -v abch",
        ];
        let text = texts[usize::from(self.byte()) % texts.len()];
        let r#type = contract.data_type("Object*").expect("any proxy");
        let proxy = contract.value_from_json(r#type, &text.into());
        proxy.expect("the text of a proxy")
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        *first
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn count(&mut self) -> usize {
        usize::from(self.byte() % 5)
    }
}

fn chain(contract: &Contract, class: DefinitionId) -> Vec<DefinitionId> {
    let base = |id: &DefinitionId| match &contract.model().definition(*id).kind {
        DefinitionKind::Class(Class { base, .. }) => *base,
        _ => None,
    };
    std::iter::successors(Some(class), base).collect()
}

fn members(contract: &Contract, class: DefinitionId) -> &[Member] {
    match &contract.model().definition(class).kind {
        DefinitionKind::Class(class) => &class.members,
        _ => &[],
    }
}
