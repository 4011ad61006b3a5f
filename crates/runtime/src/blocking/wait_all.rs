//! Several calls of one thread at the same time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::Wait;

/// Begins several calls, and blocks until all are done. Returns their results in the order of the calls:
///
/// ```no_run
/// # use floe::contracts::ice::ProcessProxy;
/// # use floe::InvokeError;
/// # fn stop(processes: &[ProcessProxy]) -> Result<(), InvokeError> {
/// let results = floe::blocking::wait_all(processes.iter().map(ProcessProxy::shutdown));
/// results.into_iter().collect()
/// # }
/// ```
///
/// No call waits for the reply to another one, and requests to the same server share writes, so many short calls take
/// far less time than one after another. A call that fails does not end the others. Other futures work as well; put
/// one that is not [`Unpin`] into [`Box::pin`].
///
/// It blocks, so it must not be called in a task of a tokio runtime.
pub fn wait_all<F: Future + Unpin>(calls: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut calls: Vec<_> = calls.into_iter().map(Progress::Waits).collect();
    let all_are_done = poll_fn(|context| {
        let mut are_done = true;
        for progress in &mut calls {
            if let Progress::Waits(call) = progress {
                match Pin::new(call).poll(context) {
                    Poll::Ready(output) => *progress = Progress::Done(output),
                    Poll::Pending => are_done = false,
                }
            }
        }
        match are_done {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    });
    all_are_done.wait();
    let outputs = calls.into_iter().map(|progress| match progress {
        Progress::Done(output) => output,
        Progress::Waits(_) => unreachable!("the wait is over"),
    });
    outputs.collect()
}

/// The progress of one of the calls.
enum Progress<F: Future> {
    Waits(F),
    Done(F::Output),
}
