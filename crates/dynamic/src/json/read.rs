//! JSON to values, checked against the type: collects every problem instead of stopping at one.

use std::collections::HashSet;

use floe_slice::model::{ConstValue, DefinitionKind, Dictionary, Enum, Primitive, Struct, Type};
use floe_wire::reference::Reference;
use serde_json::{Map, Value as Json};

use super::graph::Graph;
use super::problem::describe;
use super::write::{describe_primitive, has_text_keys};
use super::{JsonError, MAX_PROBLEMS, Problem, number};
use crate::path::{Path, Segment};
use crate::slot::{Owner, Slot, list};
use crate::wording::{join, quote, suggest};
use crate::{Contract, Value};

/// Reads values and keeps the problems. A method answers `None` when it has kept at least one.
pub(crate) struct JsonReader<'c> {
    contract: &'c Contract,
    path: Path,
    problems: Vec<Problem>,
    further: usize,
    graph: Graph,
    /// Class instances inside one another.
    depth: usize,
}

impl<'c> JsonReader<'c> {
    pub(crate) fn new(contract: &'c Contract, root: &'static str) -> Self {
        Self {
            contract,
            path: Path::new(root),
            problems: Vec::new(),
            further: 0,
            graph: Graph::default(),
            depth: 0,
        }
    }

