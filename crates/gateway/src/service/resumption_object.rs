//! The facet of the router at which clients of Floe make their sessions survive a lost connection.
//!
//! ```text
//! open(long grace) -> (string token, long grace)   the session of this connection can be resumed from now on
//! resume(string token) -> string token             goes on with a session over this connection
//! confirm(string token)                            the client has this token, so the one before it is void
//! ```
//!
//! Times are in milliseconds. A token is good for one resumption.

use std::sync::Arc;
use std::time::Duration;

use floe::dispatch::{DispatchSlot, Request, Requests, Response};
use floe::{Dispatcher, OperationMode, SystemException};

use super::overload::overloaded;
use super::router::{is_stream, session_of};
use super::sessions::{Sessions, TOO_MANY_OF_ADDRESS, UNKNOWN_TOKEN};
use crate::core::TooManyAttempts;

/// The facet.
pub(crate) const FACET: &str = "floe.session";

pub(super) struct ResumptionObject(pub(super) Arc<Sessions>);

impl Dispatcher for ResumptionObject {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| answer(self.0.clone(), request));
    }
}

async fn answer(sessions: Arc<Sessions>, request: Request) -> Result<Response, SystemException> {
    match request.operation() {
        "open" => {
            let session = session_of(&sessions, &request)?;
            let wanted: i64 = request.decode(OperationMode::Normal, |decoder| decoder.get())?;
            let wanted = Duration::from_millis(u64::try_from(wanted).unwrap_or(0));
            let (token, grace) = sessions.make_resumable(&session, wanted)?;
            let grace = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
            request.returned(|encoder| {
                encoder.string(&token);
                encoder.put(&grace);
            })
        }
        "resume" => {
            let token: String = request.decode(OperationMode::Normal, |decoder| decoder.get())?;
            let connection = request.current().connection().filter(is_stream);
            let connection = connection.ok_or_else(|| refused("there is no connection"))?;
            let address = connection.info().remote_network();
            let wait = sessions.protection.resumption_wait(address);
            let wait = wait.map_err(|TooManyAttempts| {
                let text = "too many unknown tokens of sessions from this address";
                SystemException::UnknownException(overloaded(text))
            })?;
            if !wait.is_zero() {
                sessions.counters.logins_slowed.add(1);
                tokio::time::sleep(wait).await;
            }
            let next = sessions.resume(&token, &connection);
            let next = next.map_err(|reason| {
                if reason == UNKNOWN_TOKEN {
                    sessions.protection.note_unknown_token(address);
                }
                sessions.counters.logins_refused.add(1);
                tracing::info!(
                    "no session is resumed for {}: {reason}",
                    request.current().peer()
                );
                match reason {
                    // The client may try again, for as long as its session waits.
                    TOO_MANY_OF_ADDRESS => SystemException::UnknownException(overloaded(reason)),
                    _ => refused(reason),
                }
            })?;
            request.returned(|encoder| encoder.string(&next))
        }
        "confirm" => {
            let session = session_of(&sessions, &request)?;
            let token: String = request.decode(OperationMode::Normal, |decoder| decoder.get())?;
            sessions.confirm(&session, &token);
            request.returned_nothing()
        }
        _ => request.builtin("::Ice::Object", &["::Ice::Object"]),
    }
}

/// The text begins with this if a session can no longer be resumed.
pub(crate) const NOT_RESUMED: &str = "session not resumed: ";

fn refused(reason: &str) -> SystemException {
    SystemException::UnknownException(format!("{NOT_RESUMED}{reason}"))
}
