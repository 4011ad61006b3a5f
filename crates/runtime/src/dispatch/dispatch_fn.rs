//! A dispatcher that is a function.

use std::future::ready;
use std::sync::Arc;

use floe_wire::message::SystemException;

use super::{DispatchSlot, Dispatcher, Request, Requests, Response};

/// An untyped servant that answers immediately, from a function. The function gets every request
/// undecoded, and must not block.
#[doc(alias = "Ice.Blobject")]
pub fn dispatch_fn(
    answer: impl Fn(Request) -> Result<Response, SystemException> + Send + Sync + 'static,
) -> impl Dispatcher {
    DispatchFn(answer)
}

struct DispatchFn<F>(F);

impl<F> Dispatcher for DispatchFn<F>
where
    F: Fn(Request) -> Result<Response, SystemException> + Send + Sync + 'static,
{
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| ready((self.0)(request)));
    }
}
