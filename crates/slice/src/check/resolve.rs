//! Looking up names, and what types they give.

use super::scope::{Entry, ScopeId, Target};
use super::{Checker, Context};
use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{DefinitionId, DefinitionKind, Type};
use crate::parse::ast::{self, ScopedName, TypeKind};

/// The result of a walk along the parts of a name.
enum Walk {
    Found(Entry),
    /// It exists under another spelling, given here with its modules as they were written.
    OtherCase(Entry, String),
    Missing,
}

impl Checker {
    /// The type that is written; `None` if it is reported as wrong.
    pub(super) fn resolve_type(&mut self, r#type: &ast::Type, context: Context) -> Option<Type> {
        match &r#type.kind {
            TypeKind::Primitive(primitive) => Some(Type::Primitive(*primitive)),
            TypeKind::ObjectProxy => Some(Type::ObjectProxy),
            TypeKind::AnyClass => Some(Type::AnyClass),
            TypeKind::LocalObject => {
                if !context.is_local {
                    let message = "only a local type can use `LocalObject`";
                    let help = "use `Object*` for a proxy";
                    self.error(Code::LocalMisuse, r#type.span, message, help);
                    return None;
                }
                Some(Type::AnyClass)
            }
            TypeKind::Named(name) => {
                let id = self.find_definition(name, context, "type")?;
                self.value_type(id, name)
            }
            TypeKind::Proxy(name) => {
                let id = self.find_definition(name, context, "interface")?;
                self.proxy_type(id, name)
            }
        }
    }

    fn value_type(&mut self, id: DefinitionId, name: &ScopedName) -> Option<Type> {
        let text = name.text();
        match self.definition(id).kind {
            DefinitionKind::Exception(_) => {
                let message = format!("`{text}` is an exception, which cannot be a value");
                let help = "exceptions are only thrown; put the data into a struct";
                self.error(Code::WrongKind, name.span, message, help);
                None
            }
            DefinitionKind::Const(_) => {
                let message = format!("`{text}` is a constant and not a type");
                self.error(Code::WrongKind, name.span, message, "name its type instead");
                None
            }
            // A local interface is held as it is: it has neither proxies nor classes.
            DefinitionKind::Interface(_) if self.facts[id.0].is_local => Some(Type::AnyClass),
            DefinitionKind::Interface(_) => self.interface_by_value(name, &text),
            _ => Some(Type::Named(id)),
        }
    }

    /// An interface without `*` is, in Ice 3.7, a class instance that implements it.
    fn interface_by_value(&mut self, name: &ScopedName, text: &str) -> Option<Type> {
        let help = format!("write `{text}*` for a proxy");
        if !self.language.has_37() {
            let message = format!("the interface `{text}` is not a type of values");
            self.error(Code::WrongKind, name.span, message, &help);
            return None;
        }
        let message = format!("`{text}` without `*` means a class instance and not a proxy");
        self.error(Code::DeprecatedFeature, name.span, message, &help);
        Some(Type::AnyClass)
    }

    fn proxy_type(&mut self, id: DefinitionId, name: &ScopedName) -> Option<Type> {
        let text = name.text();
        match self.definition(id).kind {
            DefinitionKind::Interface(_) if self.facts[id.0].is_local => {
                let message = format!("`{text}` is local, and local interfaces have no proxies");
                let diagnostic = Diagnostic::new(Code::LocalMisuse, name.span, message)
                    .label(self.definition(id).span, "defined here")
                    .help("remove the `*`");
                self.report(diagnostic);
                None
            }
            DefinitionKind::Interface(_) => Some(Type::Proxy(id)),
            DefinitionKind::Class(_) if self.language.has_37() => {
                let message = format!("`{text}*` is a proxy to a class");
                let help = "declare an interface for the operations";
                self.error(Code::DeprecatedFeature, name.span, message, help);
                Some(Type::Proxy(id))
            }
            _ => {
                let message = format!(
                    "`{text}` is {}, and only interfaces have proxies",
                    self.noun(id)
                );
                self.error(Code::WrongKind, name.span, message, "remove the `*`");
                None
            }
        }
    }

