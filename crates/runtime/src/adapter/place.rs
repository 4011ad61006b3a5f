//! Where dispatches run: a box that is used again.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use floe_wire::message::SystemException;

use super::{DispatchFuture, Response};

/// A place for one dispatch after another. It keeps its memory, so that requests to the same servant
/// cost no allocation.
#[derive(Default)]
pub struct DispatchPlace {
    /// What runs, unless it brought its own box.
    reused: Option<Box<dyn Reused>>,
    boxed: Option<DispatchFuture>,
}

type Dispatched = Result<Response, SystemException>;

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

impl DispatchPlace {
    /// Takes a dispatch in.
    #[inline]
    pub fn run<F>(&mut self, dispatch: F)
    where
        F: Future<Output = Dispatched> + Send + 'static,
    {
        self.boxed = None;
        let reused = self.reused.as_mut().map(|room| &mut **room as &mut dyn Any);
        match reused.and_then(|room| room.downcast_mut::<Room<F>>()) {
            Some(room) => room.0.set(Some(dispatch)),
            None => self.reused = Some(Box::new(Room(Box::pin(Some(dispatch))))),
        }
    }

    /// Takes in a dispatch that has a box.
    pub fn run_boxed(&mut self, dispatch: DispatchFuture) {
        self.boxed = Some(dispatch);
    }

    /// Drops what was taken in with its box; it is done.
    pub(crate) fn rest(&mut self) {
        self.boxed = None;
    }

    /// Polls what was taken in last.
    #[inline]
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Dispatched> {
        match (&mut self.boxed, &mut self.reused) {
            (Some(boxed), _) => boxed.as_mut().poll(context),
            (None, Some(reused)) => reused.poll(context),
            (None, None) => Poll::Pending,
        }
    }
}

impl fmt::Debug for DispatchPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchPlace").finish_non_exhaustive()
    }
}
