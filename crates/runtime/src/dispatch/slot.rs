//! Where dispatches run: a box that is used again.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use floe_wire::message::SystemException;

use super::{Dispatched, Response};

/// A slot for one dispatch after another.
///
/// It keeps its memory, so that requests to the same servant cost no allocation.
#[derive(Default)]
pub struct DispatchSlot {
    reused: Option<Box<dyn Reused>>,
    /// Whether a dispatch is in it that has not ended.
    is_filled: bool,
}

/// Room for futures of one type.
trait Reused: Any + Send {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Dispatched>;
}

/// The future that was put there last.
struct Room<F>(Pin<Box<Option<F>>>);

impl<F: Future<Output = Dispatched> + Send + 'static> Reused for Room<F> {
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
        let reused = self.reused.as_mut().map(|room| &mut **room as &mut dyn Any);
        match reused.and_then(|room| room.downcast_mut::<Room<F>>()) {
            Some(room) => room.0.set(Some(dispatch)),
            None => self.reused = Some(Box::new(Room(Box::pin(Some(dispatch))))),
        }
        self.is_filled = true;
    }

    /// Forgets a dispatch that a panic has left in the slot, before the next one is put there.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.is_filled = false;
    }

    /// Polls the dispatch that was put there last.
    #[inline]
    pub(crate) fn poll_dispatch(&mut self, context: &mut Context<'_>) -> Poll<Dispatched> {
        match &mut self.reused {
            Some(reused) if self.is_filled => reused.poll(context),
            _ => Poll::Ready(Err(unanswered())),
        }
    }
}

/// The dispatch in the slot.
impl Future for DispatchSlot {
    type Output = Dispatched;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Dispatched> {
        self.poll_dispatch(context)
    }
}

#[cold]
fn unanswered() -> SystemException {
    let reason = "the dispatcher put no future into its slot";
    SystemException::UnknownException(reason.to_owned())
}

impl fmt::Debug for DispatchSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchSlot").finish_non_exhaustive()
    }
}
