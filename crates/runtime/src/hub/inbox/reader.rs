//! The end of an inbox at which a consumer takes items.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use super::{Inbox, Item};

/// Takes items out of an inbox. When it is dropped, the inbox is closed.
pub(in crate::hub) struct Reader<E: Send + 'static> {
    inbox: Arc<Inbox<E>>,
    /// Items that were taken out of the inbox, and that the consumer has not begun.
    items: VecDeque<Item<E>>,
    /// How many items the consumer has, and finishes when it asks for more.
    begun: u64,
    /// How many items the consumer has finished.
    finished: u64,
    /// When it differs from that of the inbox, the events in `items` come again.
    generation: u64,
}

impl<E: Send + 'static> Reader<E> {
    pub(super) fn new(inbox: Arc<Inbox<E>>) -> Self {
        Self {
            inbox,
            items: VecDeque::new(),
            begun: 0,
            finished: 0,
            generation: 0,
        }
    }

    /// The next item; `None` when no more come. The consumer has then finished those before.
    pub(in crate::hub) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Item<E>>> {
        ready!(self.poll_items(context));
        let item = self.items.pop_front();
        self.begun = u64::from(item.is_some());
        Poll::Ready(item)
    }

    /// All items that are there, at least one; `None` when no more come. The consumer has then finished those before.
    pub(in crate::hub) fn poll_batch(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Vec<Item<E>>>> {
        ready!(self.poll_items(context));
        let items = Vec::from(std::mem::take(&mut self.items));
        self.begun = items.len() as u64;
        Poll::Ready((!items.is_empty()).then_some(items))
    }

    /// Waits until it has items, or no more come.
    fn poll_items(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.count_begun();
        if self.generation != self.inbox.generation.load(Ordering::Acquire) {
            self.retract();
        }
        if !self.items.is_empty() {
            self.inbox.note_finished(self.finished);
            // A task that always finds items must let others run.
            let budget = ready!(tokio::task::coop::poll_proceed(context));
            budget.made_progress();
            return Poll::Ready(());
        }
        self.poll_taken(context)
    }

    /// Takes all items of the inbox, and sends the replies that are due.
    fn poll_taken(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let budget = ready!(tokio::task::coop::poll_proceed(context));
        let mut state = self.inbox.lock();
        std::mem::swap(&mut self.items, &mut state.items);
        self.finished += std::mem::take(&mut state.dropped);
        let has_ended = state.has_ended;
        if self.items.is_empty() && !has_ended {
            match &mut state.consumer {
                Some(waker) => waker.clone_from(context.waker()),
                empty => *empty = Some(context.waker().clone()),
            }
        }
        drop(state);
        self.flush();
        if self.items.is_empty() && !has_ended {
            return Poll::Pending;
        }
        budget.made_progress();
        Poll::Ready(())
    }

    /// The consumer has finished what it has.
    pub(in crate::hub) fn finish(&mut self) {
        self.count_begun();
        self.flush();
    }

    fn count_begun(&mut self) {
        self.finished += std::mem::take(&mut self.begun);
    }

    /// Sends the replies that are due.
    fn flush(&self) {
        let inbox = &*self.inbox;
        inbox.finished.store(self.finished, Ordering::SeqCst);
        if self.finished >= inbox.flush_at.load(Ordering::SeqCst) {
            inbox.flush();
        }
    }

    #[cold]
    fn retract(&mut self) {
        self.generation = self.inbox.generation.load(Ordering::Acquire);
        let count = self.items.len();
        self.items.retain(Result::is_err);
        self.finished += (count - self.items.len()) as u64;
    }
}

/// No item is pinned.
impl<E: Send + 'static> Unpin for Reader<E> {}

impl<E: Send + 'static> Drop for Reader<E> {
    fn drop(&mut self) {
        self.inbox.close();
    }
}
