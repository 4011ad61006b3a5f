//! Events that leave without any wait, and their answers, which are told where they are read.

use std::sync::Arc;

use floe_wire::message::Outcome;

use super::Proxy;
use super::invoke::returned;
use crate::connection::{Answer, Reply, Told};
use crate::error::InvokeError;
use crate::event::Event;

/// Takes the answers to events that were sent with [`Proxy::forward_at_once`].
pub trait AnswerSink: Send + Sync + 'static {
    /// The answer to the event with this number has come, or will not come any more. Called once for each
    /// event that is not given up, by whoever reads the connection, or finds it broken: it must not wait, and
    /// invoke nothing.
    fn take(&self, number: u64, answer: ForwardAnswer);
}

/// The answer to an event: what [`Forwarding::end`] tells the meaning of.
pub struct ForwardAnswer(Answer);

impl ForwardAnswer {
    /// Whether the servant's side has answered, whatever it says; if not, the event failed on its way, and
    /// [`Forwarding::end`] asks the connection how far it came.
    pub fn has_come(&self) -> bool {
        self.0.is_ok()
    }
}

/// An event that was sent, until it is answered. Dropped before, it is given up: its answer is not told any
/// more, unless that is being done already.
pub struct Forwarding {
    reply: Reply,
}

impl Proxy {
    /// Sends events to this object as twoway requests, in one write, if nothing has to be waited for
    /// but their answers: if the proxy has a connection, which has room. `None`, and nothing is sent, if
    /// they must go by [`Proxy::forward`]. The sink is given the answers, that to the first event with the
    /// number `first`; some may come before this returns. The timeout of the proxy does not end these:
    /// whoever waits for many answers keeps the time for all.
    pub fn forward_at_once<S: AnswerSink>(
        &self,
        events: &[Event],
        sink: &Arc<S>,
        first: u64,
    ) -> Option<impl ExactSizeIterator<Item = Forwarding> + use<S>> {
        let connection = self.known_connection()?;
        if self.compressor(&connection).is_some() {
            return None;
        }
        connection.set_polling(self.polling());
        let target = self.target();
        // Why it failed is found out by whoever sends them the long way.
        let replies = connection.requests_at_once(events.len(), (sink, first), |buffer, id, at| {
            target.write_event(buffer, id, events[at].as_bytes())
        });
        let replies = replies.ok().flatten()?;
        Some(replies.into_iter().map(|reply| Forwarding { reply }))
    }
}

impl Forwarding {
    /// Ends with the answer that the sink was given: what the servant said, unless it is nothing.
    ///
    /// # Errors
    /// As [`Proxy::invoke`]; nothing was tried again.
    pub fn end(self, answer: ForwardAnswer) -> Result<Option<Outcome>, InvokeError> {
        let reply = self.reply.told(answer.0).map_err(|failure| *failure)?;
        if reply.returned_nothing() {
            return Ok(None);
        }
        returned(reply.into_outcome().map_err(InvokeError::BadReply)?)
    }
}

impl<S: AnswerSink> Told for S {
    fn answered(&self, number: u64, answer: Answer) {
        self.take(number, ForwardAnswer(answer));
    }
}

impl std::fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarding").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ForwardAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForwardAnswer").finish_non_exhaustive()
    }
}
