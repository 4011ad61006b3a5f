//! A publisher: events in their order, several at a time.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::Poll;
use std::time::Instant;

use floe::InvokeError;

use crate::contract::feed::ListenerProxy;

/// Microseconds of a clock that this process alone has.
pub(super) fn micros() -> i64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_micros().try_into().unwrap_or(i64::MAX)
}

type Sent = Pin<Box<dyn Future<Output = Result<(), InvokeError>> + Send>>;

/// Publishes numbered events to one topic.
pub(super) struct Publishing {
    publisher: ListenerProxy,
    id: i32,
    at_a_time: usize,
    under_way: VecDeque<Option<Sent>>,
    begun: i64,
    accepted: i64,
}

impl Publishing {
    /// `at_a_time` events may be unanswered.
    pub(super) fn new(publisher: ListenerProxy, id: i32, at_a_time: usize) -> Self {
        Self {
            publisher,
            id,
            at_a_time,
            under_way: VecDeque::new(),
            begun: 0,
            accepted: 0,
        }
    }

    /// How many events the hub has accepted.
    pub(super) fn accepted(&self) -> i64 {
        self.accepted
    }

    /// Publishes an event with a load of this length, once there is room for it.
    ///
    /// # Errors
    /// The hub does not accept one of those before.
    pub(super) async fn publish(&mut self, load_len: usize) -> Result<(), InvokeError> {
        // The first one makes the connection, which others could overtake.
        let at_a_time = if self.accepted == 0 {
            1
        } else {
            self.at_a_time
        };
        while self.under_way.len() >= at_a_time {
            self.settle().await?;
        }
        self.begun += 1;
        let (publisher, id, number) = (self.publisher.clone(), self.id, self.begun);
        let mut sent: Sent = Box::pin(async move {
            let load = vec![7; load_len];
            publisher.heard(id, number, micros(), &load).await
        });
        match poll_fn(|context| Poll::Ready(sent.as_mut().poll(context))).await {
            Poll::Pending => self.under_way.push_back(Some(sent)),
            Poll::Ready(result) => {
                result?;
                self.under_way.push_back(None);
            }
        }
        Ok(())
    }

    /// Waits until all are accepted.
    ///
    /// # Errors
    /// The hub does not accept one.
    pub(super) async fn finish(&mut self) -> Result<(), InvokeError> {
        while !self.under_way.is_empty() {
            self.settle().await?;
        }
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), InvokeError> {
        if let Some(Some(sent)) = self.under_way.pop_front() {
            sent.await?;
        }
        self.accepted += 1;
        Ok(())
    }
}
