//! The names inside one definition: members, parameters, operations or enumerators.

use std::collections::HashMap;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::parse::ast::{Name, ScopedName};

/// The names so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By name in lower case: the name, its place, and whether a base has it.
    defined: HashMap<String, (String, Span, bool)>,
    /// First parts of the names of results and exceptions so far, in lower case, and as written. Names
    /// of members and parameters do not count: `Color color;` is common.
    used: HashMap<String, (String, Span)>,
}

impl Names {
    /// Adds a name that was checked elsewhere, such as an inherited one.
    pub(super) fn inherit(&mut self, name: &str, span: Span) {
        let key = name.to_ascii_lowercase();
        self.defined
            .entry(key)
            .or_insert((name.to_owned(), span, true));
    }

    /// Where a name of this definition stands that a simple name means, or would mean but for case.
    pub(super) fn place_of(&self, name: &ScopedName) -> Option<Span> {
        let [only] = name.parts.as_slice() else {
            return None;
        };
        let (_, place, _) = self.defined.get(&only.text.to_ascii_lowercase())?;
        (!name.is_absolute).then_some(*place)
    }

    /// Notes that a type is used, so that no later name may change its meaning.
    pub(super) fn note_use(&mut self, name: &ScopedName) {
        if let Some(first) = name.parts.first().filter(|_| !name.is_absolute) {
            let key = first.text.to_ascii_lowercase();
            self.used
                .entry(key)
                .or_insert((first.text.clone(), first.span));
        }
    }
}

impl Checker {
    /// Checks a name and adds it to those of its definition; false if it clashes with one.
    pub(super) fn add_name(&mut self, name: &Name, names: &mut Names) -> bool {
        self.check_name(name);
        self.add_unchecked_name(name, names)
    }

    /// Adds a name to those of its definition; false if it clashes with one.
    pub(super) fn add_unchecked_name(&mut self, name: &Name, names: &mut Names) -> bool {
        let key = name.text.to_ascii_lowercase();
        if let Some((before, place, is_inherited)) = names.defined.get(&key).cloned() {
            match is_inherited && before == name.text {
                true => self.report_inherited(name, place),
                false => self.report_two_names(name, &before, place),
            }
            return false;
        }
        if let Some((used, place)) = names.used.get(&key) {
            if *used == name.text {
                self.report_changed_meaning(name, *place);
            } else {
                self.report_changed_case(name, used, *place);
            }
        }
        names
            .defined
            .insert(key, (name.text.clone(), name.span, false));
        true
    }

    /// Reports a member or operation that a base has already.
    pub(super) fn report_inherited(&mut self, name: &Name, place: Span) {
        let message = format!("`{}` is inherited and cannot be defined again", name.text);
        let diagnostic = Diagnostic::new(Code::Redefinition, name.span, message)
            .label(place, "inherited from here")
            .help("remove it, or choose another name");
        self.report(diagnostic);
    }

    /// A name that differs only in case from one used before: Ice takes it for the same.
    pub(super) fn report_changed_case(&mut self, name: &Name, used: &str, place: Span) {
        let message = format!(
            "`{}` differs from `{used}`, used before, only in case",
            name.text
        );
        let diagnostic = Diagnostic::new(Code::ChangedMeaning, name.span, message)
            .label(place, "it means something else here")
            .help(format!(
                "names that differ only in case are the same here: rename it, or write `::Module::{used}`"
            ));
        self.report(diagnostic);
    }
}
