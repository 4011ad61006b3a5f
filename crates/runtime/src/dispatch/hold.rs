//! Holding an adapter: while all that its dispatches may take is taken, its connections begin no dispatch and stop
//! reading.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use tokio::task::unconstrained;

use super::adapter_budget::AdapterBudget;

/// Holds the dispatch budget of an adapter: the free part immediately, and the rest as dispatches end. Dropping it
/// gives everything back.
pub(crate) struct Hold {
    _acquiring: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Hold {
    /// Takes the rest of the budget now. Dispatches that are under way continue.
    pub(super) fn of(budget: &Arc<AdapterBudget>) -> Self {
        let budget = budget.clone();
        // A task that has used up its share of the thread's time must be able to hold an adapter, too.
        let mut acquiring = Box::pin(unconstrained(async move {
            let _all = budget.take_all().await;
            pending().await
        }));
        let _ = acquiring
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        Self {
            _acquiring: acquiring,
        }
    }
}
