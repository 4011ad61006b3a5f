//! Enumerators as values: which one a name means, and of which enum.

use super::scope::ScopeId;
use super::{Checker, Context, nearest};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{ConstValue, DefinitionId, DefinitionKind, Enum};
use crate::parse::ast::{ScopedName, Value, ValueKind};

impl Checker {
    pub(super) fn enumerator_value(
        &mut self,
        of: DefinitionId,
        value: &Value,
        context: Context,
    ) -> Option<ConstValue> {
        let enum_name = self.definition(of).name.clone();
        let ValueKind::Name(name) = &value.kind else {
            let message = format!("an enumerator of `{enum_name}` is needed here");
            let help = format!("write one of {}", self.enumerator_names(of));
            self.error(Code::BadInitializer, value.span, message, &help);
            return None;
        };
        if let Some(id) = self.lookup_quietly(name, context)
            && let Some(ConstValue::Enumerator { of: other, index }) = self.constant_value(id)
            && of == other
        {
            return Some(ConstValue::Enumerator { of, index });
        }
        if let Some(index) = self.enumerator_by_type(of, name) {
            self.check_hidden_enumerator(of, name, context);
            return Some(ConstValue::Enumerator { of, index });
        }
        let is_unknown = self.enumerator_of_name(name, Some(of), context).is_none()
            && self.lookup_quietly(name, context).is_none();
        let found = if is_unknown {
            None
        } else {
            Some(self.constant_or_enumerator(name, Some(of), context)?)
        };
        if let Some(ConstValue::Enumerator { of: other, .. }) = found
            && other == of
        {
            return found;
        }
        let message = format!("`{}` is not an enumerator of `{enum_name}`", name.text());
        let help = match self.nearest_enumerator(of, name) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write one of {}", self.enumerator_names(of)),
        };
        let place = self.definition(of).span;
        let diagnostic = Diagnostic::new(Code::BadInitializer, value.span, message)
            .label(place, "the enum is defined here")
            .help(help);
        self.report(diagnostic);
        None
    }

    /// The enumerator that a simple name means where its type is known.
    fn enumerator_by_type(&self, of: DefinitionId, name: &ScopedName) -> Option<usize> {
        let [only] = name.parts.as_slice() else {
            return None;
        };
        if name.is_absolute {
            return None;
        }
        let enumerators = &self.enumeration_of(of)?.enumerators;
        enumerators.iter().position(|one| one.name == only.text)
    }

    fn nearest_enumerator(&self, of: DefinitionId, name: &ScopedName) -> Option<&str> {
        let enumerators = self.enumeration_of(of)?.enumerators.iter();
        nearest(
            &name.parts.last()?.text,
            enumerators.map(|one| one.name.as_str()),
        )
    }

    fn enumerator_names(&self, of: DefinitionId) -> String {
        let Some(r#enum) = self.enumeration_of(of) else {
            return String::new();
        };
        let names = r#enum.enumerators.iter().take(8);
        let mut names: Vec<String> = names.map(|one| format!("`{}`", one.name)).collect();
        if r#enum.enumerators.len() > names.len() {
            names.push("...".to_owned());
        }
        names.join(", ")
    }

    pub(super) fn enumeration_of(&self, id: DefinitionId) -> Option<&Enum> {
        match &self.definition(id).kind {
            DefinitionKind::Enum(r#enum) => Some(r#enum),
            _ => None,
        }
    }

    /// The enumerator written `Enum::name`, or without its enum.
    pub(super) fn enumerator_of_name(
        &self,
        name: &ScopedName,
        of: Option<DefinitionId>,
        context: Context,
    ) -> Option<(DefinitionId, usize)> {
        if let Some((_, of, index)) = self.enum_before(name, context) {
            return Some((of, index));
        }
        if self.lookup_quietly(name, context).is_some() {
            return None;
        }
        let (path, last) = split_name(name)?;
        let of = self.enum_around(&path, last, of, context)?;
        Some((of, self.index_of(of, last)?))
    }

    /// The enumerator written `Enum::name`, and the scope where `Enum` is found: the nearest whose enum
    /// has the enumerator. What else has the name of the enum is no matter.
    pub(super) fn enum_before(
        &self,
        name: &ScopedName,
        context: Context,
    ) -> Option<(ScopeId, DefinitionId, usize)> {
        let (path, last) = split_name(name)?;
        self.definitions_named(&path, context)
            .find_map(|(scope, of)| Some((scope, of, self.index_of(of, last)?)))
    }

    fn index_of(&self, of: DefinitionId, enumerator: &str) -> Option<usize> {
        let enumerators = &self.enumeration_of(of)?.enumerators;
        enumerators.iter().position(|one| one.name == enumerator)
    }

    /// Warns of an enumerator without its enum where its type does not say which enum is meant, as
    /// Ice 3.7 does and Ice 3.8 does not.
    pub(super) fn warn_without_enum(
        &mut self,
        of: DefinitionId,
        name: &ScopedName,
        context: Context,
    ) {
        if self.is_38() || self.is_with_enum(of, name, context) {
            return;
        }
        let last = name.parts.last().map_or("", |last| &last.text);
        let message = format!("the enumerator `{}` stands without its enum", name.text());
        let help = format!("write `{}::{last}`", self.definition(of).name);
        self.error(Code::Deprecated, name.span, message, &help);
    }

    /// Returns true if the name of an enumerator has the enum before it.
    pub(super) fn is_with_enum(
        &self,
        of: DefinitionId,
        name: &ScopedName,
        context: Context,
    ) -> bool {
        let written = self.enum_before(name, context);
        written.is_some_and(|(_, found, _)| found == of)
    }

    /// Reports an enumerator without its enum that enums of one module have both. It has the type of
    /// neither where an integer is needed.
    pub(super) fn check_one_meaning(
        &mut self,
        of: DefinitionId,
        name: &ScopedName,
        context: Context,
    ) -> Option<()> {
        let (path, last) = split_name(name)?;
        let key = last.to_ascii_lowercase();
        let scopes = self.scopes_named(&path, context).into_iter();
        let mut enums = scopes.filter_map(|scope| self.scopes.get(scope).enumerators.get(&key));
        let mut enums = enums
            .find(|enums| enums.iter().any(|(_, id)| *id == of))?
            .iter();
        let Some((_, other)) = enums.find(|(_, id)| *id != of) else {
            return Some(());
        };
        let (definition, other) = (self.definition(of), self.definition(*other));
        let (one, two) = (&definition.name, &other.name);
        let message = format!("`{}` may be `{one}::{last}` or one of `{two}`", name.text());
        let diagnostic = Diagnostic::new(Code::BadInitializer, name.span, message)
            .label(definition.span, "one enum")
            .label(other.span, "the other enum")
            .help(format!("write `{one}::{last}`"));
        self.report(diagnostic);
        None
    }

    /// A definition hides an enumerator of its name that is written without its enum.
    pub(super) fn check_hidden_enumerator(
        &mut self,
        of: DefinitionId,
        name: &ScopedName,
        context: Context,
    ) {
        let Some(hides) = self.entry_like(name, context) else {
            return;
        };
        let (of, text) = (self.definition(of).name.clone(), name.text());
        let message = format!("`{text}` means `{}` here and not an enumerator", hides.name);
        let last = name.parts.last().map_or("", |last| &last.text);
        let diagnostic = Diagnostic::new(Code::WrongKind, name.span, message)
            .label(hides.span, "this definition")
            .help(format!("write `{of}::{last}`"));
        self.report(diagnostic);
    }

    /// The enum in a module, or in the modules around, that has an enumerator of a name.
    fn enum_around(
        &self,
        module: &ScopedName,
        enumerator: &str,
        wanted: Option<DefinitionId>,
        context: Context,
    ) -> Option<DefinitionId> {
        let scopes = self.scopes_named(module, context);
        let key = enumerator.to_ascii_lowercase();
        scopes.into_iter().find_map(|scope| {
            let enums = self.scopes.get(scope).enumerators.get(&key)?.iter();
            let enums: Vec<DefinitionId> = enums
                .filter(|(name, _)| name == enumerator)
                .map(|(_, of)| *of)
                .collect();
            let wanted = wanted.filter(|of| enums.contains(of));
            wanted.or_else(|| enums.first().copied())
        })
    }
}

/// The last part of a name, and what stands before it.
fn split_name(name: &ScopedName) -> Option<(ScopedName, &str)> {
    let (last, path) = name.parts.split_last()?;
    let path = ScopedName {
        is_absolute: name.is_absolute,
        parts: path.to_vec(),
        span: name.span,
    };
    Some((path, &last.text))
}
