//! The send queue: bytes that wait to be written, the state of the one writer, and when the queue is flushed.
//!
//! The sender writes a message immediately if it comes alone. A message that closely follows another one stays in the
//! send queue and leaves together with later ones. The sender itself writes the queue when enough bytes are queued, or
//! when a message must not wait. Otherwise the driver writes it as soon as the sender waits, or after a short delay.

use std::time::{Duration, Instant};

use super::write_batch::WriteBatch;
use crate::encoding::Buffer;

/// A message that follows the write of another one within this time may wait for later ones. A sender in a loop is
/// faster. A sender that waits for an effect of each message is slower, because even the fastest peer takes longer. Its
/// next message must not wait, and at such a rate a write for each message costs little.
const GAP: Duration = Duration::from_micros(5);
/// A queue of this many bytes is written without further delay.
const FLUSH_LEN: usize = 64 * 1024;
/// [`FLUSH_LEN`] for twoway requests and the replies to them. It is lower, because the peer can begin to handle them
/// while others are still being written.
const FLUSH_LEN_REQUESTS: usize = 16 * 1024;

/// The send queue of a connection: one buffer grows while another one is being written.
///
/// ```text
/// idle --take--> writing --put_back, nothing pending--> idle
///                writing --put_back, more pending--> writing
/// ```
///
/// Positions count all bytes that were ever appended, including shared ones. Bytes before [`SendQueue::taken`] may have
/// reached the peer; the transport has taken those before [`SendQueue::written`].
///
/// The buffers are boxed, because each message takes one out and puts it back.
#[derive(Debug, Default)]
pub struct SendQueue {
    /// Bytes without a writer yet; allocated when something is appended.
    pending: Option<Box<Buffer>>,
    /// An empty buffer, kept for its allocation.
    free_buffer: Option<Box<Buffer>>,
    is_writing: bool,
    /// True if the connection is closed. No buffer is kept then.
    is_closed: bool,
    /// Position up to which bytes have been given to a writer.
    taken: u64,
    /// Position up to which the transport has taken bytes.
    written: u64,
    /// Bytes of replies that are pending.
    pending_replies: usize,
    /// Bytes of replies in the batch being written.
    batch_replies: usize,
    /// True if the driver will soon write the pending bytes.
    is_flush_due: bool,
    /// True if the pending bytes have waited long enough, so that the next message takes them along.
    is_overdue: bool,
    /// When a message without a reply was last written.
    oneway_written: Option<Instant>,
}

/// When a batch of messages is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushPolicy {
    /// Immediately.
    Now,
    /// Together with later messages if other requests are in flight, because then the sender does not wait for this
    /// reply alone. For twoway requests, and for the replies to them that become ready one by one.
    WithOthers,
    /// Together with later messages if it closely follows another one. For messages without a reply.
    Oneway,
}

/// The next step of a sender that has just appended messages.
#[derive(Debug)]
pub enum Flush {
    /// Write this batch.
    Write(WriteBatch),
    /// Nothing. Another writer takes the messages along.
    Busy,
    /// Arrange that [`SendQueue::take_scheduled`] is called soon.
    Schedule,
    /// Nothing. That is already arranged.
    Scheduled,
}

impl SendQueue {
    /// A free buffer up to this length is always kept.
    const FREE_LEN_MAX: usize = 64 * 1024;
    /// A longer free buffer, up to this length, is kept while batches make good use of it. New memory would cost more
    /// than filling it, because the system provides each page of it through a page fault.
    const FREE_LEN_MAX_USED: usize = 16 * 1024 * 1024;

    /// Decides what to do with the messages just appended. `in_flight` is the number of requests whose replies are due,
    /// those of these messages included: from the peer if the messages are requests, from this side if they are replies.
    /// `now` is called only if the decision depends on the time.
    #[inline]
    pub fn flush(
        &mut self,
        policy: FlushPolicy,
        in_flight: usize,
        now: impl FnOnce() -> Instant,
    ) -> Flush {
        if !self.may_wait(policy, in_flight, now) {
            return self.take().map_or(Flush::Busy, Flush::Write);
        }
        match std::mem::replace(&mut self.is_flush_due, true) {
            false => Flush::Schedule,
            true => Flush::Scheduled,
        }
    }

