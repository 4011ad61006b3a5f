//! Reads JSON, checked against the type: collects every problem instead of stopping at one.

mod dictionary;
mod members;

use std::borrow::Cow;
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;

use floe_slice::model::{Primitive, Type};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;
use serde_json::{Map, Value as Json};

use self::dictionary::{Entries, Source};
use super::graph::Graph;
use super::problem::describe;
use super::{JsonError, MAX_PROBLEMS, Problem, number};
use crate::path::{Located, Path, Segment};
use crate::value::ValueWriter;
use crate::walk::{Cause, Subject, members as walk_members, whole};
use crate::wording::{join, suggest};
use crate::{Contract, Enumeration, Layout, Order, Reader, Record, Shape, Value};

/// Reads values from JSON, as the page on the JSON form of Slice describes it.
///
/// A walk goes on after a mistake, with some value of the type, so that [`Reader::end`] can tell of all mistakes at once.
/// Until then nothing that was written may be used.
#[derive(Debug)]
pub struct JsonReader<'j> {
    contract: Contract,
    /// The JSON of the current value.
    now: Now<'j>,
    around: Vec<Around<'j>>,
    /// Keys of the record that begins next which are no members.
    ignored: &'static [&'static str],
    path: Path<'j>,
    problems: Vec<Problem>,
    further: usize,
    graph: Graph,
    /// Class instances inside one another.
    depth: usize,
}

