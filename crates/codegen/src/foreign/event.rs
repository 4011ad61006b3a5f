//! The type of the events of an interface, where a topic has one type.

use floe_slice::model::{DefinitionId, DefinitionKind, Model, Operation, Type};

/// The one type of the events of an interface, inherited operations included.
#[derive(Debug)]
pub enum EventType<'m> {
    /// The interface has one operation: the type is the one of its payload.
    One(EventOperation<'m>),
    /// The interface has several: a choice between their payloads, told apart by the operation.
    Choice(Vec<EventOperation<'m>>),
}

/// An operation as a kind of event.
#[derive(Debug, Clone, Copy)]
pub struct EventOperation<'m> {
    /// The interface that declares it.
    pub interface: DefinitionId,
    /// The operation itself.
    pub operation: &'m Operation,
    /// The type of its events.
    pub payload: Payload,
}

/// The payload of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The operation has one parameter, a struct that is always there: that struct.
    Struct(DefinitionId),
    /// A struct of all parameters, named [`Made::Parameters`](super::Made::Parameters).
    Parameters,
}

/// The type of the events of an interface; `None` if it has no operations.
///
/// # Errors
/// The first operation that answers: it is no event.
pub fn event_type(
    model: &Model,
    interface: DefinitionId,
) -> Result<Option<EventType<'_>>, &Operation> {
    let mut operations = Vec::new();
    for (interface, operation) in model.all_operations(interface) {
        if operation.returns_data() {
            return Err(operation);
        }
        operations.push(EventOperation {
            interface,
            operation,
            payload: payload(model, operation),
        });
    }
    Ok(match operations.as_slice() {
        [] => None,
        [one] => Some(EventType::One(*one)),
        _ => Some(EventType::Choice(operations)),
    })
}

/// The payload of the events of an operation.
pub fn payload(model: &Model, operation: &Operation) -> Payload {
    let mut inputs = operation.inputs();
    if let (Some(parameter), None) = (inputs.next(), inputs.next())
        && let Type::Named(id) = parameter.r#type
        && let DefinitionKind::Struct(_) = model.definition(id).kind
        && parameter.tag.is_none()
    {
        return Payload::Struct(id);
    }
    Payload::Parameters
}