    /// Returns true if the messages just appended may wait for more.
    #[inline]
    fn may_wait(
        &mut self,
        policy: FlushPolicy,
        in_flight: usize,
        now: impl FnOnce() -> Instant,
    ) -> bool {
        let enough = match policy {
            FlushPolicy::WithOthers => FLUSH_LEN_REQUESTS,
            FlushPolicy::Oneway | FlushPolicy::Now => FLUSH_LEN,
        };
        if self.pending_len() >= enough || self.is_overdue {
            return false;
        }
        match policy {
            FlushPolicy::Now => false,
            FlushPolicy::WithOthers => in_flight > 1,
            FlushPolicy::Oneway => {
                self.is_flush_due
                    || self
                        .oneway_written
                        .is_some_and(|before| now().duration_since(before) < GAP)
            }
        }
    }

    /// Returns true if a batch or a single reply is being written.
    #[inline]
    pub fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// Takes the messages for a scheduled flush. Messages appended later need no new [`Flush::Schedule`], until this returns
    /// `None` or [`SendQueue::end_scheduled`] is called.
    pub fn take_scheduled(&mut self, now: Instant) -> Option<WriteBatch> {
        let batch = self.take();
        self.is_flush_due = batch.is_some();
        if self.is_flush_due {
            self.note_oneway_written(now);
        }
        batch
    }

    /// Makes the next message take along all that are pending, if there are any.
    pub fn mark_overdue(&mut self) {
        self.is_overdue = self.pending_len() > 0;
    }

    /// Notes that the transport has just taken a message without a reply. If the next one follows closely, it may wait.
    #[inline]
    pub fn note_oneway_written(&mut self, now: Instant) {
        self.oneway_written = Some(now);
    }

    /// Ends what [`Flush::Schedule`] began, and takes the messages that have come meanwhile.
    pub fn end_scheduled(&mut self) -> Option<WriteBatch> {
        self.is_flush_due = false;
        self.take()
    }

    /// The buffer to append whole messages to.
    #[inline]
    pub fn pending(&mut self) -> &mut Buffer {
        let free_buffer = &mut self.free_buffer;
        self.pending
            .get_or_insert_with(|| free_buffer.take().unwrap_or_default())
    }

    /// Appends whole messages. `write` encodes them; its second argument is the position at which they start. If it
    /// fails or panics, the bytes that it appended are removed again: an incomplete message would corrupt all messages
    /// behind it.
    ///
    /// # Errors
    /// The error of `write`.
    #[inline]
    pub fn append<T, E>(
        &mut self,
        write: impl FnOnce(&mut Buffer, u64) -> Result<T, E>,
    ) -> Result<T, E> {
        let start = self.end();
        let incomplete = Incomplete::of(self.pending());
        let written = write(incomplete.buffer, start)?;
        std::mem::forget(incomplete);
        Ok(written)
    }