/// The source of the current value.
#[derive(Debug, Clone)]
enum Now<'j> {
    Json(&'j Json),
    Object(&'j Map<String, Json>),
    /// The value for which the key of an object stands.
    Key(Json),
    /// The declared default of a member that is left out.
    Default(Value),
    /// There was a mistake, which is among the problems.
    Wrong,
    /// The only value of a payload, which stands for the record that has it.
    Only(&'j Json),
}

/// A record, sequence or dictionary around the current value.
#[derive(Debug)]
struct Around<'j> {
    /// How long the path to it is.
    path_len: usize,
    parts: Parts<'j>,
}

#[derive(Debug)]
enum Parts<'j> {
    /// Members by name.
    Members(&'j Map<String, Json>),
    /// Parameters in order, or elements.
    Elements(&'j [Json]),
    /// One parameter, at this position.
    One(usize, &'j Json),
    /// The only value of a payload.
    Only(&'j Json),
    Entries(Entries<'j>),
    Wrong,
}

impl<'j> JsonReader<'j> {
    /// A reader of a value of a type of the contract, or of parameters or results: an object of them by name, or an array in
    /// order. Paths in problems begin with `root`.
    pub fn new(contract: &Contract, root: &'static str, json: &'j Json) -> Self {
        Self {
            contract: contract.clone(),
            now: Now::Json(json),
            around: Vec::new(),
            ignored: &[],
            path: Path::new(root),
            problems: Vec::new(),
            further: 0,
            graph: Graph::default(),
            depth: 0,
        }
    }

    /// A reader of a record with one member, of which the JSON is that member.
    pub(crate) fn only(contract: &Contract, root: &'static str, json: &'j Json) -> Self {
        Self {
            now: Now::Only(json),
            ..Self::new(contract, root, json)
        }
    }

    /// Builds the value that the JSON stands for.
    pub(crate) fn build(&mut self, subject: &Subject<'_>) -> Result<Value, JsonError> {
        let mut writer = ValueWriter::default();
        whole(subject, self, &mut writer).map_err(|lost| only_json(*lost))?;
        Ok(writer.into_value())
    }

    pub(super) fn contract(&self) -> Contract {
        self.contract.clone()
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

    /// Reads the members of a class instance or exception; `None` after problems.
    ///
    /// Keys in `ignored` are not looked at.
    pub(crate) fn members(
        &mut self,
        record: &Record,
        object: &'j Map<String, Json>,
        ignored: &'static [&'static str],
    ) -> Option<Vec<Value>> {
        let before = self.problem_count();
        self.now = Now::Object(object);
        self.ignored = ignored;
        let mut writer = ValueWriter::default();
        let walked = walk_members(record, self, &mut writer);
        (walked.is_ok() && self.problem_count() == before).then(|| writer.into_members())
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

    pub(super) fn at<T>(&mut self, segment: Segment<'j>, read: impl FnOnce(&mut Self) -> T) -> T {
        let len = self.path.len();
        self.path.push(segment);
        let value = read(self);
        self.path.truncate(len);
        value
    }

    /// Ends the reading: completes the class instances.
    pub(crate) fn finish(&mut self) -> Result<(), JsonError> {
        self.link_instances();
        match self.is_fine() {
            true => Ok(()),
            false => Err(self.error()),
        }
    }

    /// The error with all problems so far.
    fn error(&mut self) -> JsonError {
        JsonError::new(std::mem::take(&mut self.problems), self.further)
    }

    fn problem_count(&self) -> usize {
        self.problems.len() + self.further
    }

    fn json(&self) -> Option<&Json> {
        match &self.now {
            Now::Json(json) | Now::Only(json) => Some(json),
            Now::Key(json) => Some(json),
            Now::Object(_) | Now::Default(_) | Now::Wrong => None,
        }
    }

    /// Keeps a problem with the current value, unless there is one already.
    fn wrong(&mut self, expected: impl FnOnce() -> String) {
        if let Some(json) = self.json() {
            let found = describe(json);
            self.problem::<()>(expected(), found, None);
        }
        self.now = Now::Wrong;
    }

    /// The current value as a number or bool; `None` after a problem.
    fn primitive(&mut self, primitive: Primitive) -> Option<Value> {
        let read = match &self.now {
            Now::Default(value) => Some(value.clone()),
            _ => match (primitive, self.json()) {
                (Primitive::Bool, Some(Json::Bool(value))) => Some(Value::Bool(*value)),
                (primitive, Some(json)) => number::read(primitive, json),
                (_, None) => None,
            },
        };
        if read.is_none() {
            self.wrong(|| describe_primitive(primitive).to_owned());
        }
        read
    }

    fn begin(&mut self, parts: Parts<'j>) {
        let path_len = self.path.len();
        self.around.push(Around { path_len, parts });
    }

    /// Goes to a part of what is around.
    fn go(&mut self, segment: Segment<'j>, now: Now<'j>) {
        let path_len = self.around.last().map_or(0, |around| around.path_len);
        self.path.truncate(path_len);
        self.path.push(segment);
        self.now = now;
    }

    fn end_parts(&mut self) {
        if let Some(around) = self.around.pop() {
            self.path.truncate(around.path_len);
        }
    }
}

impl Reader for JsonReader<'_> {
    type Error = JsonError;
    const ORDER: Order = Order::Any;

    fn unsupported(&mut self, _layout: &Layout) -> JsonError {
        self.problem::<()>("a value of a supported type", "one of another", None);
        self.error()
    }

    fn bool(&mut self) -> Result<bool, JsonError> {
        let value = self.primitive(Primitive::Bool);
        Ok(matches!(value, Some(Value::Bool(true))))
    }

    fn byte(&mut self) -> Result<u8, JsonError> {
        match self.primitive(Primitive::Byte) {
            Some(Value::Byte(value)) => Ok(value),
            _ => Ok(0),
        }
    }

    fn short(&mut self) -> Result<i16, JsonError> {
        match self.primitive(Primitive::Short) {
            Some(Value::Short(value)) => Ok(value),
            _ => Ok(0),
        }
    }

    fn int(&mut self) -> Result<i32, JsonError> {
        match self.primitive(Primitive::Int) {
            Some(Value::Int(value)) => Ok(value),
            _ => Ok(0),
        }
    }

    fn long(&mut self) -> Result<i64, JsonError> {
        match self.primitive(Primitive::Long) {
            Some(Value::Long(value)) => Ok(value),
            _ => Ok(0),
        }
    }

    fn float(&mut self) -> Result<f32, JsonError> {
        match self.primitive(Primitive::Float) {
            Some(Value::Float(value)) => Ok(value),
            _ => Ok(0.0),
        }
    }

    fn double(&mut self) -> Result<f64, JsonError> {
        match self.primitive(Primitive::Double) {
            Some(Value::Double(value)) => Ok(value),
            _ => Ok(0.0),
        }
    }

    fn string(&mut self) -> Result<Cow<'_, str>, JsonError> {
        let is_text = match &self.now {
            Now::Default(value) => matches!(value, Value::String(_)),
            _ => matches!(self.json(), Some(Json::String(_))),
        };
        if !is_text {
            self.wrong(|| describe_primitive(Primitive::String).to_owned());
        }
        let text = match &self.now {
            Now::Default(Value::String(text)) => text,
            _ => self.json().and_then(Json::as_str).unwrap_or_default(),
        };
        Ok(Cow::Borrowed(text))
    }

    fn bytes(&mut self, layout: &Layout) -> Result<Cow<'_, [u8]>, JsonError> {
        let Now::Json(Json::Array(elements)) = self.now else {
            self.wrong(|| format!("an array of byte for {}", layout.name()));
            return Ok(Cow::Borrowed(&[]));
        };
        let bytes: Option<Vec<u8>> = elements.iter().map(number::byte).collect();
        if bytes.is_none() {
            self.begin(Parts::Elements(elements));
            for (index, json) in elements.iter().enumerate() {
                self.go(Segment::Index(index), Now::Json(json));
                self.byte()?;
            }
            self.end_parts();
        }
        Ok(Cow::Owned(bytes.unwrap_or_default()))
    }

    fn enumerator(&mut self, layout: &Layout, all: &Enumeration) -> Result<usize, JsonError> {
        if let Now::Default(Value::Enumerator(value)) = &self.now {
            return Ok(all.position(*value).unwrap_or_default());
        }
        let Some(json) = self.json() else {
            return Ok(0);
        };
        let text = recorded("$enum", json).as_str();
        let simple = text.and_then(|text| unqualified(layout.name(), text));
        let found = simple.and_then(|simple| all.position_of(simple));
        if found.is_none() {
            let names: Vec<&str> = all.names().collect();
            let expected = format!("an enumerator of {} ({})", layout.name(), join(&names));
            let help = suggest(text.unwrap_or_default(), names.into_iter());
            let (help, found) = (help.map(did_you_mean), describe(json));
            self.problem::<()>(expected, found, help);
        }
        Ok(found.unwrap_or_default())
    }

    fn proxy(&mut self, layout: &Layout) -> Result<Option<Cow<'_, Reference>>, JsonError> {
        let expected = || format!("a proxy as text, or null, for {}", layout.name());
        let Now::Json(json) = self.now else {
            return Ok(None);
        };
        match recorded("$proxy", json) {
            Json::Null => {}
            Json::String(text) => match Reference::parse(text) {
                Ok(reference) => return Ok(reference.map(Cow::Owned)),
                Err(error) => {
                    self.problem::<()>(expected(), describe(json), Some(error.to_string()));
                }
            },
            json => {
                self.mismatch::<()>(expected(), json);
            }
        }
        Ok(None)
    }

    fn instance(&mut self, layout: &Layout) -> Result<Link<dyn AnyClass>, JsonError> {
        let Now::Json(json) = self.now else {
            return Ok(Link::nil());
        };
        let r#type = match layout.shape() {
            Shape::Class {
                definition: Some(id),
                ..
            } => Type::Named(*id),
            _ => Type::AnyClass,
        };
        Ok(self.link(r#type, json).unwrap_or_default())
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), JsonError> {
        let ignored = std::mem::take(&mut self.ignored);
        let is_list = self.around.is_empty() && record.noun != "member";
        let parts = match self.now {
            Now::Only(json) => Parts::Only(json),
            Now::Json(Json::Object(object)) | Now::Object(object) => {
                self.refuse_unknown(record, object, ignored);
                Parts::Members(object)
            }
            Now::Json(json) if is_list => self.list(record, json).unwrap_or(Parts::Wrong),
            _ => {
                self.wrong(|| {
                    format!(
                        "an object with the members of {} ({})",
                        record.name(),
                        record.list()
                    )
                });
                Parts::Wrong
            }
        };
        self.begin(parts);
        Ok(())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, JsonError> {
        let member = &record.members()[index];
        let Some(around) = self.around.last() else {
            return Ok(false);
        };
        Ok(match around.parts {
            Parts::Members(object) => match object.get_key_value(member.name()) {
                Some((key, json)) => {
                    let segment = Segment::Member(Cow::Borrowed(key.as_str()));
                    self.present(member, Some(segment), json)
                }
                None => self.absent(record, member),
            },
            Parts::Elements(elements) => match elements.get(index) {
                Some(json) => self.present(member, Some(Segment::Index(index)), json),
                None => false,
            },
            Parts::One(at, json) if at == index => {
                let segment = Segment::Member(Cow::Owned(member.name().to_owned()));
                self.present(member, Some(segment), json)
            }
            Parts::One(..) => false,
            Parts::Only(json) => self.present(member, None, json),
            Parts::Entries(_) | Parts::Wrong => {
                self.now = Now::Wrong;
                member.tag().is_none()
            }
        })
    }

    fn end_record(&mut self, _record: &Record) -> Result<(), JsonError> {
        self.end_parts();
        Ok(())
    }

    fn begin_sequence(&mut self, layout: &Layout, element: &Layout) -> Result<usize, JsonError> {
        let Now::Json(Json::Array(elements)) = self.now else {
            self.wrong(|| format!("an array of {} for {}", element.name(), layout.name()));
            self.begin(Parts::Wrong);
            return Ok(0);
        };
        self.begin(Parts::Elements(elements));
        Ok(elements.len())
    }

    fn begin_element(&mut self, index: usize) -> Result<(), JsonError> {
        if let Some(Around {
            parts: Parts::Elements(elements),
            ..
        }) = self.around.last()
        {
            let now = elements.get(index).map_or(Now::Wrong, Now::Json);
            self.go(Segment::Index(index), now);
        }
        Ok(())
    }

    fn end_sequence(&mut self) -> Result<(), JsonError> {
        self.end_parts();
        Ok(())
    }

    fn begin_dictionary(
        &mut self,
        layout: &Layout,
        _key: &Layout,
        _value: &Layout,
    ) -> Result<usize, JsonError> {
        let entries = match self.now {
            Now::Json(json) => self.entries(layout, json),
            _ => None,
        };
        let (Some((source, count)), Shape::Dictionary { key, .. }) = (entries, layout.shape())
        else {
            self.begin(Parts::Wrong);
            return Ok(0);
        };
        // The keys of an object are different texts already.
        let is_text = matches!(key.shape(), Shape::Primitive(Primitive::String));
        let is_unique = is_text && matches!(source, Source::Object(_));
        self.begin(Parts::Entries(Entries {
            source,
            key_layout: Arc::clone(key),
            entry: None,
            problem_count: 0,
            seen: (!is_unique).then(HashSet::new),
        }));
        Ok(count)
    }

    fn begin_key(&mut self, index: usize) -> Result<(), JsonError> {
        let problem_count = self.problem_count();
        let Some(entries) = self.around_entries() else {
            return Ok(());
        };
        entries.problem_count = problem_count;
        match &mut entries.source {
            Source::Object(all) => {
                if let Some((text, value)) = all.next() {
                    let key = Now::Key(number::key_json(&entries.key_layout, text));
                    entries.entry = Some((key.clone(), value));
                    self.go(Segment::Key(Cow::Borrowed(text)), key);
                }
            }
            Source::Pairs(all) => {
                let Some(pair) = all.next() else {
                    return Ok(());
                };
                let found = match pair.as_array().map(Vec::as_slice) {
                    Some([key, value]) => Some((Now::Json(key), value)),
                    _ => None,
                };
                entries.entry = found.clone();
                self.go(Segment::Index(index), Now::Wrong);
                match found {
                    Some((key, _)) => {
                        self.now = key;
                        self.path.push(Segment::Index(0));
                    }
                    None => {
                        self.mismatch::<()>("a pair [key, value]", pair);
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_value(&mut self, _index: usize) -> Result<(), JsonError> {
        let Some(entries) = self.around_entries() else {
            return Ok(());
        };
        let is_pair = matches!(entries.source, Source::Pairs(_));
        let value = entries.entry.as_ref().map(|(_, value)| *value);
        if is_pair && value.is_some() {
            self.path.pop();
        }
        self.refuse_same_key();
        if is_pair && value.is_some() {
            self.path.push(Segment::Index(1));
        }
        self.now = value.map_or(Now::Wrong, Now::Json);
        Ok(())
    }

    /// Completes the class instances, and tells of all problems.
    fn end(&mut self, _has_classes: bool) -> Result<(), JsonError> {
        self.finish()
    }
}

/// The error of a walk to a format that can say everything.
pub(crate) fn only_json(lost: Located<Cause<JsonError, Infallible>>) -> JsonError {
    Cause::only_read(lost.into_parts().0)
}

/// Returns the JSON under the key, if a recorded value names its kind by that key.
fn recorded<'j>(key: &str, json: &'j Json) -> &'j Json {
    json.get(key).unwrap_or(json)
}

pub(super) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// The enumerator's own name, of a name that may be scoped: `red`, `Color::red`, `::M::Color::red`.
fn unqualified<'t>(enum_name: &str, text: &'t str) -> Option<&'t str> {
    let Some((scope, simple)) = text.rsplit_once("::") else {
        return Some(text);
    };
    let scope = format!("::{}", scope.strip_prefix("::").unwrap_or(scope));
    enum_name.ends_with(&scope).then_some(simple)
}

/// The built-in types in a message: with article and range.
fn describe_primitive(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "a bool (true or false)",
        Primitive::Byte => "a byte (0 to 255)",
        Primitive::Short => "a short (-32768 to 32767)",
        Primitive::Int => "an int (-2147483648 to 2147483647)",
        Primitive::Long => "a long (-9223372036854775808 to 9223372036854775807)",
        Primitive::Float => {
            "a float (a number up to 3.4028235e38, \"NaN\", \"Infinity\" or \"-Infinity\")"
        }
        Primitive::Double => "a double (a number, \"NaN\", \"Infinity\" or \"-Infinity\")",
        Primitive::String => "a string",
    }
}
