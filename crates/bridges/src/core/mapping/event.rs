//! The events of a topic, by the interface of its contract: one kind for each operation.

use std::fmt;

use floe_codegen::foreign::{self, EventOperation};
use floe_dynamic::{Contract, IceReadError, LookupError, Operation, Reader, WalkError, Writer};
use floe_slice::model::{DefinitionId, DefinitionKind};
use floe_wire::encoding::{EncodeError, EncodingVersion};

pub use floe_codegen::foreign::Payload;

/// The events of an interface.
///
/// What an event is where a topic has one type stands in `docs/guides/bridges.md`: an interface with one operation of one
/// struct is that struct; with one operation otherwise, a struct of its parameters; with several, a choice.
#[derive(Debug, Clone)]
pub struct EventTypes {
    contract: Contract,
    interface: DefinitionId,
    kinds: Vec<EventKind>,
}

/// An operation as a kind of event.
#[derive(Debug, Clone)]
pub struct EventKind {
    operation: Operation,
    interface: DefinitionId,
    payload: Payload,
}

/// An interface that is no set of events.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventTypesError {
    /// The contract has no such interface.
    NoSuchInterface {
        /// The name that was given.
        interface: String,
        /// Those that it has.
        interfaces: Vec<String>,
    },
    /// The interface has no operations.
    Empty(String),
    /// An operation answers, and an event has no answer.
    Answers {
        /// The interface.
        interface: String,
        /// The operation.
        operation: String,
    },
    /// An operation has a type that cannot be handled.
    Operation(LookupError),
}

impl EventTypes {
    /// The events of an interface.
    ///
    /// # Errors
    /// [`EventTypesError`]
    pub fn new(contract: &Contract, interface: &str) -> Result<Self, EventTypesError> {
        let model = contract.model();
        let found = model.find(interface).filter(|id| {
            let kind = &model.definition(*id).kind;
            matches!(kind, DefinitionKind::Interface(_))
        });
        let Some(id) = found else {
            return Err(EventTypesError::NoSuchInterface {
                interface: interface.to_owned(),
                interfaces: contract
                    .interface_names()
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            });
        };
        let scoped = &model.definition(id).scoped;
        let operations = match foreign::event_type(model, id) {
            Ok(Some(foreign::EventType::One(one))) => vec![one],
            Ok(Some(foreign::EventType::Choice(all))) => all,
            Ok(None) => return Err(EventTypesError::Empty(scoped.clone())),
            Err(operation) => {
                return Err(EventTypesError::Answers {
                    interface: scoped.clone(),
                    operation: operation.name.clone(),
                });
            }
        };
        let kind = |it: &EventOperation<'_>| {
            let name = format!("{scoped}::{}", it.operation.name);
            Ok(EventKind {
                operation: contract
                    .operation(&name)
                    .map_err(EventTypesError::Operation)?,
                interface: it.interface,
                payload: it.payload,
            })
        };
        Ok(Self {
            contract: contract.clone(),
            interface: id,
            kinds: operations.iter().map(kind).collect::<Result<_, _>>()?,
        })
    }

    /// The contract.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The interface in the contract's model.
    pub fn interface(&self) -> DefinitionId {
        self.interface
    }

    /// The type id of the interface: `::Demo::Ticker`.
    pub fn type_id(&self) -> &str {
        &self.contract.model().definition(self.interface).scoped
    }

    /// All kinds, inherited ones first, in the order of declaration. There is at least one.
    pub fn kinds(&self) -> &[EventKind] {
        &self.kinds
    }

    /// The only kind, if there is only one.
    pub fn only(&self) -> Option<&EventKind> {
        match self.kinds.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The kind of an operation's events, with its position among all.
    pub fn find(&self, operation: &str) -> Option<(usize, &EventKind)> {
        let mut kinds = self.kinds.iter().enumerate();
        kinds.find(|(_, kind)| kind.name() == operation)
    }
}

impl EventKind {
    /// The name of the operation.
    pub fn name(&self) -> &str {
        self.operation.name()
    }

    /// The operation.
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The interface that declares the operation: the topic's, or a base of it.
    pub fn interface(&self) -> DefinitionId {
        self.interface
    }

    /// The parts of an event of this kind, where a topic has one type.
    pub fn payload(&self) -> Payload {
        self.payload
    }

    /// Writes the parameters of an event, which are a whole encapsulation, to any format.
    ///
    /// # Errors
    /// [`WalkError`]: they are others than the contract says, or the format cannot say one of them.
    pub fn write_to<W: Writer>(
        &self,
        parameters: &[u8],
        writer: &mut W,
    ) -> Result<(), WalkError<IceReadError, W::Error>> {
        self.operation.request_to(parameters, writer)
    }

    /// Encodes the parameters of an event from any format: a whole encapsulation.
    ///
    /// # Errors
    /// [`WalkError`]: the format has other parameters.
    pub fn read_from<R: Reader>(
        &self,
        reader: &mut R,
    ) -> Result<Vec<u8>, WalkError<R::Error, EncodeError>> {
        self.operation.request_from(reader, EncodingVersion::V1_1)
    }
}

impl fmt::Display for EventTypesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchInterface {
                interface,
                interfaces,
            } => {
                write!(f, "no interface {interface} in the Slice files")?;
                match interfaces.as_slice() {
                    [] => f.write_str(": they have none"),
                    all => write!(f, "; they have {}", all.join(", ")),
                }
            }
            Self::Empty(interface) => {
                write!(
                    f,
                    "{interface} has no operations, so a topic of it has no events"
                )
            }
            Self::Answers {
                interface,
                operation,
            } => write!(
                f,
                "operation {operation} of {interface} returns or throws something, and an event has no answer: move it to another interface"
            ),
            Self::Operation(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EventTypesError {}

#[cfg(test)]
mod tests {
    use floe_slice::check_source;

    use super::*;

    fn contract() -> Contract {
        let slice = b"module Demo {
            struct Tick { int price; }
            interface Ticker { void tick(Tick tick); }
            interface Two extends Ticker { void halted(string why, int code); }
            interface Asks { int ask(); }
            interface Nothing {}
        }";
        Contract::new(check_source(slice).model)
    }

    #[test]
    fn kinds_are_operations() {
        let events = EventTypes::new(&contract(), "::Demo::Two").expect("they are events");
        let names: Vec<_> = events.kinds().iter().map(EventKind::name).collect();
        assert_eq!(names, ["tick", "halted"]);
        assert!(matches!(events.kinds()[0].payload(), Payload::Struct(_)));
        assert_eq!(events.kinds()[1].payload(), Payload::Parameters);
        assert!(events.only().is_none());
        assert_eq!(events.find("halted").map(|(at, _)| at), Some(1));
    }

    #[test]
    fn what_is_no_events_is_refused() {
        let error = |interface| EventTypes::new(&contract(), interface).expect_err("it is none");
        assert_eq!(
            error("::Demo::Asks").to_string(),
            "operation ask of ::Demo::Asks returns or throws something, and an event has no answer: move it to another interface"
        );
        assert_eq!(
            error("::Demo::Nothing").to_string(),
            "::Demo::Nothing has no operations, so a topic of it has no events"
        );
        assert_eq!(
            error("::Demo::Tick").to_string(),
            "no interface ::Demo::Tick in the Slice files; they have ::Demo::Ticker, ::Demo::Two, ::Demo::Asks, ::Demo::Nothing"
        );
    }
}
