//! Modules and the definitions in them.

use super::scope::{Entry, ScopeId, Target};
use super::{Checker, Context, Facts, doc, metadata};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::model::{Definition, DefinitionId, DefinitionKind};
use crate::parse::ast::{self, Item, Kind, Module, Name};

/// The action for the body of a definition.
enum Declared {
    /// It is new.
    New,
    /// An earlier unit had it already, or it was reported as wrong.
    Known,
}

impl Checker {
    pub(super) fn items(&mut self, items: &[Item], scope: ScopeId, modules: &mut Vec<Name>) {
        for item in items {
            match item {
                Item::Module(module) => self.module(module, scope, modules),
                Item::Definition(definition) if modules.is_empty() => {
                    self.outside_module(definition, scope);
                }
                Item::Definition(definition) => self.top_definition(definition, scope, modules),
            }
        }
    }

    fn module(&mut self, module: &Module, scope: ScopeId, modules: &mut Vec<Name>) {
        self.check_metadata(&module.prelude.metadata, metadata::Place::Module);
        let mut inner = scope;
        let outer_count = modules.len();
        for name in &module.path {
            self.check_name(name);
            self.check_against_modules(name, modules);
            inner = self.open_module(name, inner);
            modules.push(name.clone());
        }
        // What another opening of the module has used or defined is no matter here.
        self.scopes.get_mut(inner).forget_meanings();
        self.items(&module.items, inner, modules);
        modules.truncate(outer_count);
    }

    /// The scope of a module, which may have been opened before.
    fn open_module(&mut self, name: &Name, scope: ScopeId) -> ScopeId {
        let unit = self.unit;
        let known = self.scopes.entry(scope, &name.text).cloned();
        self.introduce(name, scope);
        match known {
            Some(Entry {
                target: Target::Module(inner),
                name: before,
                ..
            }) if before == name.text => {
                if let Some(entry) = self.scopes.entry_mut(scope, &name.text) {
                    entry.unit = unit;
                }
                inner
            }
            Some(entry) => {
                self.report_clash(name, &entry);
                self.scopes.add(scope, &name.text)
            }
            None => {
                let inner = self.scopes.add(scope, &name.text);
                self.insert(name, scope, Target::Module(inner));
                inner
            }
        }
    }

    fn outside_module(&mut self, definition: &ast::Definition, scope: ScopeId) {
        let name = &definition.name;
        let message = format!("`{}` stands outside a module", name.text);
        let help = "put it into a module: `module Demo { ... }`";
        self.error(Code::OutsideModule, name.span, message, help);
        if self.scopes.entry(scope, &name.text).is_none() {
            self.insert(name, scope, Target::Broken);
        }
    }

    fn top_definition(&mut self, definition: &ast::Definition, scope: ScopeId, modules: &[Name]) {
        let context = Context {
            scope,
            is_local: definition.local.is_some(),
            is_in_body: false,
        };
        if let Declared::Known = self.declare(definition, context, modules) {
            return;
        }
        if let Some(local) = definition.local
            && self.language != crate::compile::Language::V37
        {
            let message = format!(
                "`{}` is local: no code is made from it",
                definition.name.text
            );
            let help = "local types never travel; Ice 3.8 has removed them";
            self.error(Code::DeprecatedFeature, local, message, help);
        }
        self.check_name(&definition.name);
        self.check_against_modules(&definition.name, modules);
        self.check_metadata(
            &definition.prelude.metadata,
            metadata::Place::of(&definition.kind),
        );
        let name = &definition.name;
        if is_unseen_by_itself(&definition.kind) {
            self.unseen = self.own_id(name, context);
        }
        let kind = self.body(definition, context);
        self.unseen = None;
        match kind {
            Some(kind) => self.complete(definition, kind, context),
            None => {
                if let Some(entry) = self.scopes.entry_mut(scope, &name.text) {
                    entry.target = Target::Broken;
                }
            }
        }
    }

    /// Enters the name of a definition, or finds that it is there already.
    fn declare(
        &mut self,
        definition: &ast::Definition,
        context: Context,
        modules: &[Name],
    ) -> Declared {
        let name = &definition.name;
        // Ice checks neither these nor declarations of classes.
        let is_checked = !is_unseen_by_itself(&definition.kind);
        if is_checked && !matches!(definition.kind, Kind::ClassDeclaration) {
            self.introduce(name, context.scope);
        }
        let Some(entry) = self.scopes.entry(context.scope, &name.text).cloned() else {
            self.enter(definition, context, modules);
            return Declared::New;
        };
        if let Target::Definition(id) = entry.target
            && entry.name == name.text
        {
            if let Some(declared) = self.declare_again(definition, id, &entry, context) {
                return declared;
            }
            if self.report_other_kind(definition, id) {
                return Declared::Known;
            }
        }
        let was_reported = entry.target == Target::Broken && entry.span == name.span;
        if !was_reported || entry.unit == self.unit {
            self.report_clash(name, &entry);
        }
        self.see(context.scope, &name.text);
        Declared::Known
    }

