//! Which name is which anchor, and what uses what.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use floe_slice::Model;
use floe_slice::model::{Definition, DefinitionId, DefinitionKind, Operation, Type};

/// The names that the page can link to.
pub(super) struct Links<'m> {
    model: &'m Model,
    /// The scoped names of all definitions, members, enumerators and operations on the page.
    names: HashSet<String>,
    /// The users of a definition as a type, base or exception: scoped names.
    users: BTreeMap<DefinitionId, BTreeSet<String>>,
}

impl<'m> Links<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let mut links = Self {
            model,
            names: HashSet::new(),
            users: BTreeMap::new(),
        };
        for (id, definition) in model.iter() {
            if links.is_shown(id) {
                links.names.insert(definition.scoped.clone());
                links
                    .names
                    .insert(format!("::{}", definition.modules.join("::")));
                for name in parts(definition) {
                    links.names.insert(format!("{}::{name}", definition.scoped));
                }
                links.add_uses(definition);
            }
        }
        links
    }

    /// Returns true if a definition stands on the page.
    pub(super) fn is_shown(&self, id: DefinitionId) -> bool {
        let file = self.model.definition(id).file;
        self.model.files[file.0].is_main
    }

    /// Returns true if this scoped name has an anchor on the page.
    pub(super) fn has(&self, scoped: &str) -> bool {
        self.names.contains(scoped)
    }

    /// Returns the scoped names of the definitions that use this one.
    pub(super) fn users(&self, id: DefinitionId) -> impl Iterator<Item = &str> {
        self.users
            .get(&id)
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// The scoped name that `name` means in a doc comment of `scope`: looked up from there outward.
    pub(super) fn resolve(&self, name: &str, scope: &str) -> Option<String> {
        let name = name.trim().replace('#', "::");
        if let Some(absolute) = name
            .strip_prefix("::")
            .filter(|_| self.names.contains(&name))
        {
            return Some(format!("::{absolute}"));
        }
        let name = name.trim_start_matches("::");
        let mut scope = scope;
        loop {
            let candidate = format!("{scope}::{name}");
            if self.names.contains(&candidate) {
                return Some(candidate);
            }
            scope = &scope[..scope.rfind("::")?];
        }
    }

    fn add_uses(&mut self, definition: &Definition) {
        let scoped = &definition.scoped;
        match &definition.kind {
            DefinitionKind::Const(of) => self.add_type(scoped, of.r#type),
            DefinitionKind::Struct(of) => self.add_members(scoped, &of.members),
            DefinitionKind::Sequence(of) => self.add_type(scoped, of.element),
            DefinitionKind::Dictionary(of) => {
                self.add_type(scoped, of.key);
                self.add_type(scoped, of.value);
            }
            DefinitionKind::Exception(of) => self.add_members(scoped, &of.members),
            DefinitionKind::Class(of) => {
                self.add_members(scoped, &of.members);
                self.add_operations(scoped, &of.operations);
            }
            DefinitionKind::Interface(of) => self.add_operations(scoped, &of.operations),
            _ => {}
        }
    }

    fn add_operations(&mut self, scoped: &str, operations: &[Operation]) {
        for operation in operations {
            let user = format!("{scoped}::{}", operation.name);
            let parameters = operation.parameters.iter().map(|it| it.r#type);
            let returned = operation.returns.iter().map(|it| it.r#type);
            parameters
                .chain(returned)
                .for_each(|r#type| self.add_type(&user, r#type));
            for id in &operation.throws {
                self.add(&user, *id);
            }
        }
    }

    fn add_members(&mut self, scoped: &str, members: &[floe_slice::model::Member]) {
        for member in members {
            self.add_type(&format!("{scoped}::{}", member.name), member.r#type);
        }
    }

    fn add_type(&mut self, user: &str, r#type: Type) {
        if let Type::Named(id) | Type::Proxy(id) = r#type {
            self.add(user, id);
        }
    }

    fn add(&mut self, user: &str, id: DefinitionId) {
        self.users.entry(id).or_default().insert(user.to_owned());
    }
}

/// The anchor of a scoped name.
pub(super) fn anchor(scoped: &str) -> String {
    scoped.trim_start_matches("::").replace("::", ".")
}

/// The names inside of a definition.
fn parts(definition: &Definition) -> Vec<&str> {
    let members = match &definition.kind {
        DefinitionKind::Struct(of) => &of.members,
        DefinitionKind::Exception(of) => &of.members,
        DefinitionKind::Class(of) => {
            let members = of.members.iter().map(|it| it.name.as_str());
            let operations = of.operations.iter().map(|it| it.name.as_str());
            return members.chain(operations).collect();
        }
        DefinitionKind::Enum(of) => {
            return of.enumerators.iter().map(|it| it.name.as_str()).collect();
        }
        DefinitionKind::Interface(of) => {
            return of.operations.iter().map(|it| it.name.as_str()).collect();
        }
        _ => return Vec::new(),
    };
    members.iter().map(|it| it.name.as_str()).collect()
}
