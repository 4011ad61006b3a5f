//! JSON to class instances, and to optional values.

use floe_slice::model::{DefinitionKind, Type};
use floe_wire::encoding::{AnyClass, GRAPH_DEPTH_MAX, Link, SliceId};
use serde_json::{Map, Value as Json};

use super::graph::{Class, Content, KeptSlice, NodeId, WrongReference};
use super::problem::describe;
use super::reader::{JsonReader, did_you_mean};
use super::{CLASS_KEY, ID_KEY, REF_KEY, SLICES_KEY, UNSET_KEY};
use crate::exception::UNKNOWN_KEY;
use crate::hex::from_hex;
use crate::path::Segment;
use crate::wording::{quote, suggest};
use crate::{Layout, Record, Shape};

/// Keys that are no members, in the order in which they are written.
static KEYS: [&str; 4] = [CLASS_KEY, ID_KEY, UNKNOWN_KEY, SLICES_KEY];

impl<'j> JsonReader<'j> {
    /// Nil is a value of proxies and classes; for other types `null` is as good as nothing.
    pub(super) fn is_unset(&self, layout: &Layout, json: &Json) -> bool {
        match json {
            Json::Null => !matches!(layout.shape(), Shape::Proxy | Shape::Class { .. }),
            Json::Object(object) => {
                object.len() == 1 && object.get(UNSET_KEY) == Some(&Json::Bool(true))
            }
            _ => false,
        }
    }

