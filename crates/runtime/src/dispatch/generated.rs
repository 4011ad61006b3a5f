//! Generated dispatchers: how they answer requests.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use floe_wire::message::SystemException;

use super::{DispatchSlot, Request, Requests, Response};

/// A generated dispatcher: it answers one request at a time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a generated dispatcher",
    label = "expected a generated dispatcher, such as `StationDispatcher::new(servant)`",
    note = "wrap a servant in the dispatcher of its interface: `StationDispatcher::new(servant)` if it implements `Station`"
)]
pub trait Answer: Send + Sync + 'static {
    /// Decodes the parameters, calls the servant, and encodes what it returned.
    fn answer(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Response, Box<SystemException>>> + Send;
}

/// Answers one request after another.
///
/// It does the same as [`Requests::each`], but counts no reference for each request.
#[inline]
pub fn dispatch<A: Answer>(dispatcher: Arc<A>, requests: Requests, slot: &mut DispatchSlot) {
    slot.run(async move {
        let Requests {
            front: mut request,
            mut rest,
        } = requests;
        loop {
            let response = {
                let answer = pin!(dispatcher.answer(request));
                match rest.lent_until_pending(answer).await {
                    Ok(response) => response,
                    Err(exception) => return Err(*exception),
                }
            };
            match rest.next(response) {
                Ok(next) => request = next,
                Err(response) => return Ok(response),
            }
        }
    });
}
