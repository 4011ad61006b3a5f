//! The checked model of a set of Slice files: what code generators and `dynamic` read.
//!
//! The model is an arena: every definition has a [`DefinitionId`] and refers to others by theirs.
//! Definitions stand in the order in which the compiler met them, so that whatever a definition
//! needs to be complete stands before it (proxies and classes may point forward).
//! Nothing here parses or checks; `parse/` and `check/` build a model, everyone else only reads it.

mod definition;
mod operation;
mod types;

pub use definition::{
    Class, Const, Definition, DefinitionId, DefinitionKind, Dictionary, Enum, Enumerator,
    Exception, FileId, FileInfo, Interface, Member, Metadata, Sequence, Struct,
};
pub use operation::{Operation, OperationMode, Parameter, Returned};
pub use types::{ConstValue, Primitive, Type};

/// A checked set of Slice definitions.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// The files that were read, main files and included ones, in the order of their first reading.
    pub files: Vec<FileInfo>,
    /// All definitions; a [`DefinitionId`] is an index into this list.
    pub definitions: Vec<Definition>,
}

impl Model {
    /// The definition with this id.
    ///
    /// # Panics
    /// If the id comes from another model.
    pub fn definition(&self, id: DefinitionId) -> &Definition {
        &self.definitions[id.0]
    }

    /// All definitions with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (DefinitionId, &Definition)> {
        self.definitions
            .iter()
            .enumerate()
            .map(|(index, definition)| (DefinitionId(index), definition))
    }

    /// Finds a definition by its scoped name; the leading `::` may be left out.
    pub fn find(&self, scoped: &str) -> Option<DefinitionId> {
        let wanted = scoped.strip_prefix("::").unwrap_or(scoped);
        self.iter()
            .find(|(_, definition)| &definition.scoped[2..] == wanted)
            .map(|(id, _)| id)
    }

    /// The operations that an interface, or a class of Ice 3.7, declares itself.
    pub fn own_operations(&self, id: DefinitionId) -> &[Operation] {
        match &self.definition(id).kind {
            DefinitionKind::Interface(interface) => &interface.operations,
            DefinitionKind::Class(class) => &class.operations,
            _ => &[],
        }
    }

    /// Returns the direct bases of an interface, or those that a class of Ice 3.7 extends and implements.
    pub fn own_bases(&self, id: DefinitionId) -> Vec<DefinitionId> {
        match &self.definition(id).kind {
            DefinitionKind::Interface(interface) => interface.bases.clone(),
            DefinitionKind::Class(class) => class
                .base
                .iter()
                .chain(&class.implements)
                .copied()
                .collect(),
            _ => Vec::new(),
        }
    }

    /// All operations of an interface or class, inherited ones first (depth first, in the order of
    /// the base list, each once), with the interface or class that declares them.
    pub fn all_operations(&self, interface: DefinitionId) -> Vec<(DefinitionId, &Operation)> {
        let order = self.linearized(interface).into_iter();
        order
            .flat_map(|id| self.own_operations(id).iter().map(move |one| (id, one)))
            .collect()
    }

    /// The interface and all its bases, bases before what extends them, each once.
    pub fn linearized(&self, interface: DefinitionId) -> Vec<DefinitionId> {
        let mut order = Vec::new();
        self.visit_bases(interface, &mut order);
        order
    }

    /// The type ids that `ice_ids` answers for an interface: sorted bytewise, `::Ice::Object` included.
    pub fn type_ids(&self, interface: DefinitionId) -> Vec<&str> {
        let bases = self.linearized(interface);
        let mut ids: Vec<&str> = bases
            .into_iter()
            .map(|id| self.definition(id).scoped.as_str())
            .collect();
        ids.push("::Ice::Object");
        ids.sort_unstable();
        ids
    }

    /// The class and its bases, most derived first.
    pub fn class_chain(&self, class: DefinitionId) -> Vec<DefinitionId> {
        let mut chain = vec![class];
        let mut current = class;
        while let DefinitionKind::Class(Class {
            base: Some(base), ..
        }) = &self.definition(current).kind
        {
            chain.push(*base);
            current = *base;
        }
        chain
    }

    /// Returns true if a value of the type may hold a class instance.
    pub fn uses_classes(&self, r#type: Type) -> bool {
        crate::check::uses_classes(&self.definitions, r#type)
    }

    /// The exception and its bases, most derived first.
    pub fn exception_chain(&self, exception: DefinitionId) -> Vec<DefinitionId> {
        let mut chain = vec![exception];
        let mut current = exception;
        while let DefinitionKind::Exception(Exception {
            base: Some(base), ..
        }) = &self.definition(current).kind
        {
            chain.push(*base);
            current = *base;
        }
        chain
    }

    /// The exceptions that derive from this one, directly or not, in order of definition.
    pub fn derived_exceptions(&self, exception: DefinitionId) -> Vec<DefinitionId> {
        let definitions = (0..self.definitions.len()).map(DefinitionId);
        definitions
            .filter(|id| self.derives_from(*id, exception))
            .collect()
    }

    /// Returns true if the first is an exception that extends the second, directly or not. Each operation asks
    /// it of every definition: nothing is allocated.
    fn derives_from(&self, derived: DefinitionId, exception: DefinitionId) -> bool {
        let mut current = derived;
        while let DefinitionKind::Exception(Exception {
            base: Some(base), ..
        }) = &self.definition(current).kind
        {
            if *base == exception {
                return true;
            }
            current = *base;
        }
        false
    }

    fn visit_bases(&self, interface: DefinitionId, order: &mut Vec<DefinitionId>) {
        if order.contains(&interface) {
            return;
        }
        for base in self.own_bases(interface) {
            self.visit_bases(base, order);
        }
        if !order.contains(&interface) {
            order.push(interface);
        }
    }
}
