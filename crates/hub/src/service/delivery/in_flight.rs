//! The answers that a delivery waits for.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A few futures of one type, polled in the order in which they were started, so that requests
/// leave in this order. Their memory is used again.
pub(super) struct InFlight<F> {
    running: VecDeque<Slot<F>>,
    free: Vec<Slot<F>>,
}

type Slot<F> = Pin<Box<Option<F>>>;

impl<F: Future> InFlight<F> {
    pub(super) fn new() -> Self {
        Self {
            running: VecDeque::new(),
            free: Vec::new(),
        }
    }

    /// Number of futures that are not done.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Adds a future; it runs within [`InFlight::next`].
    pub(super) fn start(&mut self, future: F) {
        let mut slot = self.free.pop().unwrap_or_else(|| Box::pin(None));
        slot.set(Some(future));
        self.running.push_back(slot);
    }

    /// The output of the next future that is done; waits for ever if there is none. May be
    /// cancelled.
    pub(super) async fn next(&mut self) -> F::Output {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<F::Output> {
        for at in 0..self.running.len() {
            let Some(future) = self.running[at].as_mut().as_pin_mut() else {
                continue;
            };
            if let Poll::Ready(output) = future.poll(context) {
                let slot = self.running.remove(at);
                self.free.extend(slot.map(|mut slot| {
                    slot.set(None);
                    slot
                }));
                return Poll::Ready(output);
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn outputs_come_as_they_are_ready_and_polling_begins_with_the_oldest() {
        let (sender, receiver) = tokio::sync::oneshot::channel::<u32>();
        let mut in_flight = InFlight::new();
        let mut receiver = Some(receiver);
        for number in 0..3 {
            let receiver = receiver.take_if(|_| number == 0);
            in_flight.start(async move {
                match receiver {
                    Some(receiver) => receiver.await.unwrap(),
                    None => number,
                }
            });
        }
        assert_eq!(in_flight.next().await, 1);
        sender.send(7).unwrap();
        assert_eq!(in_flight.next().await, 7);
        assert_eq!(in_flight.next().await, 2);
        assert_eq!(in_flight.len(), 0);
    }
}