    /// Ends the reading: completes the class instances in it.
    pub(crate) fn link_instances(&mut self) {
        let contract = &self.contract();
        let mut graph = std::mem::take(self.graph());
        for wrong in graph.wrong_references(contract) {
            match wrong {
                WrongReference::Missing { path, label } => {
                    let expected = format!("the {ID_KEY} of an instance");
                    let found = format!("{label}, which none has");
                    self.problem_at(path, expected, found, None)
                }
                WrongReference::OtherClass {
                    path,
                    r#type,
                    found,
                } => {
                    let expected = self.instance_of(r#type);
                    self.problem_at(path, expected, format!("one of {found}"), None)
                }
            }
        }
        if self.is_fine() && !graph.link(contract) {
            self.too_deep::<()>();
        }
    }

    /// Reads a link to a class instance.
    pub(super) fn link(&mut self, r#type: Type, json: &'j Json) -> Option<Link<dyn AnyClass>> {
        match json {
            Json::Null => Some(Link::nil()),
            Json::Object(object) => match object.get(REF_KEY) {
                Some(label) => self.reference(r#type, object, label),
                None => self.object(r#type, object),
            },
            json => {
                let expected = format!("{} as an object, or null", self.instance_of(r#type));
                let help = self.proxy_help(r#type);
                self.problem(expected, describe(json), help)
            }
        }
    }

    fn reference(
        &mut self,
        r#type: Type,
        object: &Map<String, Json>,
        label: &Json,
    ) -> Option<Link<dyn AnyClass>> {
        if object.len() > 1 {
            return self.mismatch(format!("{REF_KEY} alone"), &Json::Object(object.clone()));
        }
        let label = self.label(REF_KEY, label)?;
        let path = self.path();
        Some(self.graph().refer(label, r#type, path))
    }

    fn object(
        &mut self,
        r#type: Type,
        object: &'j Map<String, Json>,
    ) -> Option<Link<dyn AnyClass>> {
        let class = self.class(r#type, object)?;
        let label = match object.get(ID_KEY) {
            Some(label) => Some(self.label(ID_KEY, label)?),
            None => None,
        };
        let Some(node) = self.graph().open(label, class) else {
            let found = object.get(ID_KEY).map_or(String::new(), Json::to_string);
            let expected = format!("an {ID_KEY} that no other instance has");
            return self.problem(expected, found, None);
        };
        let link = match self.enter() {
            ..=GRAPH_DEPTH_MAX => self.content(class, object, node),
            _ => self.too_deep(),
        };
        self.leave();
        link
    }

    fn content(
        &mut self,
        class: Class,
        object: &'j Map<String, Json>,
        node: NodeId,
    ) -> Option<Link<dyn AnyClass>> {
        let slices = match object.get(SLICES_KEY) {
            Some(json) => self.at(Segment::Member(SLICES_KEY.into()), |reader| {
                reader.slices(json)
            }),
            None => Some(Vec::new()),
        };
        let contract = self.contract();
        let members = match class {
            Class::Known(id) => self.members(contract.whole_record(id), object, &KEYS),
            Class::Unknown => {
                let none = Record::new("it", "member", Vec::new(), None);
                self.members(&none, object, &KEYS)
            }
        };
        let content = Content {
            class,
            members: members?,
            slices: slices?,
        };
        if matches!(class, Class::Unknown) && content.slices.is_empty() {
            let expected = format!("the {SLICES_KEY} of an instance of an unknown class");
            return self.problem(expected, "none", None);
        }
        Some(self.graph().close(node, content))
    }

    /// The class of an instance: the one it names, or exactly the one that is declared.
    fn class(&mut self, r#type: Type, object: &Map<String, Json>) -> Option<Class> {
        let contract = self.contract();
        let named = match object.get(CLASS_KEY) {
            Some(json) => match json.as_str() {
                Some(name) => name.to_owned(),
                None => return self.mismatch("a type id as text", json),
            },
            None => match r#type {
                Type::Named(id) => contract.model().definition(id).scoped.clone(),
                _ => String::new(),
            },
        };
        if object.get(UNKNOWN_KEY) == Some(&Json::Bool(true)) && self.is_any(r#type) {
            return Some(Class::Unknown);
        }
        let type_id = format!("::{}", named.strip_prefix("::").unwrap_or(&named));
        let whole = contract.class(&type_id);
        match whole.or_else(|| contract.classes().only_namesake(&named)) {
            Some(class) if contract.is_class_of(class, r#type) => Some(Class::Known(class)),
            _ if !object.contains_key(CLASS_KEY) => {
                let expected = format!("{} with {CLASS_KEY}", self.instance_of(r#type));
                let found = describe(&Json::Object(object.clone()));
                let help = self.proxy_help(r#type);
                self.problem(expected, found, help)
            }
            Some(_) => {
                let expected = self.instance_of(r#type);
                self.problem(expected, format!("one of {type_id}"), None)
            }
            None => {
                let known = contract.classes().type_ids();
                let help = suggest(&named, known).map(did_you_mean);
                let expected = format!("a class of the Slice files ({})", contract.list_classes());
                self.problem(expected, quote(&named), help)
            }
        }
    }

    /// Returns true if instances of any class are of the type, unknown ones too.
    fn is_any(&self, r#type: Type) -> bool {
        match r#type {
            Type::Named(id) => self.contract().classes().type_id(id).is_none(),
            _ => true,
        }
    }

    fn slices(&mut self, json: &'j Json) -> Option<Vec<KeptSlice>> {
        let Json::Array(slices) = json else {
            return self.mismatch("an array of slices", json);
        };
        let read = slices
            .iter()
            .enumerate()
            .map(|(index, json)| self.at(Segment::Index(index), |reader| reader.slice(json)));
        read.collect()
    }

    fn slice(&mut self, json: &'j Json) -> Option<KeptSlice> {
        let expected = r#"a slice: {"class": type id or compact id, "bytes": hexadecimal digits, "tagged": true or false, "instances": array}"#;
        let id = match &json["class"] {
            Json::String(type_id) => Some(SliceId::Name(type_id.as_str().into())),
            json => json
                .as_i64()
                .and_then(|id| Some(SliceId::Compact(id.try_into().ok()?))),
        };
        let id = id.filter(|id| !matches!(id, SliceId::Compact(..0)));
        let bytes = json["bytes"].as_str().and_then(|hex| from_hex(hex).ok());
        let has_tagged = match &json["tagged"] {
            Json::Null => Some(false),
            json => json.as_bool(),
        };
        let (Some(id), Some(bytes), Some(has_tagged)) = (id, bytes, has_tagged) else {
            return self.mismatch(expected, json);
        };
        let instances = match &json["instances"] {
            Json::Null => &[],
            Json::Array(instances) => instances.as_slice(),
            other => return self.mismatch("an array of instances", other),
        };
        let mut links = Vec::with_capacity(instances.len());
        for (index, json) in instances.iter().enumerate() {
            if json.is_null() {
                return self.mismatch("an instance in the array of instances", json);
            }
            let link = self.at(Segment::Index(index), |reader| {
                reader.link(Type::AnyClass, json)
            });
            links.extend(link);
        }
        (links.len() == instances.len()).then_some(KeptSlice {
            id,
            bytes,
            has_tagged,
            instances: links,
        })
    }

    /// An id of an instance as it stands in JSON: any number or text.
    fn label(&mut self, key: &'static str, json: &Json) -> Option<String> {
        match json {
            Json::Number(_) | Json::String(_) => Some(json.to_string()),
            json => self.at(Segment::Member(key.into()), |reader| {
                reader.mismatch("a number or text", json)
            }),
        }
    }

    fn too_deep<T>(&mut self) -> Option<T> {
        let expected = format!("at most {GRAPH_DEPTH_MAX} class instances below one another");
        self.problem(expected, "more", None)
    }

    fn instance_of(&self, r#type: Type) -> String {
        match self.is_any(r#type) {
            true => "a class instance".to_owned(),
            false => format!("an instance of {}", self.contract().type_name(r#type)),
        }
    }

    /// Suggests the proxy type, because an interface named as a type nearly always means a proxy to it.
    fn proxy_help(&self, r#type: Type) -> Option<String> {
        let Type::Named(id) = r#type else {
            return None;
        };
        let contract = self.contract();
        let definition = contract.model().definition(id);
        let is_interface = matches!(definition.kind, DefinitionKind::Interface(_));
        is_interface.then(|| format!("a proxy to it is '{}*'", definition.scoped))
    }
}