    /// Decides about a name that means a definition already: fine if it is the same one met in
    /// another unit, or if one of the two is a forward declaration. `None` if they clash.
    fn declare_again(
        &mut self,
        definition: &ast::Definition,
        id: DefinitionId,
        entry: &Entry,
        context: Context,
    ) -> Option<Declared> {
        let unit = self.unit;
        let name = &definition.name;
        let is_declaration = matches!(
            definition.kind,
            Kind::InterfaceDeclaration | Kind::ClassDeclaration
        );
        let same_kind = matches!(
            (&definition.kind, &self.definition(id).kind),
            (
                Kind::InterfaceDeclaration | Kind::Interface { .. },
                DefinitionKind::Interface(_)
            ) | (
                Kind::ClassDeclaration | Kind::Class(_),
                DefinitionKind::Class(_)
            )
        );
        let facts = &self.facts[id.0];
        if is_declaration && same_kind {
            if facts.is_local != context.is_local {
                self.report_local_mismatch(name, entry);
            }
            self.see(context.scope, &name.text);
            return Some(Declared::Known);
        }
        let is_same_place = self.definition(id).span == name.span && facts.completed.is_some();
        if is_same_place && facts.body_unit != Some(unit) {
            self.facts[id.0].body_unit = Some(unit);
            self.note_compact_id(id);
            self.see(context.scope, &name.text);
            return Some(Declared::Known);
        }
        if same_kind && facts.completed.is_none() && facts.body_unit.is_none() {
            if facts.is_local != context.is_local {
                self.report_local_mismatch(name, entry);
            }
            self.see(context.scope, &name.text);
            return Some(Declared::New);
        }
        None
    }

    /// Reports an interface and a class of one name of which one is only declared.
    fn report_other_kind(&mut self, definition: &ast::Definition, id: DefinitionId) -> bool {
        let (here, before) = match (&definition.kind, &self.definition(id).kind) {
            (Kind::Interface { .. }, DefinitionKind::Class(_)) => ("an interface", "a class"),
            (Kind::Class(_), DefinitionKind::Interface(_)) => ("a class", "an interface"),
            _ => return false,
        };
        if self.facts[id.0].completed.is_some() {
            return false;
        }
        let name = &definition.name;
        let message = format!(
            "`{}` is {here} here and was declared as {before}",
            name.text
        );
        let diagnostic = Diagnostic::new(Code::Redefinition, name.span, message)
            .label(self.definition(id).span, "declared here")
            .help("use the same keyword in both places");
        self.report(diagnostic);
        true
    }

    fn report_local_mismatch(&mut self, name: &Name, entry: &Entry) {
        let message = format!("`{}` is local in one place and not in another", name.text);
        let diagnostic = Diagnostic::new(Code::LocalMisuse, name.span, message)
            .label(entry.span, "declared here")
            .help("write `local` in both places or in none");
        self.report(diagnostic);
    }

    /// Notes that this unit has met a definition.
    fn see(&mut self, scope: ScopeId, name: &str) {
        let unit = self.unit;
        if let Some(entry) = self.scopes.entry_mut(scope, name) {
            entry.unit = unit;
        }
    }

    /// Adds an empty definition, which its own body may refer to.
    fn enter(&mut self, definition: &ast::Definition, context: Context, modules: &[Name]) {
        let id = DefinitionId(self.definitions.len());
        let name = &definition.name;
        let modules: Vec<String> = modules.iter().map(|module| module.text.clone()).collect();
        self.definitions.push(Definition {
            name: name.text.clone(),
            scoped: format!("::{}::{}", modules.join("::"), name.text),
            modules,
            file: name.span.file,
            span: name.span,
            metadata: definition.prelude.metadata.clone(),
            doc: definition.prelude.doc.as_deref().and_then(doc::clean),
            kind: empty_kind(&definition.kind),
        });
        self.by_name.entry(name.text.clone()).or_insert(id);
        self.facts.push(Facts {
            is_local: context.is_local,
            ..Facts::default()
        });
        self.insert(name, context.scope, Target::Definition(id));
    }

    /// Stores the checked body of a definition.
    fn complete(&mut self, definition: &ast::Definition, kind: DefinitionKind, context: Context) {
        let name = &definition.name;
        let Some(Target::Definition(id)) = self
            .scopes
            .entry(context.scope, &name.text)
            .map(|entry| entry.target)
        else {
            return;
        };
        let stored = &mut self.definitions[id.0];
        stored.kind = kind;
        if matches!(
            definition.kind,
            Kind::InterfaceDeclaration | Kind::ClassDeclaration
        ) {
            return;
        }
        stored.span = name.span;
        stored.file = name.span.file;
        stored.metadata = definition.prelude.metadata.clone();
        if let Some(doc) = definition.prelude.doc.as_deref().and_then(doc::clean) {
            stored.doc = Some(doc);
        }
        self.completed += 1;
        self.facts[id.0].completed = Some(self.completed);
        self.facts[id.0].body_unit = Some(self.unit);
    }

