//! Scopes: which names are defined in which module.

use std::collections::{BTreeMap, HashMap};

use crate::diagnostic::Span;
use crate::model::DefinitionId;

/// Index of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScopeId(usize);

/// The meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Module(ScopeId),
    Definition(DefinitionId),
    /// Something that was reported as wrong.
    Broken,
}

/// A name that is defined in a scope.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Where it was defined first.
    pub(super) span: Span,
    pub(super) target: Target,
    /// The last unit in which the definition was met.
    pub(super) unit: usize,
}

/// A module, or what surrounds all modules.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) parent: Option<ScopeId>,
    /// The names of the modules, each after `::`; empty for the outermost.
    pub(super) path: String,
    /// By name in lower case: two names that differ only in case clash.
    pub(super) entries: BTreeMap<String, Entry>,
    /// Names of outer scopes that this scope itself has used since it was opened: by the name in lower
    /// case, as written, with the place.
    pub(super) used: HashMap<String, (String, Span)>,
    /// The definitions of this scope itself since it was opened, by the name in lower case, with the
    /// place. Declarations of classes, sequences, dictionaries and constants are not among it: Ice lets
    /// their names mean something else.
    pub(super) introduced: HashMap<String, Span>,
    /// The enums of this scope that have an enumerator of a name, by the name in lower case, with the
    /// name: Ice 3.7 finds it without its enum.
    pub(super) enumerators: HashMap<String, Vec<(String, DefinitionId)>>,
}

impl Scope {
    /// Forgets what the names mean that were used or defined here so far.
    pub(super) fn forget_meanings(&mut self) {
        self.used.clear();
        self.introduced.clear();
    }
}

/// All scopes.
#[derive(Debug)]
pub(super) struct Scopes {
    scopes: Vec<Scope>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self {
            scopes: vec![Scope::default()],
        }
    }

    pub(super) fn root(&self) -> ScopeId {
        ScopeId(0)
    }

    pub(super) fn add(&mut self, parent: ScopeId, name: &str) -> ScopeId {
        self.scopes.push(Scope {
            parent: Some(parent),
            path: format!("{}::{name}", self.get(parent).path),
            ..Scope::default()
        });
        ScopeId(self.scopes.len() - 1)
    }

    /// Forgets what the names of all scopes mean in them: each unit is checked for itself.
    pub(super) fn forget_meanings(&mut self) {
        self.scopes.iter_mut().for_each(Scope::forget_meanings);
    }

    pub(super) fn get(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0]
    }

    pub(super) fn get_mut(&mut self, id: ScopeId) -> &mut Scope {
        &mut self.scopes[id.0]
    }

    /// The scope and those around it, innermost first.
    pub(super) fn outward(&self, from: ScopeId) -> impl Iterator<Item = ScopeId> {
        std::iter::successors(Some(from), |id| self.get(*id).parent)
    }

    pub(super) fn entry(&self, scope: ScopeId, name: &str) -> Option<&Entry> {
        self.get(scope).entries.get(&name.to_ascii_lowercase())
    }

    pub(super) fn entry_mut(&mut self, scope: ScopeId, name: &str) -> Option<&mut Entry> {
        let entries = &mut self.get_mut(scope).entries;
        entries.get_mut(&name.to_ascii_lowercase())
    }

    pub(super) fn insert(&mut self, scope: ScopeId, entry: Entry) {
        let key = entry.name.to_ascii_lowercase();
        self.get_mut(scope).entries.insert(key, entry);
    }
}
