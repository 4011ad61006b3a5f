//! Events that leave without any wait, and their answers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use floe_wire::message::Outcome;

use super::Proxy;
use super::invoke::returned;
use crate::connection::Reply;
use crate::error::InvokeError;
use crate::event::Event;

/// An event that was sent, until it is answered. Dropped before, the answer is not waited for.
///
/// # Errors
/// As [`Proxy::invoke`]; nothing was tried again.
pub struct Forwarding {
    reply: Reply,
}

impl Proxy {
    /// Sends events to this object as twoway requests, in one write, if nothing has to be waited for
    /// but their answers: if the proxy has a connection, which has room. `None`, and nothing is sent, if
    /// they must go by [`Proxy::forward`]. The timeout of the proxy does not end these: whoever waits
    /// for many answers keeps the time for all.
    pub fn forward_at_once(
        &self,
        events: &[Event],
    ) -> Option<impl ExactSizeIterator<Item = Forwarding> + use<>> {
        let connection = self.known_connection()?;
        if self.compressor(&connection).is_some() {
            return None;
        }
        connection.set_polling(self.polling());
        let target = self.target();
        // Why it failed is found out by whoever sends them the long way.
        let replies = connection.requests_at_once(events.len(), |buffer, id, at| {
            target.write_event(buffer, id, events[at].as_bytes())
        });
        let replies = replies.ok().flatten()?;
        Some(replies.into_iter().map(|reply| Forwarding { reply }))
    }
}

impl Future for Forwarding {
    type Output = Result<Option<Outcome>, InvokeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = ready!(Pin::new(&mut self.reply).poll(context)).map_err(|failure| *failure)?;
        let outcome = reply.into_outcome().map_err(InvokeError::BadReply)?;
        Poll::Ready(returned(outcome))
    }
}

impl std::fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarding").finish_non_exhaustive()
    }
}