    /// The plain bytes of [`SendQueue::pending`], to which short messages are appended.
    #[inline]
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        self.pending().bytes_mut()
    }

    /// Returns how many bytes have no writer yet.
    #[inline]
    pub fn pending_len(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.len())
    }

    /// Appends replies, without a copy if nothing is pending. `replies` is empty afterwards.
    #[inline]
    pub fn append_replies(&mut self, replies: &mut Buffer) {
        self.pending_replies += replies.len();
        let pending = self.pending();
        if pending.is_empty() {
            std::mem::swap(pending, replies);
        } else {
            pending.append(replies);
        }
    }

    /// Returns how many bytes wait, including the batch being written.
    #[inline]
    pub fn waiting_len(&self) -> usize {
        (self.end() - self.written) as usize
    }

    /// Returns how many bytes of replies wait. Those in a batch count until the whole batch is written.
    #[inline]
    pub fn replies_len(&self) -> usize {
        self.pending_replies + self.batch_replies
    }

    /// Returns the position at which the next message will start.
    #[inline]
    pub fn end(&self) -> u64 {
        self.taken + self.pending_len() as u64
    }

    /// Position up to which bytes may have reached the peer.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Position up to which bytes are with the transport.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Takes the pending bytes to write them. Returns `None` if there are none, or if another writer will take them
    /// along.
    #[inline]
    pub fn take(&mut self) -> Option<WriteBatch> {
        if self.is_writing {
            return None;
        }
        let batch = self.next_batch();
        self.is_writing = batch.is_some();
        batch
    }

    /// Begins to write a reply of `len` bytes from its own buffer, as [`SendQueue::take`] does with pending bytes.
    /// Returns false, with nothing changed, if the reply must wait for other bytes, or if the queue keeps a long buffer:
    /// only the end of a batch decides whether to drop that one.
    #[inline]
    pub fn begin_single_reply(&mut self, len: usize) -> bool {
        let mut kept = [&mut self.pending, &mut self.free_buffer]
            .into_iter()
            .flatten();
        if self.is_writing || kept.any(|buffer| !buffer.is_empty() || Self::is_long(buffer)) {
            return false;
        }
        self.is_writing = true;
        self.taken += len as u64;
        self.batch_replies = len;
        true
    }

    /// Ends the write of such a reply. Returns the next batch if more has come.
    #[inline]
    pub fn end_single_reply(&mut self, len: usize) -> Option<WriteBatch> {
        self.written += len as u64;
        self.batch_replies = 0;
        self.next_or_end()
    }

    /// Counts bytes of the batch being written as taken by the transport.
    #[inline]
    pub fn progress(&mut self, count: usize) {
        self.written += count as u64;
    }

    /// Ends the write of a batch whose bytes are all counted. Returns the next batch if more has come.
    #[inline]
    pub fn put_back(&mut self, batch: WriteBatch) -> Option<WriteBatch> {
        self.batch_replies = 0;
        self.keep(batch.into_buffer());
        self.next_or_end()
    }

    /// Returns the next batch for the current writer. If there is none, the writing ends.
    #[inline]
    fn next_or_end(&mut self) -> Option<WriteBatch> {
        let next = self.next_batch();
        self.is_writing = next.is_some();
        next
    }

    /// Keeps a written buffer if it is worth it. The buffer used last is reused first, because it is in the processor's
    /// cache.
    #[inline]
    fn keep(&mut self, mut buffer: Box<Buffer>) {
        let bytes = buffer.bytes_mut();
        let capacity = bytes.capacity();
        let is_well_used = capacity <= Self::FREE_LEN_MAX_USED && bytes.len() >= capacity / 4;
        if self.is_closed || capacity > Self::FREE_LEN_MAX && !is_well_used {
            return;
        }
        buffer.clear();
        self.free_buffer = match self.pending_len() {
            0 => self.pending.replace(buffer),
            _ => Some(buffer),
        };
    }

    /// Drops the pending bytes of a closed connection. Returns how many bytes were never sent.
    pub fn clear(&mut self) -> usize {
        self.pending_replies = 0;
        self.batch_replies = 0;
        self.is_closed = true;
        self.free_buffer = None;
        let pending = self.pending.take();
        pending.map_or(0, |pending| pending.len())
    }

    /// Drops the free buffers, because nothing was written for a while.
    pub fn drop_free_buffers(&mut self) {
        self.pending.take_if(|pending| pending.is_empty());
        self.free_buffer = None;
    }

    /// Returns true if a buffer is so long that it is kept only while batches need it.
    #[inline]
    pub fn is_long(buffer: &mut Buffer) -> bool {
        buffer.bytes_mut().capacity() > Self::FREE_LEN_MAX
    }

    #[inline]
    fn next_batch(&mut self) -> Option<WriteBatch> {
        let buffer = self.pending.take_if(|pending| !pending.is_empty())?;
        self.taken += buffer.len() as u64;
        self.is_overdue = false;
        self.batch_replies = std::mem::take(&mut self.pending_replies);
        Some(WriteBatch::new(buffer))
    }
}

/// A buffer to which messages are being appended. Its drop removes the appended bytes again.
struct Incomplete<'a> {
    buffer: &'a mut Buffer,
    len: usize,
}

impl<'a> Incomplete<'a> {
    #[inline]
    fn of(buffer: &'a mut Buffer) -> Self {
        let len = buffer.bytes().len();
        Self { buffer, len }
    }
}

impl Drop for Incomplete<'_> {
    #[inline]
    fn drop(&mut self) {
        self.buffer.truncate(self.len);
    }
}

#[cfg(test)]
mod tests;
