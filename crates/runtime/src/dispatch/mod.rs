//! Dispatch: requests reach their servant, and the replies return.
//!
//! - `requests.rs`: one or more requests to one object, which a [`Dispatcher`] gets in one call
//! - `lent_requests.rs`: the requests behind the first one, which the connection lends to the dispatcher
//! - `request.rs`: a request, its response, and the bytes of the reply
//! - `current.rs`: everything known about a request besides its parameters
//! - `taken_events.rs`: requests that a dispatcher takes undecoded, as events
//! - `taken_requests.rs`: requests that a dispatcher takes one by one, without a future for each
//! - `deferred_replies.rs`: replies that leave after the dispatch of their requests
//! - `slot.rs`: the reusable memory in which dispatches run
//! - `origin.rs`: what the requests of one connection share
//! - `dispatch_fn.rs`: a dispatcher that is a function
//! - `interceptor.rs`: wraps a dispatcher
//! - `adapter_budget.rs`: how many dispatches an adapter has at the same time, and how addresses share them
//! - `adapter_core.rs`: the part of an adapter that dispatches use; `adapter_names.rs`: the names by which a locator
//!   finds it
//! - `servants.rs`: finds the servant for a request; `servant_locator.rs`: objects of the program that find servants
//! - `hold.rs`: pauses the reading of an adapter's connections

mod adapter_budget;
mod adapter_core;
mod adapter_names;
mod current;
mod deferred_replies;
mod dispatch_fn;
mod hold;
mod interceptor;
mod lent_requests;
mod origin;
mod request;
mod requests;
mod servant_locator;
mod servants;
mod slot;
mod taken_events;
mod taken_requests;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use floe_wire::message::SystemException;

pub(crate) use adapter_budget::{AdapterBudget, AddressDispatches, PendingShare, Share};
pub(crate) use adapter_core::{AdapterCore, ListenState};
pub(crate) use adapter_names::AdapterNames;
pub use current::Current;
pub(crate) use deferred_replies::{DeferredReplies, DeferredReply, PERMIT_LEN, ReadyReplies};
pub use dispatch_fn::dispatch_fn;
pub(crate) use interceptor::push as push_interceptor;
pub use interceptor::{DispatchInterceptor, NextDispatch};
pub(crate) use lent_requests::{
    LentQuantum, LentRequests, LentState, REPLIES_MAX, ReturnSlot, append,
};
pub(crate) use origin::{AdapterSlot, Origin, RequestSource};
pub use request::{Request, Response};
pub(crate) use request::{RequestParts, encode_exception, encode_reply};
pub use requests::Requests;
pub use servant_locator::{Cookie, LocateFuture, Located, LocatorError, ServantLocator};
pub(crate) use servants::ServantCache;
pub use slot::DispatchSlot;
pub(crate) use slot::panicked;
pub use taken_events::TakenEvents;
pub(crate) use taken_requests::{RequestTaker, Taken};

/// Answers requests: an adapter calls its servants through this trait.
///
/// Generated dispatchers decode the parameters and call a typed servant. A hand-written dispatcher sees every request
/// undecoded, whatever its operation ([`Request::parameters`], [`Request::respond`]).
///
/// ```
/// use std::sync::Arc;
///
/// use floe::dispatch::{DispatchSlot, Requests};
/// use floe::message::Outcome;
/// use floe::Dispatcher;
///
/// /// Returns the parameters of every request.
/// struct Echo;
///
/// impl Dispatcher for Echo {
///     fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
///         requests.each(slot, |request| async move {
///             let parameters = request.parameters();
///             request.respond(&Outcome::Returned(parameters))
///         });
///     }
/// }
/// ```
#[doc(alias = "Ice.Blobject")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a dispatcher",
    label = "expected a dispatcher, such as `StationDispatcher::new(servant)`",
    note = "wrap a servant in the dispatcher of its interface: `StationDispatcher::new(servant)` if it implements `Station`"
)]
pub trait Dispatcher: Send + Sync + 'static {
    /// Answers one or more requests to one object, with a future that it puts into the slot: [`Requests::each`] answers
    /// one request after another, [`Requests::take_events`] takes all of them undecoded.
    ///
    /// The future is first polled on the task that read the requests. A dispatch that does not wait costs no task. Move
    /// a long computation to another thread. A dispatcher must not keep the requests anywhere but in that future.
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot);
}

/// A servant may be shared, for example to read its counters.
impl<D: Dispatcher + ?Sized> Dispatcher for Arc<D> {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        Arc::clone(&*self).dispatch(requests, slot);
    }
}

/// A dispatch under way.
pub type DispatchFuture = Pin<Box<dyn Future<Output = Dispatched> + Send + 'static>>;

/// The result of a dispatch: the response to the last request that it answered, or the exception instead.
pub(crate) type Dispatched = Result<Response, SystemException>;

/// Dispatches a single request, in a slot of its own.
pub(crate) fn dispatch_alone(dispatcher: Arc<dyn Dispatcher>, request: Request) -> DispatchFuture {
    let mut slot = DispatchSlot::default();
    dispatcher.dispatch(request.into(), &mut slot);
    Box::pin(slot)
}
