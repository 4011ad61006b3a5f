//! A servant that is a function.

use std::sync::Arc;

use floe_wire::message::SystemException;

use super::{DispatchFuture, DispatchPlace, Dispatcher, Request, Response};

/// An untyped servant that answers at once, from a function. It gets every request undecoded, and
/// must not block.
#[doc(alias = "Ice.Blobject")]
pub fn dispatch_fn(
    answer: impl Fn(Request) -> Result<Response, SystemException> + Send + Sync + 'static,
) -> impl Dispatcher {
    Answering(answer)
}

struct Answering<F>(F);

impl<F> Dispatcher for Answering<F>
where
    F: Fn(Request) -> Result<Response, SystemException> + Send + Sync + 'static,
{
    fn dispatch(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(std::future::ready((self.0)(request)))
    }

    fn dispatch_in(self: Arc<Self>, request: Request, place: &mut DispatchPlace) {
        place.run(std::future::ready((self.0)(request)));
    }
}
