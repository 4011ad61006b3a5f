//! The names inside one definition: members, parameters, operations or enumerators.

use std::collections::HashMap;

use super::Checker;
use crate::diagnostic::Span;
use crate::parse::ast::{Name, ScopedName};

/// The names so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By name in lower case.
    defined: HashMap<String, (String, Span)>,
    /// First parts of the names of results and exceptions so far, as written. Names of members and
    /// parameters do not count: `Color Color;` is common.
    used: HashMap<String, Span>,
}

impl Names {
    /// Adds a name that was checked elsewhere, such as an inherited one.
    pub(super) fn inherit(&mut self, name: &str, span: Span) {
        let key = name.to_ascii_lowercase();
        self.defined.entry(key).or_insert((name.to_owned(), span));
    }

    /// Where a name of this definition stands that a simple name means.
    pub(super) fn place_of(&self, name: &ScopedName) -> Option<Span> {
        let [only] = name.parts.as_slice() else {
            return None;
        };
        let (defined, place) = self.defined.get(&only.text.to_ascii_lowercase())?;
        (!name.is_absolute && *defined == only.text).then_some(*place)
    }

    /// Notes that a type is used, so that no later name may change its meaning.
    pub(super) fn note_use(&mut self, name: &ScopedName) {
        if let Some(first) = name.parts.first().filter(|_| !name.is_absolute) {
            self.used.entry(first.text.clone()).or_insert(first.span);
        }
    }
}

impl Checker {
    /// Checks a name and adds it to those of its definition; false if it clashes with one.
    pub(super) fn add_name(&mut self, name: &Name, names: &mut Names) -> bool {
        self.check_name(name);
        let key = name.text.to_ascii_lowercase();
        if let Some((before, place)) = names.defined.get(&key).cloned() {
            self.report_two_names(name, &before, place);
            return false;
        }
        if let Some(place) = names.used.get(&name.text) {
            self.report_changed_meaning(name, *place);
        }
        names.defined.insert(key, (name.text.clone(), name.span));
        true
    }
}
