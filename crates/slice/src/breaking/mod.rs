//! Two models to what an old program makes of the new contract.
//!
//! ```text
//! code.rs         every kind of change: what it breaks, why, and what to do instead
//! definitions.rs  which definition of one model is which of the other; values, enumerations, collections
//! operation.rs    interfaces and their operations
//! field.rs        what is encoded one after another: members and parameters
//! types.rs        whether two types have the same bytes
//! metadata.rs     metadata and doc comments
//! ```
//!
//! The yardstick: an old program goes on doing what it did, in any role (it calls, it answers, it sends
//! and receives values), and its peer is made from the new contract. What then fails breaks the wire.

mod code;
mod definitions;
mod field;
mod metadata;
mod operation;
mod types;

pub use code::{ChangeCode, Impact};

use std::collections::HashMap;

use crate::diagnostic::Span;
use crate::model::{DefinitionId, Model};

/// One difference between two contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The kind of change.
    pub code: ChangeCode,
    /// The thing that has changed, by its scoped name: `::Demo::Tick::price`, `::Demo::Greeter::greet::name`.
    pub subject: String,
    /// Describes the old and the new state: one line, lower case, no full stop.
    pub message: String,
    /// Where it stands in the sources of the old model; `None` if it is new.
    pub old: Option<Span>,
    /// Where it stands in the sources of the new model; `None` if it is gone.
    pub new: Option<Span>,
}

impl Change {
    /// Returns the damage that it does.
    pub fn impact(&self) -> Impact {
        self.code.impact()
    }
}

/// All differences between two models, the worst first, each group in the order of the sources.
///
/// A definition of an included file counts if both models have it; to include fewer files is no change.
///
/// ```
/// use floe_slice::{breaking::{Impact, compare}, check_source};
///
/// let old = check_source(b"module M { struct S { int x; } }");
/// let new = check_source(b"module M { struct S { long x; } }");
/// let changes = compare(&old.model, &new.model);
/// assert_eq!(changes[0].code.as_str(), "member-type-changed");
/// assert_eq!(changes[0].impact(), Impact::Wire);
/// ```
pub fn compare(old: &Model, new: &Model) -> Vec<Change> {
    let mut comparison = Comparison {
        old,
        new,
        old_names: by_name(old),
        new_names: by_name(new),
        successors: HashMap::new(),
        changes: Vec::new(),
    };
    comparison.definitions();
    let mut changes = comparison.changes;
    let place = |span: Option<Span>| span.map(|span| (span.file, span.start));
    changes.sort_by_key(|change| {
        let place = place(change.new).or_else(|| place(change.old));
        (change.impact(), place)
    });
    changes
}

fn by_name(model: &Model) -> HashMap<&str, DefinitionId> {
    let definitions = model.iter();
    definitions
        .map(|(id, it)| (it.scoped.as_str(), id))
        .collect()
}

/// The two models, and what was found so far.
struct Comparison<'m> {
    old: &'m Model,
    new: &'m Model,
    /// The definitions by their scoped names.
    old_names: HashMap<&'m str, DefinitionId>,
    new_names: HashMap<&'m str, DefinitionId>,
    /// The probable successors of definitions that are gone. A new name is reported once, at the
    /// definition, and not again wherever it is used.
    successors: HashMap<DefinitionId, DefinitionId>,
    changes: Vec<Change>,
}

impl<'m> Comparison<'m> {
    /// The scoped name that a definition of the old model has in the new one.
    fn current_name(&self, old: DefinitionId) -> &'m str {
        match self.successors.get(&old) {
            Some(new) => &self.new.definition(*new).scoped,
            None => &self.old.definition(old).scoped,
        }
    }

    fn report(
        &mut self,
        code: ChangeCode,
        subject: impl Into<String>,
        places: (Option<Span>, Option<Span>),
        message: impl Into<String>,
    ) {
        self.changes.push(Change {
            code,
            subject: subject.into(),
            message: message.into(),
            old: places.0,
            new: places.1,
        });
    }
}
