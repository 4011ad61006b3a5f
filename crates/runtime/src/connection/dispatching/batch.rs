//! The requests of a batch: they share a share of the budget, and are dispatched one after another.

use std::task::Poll;

use floe_wire::message::{IncomingBatch, IncomingRun};

use super::Dispatching;
use super::repeating::Repeated;
use crate::adapter::Parts;
use crate::connection::lasting::finish_batch;

/// Why the requests of a batch are dispatched no further.
enum Stop {
    /// There are no more.
    End,
    /// This one waits for the adapter.
    Waiting(Box<Parts>),
    /// The last one is not done yet.
    Running,
}

impl Dispatching {
    /// Dispatches the requests of a batch one after another, the next when the one before is done.
    pub(in crate::connection) async fn batch(&mut self, batch: IncomingBatch) {
        let share = self.budget.share_of(batch.byte_len());
        let sender = self.connection.sender();
        if self.has_budget(share) {
            self.budget.end_stall();
        } else {
            Box::pin(self.wait_for_budget(share, false)).await;
        }
        let mut run = batch.into_run();
        let mut first = None;
        loop {
            match self.batch_at_once(first.take(), &mut run) {
                Stop::End => return self.budget.give_way(),
                Stop::Waiting(parts) => {
                    Box::pin(self.wait_for_adapter(&parts)).await;
                    first = Some(parts);
                }
                Stop::Running => {
                    let connection = self.connection.clone();
                    let place = std::mem::take(&mut self.place);
                    let finish =
                        finish_batch(connection, place, run, sender, self.budget.permit(share));
                    return self.connection.tasks.spawn(finish);
                }
            }
        }
    }

    /// Dispatches requests of a batch, `first` before them, as long as each is done at once.
    fn batch_at_once(&mut self, mut first: Option<Box<Parts>>, run: &mut IncomingRun) -> Stop {
        loop {
            let parts = match first.take() {
                Some(parts) => parts,
                None => match self.next(run) {
                    Some(Ok(parts)) => parts,
                    Some(Err(_orphan)) => continue,
                    None => return Stop::End,
                },
            };
            if !self.budget.take_of_adapter(&parts) {
                return Stop::Waiting(parts);
            }
            let Some(mut polled) = self.begin(parts) else {
                self.collect_alike(run);
                continue;
            };
            loop {
                match polled {
                    Poll::Ready(Ok(response)) => self.take_back(response.into_parts()),
                    // Nobody waits for an answer to a request of a batch.
                    Poll::Ready(Err(_)) => {}
                    Poll::Pending => return Stop::Running,
                }
                polled = match self.repeat(run, true) {
                    Repeated::Over => break,
                    Repeated::Waiting(parts) => return Stop::Waiting(parts),
                    Repeated::Polled(polled) => polled,
                };
            }
        }
    }
}
