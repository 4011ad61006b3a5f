//! Where dispatches run: a box that is used again.

use std::fmt;
use std::future::Future;
use std::task::{Context, Poll};

use floe_wire::message::SystemException;
use tokio_util::sync::ReusableBoxFuture;

use super::{DispatchFuture, Response};

/// A place for one dispatch after another. It keeps its memory, so that requests to the same servant
/// cost no allocation.
#[derive(Default)]
pub struct DispatchPlace {
    /// What runs, unless it brought its own box.
    reused: Option<ReusableBoxFuture<'static, Dispatched>>,
    boxed: Option<DispatchFuture>,
}

type Dispatched = Result<Response, SystemException>;

impl DispatchPlace {
    /// Takes a dispatch in.
    pub fn run(&mut self, dispatch: impl Future<Output = Dispatched> + Send + 'static) {
        self.boxed = None;
        match &mut self.reused {
            Some(reused) => reused.set(dispatch),
            None => self.reused = Some(ReusableBoxFuture::new(dispatch)),
        }
    }

    /// Takes in a dispatch that has a box.
    pub fn run_boxed(&mut self, dispatch: DispatchFuture) {
        self.boxed = Some(dispatch);
    }

    /// Polls what was taken in last.
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
