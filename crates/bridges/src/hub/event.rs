//! An event as the hub delivers it, undecoded.

use bytes::Bytes;
use floe::dispatch::Request;
use floe::hub::TypedEvent;
use floe::{Context, SystemException};

/// An event of any interface: the operation, its context, and its parameters as a whole encapsulation.
#[derive(Debug, Clone)]
pub struct HubEvent {
    /// The operation.
    pub operation: String,
    /// The context.
    pub context: Context,
    /// The parameters: an encapsulation, header included.
    pub parameters: Bytes,
}

/// The operations of every object, which are no events.
const BUILTIN: [&str; 4] = ["ice_ping", "ice_isA", "ice_id", "ice_ids"];

impl TypedEvent for HubEvent {
    const TYPE_ID: &'static str = "::Ice::Object";
    const TYPE_IDS: &'static [&'static str] = &["::Ice::Object"];

    fn decode(request: &Request) -> Option<Result<Self, SystemException>> {
        let operation = request.operation();
        if BUILTIN.contains(&operation) {
            return None;
        }
        Some(Ok(Self {
            operation: operation.to_owned(),
            context: request.current().context(),
            parameters: request.parameters(),
        }))
    }
}