    /// The definition that a name means; what else it may mean is reported, with `wanted` as the
    /// word for what is needed.
    pub(super) fn find_definition(
        &mut self,
        name: &ScopedName,
        context: Context,
        wanted: &str,
    ) -> Option<DefinitionId> {
        let id = match self.find(name, context, wanted)? {
            Target::Definition(id) => id,
            Target::Broken => return None,
            Target::Module(_) => {
                let message = format!("`{}` is a module and not a {wanted}", name.text());
                let help = format!("name something in it: `{}::...`", name.text());
                self.error(Code::WrongKind, name.span, message, &help);
                return None;
            }
        };
        if self.facts[id.0].is_local && !context.is_local {
            let message = format!("`{}` is local and cannot be used here", name.text());
            let diagnostic = Diagnostic::new(Code::LocalMisuse, name.span, message)
                .label(self.definition(id).span, "local here")
                .help("local types never travel: use a type that is not local");
            self.report(diagnostic);
            return None;
        }
        self.warn_if_deprecated(id, name.span);
        Some(id)
    }

    /// Resolves a name, seen from a scope.
    pub(super) fn find(
        &mut self,
        name: &ScopedName,
        context: Context,
        wanted: &str,
    ) -> Option<Target> {
        let from = if name.is_absolute {
            self.scopes.root()
        } else {
            context.scope
        };
        let mut other_case = None;
        for candidate in self.scopes.outward(from).collect::<Vec<_>>() {
            match self.walk(candidate, name) {
                Walk::Found(entry) => {
                    self.note_use(name, context);
                    return Some(entry.target);
                }
                Walk::OtherCase(entry, spelled) => {
                    let hides = self.hides_outer(&entry, wanted);
                    other_case.get_or_insert((entry, spelled));
                    if hides {
                        break;
                    }
                }
                Walk::Missing => {}
            }
        }
        if let Some(unseen) = self.unseen
            && self.names_unseen(name, context)
        {
            return Some(Target::Definition(unseen));
        }
        match other_case {
            Some((entry, spelled)) => self.report_other_case(name, &entry, &spelled),
            None => self.report_undefined(name, context.scope, wanted),
        }
        None
    }

    /// Returns true if a name that means nothing else is that of the definition whose own text it stands in.
    fn names_unseen(&mut self, name: &ScopedName, context: Context) -> bool {
        let unseen = self.unseen.take();
        let found = self.lookup_quietly(name, context);
        self.unseen = unseen;
        found == unseen
    }

    /// Returns true if something that differs from a name only in case keeps it from meaning what is farther
    /// out. Ice looks past modules and constants for a type.
    fn hides_outer(&self, entry: &Entry, wanted: &str) -> bool {
        match entry.target {
            _ if matches!(wanted, "constant" | "exception") => true,
            Target::Definition(id) => !matches!(self.definition(id).kind, DefinitionKind::Const(_)),
            Target::Module(_) | Target::Broken => false,
        }
    }

    /// The definition that a name means, if it means one; nothing is reported.
    pub(super) fn lookup_quietly(
        &self,
        name: &ScopedName,
        context: Context,
    ) -> Option<DefinitionId> {
        self.definitions_named(name, context)
            .map(|(_, id)| id)
            .next()
    }

