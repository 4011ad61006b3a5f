//! Servant locators: objects that find or make a servant for each request.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use floe_wire::message::SystemException;

use super::{Current, DispatchSlot, Dispatched, Dispatcher, Request, Requests, dispatch_alone};

/// Finds the servant of a request, for a category in which no servant is registered for it.
///
/// For each request `locate` is called and, if it gave a servant, `finished` after the dispatch: also
/// if that failed, panicked, or was dropped with its runtime.
#[doc(alias = "Ice.ServantLocator")]
pub trait ServantLocator: Send + Sync + 'static {
    /// The servant for a request; `None` if the object does not exist. It may wait, for example for
    /// a database.
    fn locate<'a>(&'a self, current: &'a Current) -> LocateFuture<'a>;

    /// The dispatch to a servant that it gave has ended; `cookie` is what it gave with it.
    fn finished(&self, _current: &Current, _servant: &Arc<dyn Dispatcher>, _cookie: Cookie) {}

    /// The adapter that it served in this category is destroyed, or the locator was removed.
    fn deactivate(&self, _category: &str) {}
}

/// A locator may be shared.
impl<L: ServantLocator + ?Sized> ServantLocator for Arc<L> {
    fn locate<'a>(&'a self, current: &'a Current) -> LocateFuture<'a> {
        (**self).locate(current)
    }

    fn finished(&self, current: &Current, servant: &Arc<dyn Dispatcher>, cookie: Cookie) {
        (**self).finished(current, servant, cookie);
    }

    fn deactivate(&self, category: &str) {
        (**self).deactivate(category);
    }
}

/// A search under way. Its error goes to the caller in the servant's place.
pub type LocateFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Located>, SystemException>> + Send + 'a>>;

/// Whatever a locator wants to have back after the dispatch.
pub type Cookie = Option<Box<dyn Any + Send + Sync>>;

/// What a locator found.
pub struct Located {
    servant: Arc<dyn Dispatcher>,
    cookie: Cookie,
}

impl Located {
    /// A servant.
    pub fn new(servant: impl Dispatcher) -> Self {
        Self {
            servant: Arc::new(servant),
            cookie: None,
        }
    }

    /// The same with something to have back after the dispatch.
    #[must_use]
    pub fn with_cookie(mut self, cookie: impl Any + Send + Sync) -> Self {
        self.cookie = Some(Box::new(cookie));
        self
    }
}

/// Dispatches to what a locator finds.
pub(super) struct Locating {
    pub(super) locator: Arc<dyn ServantLocator>,
    /// The answer if there is nothing; its target is that of the request.
    pub(super) missing: SystemException,
}

impl Dispatcher for Locating {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().answer(request));
    }
}

impl Locating {
    async fn answer(self: Arc<Self>, request: Request) -> Dispatched {
        let current = request.current().clone();
        let Some(located) = self.locator.locate(&current).await? else {
            return Err(self.missing.clone().with_target(&current.target()));
        };
        let finishing = Finishing {
            locator: &*self.locator,
            current: &current,
            located,
        };
        let servant = finishing.located.servant.clone();
        dispatch_alone(servant, request).await
    }
}

/// Tells the locator when the dispatch has ended, however that comes about.
struct Finishing<'a> {
    locator: &'a dyn ServantLocator,
    current: &'a Current,
    located: Located,
}

impl Drop for Finishing<'_> {
    fn drop(&mut self) {
        let cookie = self.located.cookie.take();
        let finish = || {
            let Located { servant, .. } = &self.located;
            self.locator.finished(self.current, servant, cookie);
        };
        if !std::thread::panicking() {
            return finish();
        }
        // A second panic would end the whole program.
        if catch_unwind(AssertUnwindSafe(finish)).is_err() {
            tracing::error!("a servant panicked, and then its locator; the request failed");
        }
    }
}
