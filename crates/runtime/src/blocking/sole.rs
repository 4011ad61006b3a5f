//! Whether a thread waits for one call, and for nothing else.
//!
//! Such a thread may block in the middle of the call: nothing else is polled by it that would stand
//! still meanwhile. A future that waits for several, or for a call and something, has another place or
//! is longer than the call in it.

use std::cell::Cell;
use std::task::Waker;

use super::look::{Place, is_waited_for};

thread_local! {
    /// Whether the innermost call that this thread polls is all that it waits for.
    static IS_SOLE: Cell<bool> = const { Cell::new(false) };
}

/// Polls a call that is at this place. While it runs, it can learn whether a thread waits for it alone.
#[inline]
pub(crate) fn poll_sole<T>(place: Place, waker: &Waker, poll: impl FnOnce() -> T) -> T {
    /// What was so for the call around it; it is put back also when the poll panics.
    struct Outer(bool);
    impl Drop for Outer {
        fn drop(&mut self) {
            IS_SOLE.set(self.0);
        }
    }
    let is_sole = is_waited_for(place, waker);
    let _outer = Outer(IS_SOLE.replace(is_sole));
    poll()
}

/// Whether the call that is being polled by [`poll_sole`] may block its thread.
pub(crate) fn is_sole() -> bool {
    IS_SOLE.get()
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use super::*;
    use crate::blocking::Wait;

    /// Polls as calls do.
    struct Sole<F>(Pin<Box<F>>);

    impl<F: Future> Future for Sole<F> {
        type Output = F::Output;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            let place = Place::of(&*self);
            poll_sole(place, context.waker(), || self.0.as_mut().poll(context))
        }
    }

    impl<F> Sole<F> {
        fn new(future: F) -> Self {
            Self(Box::pin(future))
        }
    }

    fn asks() -> Sole<impl Future<Output = bool>> {
        Sole::new(async { is_sole() })
    }

    #[test]
    fn a_future_is_sole_only_if_the_thread_waits_for_it_itself() {
        assert!(asks().wait());
        assert!(!async { asks().await }.wait(), "there could be more");
        let both = async { tokio::join!(asks(), asks()) };
        assert_eq!(both.wait(), (false, false));
        let around = Sole::new(async { (asks().await, is_sole(), asks().wait()) });
        assert_eq!(around.wait(), (false, true, true));
        assert!(!is_sole());
    }

    #[tokio::test]
    async fn a_task_waits_for_nothing_alone() {
        assert!(!asks().await);
    }
}
