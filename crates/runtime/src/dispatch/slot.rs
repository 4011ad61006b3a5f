//! Dispatch slots: boxes that one dispatch after another reuses.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use floe_wire::message::{IncomingRequest, RequestBatch, SystemException};

use super::{Dispatched, Origin, Request, Response};

/// A slot that one dispatch after another uses.
///
/// It keeps its memory, so that requests to the same servant allocate nothing.
#[derive(Default)]
pub struct DispatchSlot {
    future: Option<Box<dyn ErasedFuture>>,
    /// True if a dispatch was put into the slot since [`DispatchSlot::begin`].
    is_filled: bool,
}

/// A [`ReusableFuture`] whose type is erased.
trait ErasedFuture: Any + Send {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Dispatched>;
}

/// A future, in memory that later futures of the same type reuse.
struct ReusableFuture<F>(Pin<Box<Option<F>>>);

impl<F: Future<Output = Dispatched> + Send + 'static> ErasedFuture for ReusableFuture<F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Dispatched> {
        match self.0.as_mut().as_pin_mut() {
            Some(future) => future.poll(context),
            None => Poll::Pending,
        }
    }
}

impl DispatchSlot {
    /// Puts a dispatch into the slot.
    #[inline]
    pub fn run<F>(&mut self, dispatch: F)
    where
        F: Future<Output = Result<Response, SystemException>> + Send + 'static,
    {
        let last = self
            .future
            .as_mut()
            .map(|future| &mut **future as &mut dyn Any);
        match last.and_then(|future| future.downcast_mut::<ReusableFuture<F>>()) {
            Some(future) => future.0.set(Some(dispatch)),
            None => self.future = Some(Box::new(ReusableFuture(Box::pin(Some(dispatch))))),
        }
        self.is_filled = true;
    }

    /// Marks the slot as empty, before the next dispatch is put there. A panic may have left the last one unfinished.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.is_filled = false;
    }

    /// Polls the dispatch in the slot. If there is none, the request fails.
    #[inline]
    pub(crate) fn poll_dispatch(&mut self, context: &mut Context<'_>) -> Poll<Dispatched> {
        match &mut self.future {
            Some(future) if self.is_filled => future.poll(context),
            _ => Poll::Ready(Err(no_future())),
        }
    }

    /// Starts the dispatch of a request to the servant of its object. If the servant panics, only that request fails.
    pub(crate) fn start(
        &mut self,
        request: IncomingRequest,
        origin: Arc<Origin>,
    ) -> Result<(), SystemException> {
        let dispatcher = origin.adapter().servants().find(&request)?;
        self.begin();
        catch_unwind(AssertUnwindSafe(|| {
            dispatcher.dispatch(Request::new(request, origin).into(), self);
        }))
        .map_err(|panic| panicked(&*panic))
    }

    /// Dispatches the requests of a serial batch one after another. None of them gets a reply. `origin` returns the
    /// origin of the next request, or `None` if no adapter serves it.
    pub(crate) async fn dispatch_serial(
        &mut self,
        batch: RequestBatch,
        origin: impl Fn() -> Option<Arc<Origin>>,
    ) {
        for request in batch {
            if let Some(origin) = origin()
                && self.start(request, origin).is_ok()
            {
                let _ = poll_fn(|context| self.poll_guarded(context)).await;
            }
            // Many dispatches that end at their first poll must not keep other tasks waiting.
            tokio::task::coop::consume_budget().await;
        }
    }

    /// Polls a dispatch. If the servant panics, only that request fails.
    pub(crate) fn poll_guarded(&mut self, context: &mut Context<'_>) -> Poll<Dispatched> {
        catch_unwind(AssertUnwindSafe(|| self.poll_dispatch(context)))
            .unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    }
}

/// The dispatch in the slot.
impl Future for DispatchSlot {
    type Output = Dispatched;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Dispatched> {
        self.poll_dispatch(context)
    }
}

/// The message of a panic.
pub(super) fn panic_reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given")
}

/// Turns a panic of a servant into the failure of its request.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> SystemException {
    let reason = panic_reason(panic);
    tracing::error!("a servant panicked: {reason}");
    SystemException::UnknownException(format!("the servant panicked: {reason}"))
}

#[cold]
fn no_future() -> SystemException {
    let reason = "the dispatcher put no future into its slot";
    SystemException::UnknownException(reason.to_owned())
}

impl fmt::Debug for DispatchSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchSlot").finish_non_exhaustive()
    }
}
