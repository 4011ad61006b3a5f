//! Operations of an interface.

use super::{DefinitionId, Metadata, Type};
use crate::diagnostic::Span;

/// `idempotent string greet(string name, out int length) throws Rejected;`
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// True if it may be retried.
    pub is_idempotent: bool,
    /// The return value; `None` for `void`.
    pub returns: Option<Returned>,
    /// All parameters in order of declaration, in-parameters before out-parameters.
    pub parameters: Vec<Parameter>,
    /// The exceptions of its `throws` clause, in order, each once.
    pub throws: Vec<DefinitionId>,
    /// Metadata in front of it.
    pub metadata: Vec<Metadata>,
    /// Its doc comment.
    pub doc: Option<String>,
    /// Where its name stands.
    pub span: Span,
}

/// The operation mode, which says whether a request may be repeated; the discriminants are those of the wire.
///
/// Source: Ice manual, "Request Message Body".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationMode {
    /// At most once.
    Normal = 0,
    /// As often as needed: `["nonmutating"] idempotent`.
    Nonmutating = 1,
    /// As often as needed: `idempotent`.
    Idempotent = 2,
}

impl Operation {
    /// The mode that its requests carry; the one place that decides it for every caller.
    ///
    /// Servants of Ice 3.7 may refuse a mode that their contract does not ask for. `["nonmutating"]`
    /// alone changes nothing, as in Ice 3.7: the operation is not idempotent.
    pub fn mode(&self) -> OperationMode {
        let mut metadata = self.metadata.iter();
        match self.is_idempotent {
            true if metadata.any(|directive| directive.text == "nonmutating") => {
                OperationMode::Nonmutating
            }
            true => OperationMode::Idempotent,
            false => OperationMode::Normal,
        }
    }

    /// The in-parameters, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.is_out)
    }

    /// The out-parameters, in order.
    pub fn outputs(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.is_out)
    }

    /// Returns true if only a twoway invocation makes sense: something comes back.
    pub fn returns_data(&self) -> bool {
        self.returns.is_some() || self.outputs().next().is_some() || !self.throws.is_empty()
    }
}

/// The return value of an operation.
#[derive(Debug, Clone)]
pub struct Returned {
    /// Its type.
    pub r#type: Type,
    /// The tag of an optional return value.
    pub tag: Option<i32>,
}

/// A parameter of an operation.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: Type,
    /// True if it travels from the servant to the caller.
    pub is_out: bool,
    /// The tag of an optional parameter.
    pub tag: Option<i32>,
    /// Metadata in front of it.
    pub metadata: Vec<Metadata>,
    /// Its doc comment (`@param` of the operation's comment, or a comment in front of it).
    pub doc: Option<String>,
    /// Where its name stands.
    pub span: Span,
}