    pub(super) fn contract(&self) -> &'c Contract {
        self.contract
    }

    pub(super) fn graph(&mut self) -> &mut Graph {
        &mut self.graph
    }

    pub(super) fn path(&self) -> String {
        self.path.to_string()
    }

    pub(super) fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }

    /// Enters a class instance; answers how many are inside one another.
    pub(super) fn enter(&mut self) -> usize {
        self.depth += 1;
        self.depth
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The value, unless there were problems.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, JsonError> {
        value
            .filter(|_| self.problems.is_empty())
            .ok_or_else(|| JsonError::new(self.problems, self.further))
    }

    /// Reads a value of a type.
    pub(crate) fn value(&mut self, r#type: Type, json: &Json) -> Option<Value> {
        let contract = self.contract;
        match r#type {
            Type::Primitive(primitive) => self.primitive(primitive, json),
            Type::Named(id) => {
                let definition = contract.model().definition(id);
                let name = definition.scoped.as_str();
                match &definition.kind {
                    DefinitionKind::Enum(r#enum) => self.enumerator(name, r#enum, json),
                    DefinitionKind::Struct(structure) => self.structure(name, structure, json),
                    DefinitionKind::Sequence(sequence) => {
                        self.sequence(name, sequence.element, json)
                    }
                    DefinitionKind::Dictionary(types) => self.dictionary(name, types, json),
                    DefinitionKind::Class(_) | DefinitionKind::Interface(_) => {
                        self.instance(r#type, json)
                    }
                    _ => self.mismatch("a value of a supported type", json),
                }
            }
            Type::AnyClass => self.instance(r#type, json),
            r#type => self.proxy(r#type, json),
        }
    }

    /// Reads the members of a struct or exception, or the parameters of an operation.
    ///
    /// Keys in `ignored` are not looked at.
    pub(crate) fn members(
        &mut self,
        owner: Owner<'_>,
        members: &[Slot<'_>],
        object: &Map<String, Json>,
        ignored: &[&str],
    ) -> Option<Vec<Value>> {
        self.refuse_unknown(owner, members, object, ignored);
        let mut values = Vec::with_capacity(members.len());
        for member in members {
            let value = match object.get(member.name) {
                Some(json) => self.member(member, json),
                None => self.absent(owner, member),
            };
            values.extend(value);
        }
        (values.len() == members.len()).then_some(values)
    }

    /// Reads one member.
    pub(crate) fn member(&mut self, slot: &Slot<'_>, json: &Json) -> Option<Value> {
        self.at(Segment::Member(slot.name.to_owned()), |reader| {
            reader.optional(slot, json)
        })
    }

    /// Reads a parameter out of an array.
    pub(crate) fn slot_at(&mut self, index: usize, slot: &Slot<'_>, json: &Json) -> Option<Value> {
        self.at(Segment::Index(index), |reader| reader.optional(slot, json))
    }

    /// Reads an element of an array.
    pub(crate) fn element(&mut self, index: usize, r#type: Type, json: &Json) -> Option<Value> {
        self.at(Segment::Index(index), |reader| reader.value(r#type, json))
    }

    /// Keeps a problem: something else was expected.
    pub(crate) fn mismatch<T>(&mut self, expected: impl Into<String>, json: &Json) -> Option<T> {
        self.problem(expected, describe(json), None)
    }

    /// Keeps a problem.
    pub(crate) fn problem<T>(
        &mut self,
        expected: impl Into<String>,
        found: impl Into<String>,
        help: Option<String>,
    ) -> Option<T> {
        match self.problems.len() {
            MAX_PROBLEMS => self.further += 1,
            _ => self.problem_at(self.path(), expected, found, help),
        }
        None
    }

    /// Keeps a problem at another place than the current one.
    pub(super) fn problem_at(
        &mut self,
        path: String,
        expected: impl Into<String>,
        found: impl Into<String>,
        help: Option<String>,
    ) {
        if self.problems.len() == MAX_PROBLEMS {
            self.further += 1;
            return;
        }
        self.problems.push(Problem {
            path,
            expected: expected.into(),
            found: found.into(),
            help,
        });
    }

    pub(super) fn at<T>(&mut self, segment: Segment, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(segment);
        let value = read(self);
        self.path.pop();
        value
    }

    fn primitive(&mut self, primitive: Primitive, json: &Json) -> Option<Value> {
        let value = match (primitive, json) {
            (Primitive::Bool, Json::Bool(value)) => Some(Value::Bool(*value)),
            (Primitive::String, Json::String(text)) => Some(Value::String(text.clone())),
            (primitive, json) => number::read(primitive, json),
        };
        value.or_else(|| self.mismatch(describe_primitive(primitive), json))
    }

    fn enumerator(&mut self, name: &str, r#enum: &Enum, json: &Json) -> Option<Value> {
        let text = recorded("$enum", json).as_str();
        let simple = text.and_then(|text| unqualified(name, text));
        let mut enumerators = r#enum.enumerators.iter();
        let found = simple.and_then(|simple| enumerators.find(|known| known.name == simple));
        found
            .map(|enumerator| Value::Enumerator(enumerator.value))
            .or_else(|| {
                let names: Vec<&str> = names_of(r#enum);
                let expected = format!("an enumerator of {name} ({})", join(&names));
                let help = suggest(text.unwrap_or_default(), names.into_iter());
                self.problem(expected, describe(json), help.map(did_you_mean))
            })
    }

    fn structure(&mut self, name: &str, structure: &Struct, json: &Json) -> Option<Value> {
        let slots: Vec<Slot<'_>> = structure.members.iter().map(Slot::from).collect();
        let Json::Object(object) = json else {
            let expected = format!("an object with the members of {name} ({})", list(&slots));
            return self.mismatch(expected, json);
        };
        self.members(Owner::of_members(name), &slots, object, &[])
            .map(Value::Struct)
    }

    fn sequence(&mut self, name: &str, element: Type, json: &Json) -> Option<Value> {
        let Json::Array(elements) = json else {
            let element = self.contract.type_name(element);
            return self.mismatch(format!("an array of {element} for {name}"), json);
        };
        if element == Type::Primitive(Primitive::Byte)
            && let Some(bytes) = elements.iter().map(number::byte).collect()
        {
            return Some(Value::Bytes(bytes));
        }
        let mut values = Vec::with_capacity(elements.len());
        for (index, json) in elements.iter().enumerate() {
            values.extend(self.element(index, element, json));
        }
        (values.len() == elements.len()).then_some(Value::Sequence(values))
    }

    fn dictionary(&mut self, name: &str, types: &Dictionary, json: &Json) -> Option<Value> {
        let entries = match json {
            Json::Object(object) if is_recorded_dictionary(object) => {
                return self.dictionary(name, types, &object[DICT_KEY]);
            }
            Json::Object(object) if has_text_keys(self.contract, types.key) => {
                self.entries_by_key(types, object)
            }
            Json::Array(pairs) => self.pairs(types, pairs),
            json => {
                let key = self.contract.type_name(types.key);
                let value = self.contract.type_name(types.value);
                let shape = if has_text_keys(self.contract, types.key) {
                    "an object, or an array of [key, value] pairs,"
                } else {
                    "an array of [key, value] pairs"
                };
                let expected = format!("{shape} for {name} (dictionary<{key}, {value}>)");
                return self.mismatch(expected, json);
            }
        };
        entries.map(Value::Dictionary)
    }

    fn entries_by_key(
        &mut self,
        types: &Dictionary,
        object: &Map<String, Json>,
    ) -> Option<Vec<(Value, Value)>> {
        let mut seen = HashSet::new();
        let mut entries = Vec::with_capacity(object.len());
        for (key, json) in object {
            let entry = self.at(Segment::Key(key.clone()), |reader| {
                let key = reader.value(types.key, &number::key_json(types.key, key));
                let key = key.and_then(|key| reader.unseen(key, &mut seen));
                let value = reader.value(types.value, json);
                key.zip(value)
            });
            entries.extend(entry);
        }
        (entries.len() == object.len()).then_some(entries)
    }

    fn pairs(&mut self, types: &Dictionary, pairs: &[Json]) -> Option<Vec<(Value, Value)>> {
        let mut seen = HashSet::new();
        let mut entries = Vec::with_capacity(pairs.len());
        for (index, json) in pairs.iter().enumerate() {
            let entry = self.at(Segment::Index(index), |reader| {
                let Some([key, value]) = json.as_array().map(Vec::as_slice) else {
                    return reader.mismatch("a pair [key, value]", json);
                };
                let key = reader.element(0, types.key, key);
                let key = key.and_then(|key| reader.unseen(key, &mut seen));
                let value = reader.element(1, types.value, value);
                key.zip(value)
            });
            entries.extend(entry);
        }
        (entries.len() == pairs.len()).then_some(entries)
    }

    /// The key, unless the dictionary has it already.
    fn unseen(&mut self, key: Value, seen: &mut HashSet<String>) -> Option<Value> {
        // Keys hold no floats, so that equal keys, and only those, look the same.
        if seen.insert(format!("{key:?}")) {
            return Some(key);
        }
        self.problem(
            "a key that the dictionary does not have yet",
            "the same key again",
            None,
        )
    }

    fn proxy(&mut self, r#type: Type, json: &Json) -> Option<Value> {
        let expected = || {
            let name = self.contract.type_name(r#type);
            format!("a proxy as text, or null, for {name}")
        };
        match recorded("$proxy", json) {
            Json::Null => Some(Value::Proxy(None)),
            Json::String(text) => match Reference::parse(text) {
                Ok(reference) => Some(Value::Proxy(reference.map(Box::new))),
                Err(error) => {
                    let expected = expected();
                    self.problem(expected, describe(json), Some(error.to_string()))
                }
            },
            json => {
                let expected = expected();
                self.mismatch(expected, json)
            }
        }
    }

    fn refuse_unknown(
        &mut self,
        owner: Owner<'_>,
        members: &[Slot<'_>],
        object: &Map<String, Json>,
        ignored: &[&str],
    ) {
        let Owner { name, noun } = owner;
        for key in object.keys() {
            let is_known = members.iter().any(|member| member.name == key);
            if is_known || ignored.contains(&key.as_str()) {
                continue;
            }
            let expected = match members {
                [] => format!("nothing: {name} has no {noun}s"),
                members => format!("a {noun} of {name} ({})", list(members)),
            };
            let absent = members.iter().map(|member| member.name);
            let help = suggest(key, absent.filter(|name| !object.contains_key(*name)));
            self.at(Segment::Member(key.clone()), |reader| {
                reader.problem::<()>(expected, quote(key), help.map(did_you_mean))
            });
        }
    }

    /// A member that the JSON leaves out: its default, or a problem.
    fn absent(&mut self, owner: Owner<'_>, member: &Slot<'_>) -> Option<Value> {
        if member.tag.is_some() {
            return Some(Value::Unset);
        }
        let contract = self.contract;
        let default = member.default;
        default
            .and_then(|default| default_value(contract, member.r#type, default))
            .or_else(|| {
                let expected = describe_type(contract, member.r#type);
                let help = format!("{} has no default for it", owner.name);
                self.at(Segment::Member(member.name.to_owned()), |reader| {
                    reader.problem(expected, "nothing", Some(help))
                })
            })
    }
}

/// Returns the JSON under the key, if a recorded value names its kind by that key.
fn recorded<'j>(key: &str, json: &'j Json) -> &'j Json {
    json.get(key).unwrap_or(json)
}

/// The key of a dictionary's entries in recorded values.
const DICT_KEY: &str = "$dict";

/// Returns true if an object is no dictionary with the key `$dict`, but a recorded one: it has pairs there.
fn is_recorded_dictionary(object: &Map<String, Json>) -> bool {
    let is_pair = |json: &Json| json.as_array().is_some_and(|pair| pair.len() == 2);
    let entries = object.get(DICT_KEY).and_then(Json::as_array);
    object.len() == 1 && entries.is_some_and(|entries| entries.iter().all(is_pair))
}

fn describe_type(contract: &Contract, r#type: Type) -> String {
    match r#type {
        Type::Primitive(primitive) => describe_primitive(primitive).to_owned(),
        r#type => contract.type_name(r#type),
    }
}

pub(super) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

fn names_of(r#enum: &Enum) -> Vec<&str> {
    let enumerators = r#enum.enumerators.iter();
    enumerators.map(|known| known.name.as_str()).collect()
}

/// The enumerator's own name, of a name that may be scoped: `red`, `Color::red`, `::M::Color::red`.
fn unqualified<'t>(enum_name: &str, text: &'t str) -> Option<&'t str> {
    let Some((scope, simple)) = text.rsplit_once("::") else {
        return Some(text);
    };
    let scope = format!("::{}", scope.strip_prefix("::").unwrap_or(scope));
    enum_name.ends_with(&scope).then_some(simple)
}

/// The value of a declared default.
fn default_value(contract: &Contract, r#type: Type, default: &ConstValue) -> Option<Value> {
    match (r#type, default) {
        (Type::Primitive(primitive), default) => number::of_const(primitive, default),
        (Type::Named(_), ConstValue::Enumerator { of, index }) => {
            match &contract.model().definition(*of).kind {
                DefinitionKind::Enum(r#enum) => {
                    let enumerator = r#enum.enumerators.get(*index)?;
                    Some(Value::Enumerator(enumerator.value))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
