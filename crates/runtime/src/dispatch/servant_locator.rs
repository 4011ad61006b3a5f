//! Servant locators: objects that find or make a servant for each request.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use floe_wire::encoding::ExceptionFormat;
use floe_wire::message::SystemException;

use super::{Current, DispatchSlot, Dispatched, Dispatcher, Request, Requests, dispatch_alone};
use crate::error::OperationError;

/// Finds the servant of a request in a category, if no servant is registered for it.
///
/// `locate` is called for each request. If it returned a servant, `finished` is called after the dispatch, even if the
/// dispatch failed, panicked, or was dropped with its runtime.
#[doc(alias = "Ice.ServantLocator")]
pub trait ServantLocator: Send + Sync + 'static {
    /// Returns the servant for a request; `None` if the object does not exist. It may wait, for example for a database.
    /// Its error goes to the caller, user exceptions included.
    fn locate<'a>(&'a self, current: &'a Current) -> LocateFuture<'a>;

    /// Called when the dispatch to a returned servant has ended; `cookie` was returned with the servant.
    ///
    /// # Errors
    /// The caller gets the error in place of the servant's answer, and in place of its exception, unless the servant
    /// panicked or the request was dropped.
    ///
    /// Source: observed, Ice 3.7.
    fn finished(
        &self,
        _current: &Current,
        _servant: &Arc<dyn Dispatcher>,
        _cookie: Cookie,
    ) -> Result<(), LocatorError> {
        Ok(())
    }

    /// Called when the adapter is destroyed, or when the locator is removed from this category.
    fn deactivate(&self, _category: &str) {}
}

/// A locator may be shared.
impl<L: ServantLocator + ?Sized> ServantLocator for Arc<L> {
    fn locate<'a>(&'a self, current: &'a Current) -> LocateFuture<'a> {
        (**self).locate(current)
    }

    fn finished(
        &self,
        current: &Current,
        servant: &Arc<dyn Dispatcher>,
        cookie: Cookie,
    ) -> Result<(), LocatorError> {
        (**self).finished(current, servant, cookie)
    }

    fn deactivate(&self, category: &str) {
        (**self).deactivate(category);
    }
}

/// A search under way. Its error goes to the caller in the servant's place.
pub type LocateFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Located>, LocatorError>> + Send + 'a>>;

/// The error of a servant locator: a system exception, or the error of any operation.
pub struct LocatorError {
    respond: Box<dyn FnOnce(Request) -> Dispatched + Send>,
}

impl LocatorError {
    fn respond(self, request: Request) -> Dispatched {
        (self.respond)(request)
    }
}

impl<E: OperationError + Send + 'static> From<E> for LocatorError {
    fn from(error: E) -> Self {
        let respond = move |request: Request| {
            request.reply(Err::<(), E>(error), ExceptionFormat::Sliced, |_, _| {})
        };
        Self {
            respond: Box::new(respond),
        }
    }
}

impl From<SystemException> for LocatorError {
    fn from(exception: SystemException) -> Self {
        Self {
            respond: Box::new(|_| Err(exception)),
        }
    }
}

impl fmt::Debug for LocatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocatorError").finish_non_exhaustive()
    }
}

/// Any value that a locator wants back after the dispatch.
pub type Cookie = Option<Box<dyn Any + Send + Sync>>;

/// The servant that a locator found, and its cookie.
pub struct Located {
    servant: Arc<dyn Dispatcher>,
    cookie: Cookie,
}

impl Located {
    /// Wraps a servant.
    pub fn new(servant: impl Dispatcher) -> Self {
        Self {
            servant: Arc::new(servant),
            cookie: None,
        }
    }

    /// Wraps a servant and a value that the locator wants back after the dispatch.
    #[must_use]
    pub fn with_cookie(mut self, cookie: impl Any + Send + Sync) -> Self {
        self.cookie = Some(Box::new(cookie));
        self
    }
}

/// Dispatches to the servant that a locator finds.
pub(super) struct LocatingDispatcher {
    pub(super) locator: Arc<dyn ServantLocator>,
    /// The answer if the locator finds no servant. Its target is that of the request.
    pub(super) missing: SystemException,
}

impl Dispatcher for LocatingDispatcher {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().answer(request));
    }
}

impl LocatingDispatcher {
    async fn answer(self: Arc<Self>, request: Request) -> Dispatched {
        let current = request.current().clone();
        let located = match self.locator.locate(&current).await {
            Ok(Some(located)) => located,
            Ok(None) => return Err(self.missing.clone().with_target(&current.target())),
            Err(error) => return error.respond(request),
        };
        let servant = located.servant.clone();
        let mut finishing = Finishing {
            locator: &*self.locator,
            current: &current,
            located: Some(located),
        };
        let response = dispatch_alone(servant, request).await;
        match (finishing.finish(), response) {
            (Ok(()), response) => response,
            (Err(error), Ok(response)) => error.respond(response.into_request()),
            (Err(error), Err(exception)) => {
                tracing::debug!(
                    operation = current.operation(),
                    "the caller does not learn that the servant failed, because the locator did, too: {exception}"
                );
                error.respond(Request::of_current(current.clone()))
            }
        }
    }
}

/// Calls `finished` when the dispatch has ended, in whatever way.
struct Finishing<'a> {
    locator: &'a dyn ServantLocator,
    current: &'a Current,
    /// `None` once `finished` was called.
    located: Option<Located>,
}

impl Finishing<'_> {
    fn finish(&mut self) -> Result<(), LocatorError> {
        match self.located.take() {
            Some(Located { servant, cookie }) => {
                self.locator.finished(self.current, &servant, cookie)
            }
            None => Ok(()),
        }
    }
}

impl Drop for Finishing<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // The request was dropped: its caller gets no answer.
            let _ = self.finish();
            return;
        }
        // A second panic while unwinding would abort the program.
        if catch_unwind(AssertUnwindSafe(|| self.finish())).is_err() {
            tracing::error!(
                "a servant panicked, and then its locator panicked; the request failed"
            );
        }
    }
}
