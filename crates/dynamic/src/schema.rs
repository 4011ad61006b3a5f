//! JSON Schema of the in-parameters of operations, for viewers.
//!
//! A schema leaves out what viewers such as Foxglove cannot read, which JSON Schema allows: they refuse a schema with arrays
//! of arrays, and one with references. Every object has `properties`, which they expect.

use floe_slice::model::{DefinitionId, DefinitionKind, Member, Primitive, Type};
use serde_json::{Map, Value as Json, json};

use crate::{Contract, Operation};

/// A schema has no more properties: structs in structs could make it longer than any computer has memory.
const PROPERTIES_MAX: usize = 5_000;

/// Objects within one another.
const DEPTH_MAX: usize = 16;

impl Operation {
    /// A JSON Schema of what [`Operation::decode_request`] gives. It describes what a viewer can show; an object may have
    /// more properties.
    pub fn request_schema(&self) -> Json {
        let mut schema = Schema {
            contract: self.contract(),
            inside: Vec::new(),
            room: PROPERTIES_MAX,
        };
        let mut properties = Map::new();
        for input in self.declared().inputs() {
            schema.property(&mut properties, &input.name, input.r#type);
        }
        object(properties)
    }
}

struct Schema<'a> {
    contract: &'a Contract,
    /// The definitions around a property: a class may contain itself.
    inside: Vec<DefinitionId>,
    /// How many properties may be added.
    room: usize,
}

impl Schema<'_> {
    fn property(&mut self, properties: &mut Map<String, Json>, name: &str, r#type: Type) {
        if let Some(schema) = self.of(r#type)
            && let Some(room) = self.room.checked_sub(1)
        {
            self.room = room;
            properties.insert(name.to_owned(), schema);
        }
    }

    /// The schema of a type; nothing if a viewer cannot read it.
    fn of(&mut self, r#type: Type) -> Option<Json> {
        match r#type {
            Type::Primitive(primitive) => Some(json!({ "type": primitive_type(primitive) })),
            Type::Proxy(_) | Type::ObjectProxy => Some(json!({"type": "string"})),
            Type::Named(id) => self.definition(id),
            _ => None,
        }
    }

    fn definition(&mut self, id: DefinitionId) -> Option<Json> {
        if self.inside.len() == DEPTH_MAX || self.inside.contains(&id) || self.room == 0 {
            return None;
        }
        self.inside.push(id);
        let model = self.contract.model();
        let schema = match &model.definition(id).kind {
            DefinitionKind::Enum(r#enum) => {
                let names = r#enum.enumerators.iter().map(|one| one.name.as_str());
                Some(json!({"type": "string", "enum": names.collect::<Vec<_>>()}))
            }
            DefinitionKind::Struct(structure) => Some(self.members(&structure.members)),
            DefinitionKind::Class(_) => {
                let mut chain = Vec::new();
                let mut level = Some(id);
                while let Some(id) = level {
                    let DefinitionKind::Class(class) = &model.definition(id).kind else {
                        break;
                    };
                    chain.extend(&class.members);
                    level = class.base;
                }
                Some(self.members(chain))
            }
            DefinitionKind::Sequence(sequence) => self
                .of(sequence.element)
                .filter(|items| items["type"] != "array")
                .map(|items| json!({"type": "array", "items": items})),
            // Keys that are not text make an array of pairs.
            DefinitionKind::Dictionary(dictionary) if self.is_text(dictionary.key) => {
                Some(object(Map::new()))
            }
            _ => None,
        };
        self.inside.pop();
        schema
    }

    fn members<'m>(&mut self, members: impl IntoIterator<Item = &'m Member>) -> Json {
        let mut properties = Map::new();
        for member in members {
            self.property(&mut properties, &member.name, member.r#type);
        }
        object(properties)
    }

    /// Returns true if a dictionary by this type has its keys as text.
    fn is_text(&self, key: Type) -> bool {
        match key {
            Type::Named(id) => {
                let kind = &self.contract.model().definition(id).kind;
                matches!(kind, DefinitionKind::Enum(_))
            }
            key => matches!(key, Type::Primitive(_)),
        }
    }
}

fn object(properties: Map<String, Json>) -> Json {
    json!({"type": "object", "properties": properties})
}

fn primitive_type(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "boolean",
        Primitive::Float | Primitive::Double => "number",
        Primitive::String => "string",
        _ => "integer",
    }
}

#[cfg(test)]
mod tests {
    use floe_slice::check_source;
    use serde_json::json;

    use crate::Contract;

    fn schema(slice: &str) -> serde_json::Value {
        let compilation = check_source(slice.as_bytes());
        assert!(!compilation.has_errors(), "{}", compilation.render());
        let contract = Contract::new(compilation.model);
        contract.operation("op").unwrap().request_schema()
    }

    #[test]
    fn a_schema_has_what_viewers_read_and_leaves_out_the_rest() {
        let schema = schema(
            "module M {
                enum Color { red, green }
                struct Point { double x; long n; }
                sequence<Point> Points;
                sequence<Points> Nested;
                sequence<byte> Bytes;
                dictionary<string, int> Named;
                struct Place { int i; }
                dictionary<Place, int> Paired;
                class Node { string name; Node next; }
                class Leaf extends Node { bool last; }
                interface I {
                    void op(Color c, Points p, Nested n, Bytes b, Named d, Paired q, Leaf l, Value v,
                        optional(1) I* me);
                }
            }",
        );
        let point = json!({
            "type": "object",
            "properties": {"x": {"type": "number"}, "n": {"type": "integer"}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "c": {"type": "string", "enum": ["red", "green"]},
                "p": {"type": "array", "items": point},
                "b": {"type": "array", "items": {"type": "integer"}},
                "d": {"type": "object", "properties": {}},
                "l": {"type": "object", "properties": {
                    "name": {"type": "string"},
                    "next": {"type": "object", "properties": {"name": {"type": "string"}}},
                    "last": {"type": "boolean"},
                }},
                "me": {"type": "string"},
            },
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn structs_of_structs_make_a_schema_of_a_limited_length() {
        let mut slice = "module M { struct S0 { double a; }\n".to_owned();
        for depth in 1..40 {
            let inner = depth - 1;
            slice += &format!("struct S{depth} {{ S{inner} a; S{inner} b; S{inner} c; }}\n");
        }
        slice += "interface I { void op(S39 s); } }";
        assert!(schema(&slice).to_string().len() < 1_000_000);
    }
}