    fn insert(&mut self, name: &Name, scope: ScopeId, target: Target) {
        let entry = Entry {
            name: name.text.clone(),
            span: name.span,
            target,
            unit: self.unit,
        };
        self.scopes.insert(scope, entry);
    }

    fn report_clash(&mut self, name: &Name, entry: &Entry) {
        self.report_two_names(name, &entry.name, entry.span);
    }

    /// Reports two things of one name, or of names that differ in capitalisation.
    pub(super) fn report_two_names(&mut self, name: &Name, before: &str, place: Span) {
        let diagnostic = if before == name.text {
            let message = format!("`{}` is defined twice in this scope", name.text);
            Diagnostic::new(Code::Redefinition, name.span, message)
                .label(place, "first defined here")
                .help(if place == name.span {
                    "this file is included twice: protect it with `#pragma once`"
                } else {
                    "rename one of them"
                })
        } else {
            let message = format!(
                "`{}` and `{before}` differ only in capitalisation",
                name.text
            );
            Diagnostic::new(Code::CaseClash, name.span, message)
                .label(place, "defined here")
                .help("rename one of them: some languages do not tell such names apart")
        };
        self.report(diagnostic);
    }

    /// Notes that a scope defines a name, which it must not have used with another meaning.
    fn introduce(&mut self, name: &Name, scope: ScopeId) {
        let scope = self.scopes.get_mut(scope);
        let key = name.text.to_ascii_lowercase();
        scope.introduced.entry(key).or_insert(name.span);
        let used = &scope.used;
        let Some((used, place)) = used.get(&name.text.to_ascii_lowercase()).cloned() else {
            return;
        };
        if used == name.text {
            self.report_changed_meaning(name, place);
        } else {
            self.report_changed_case(name, &used, place);
        }
    }

    pub(super) fn report_changed_meaning(&mut self, name: &Name, place: Span) {
        let message = format!("`{}` changes the meaning of a name used before", name.text);
        let diagnostic = Diagnostic::new(Code::ChangedMeaning, name.span, message)
            .label(place, "it meant something else here")
            .help("rename it, or write the other one with its modules: `::Module::Name`");
        self.report(diagnostic);
    }

    fn body(&mut self, definition: &ast::Definition, context: Context) -> Option<DefinitionKind> {
        let name = &definition.name;
        match &definition.kind {
            Kind::InterfaceDeclaration | Kind::ClassDeclaration => {
                Some(empty_kind(&definition.kind))
            }
            Kind::Interface { bases, operations } => {
                self.interface(name, bases, operations, context)
            }
            Kind::Class(class) => self.class(name, class, context),
            Kind::Exception { base, members } => {
                self.exception(name, base.as_ref(), members, context)
            }
            Kind::Struct {
                members,
                has_errors,
            } => self.structure(name, members, *has_errors, context),
            Kind::Enum { enumerators } => self.enumeration(name, enumerators, context),
            Kind::Sequence { element } => self.sequence(name, element, context),
            Kind::Dictionary { key, value } => self.dictionary(name, key, value, context),
            Kind::Const { r#type, value } => self.constant(name, r#type, value, context),
        }
    }
}

/// Returns true if a definition comes into being at its end only. Observed: to slice2cpp of Ice 3.7.8 and slice2py
/// of Ice 3.8.3, `K` in `const int K = K;` is one of an outer module.
fn is_unseen_by_itself(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Sequence { .. } | Kind::Dictionary { .. } | Kind::Const { .. }
    )
}

/// A definition of the right kind that holds nothing yet.
fn empty_kind(kind: &Kind) -> DefinitionKind {
    use crate::model::{
        Class, Const, ConstValue, Dictionary, Enum, Exception, Interface, Primitive, Sequence,
        Struct, Type,
    };
    let placeholder = Type::Primitive(Primitive::Int);
    match kind {
        Kind::InterfaceDeclaration | Kind::Interface { .. } => {
            DefinitionKind::Interface(Interface {
                bases: Vec::new(),
                operations: Vec::new(),
                is_complete: false,
            })
        }
        Kind::ClassDeclaration | Kind::Class(_) => DefinitionKind::Class(Class {
            compact_id: None,
            base: None,
            implements: Vec::new(),
            members: Vec::new(),
            operations: Vec::new(),
            is_complete: false,
        }),
        Kind::Exception { .. } => DefinitionKind::Exception(Exception {
            base: None,
            members: Vec::new(),
        }),
        Kind::Struct { .. } => DefinitionKind::Struct(Struct {
            members: Vec::new(),
        }),
        Kind::Enum { .. } => DefinitionKind::Enum(Enum {
            enumerators: Vec::new(),
        }),
        Kind::Sequence { .. } => DefinitionKind::Sequence(Sequence {
            element: placeholder,
            element_metadata: Vec::new(),
        }),
        Kind::Dictionary { .. } => DefinitionKind::Dictionary(Dictionary {
            key: placeholder,
            key_metadata: Vec::new(),
            value: placeholder,
            value_metadata: Vec::new(),
        }),
        Kind::Const { .. } => DefinitionKind::Const(Const {
            r#type: placeholder,
            value: ConstValue::Integer(0),
        }),
    }
}
