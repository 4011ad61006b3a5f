//! Several requests at a time, begun and ended in their order.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Futures that have begun, with the output of each.
pub(super) struct Window<T> {
    running: VecDeque<Running<T>>,
}

enum Running<T> {
    Done(T),
    Pending(Pin<Box<dyn Future<Output = T> + Send>>),
}

/// Requests at a time: enough that the hub always has something to do.
const LEN_MAX: usize = 64;

/// Bytes of all requests: fewer than a connection holds up, so that none waits behind the others.
const BYTES_MAX: usize = 1024 * 1024;

impl<T> Window<T> {
    pub(super) fn new() -> Self {
        let running = VecDeque::new();
        Self { running }
    }

    /// How many requests of this length there may be.
    pub(super) fn len_max(request_len: usize) -> usize {
        (BYTES_MAX / (request_len + 1)).clamp(1, LEN_MAX)
    }

    /// How many have begun, and were not taken out.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Begins a future: it has run until it waits for something.
    pub(super) async fn start(&mut self, future: impl Future<Output = T> + Send + 'static) {
        let mut future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        self.running.push_back(match polled {
            Poll::Ready(output) => Running::Done(output),
            Poll::Pending => Running::Pending(future),
        });
    }

    /// Waits for the one that began first; none if there is none. Cancelled, that one is lost.
    pub(super) async fn next(&mut self) -> Option<T> {
        match self.running.pop_front()? {
            Running::Done(output) => Some(output),
            Running::Pending(future) => Some(future.await),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn outputs_come_in_the_order_of_their_beginning() {
        let mut window = Window::new();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        window.start(async { receiver.await.unwrap_or(0) }).await;
        window.start(std::future::ready(2)).await;
        sender.send(1).expect("it is waited for");
        let outputs = [
            window.next().await,
            window.next().await,
            window.next().await,
        ];
        assert_eq!(outputs, [Some(1), Some(2), None]);
    }

    #[test]
    fn long_requests_are_few_at_a_time() {
        let len_max = Window::<()>::len_max;
        assert_eq!(
            [len_max(10), len_max(500_000), len_max(1 << 30)],
            [64, 2, 1]
        );
    }
}