    /// The definitions that a name may mean, nearest first, each with the scope where the first part of
    /// the name is found.
    pub(super) fn definitions_named<'n>(
        &'n self,
        name: &'n ScopedName,
        context: Context,
    ) -> impl Iterator<Item = (ScopeId, DefinitionId)> + 'n {
        let from = if name.is_absolute {
            self.scopes.root()
        } else {
            context.scope
        };
        self.scopes
            .outward(from)
            .filter_map(|scope| match self.walk(scope, name) {
                Walk::Found(Entry {
                    target: Target::Definition(id),
                    ..
                }) => Some((scope, id)),
                _ => None,
            })
    }

    /// Resolves a name without regard to case; nothing is reported.
    pub(super) fn entry_like(&self, name: &ScopedName, context: Context) -> Option<Entry> {
        let from = if name.is_absolute {
            self.scopes.root()
        } else {
            context.scope
        };
        let mut around = self.scopes.outward(from);
        around.find_map(|scope| match self.walk(scope, name) {
            Walk::Found(entry) | Walk::OtherCase(entry, _) => Some(entry),
            Walk::Missing => None,
        })
    }

    /// The modules that a path may mean, nearest first; for an empty path, those around the context.
    pub(super) fn scopes_named(&self, path: &ScopedName, context: Context) -> Vec<ScopeId> {
        let from = if path.is_absolute {
            self.scopes.root()
        } else {
            context.scope
        };
        let around = self.scopes.outward(from);
        if path.parts.is_empty() {
            return around.collect();
        }
        around
            .filter_map(|scope| match self.walk(scope, path) {
                Walk::Found(Entry {
                    target: Target::Module(inner),
                    ..
                }) => Some(inner),
                _ => None,
            })
            .collect()
    }

    /// Follows the parts of a name from one scope, without looking at what surrounds it.
    fn walk(&self, scope: ScopeId, name: &ScopedName) -> Walk {
        let mut scope = scope;
        let mut spelled = String::from(if name.is_absolute { "::" } else { "" });
        let mut is_exact = true;
        let (last, path) = match name.parts.split_last() {
            Some(parts) => parts,
            None => return Walk::Missing,
        };
        for part in path {
            match self.visible(scope, &part.text) {
                Some(Entry {
                    target: Target::Module(inner),
                    name,
                    ..
                }) => {
                    is_exact &= *name == part.text;
                    spelled.push_str(name);
                    spelled.push_str("::");
                    scope = *inner;
                }
                Some(entry) if entry.target == Target::Broken => {
                    return Walk::Found(entry.clone());
                }
                _ => return Walk::Missing,
            }
        }
        match self.visible(scope, &last.text) {
            Some(entry) if is_exact && entry.name == last.text => Walk::Found(entry.clone()),
            Some(entry) => {
                spelled.push_str(&entry.name);
                Walk::OtherCase(entry.clone(), spelled)
            }
            None => Walk::Missing,
        }
    }

    /// An entry that this translation unit defines or includes, and has done so before this place.
    fn visible(&self, scope: ScopeId, name: &str) -> Option<&Entry> {
        let entry = self.scopes.entry(scope, name)?;
        let is_seen = match (entry.target, self.unseen) {
            (Target::Definition(id), Some(unseen)) => id != unseen,
            _ => true,
        };
        (entry.unit == self.unit && is_seen).then_some(entry)
    }

    /// Remembers that a module itself uses a name of an outer one: from then on it may not define
    /// that name.
    pub(super) fn note_use(&mut self, name: &ScopedName, context: Context) {
        let Some(first) = name.parts.first() else {
            return;
        };
        if name.is_absolute || context.is_in_body {
            return;
        }
        let scope = self.scopes.get_mut(context.scope);
        let key = first.text.to_ascii_lowercase();
        if !scope.entries.contains_key(&key) {
            let used = (first.text.clone(), first.span);
            scope.used.entry(key).or_insert(used);
        }
    }

    fn report_other_case(&mut self, name: &ScopedName, entry: &Entry, spelled: &str) {
        let message = format!(
            "`{}` is spelled with other capitals than its definition",
            name.text()
        );
        let diagnostic = Diagnostic::new(Code::CaseMismatch, name.span, message)
            .label(entry.span, "defined here")
            .help(format!("did you mean `{spelled}`?"));
        self.report(diagnostic);
    }

    /// Returns the noun for a definition, with its article.
    pub(super) fn noun(&self, id: DefinitionId) -> &'static str {
        match self.definition(id).kind {
            DefinitionKind::Const(_) => "a constant",
            DefinitionKind::Enum(_) => "an enum",
            DefinitionKind::Struct(_) => "a struct",
            DefinitionKind::Sequence(_) => "a sequence",
            DefinitionKind::Dictionary(_) => "a dictionary",
            DefinitionKind::Exception(_) => "an exception",
            DefinitionKind::Interface(_) => "an interface",
            DefinitionKind::Class(_) => "a class",
        }
    }

    /// A type as people write it.
    pub(super) fn type_text(&self, r#type: Type) -> String {
        match r#type {
            Type::Primitive(primitive) => primitive.keyword().to_owned(),
            Type::ObjectProxy => "Object*".to_owned(),
            Type::AnyClass => "Value".to_owned(),
            Type::Named(id) => self.definition(id).name.clone(),
            Type::Proxy(id) => format!("{}*", self.definition(id).name),
        }
    }

    pub(super) fn is_38(&self) -> bool {
        self.language == Language::V38
    }
}
