//! The members of objects, and the forms in which JSON may have parameters.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{JsonReader, Now, Parts, describe_primitive, did_you_mean};
use crate::path::Segment;
use crate::wording::{quote, suggest};
use crate::{Layout, Member, Record, Shape};

impl<'j> JsonReader<'j> {
    /// The parameters or results in one of the forms that JSON may have for them.
    pub(super) fn list(&mut self, record: &Record, json: &'j Json) -> Option<Parts<'j>> {
        let members = record.members();
        match (json, members) {
            (Json::Array(elements), members) if fits(elements.len(), members) => {
                Some(Parts::Elements(elements))
            }
            (Json::Array(_), []) => self.mismatch(format!("no {}s", record.noun), json),
            (Json::Array(_), members) => {
                let least = members.len() - optional_at_the_end(members);
                let count = match least == members.len() {
                    true => least.to_string(),
                    false => format!("{least} to {}", members.len()),
                };
                self.mismatch(format!("an array of {count} ({})", record.list()), json)
            }
            (Json::Null, []) => Some(Parts::Elements(&[])),
            (json, [_]) => Some(Parts::One(0, json)),
            (json, members) => match only_required(members) {
                Some(at) => Some(Parts::One(at, json)),
                None => {
                    let names = record.list();
                    self.mismatch(format!("an object with {names}, or an array of them"), json)
                }
            },
        }
    }

    pub(super) fn refuse_unknown(
        &mut self,
        record: &Record,
        object: &'j Map<String, Json>,
        ignored: &[&str],
    ) {
        let mut members = record.members().iter();
        // Most objects have their members in order.
        if object
            .keys()
            .all(|key| members.any(|member| member.name() == key))
        {
            return;
        }
        let (name, noun) = (record.name(), record.noun);
        for key in object.keys() {
            let mut names = record.members().iter().map(Member::name);
            if names.any(|name| name == key) || ignored.contains(&key.as_str()) {
                continue;
            }
            let expected = match record.members() {
                [] => format!("nothing: {name} has no {noun}s"),
                _ => format!("a {noun} of {name} ({})", record.list()),
            };
            let names = record.members().iter().map(Member::name);
            let help = suggest(key, names.filter(|name| !object.contains_key(*name)));
            let help = help.map(did_you_mean);
            self.at(Segment::Member(Cow::Borrowed(key)), |reader| {
                reader.problem::<()>(expected, quote(key), help)
            });
        }
    }

    /// A member that the JSON leaves out: its default, or a problem. Answers false if it is optional.
    pub(super) fn absent(&mut self, record: &Record, member: &Member) -> bool {
        if member.tag().is_some() {
            return false;
        }
        if let Some(default) = &member.default {
            let default = Now::Default(default.clone());
            self.go(Segment::Index(0), default);
            return true;
        }
        let expected = describe_type(member.layout());
        let help = format!("{} has no default for it", record.name());
        let name = Cow::Owned(member.name().to_owned());
        self.go(Segment::Member(name), Now::Wrong);
        self.problem::<()>(expected, "nothing", Some(help));
        true
    }

    /// Goes to a member that the JSON has. Answers false if that says that it has no value.
    pub(super) fn present(
        &mut self,
        member: &Member,
        segment: Option<Segment<'j>>,
        json: &'j Json,
    ) -> bool {
        if member.tag().is_some() && self.is_unset(member.layout(), json) {
            return false;
        }
        match segment {
            Some(segment) => self.go(segment, Now::Json(json)),
            None => self.now = Now::Json(json),
        }
        true
    }
}

/// Returns true if an array of so many can be for the members: optional ones at the end may be left out.
fn fits(len: usize, members: &[Member]) -> bool {
    (members.len() - optional_at_the_end(members)..=members.len()).contains(&len)
}

/// How many members at the end are optional.
fn optional_at_the_end(members: &[Member]) -> usize {
    let from_the_end = members.iter().rev();
    from_the_end
        .take_while(|member| member.tag().is_some())
        .count()
}

/// The place of the one member that is not optional: a bare value can only be for it.
fn only_required(members: &[Member]) -> Option<usize> {
    let mut required = (0..members.len()).filter(|at| members[*at].tag().is_none());
    required.next().filter(|_| required.next().is_none())
}

fn describe_type(layout: &Layout) -> String {
    match layout.shape() {
        Shape::Primitive(primitive) => describe_primitive(*primitive).to_owned(),
        _ => layout.name().to_owned(),
    }
}
