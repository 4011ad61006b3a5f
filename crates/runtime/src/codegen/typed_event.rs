//! The trait of the enums that stand for the events of an interface.

use floe_wire::message::SystemException;

use crate::dispatch::Request;

/// The events of an interface, as an enum with a variant for each operation.
///
/// `floe-codegen` generates one for each interface whose operations return and throw nothing: `TickerEvent` for
/// interface `Ticker`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an enum of events",
    label = "expected the events of an interface, such as `TickerEvent`",
    note = "`floe-codegen` makes `TickerEvent` of an interface `Ticker` whose operations return and throw nothing"
)]
pub trait TypedEvent: Sized + Send + 'static {
    /// The type id of the interface: `::Demo::Ticker`.
    const TYPE_ID: &'static str;

    /// All its type ids, sorted, `::Ice::Object` included.
    const TYPE_IDS: &'static [&'static str];

    /// True if the subscriber asks the hub for the place of each event in the log of its topic, as
    /// [`Stamped`](crate::hub::Stamped) does.
    const WANTS_STAMPS: bool = false;

    /// Decodes a request as an event; `None` if the interface has no such operation.
    ///
    /// # Errors
    /// The exception that the hub gets as its answer: the parameters do not match the contract.
    fn decode(request: &Request) -> Option<Result<Self, SystemException>>;
}
