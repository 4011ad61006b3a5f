//! The names inside one definition: members, parameters, operations or enumerators.

use std::collections::HashMap;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::parse::ast::{Name, ScopedName, Value, ValueKind};

/// The names so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By name in lower case.
    defined: HashMap<String, Defined>,
    /// First parts of the names of results and exceptions so far, in lower case, and as written. Names
    /// of members and parameters do not count: `Color color;` is common.
    used: HashMap<String, (String, Span)>,
}

/// One of the names.
#[derive(Debug, Clone)]
struct Defined {
    name: String,
    place: Span,
    /// The word for what it names.
    what: &'static str,
    /// True if a base has it and not the definition itself.
    is_inherited: bool,
}

impl Names {
    /// Adds a name that was checked elsewhere, such as an inherited one.
    pub(super) fn inherit(&mut self, name: &str, span: Span) {
        let key = name.to_ascii_lowercase();
        self.defined.entry(key).or_insert_with(|| Defined {
            name: name.to_owned(),
            place: span,
            what: "name",
            is_inherited: true,
        });
    }

    /// Adds a name of the definition itself, unless it has it already.
    pub(super) fn define(&mut self, name: &Name, what: &'static str) {
        let key = name.text.to_ascii_lowercase();
        self.defined.entry(key).or_insert_with(|| Defined {
            name: name.text.clone(),
            place: name.span,
            what,
            is_inherited: false,
        });
    }

    /// Returns the part of this definition that a simple name means, or would mean but for case, if it stands
    /// before the name.
    fn hiding(&self, name: &ScopedName) -> Option<&Defined> {
        let [only] = name.parts.as_slice() else {
            return None;
        };
        let found = self.defined.get(&only.text.to_ascii_lowercase())?;
        let is_behind = found.place.file == name.span.file && found.place.start > name.span.start;
        (!name.is_absolute && !found.is_inherited && !is_behind).then_some(found)
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
    /// Checks a name and adds it to those of its definition; false if it clashes with one. `what` is
    /// the word for what it names.
    pub(super) fn add_name(&mut self, name: &Name, what: &'static str, names: &mut Names) -> bool {
        self.check_name(name);
        self.add_unchecked_name(name, what, names)
    }

    /// Adds a name to those of its definition; false if it clashes with one.
    pub(super) fn add_unchecked_name(
        &mut self,
        name: &Name,
        what: &'static str,
        names: &mut Names,
    ) -> bool {
        let key = name.text.to_ascii_lowercase();
        if let Some(before) = names.defined.get(&key) {
            match before.is_inherited && before.name == name.text {
                true => self.report_inherited(name, before.place),
                false => self.report_two_names(name, &before.name, before.place),
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
        names.define(name, what);
        true
    }

    /// Returns true if a value is named like something that the definition has before it, which is reported:
    /// Ice takes the name for that.
    pub(super) fn is_hidden_value(&mut self, value: &Value, names: &Names) -> bool {
        let help = "the constant with its modules, the enumerator with its enum";
        match &value.kind {
            ValueKind::Name(name) => self.is_hidden(name, help, names),
            _ => false,
        }
    }

    /// Returns true if a name of the definition hides what is meant outside of it, which is reported. `help`
    /// is what may be written instead.
    pub(super) fn is_hidden(&mut self, used: &ScopedName, help: &str, names: &Names) -> bool {
        let Some(hiding) = names.hiding(used) else {
            return false;
        };
        let article = if hiding.what == "operation" {
            "an"
        } else {
            "a"
        };
        let what = hiding.what;
        let message = format!("`{}` means {article} {what} here", used.text());
        let diagnostic = Diagnostic::new(Code::ChangedMeaning, used.span, message)
            .label(hiding.place, format!("this {what}"))
            .help(format!("rename one, or write {help}"));
        self.report(diagnostic);
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
