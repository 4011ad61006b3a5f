//! Diagnostics for a name that means nothing, or nothing that may stand there.

use super::scope::ScopeId;
use super::{Checker, Context, nearest};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::parse::ast::ScopedName;

impl Checker {
    pub(super) fn report_undefined(&mut self, name: &ScopedName, scope: ScopeId, wanted: &str) {
        if self.lacks_files {
            return;
        }
        let text = name.text();
        let message = format!("no {wanted} named `{text}` is visible here");
        let mut diagnostic = Diagnostic::new(Code::UndefinedName, name.span, message);
        if let Some((place, help)) = self.hidden(name) {
            diagnostic = diagnostic.label(place, "defined here").help(help);
        } else if let Some((place, help)) = self.later(name, scope) {
            diagnostic = diagnostic
                .label(place, "defined here, after its use")
                .help(help);
        } else if let Some(help) = self.in_enum(name, scope) {
            diagnostic = diagnostic.help(help);
        } else if let Some(help) = self.in_module(name, scope) {
            diagnostic = diagnostic.help(help);
        } else if let Some(help) = self.suggestion(name, scope) {
            diagnostic = diagnostic.help(help);
        } else {
            diagnostic = diagnostic
                .help("definitions stand before their use: define it above, or include its file");
        }
        self.report(diagnostic);
    }

    /// A definition of this name that cannot be seen from here: in another module, or in a file that
    /// this one does not include.
    fn hidden(&self, name: &ScopedName) -> Option<(Span, String)> {
        let last = name.parts.last()?;
        let id = *self.by_name.get(&last.text)?;
        let definition = self.definition(id);
        let scoped = &definition.scoped;
        let help = if self.facts[id.0].body_unit == Some(self.unit) {
            format!("did you mean `{scoped}`?")
        } else {
            format!("include the file that defines `{scoped}`")
        };
        Some((definition.span, help))
    }

    /// A definition of this simple name that stands further down in this unit.
    fn later(&self, name: &ScopedName, scope: ScopeId) -> Option<(Span, String)> {
        let [only] = name.parts.as_slice() else {
            return None;
        };
        let upcoming = self.upcoming.get(&only.text)?;
        let is_around = |scope| self.scopes.get(scope).path == upcoming.modules;
        let help = if self.scopes.outward(scope).any(is_around) {
            "definitions stand before their use: move this one up".to_owned()
        } else {
            format!(
                "did you mean `{}::{}`? then move it up: definitions stand before their use",
                upcoming.modules, only.text
            )
        };
        Some((upcoming.span, help))
    }

    /// An enumerator of this name, which needs its enum.
    fn in_enum(&self, name: &ScopedName, scope: ScopeId) -> Option<String> {
        let [only] = name.parts.as_slice() else {
            return None;
        };
        let mut around = self.scopes.outward(scope);
        let key = only.text.to_ascii_lowercase();
        let enums = around.find_map(|scope| self.scopes.get(scope).enumerators.get(&key))?;
        let (enumerator, of) = enums.first()?;
        let of = &self.definition(*of).name;
        Some(format!("did you mean the enumerator `{of}::{enumerator}`?"))
    }

    /// Returns the names in the module that a name begins with.
    fn in_module(&mut self, name: &ScopedName, scope: ScopeId) -> Option<String> {
        let (last, path) = name.parts.split_last()?;
        let (true, Some(end)) = (self.suggestions_left > 0, path.last()) else {
            return None;
        };
        let path = ScopedName {
            is_absolute: name.is_absolute,
            parts: path.to_vec(),
            span: name.span.to(end.span),
        };
        let context = Context {
            scope,
            is_local: false,
            is_in_body: true,
        };
        let module = *self.scopes_named(&path, context).first()?;
        self.suggestions_left -= 1;
        let module = self.scopes.get(module);
        let entries = module.entries.values().filter(|it| it.unit == self.unit);
        let meant = nearest(&last.text, entries.map(|entry| entry.name.as_str()));
        Some(match meant {
            Some(meant) => format!("did you mean `{}::{meant}`?", path.text()),
            None => format!(
                "the module `{}` has nothing of this name so far",
                module.path
            ),
        })
    }

    fn suggestion(&mut self, name: &ScopedName, scope: ScopeId) -> Option<String> {
        let last = name.parts.last()?;
        if let Some((_, meant)) = FOREIGN_TYPES
            .iter()
            .find(|(theirs, _)| *theirs == last.text)
        {
            return Some(format!("the Slice type is `{meant}`"));
        }
        self.suggestions_left = self.suggestions_left.checked_sub(1)?;
        let visible = self.scopes.outward(scope).flat_map(|scope| {
            let entries = self.scopes.get(scope).entries.values();
            entries.filter(|entry| entry.unit == self.unit)
        });
        let visible = visible.map(|entry| entry.name.as_str());
        let upcoming = self.upcoming.keys().map(String::as_str);
        let candidates = visible.chain(PRIMITIVES.iter().copied()).chain(upcoming);
        let meant = nearest(&last.text, candidates)?;
        Some(format!("did you mean `{meant}`?"))
    }
}

const PRIMITIVES: &[&str] = &[
    "bool", "byte", "short", "int", "long", "float", "double", "string",
];

/// Types of other languages, with their Slice types.
const FOREIGN_TYPES: &[(&str, &str)] = &[
    ("boolean", "bool"),
    ("char", "byte"),
    ("octet", "byte"),
    ("uint8", "byte"),
    ("uint8_t", "byte"),
    ("u8", "byte"),
    ("int16", "short"),
    ("int16_t", "short"),
    ("i16", "short"),
    ("integer", "int"),
    ("int32", "int"),
    ("int32_t", "int"),
    ("i32", "int"),
    ("int64", "long"),
    ("int64_t", "long"),
    ("i64", "long"),
    ("float32", "float"),
    ("f32", "float"),
    ("float64", "double"),
    ("f64", "double"),
    ("String", "string"),
    ("str", "string"),
];
