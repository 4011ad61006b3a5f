//! Runs several requests at a time, which begin and end in order.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Futures that have begun, with the output of each, and the way that they all took: the connection over
/// which requests are sent.
pub(in crate::command) struct Window<T, W> {
    running: VecDeque<Running<T>>,
    way: Option<W>,
}

enum Running<T> {
    Done(T),
    Pending(Pin<Box<dyn Future<Output = T> + Send>>),
}

/// Requests at a time: enough that the hub always has something to do.
const LEN_MAX: usize = 64;

/// Bytes of all requests: fewer than a connection holds up, so that none waits behind the others.
const BYTES_MAX: usize = 1024 * 1024;

/// How many requests of this length there may be.
pub(in crate::command) fn len_max(request_len: usize) -> usize {
    (BYTES_MAX / (request_len + 1)).clamp(1, LEN_MAX)
}

impl<T, W: PartialEq> Window<T, W> {
    pub(in crate::command) fn new() -> Self {
        Self {
            running: VecDeque::new(),
            way: None,
        }
    }

    /// Returns true if a future may begin that takes this way, if one is known, beside those that run.
    ///
    /// One that took another way could overtake them: requests whose connection was closed before they
    /// were dispatched are sent again, each when it is waited for.
    pub(in crate::command) fn has_room(&self, way: Option<&W>, len_max: usize) -> bool {
        let is_same = way.is_some() && way == self.way.as_ref();
        self.running.is_empty() || is_same && self.running.len() < len_max
    }

    /// How many have begun, and were not taken out.
    pub(in crate::command) fn len(&self) -> usize {
        self.running.len()
    }

    /// Begins a future, which takes this way: it has run until it waits for something.
    pub(in crate::command) async fn start(
        &mut self,
        way: Option<W>,
        future: impl Future<Output = T> + Send + 'static,
    ) {
        self.way = way;
        let mut future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        self.running.push_back(match polled {
            Poll::Ready(output) => Running::Done(output),
            Poll::Pending => Running::Pending(future),
        });
    }

    /// Waits for the one that began first; none if there is none. Cancelled, it loses nothing.
    pub(in crate::command) async fn next(&mut self) -> Option<T> {
        poll_fn(|context| {
            let output = match self.running.pop_front() {
                None => None,
                Some(Running::Done(output)) => Some(output),
                Some(Running::Pending(mut future)) => match future.as_mut().poll(context) {
                    Poll::Ready(output) => Some(output),
                    Poll::Pending => {
                        self.running.push_front(Running::Pending(future));
                        return Poll::Pending;
                    }
                },
            };
            Poll::Ready(output)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn outputs_come_in_the_order_of_their_beginning() {
        let mut window = Window::new();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let way = Some(7);
        window
            .start(way, async { receiver.await.unwrap_or(0) })
            .await;
        window.start(way, std::future::ready(2)).await;
        sender.send(1).expect("it is waited for");
        let outputs = [
            window.next().await,
            window.next().await,
            window.next().await,
        ];
        assert_eq!(outputs, [Some(1), Some(2), None]);
    }

    #[tokio::test]
    async fn what_takes_another_way_waits_for_those_that_may_be_sent_again() {
        let mut window = Window::new();
        assert!(window.has_room(None, 1) && window.has_room(Some(&1), 1));
        window.start(Some(1), std::future::pending::<()>()).await;
        assert!(window.has_room(Some(&1), 2) && !window.has_room(Some(&1), 1));
        assert!(
            !window.has_room(Some(&2), 2),
            "the connection is another one"
        );
        assert!(!window.has_room(None, 2), "there is no connection now");
        let mut window = Window::<(), i32>::new();
        window.start(None, std::future::pending()).await;
        assert!(!window.has_room(Some(&1), 2), "it makes the connection");
    }

    #[test]
    fn long_requests_are_few_at_a_time() {
        assert_eq!(
            [len_max(10), len_max(500_000), len_max(1 << 30)],
            [64, 2, 1]
        );
    }
}
