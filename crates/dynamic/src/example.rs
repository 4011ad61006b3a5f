//! Examples: JSON that fits the parameters of an operation, for messages and help.

use floe_slice::model::{DefinitionKind, Member, Parameter, Primitive, Type};
use serde_json::{Map, Value as Json, json};

use crate::{Contract, Operation};

/// Values that are nested more deeply than this are empty or nil in an example.
const DEPTH_MAX: usize = 4;

impl Operation {
    /// JSON that fits the in-parameters: an object by name, without the optional ones.
    pub fn example(&self) -> Json {
        let contract = self.contract();
        let required = self.declared().inputs();
        let required = required.filter(|input| input.tag.is_none());
        let example = |input: &Parameter| (input.name.clone(), contract.example(input.r#type, 0));
        Json::Object(required.map(example).collect())
    }
}

impl Contract {
    fn example(&self, r#type: Type, depth: usize) -> Json {
        match r#type {
            Type::Primitive(Primitive::Bool) => json!(true),
            Type::Primitive(Primitive::Float | Primitive::Double) => json!(1.5),
            Type::Primitive(Primitive::String) => json!("text"),
            Type::Primitive(_) => json!(1),
            Type::Named(id) => self.example_of(&self.model().definition(id).kind, depth + 1),
            // A proxy, or an instance of any class.
            _ => Json::Null,
        }
    }

    fn example_of(&self, kind: &DefinitionKind, depth: usize) -> Json {
        let is_deep = depth > DEPTH_MAX;
        match kind {
            DefinitionKind::Enum(r#enum) => {
                let first = r#enum.enumerators.first();
                json!(first.map(|enumerator| &enumerator.name))
            }
            DefinitionKind::Struct(structure) => {
                Json::Object(self.example_members(&structure.members, depth))
            }
            // One inside another may be nil, and would be longer than it helps.
            DefinitionKind::Class(class) if depth == 1 && class.is_complete => {
                let mut members = Map::new();
                let mut level = Some(class);
                while let Some(class) = level {
                    members.extend(self.example_members(&class.members, depth));
                    level = class
                        .base
                        .and_then(|base| match &self.model().definition(base).kind {
                            DefinitionKind::Class(base) => Some(base),
                            _ => None,
                        });
                }
                Json::Object(members)
            }
            DefinitionKind::Class(_) => Json::Null,
            DefinitionKind::Sequence(sequence) if !is_deep => {
                json!([self.example(sequence.element, depth)])
            }
            DefinitionKind::Dictionary(dictionary) if !is_deep => {
                let key = self.example(dictionary.key, depth);
                let value = self.example(dictionary.value, depth);
                match &key {
                    Json::String(text) => json!({ text: value }),
                    _ => json!([[key, value]]),
                }
            }
            DefinitionKind::Sequence(_) | DefinitionKind::Dictionary(_) => json!([]),
            _ => Json::Null,
        }
    }

    fn example_members(&self, members: &[Member], depth: usize) -> Map<String, Json> {
        let required = members.iter().filter(|member| member.tag.is_none());
        let example = |member: &Member| (member.name.clone(), self.example(member.r#type, depth));
        required.map(example).collect()
    }
}
