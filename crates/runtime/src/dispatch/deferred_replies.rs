//! Replies that a dispatcher sends after the dispatch of their requests has ended.
//!
//! The requests still count as dispatches of their connection: it stops reading at its limit, and its graceful close
//! waits for them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use floe_wire::encoding::{Buffer, EncodingVersion};
use floe_wire::message::{Outcome, RequestId, SystemException, reply};

use super::RequestSource;

/// A reply that is due.
pub(crate) struct DeferredReply {
    /// The request; a oneway request gets no reply, and is held all the same.
    pub(super) id: RequestId,
    pub(super) encoding: EncodingVersion,
    /// The part of the limits of its connection that the request takes: at first, the part that it wants.
    pub(super) held: u32,
    /// Answered instead of an empty result.
    pub(super) exception: Option<Box<SystemException>>,
}

impl DeferredReply {
    /// Lets the requests of these replies count as dispatches of their connection. Only a dispatch of the connection may call
    /// it.
    pub(crate) fn hold_all(replies: &mut [Self], source: &dyn RequestSource) {
        let wanted = replies.iter().map(|reply| reply.held as usize).sum();
        let mut left = source.hold(wanted);
        if left == wanted {
            return;
        }
        for reply in replies {
            reply.held = reply.held.min(u32::try_from(left).unwrap_or(u32::MAX));
            left -= reply.held as usize;
        }
    }

    /// Lets its request count for nothing, because the reply is sent at once.
    pub(crate) fn hold_nothing(&mut self) {
        self.held = 0;
    }

    /// Returns the part of the limits that a request with parameters of this length takes. It has no task, so its bytes alone count.
    pub(super) fn wanted(parameters_len: usize) -> u32 {
        u32::try_from(1 + parameters_len / PERMIT_LEN).unwrap_or(u32::MAX)
    }
}

/// Bytes of requests that one permit of a connection stands for.
pub(crate) const PERMIT_LEN: usize = 1024;

/// The replies that are due to one connection, in the order of their requests. Each has a number that its owner gave it.
pub(crate) struct DeferredReplies {
    source: Arc<dyn RequestSource>,
    replies: VecDeque<(u64, DeferredReply)>,
}

/// Replies that are to be sent now.
pub(crate) struct ReadyReplies {
    source: Arc<dyn RequestSource>,
    bytes: Buffer,
    count: usize,
    held: usize,
}

impl DeferredReplies {
    pub(crate) fn to(source: Arc<dyn RequestSource>) -> Self {
        Self {
            source,
            replies: VecDeque::new(),
        }
    }

    /// Returns true if they go to this connection.
    pub(crate) fn is_to(&self, source: &Arc<dyn RequestSource>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.source), Arc::as_ptr(source))
    }

    /// Returns true if no reply can arrive any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.source.is_closed()
    }

    /// Adds a reply, whose request must [count](DeferredReply::hold_all) already.
    pub(crate) fn push(&mut self, number: u64, reply: DeferredReply) {
        self.replies.push_back((number, reply));
    }

    /// The number of the first reply.
    pub(crate) fn first(&self) -> Option<u64> {
        self.replies.front().map(|(number, _)| *number)
    }

    pub(crate) fn len(&self) -> usize {
        self.replies.len()
    }

    /// Takes the replies with numbers up to `last`, if there are any. Those that have no exception of their own throw
    /// `exception`, if there is one.
    pub(crate) fn take_until(
        &mut self,
        last: u64,
        exception: Option<&SystemException>,
    ) -> Option<ReadyReplies> {
        self.first().filter(|first| *first <= last)?;
        let mut ready = ReadyReplies {
            source: self.source.clone(),
            bytes: Buffer::default(),
            count: 0,
            held: 0,
        };
        while let Some((_, reply)) = self.replies.pop_front_if(|(number, _)| *number <= last) {
            ready.push(reply, exception);
        }
        Some(ready)
    }
}

impl ReadyReplies {
    fn push(&mut self, reply: DeferredReply, exception: Option<&SystemException>) {
        self.held += reply.held as usize;
        if reply.id.is_oneway() {
            return;
        }
        self.count += 1;
        let own = reply.exception.map(|exception| *exception);
        match own.or_else(|| exception.cloned()) {
            Some(exception) => encode_exception_to(&mut self.bytes, reply.id, exception),
            None => {
                let bytes = self.bytes.bytes_mut();
                // Encoding an empty result cannot fail.
                let _ = reply::write_returned(bytes, reply.id, reply.encoding, |_| ());
            }
        }
    }

    /// Sends them in one write.
    pub(crate) fn send(mut self) {
        if self.held > 0 {
            self.source.release(self.held);
        }
        if self.count > 0 {
            self.source.answer(&mut self.bytes, self.count);
        }
    }
}

impl fmt::Debug for DeferredReplies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredReplies")
            .field("peer", &self.source.peer())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Encodes the reply that throws an exception.
pub(super) fn encode_exception_to(buffer: &mut Buffer, id: RequestId, exception: SystemException) {
    if let Err(error) = reply::write_outcome(buffer, id, &Outcome::System(exception)) {
        let exception = SystemException::UnknownLocalException(error.to_string());
        // Encoding a short text cannot fail.
        let _ = reply::write_outcome(buffer, id, &Outcome::System(exception));
    }
}
