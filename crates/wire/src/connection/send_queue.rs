//! The send queue: bytes that wait to be written, the state of the one writer, and when the queue is flushed.
//!
//! The sender writes a message immediately if it comes alone. A message that closely follows another one stays in the
//! send queue and leaves together with later ones. One of three parties then writes the queue. The driver writes it as
//! soon as the sender waits, or after a short delay. The sender itself writes it when enough bytes are queued, or when
//! a message must not wait.

use std::time::{Duration, Instant};

use bytes::Buf;

use crate::encoding::Buffer;

/// A message that follows the write of another one within this time may wait for later ones. A sender in a loop is faster. A
/// sender that waits for an effect of each message is slower, because even the fastest peer takes longer: its next message
/// must not wait, and a write for each costs little at such a rate.
const GAP: Duration = Duration::from_micros(5);
/// A queue of this many bytes is written without further delay.
const FLUSH_LEN: usize = 64 * 1024;
/// The same limit for requests. It is lower, because the peer can begin to dispatch them meanwhile.
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
    spare: Option<Box<Buffer>>,
    is_writing: bool,
    /// True if the connection is closed. No buffer is kept then.
    is_closed: bool,
    /// Position up to which bytes have been given to a writer.
    taken: u64,
    /// Position up to which the transport has taken bytes.
    written: u64,
    /// Bytes of replies that are pending or in the batch being written.
    pending_replies: usize,
    batch_replies: usize,
    /// True if senders are threads that block until their reply comes.
    has_blocking_senders: bool,
    /// True if the driver will soon write the pending bytes.
    is_flush_due: bool,
    /// When a message without a reply was last written.
    oneway_written: Option<Instant>,
}

/// Bytes that are being written.
#[derive(Debug)]
pub struct WriteBatch {
    buffer: Box<Buffer>,
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

/// What the sender does with the messages that it has just appended.
#[derive(Debug)]
pub enum Flush {
    /// Write this batch.
    Write(WriteBatch),
    /// Nothing. Another writer takes the messages along.
    Busy,
    /// Arrange that [`SendQueue::take_collected`] is called soon.
    Schedule,
    /// Nothing. That is already arranged.
    Scheduled,
}

impl SendQueue {
    /// A spare buffer up to this length is always kept.
    const SPARE_MAX: usize = 64 * 1024;
    /// A longer spare buffer, up to this length, is kept while batches make good use of it. New memory would cost more
    /// than filling it, because the system provides each page of it through a page fault.
    const SPARE_MAX_USED: usize = 16 * 1024 * 1024;

    /// Creates an empty queue. `has_blocking_senders` is true if its senders are threads that block until their reply
    /// comes, so that a request should not wait for others.
    pub fn new(has_blocking_senders: bool) -> Self {
        Self {
            has_blocking_senders,
            ..Self::default()
        }
    }

    /// Says what to do with the messages just appended. `in_flight` is the number of requests whose replies are due:
    /// from the peer if the messages are requests, from this side if they are replies. It includes those of the
    /// messages. `now` is called only if the answer depends on the time.
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
        if self.pending_len() >= enough {
            return false;
        }
        match policy {
            FlushPolicy::Now => false,
            // A blocking sender is about to wait for this reply.
            FlushPolicy::WithOthers => !self.has_blocking_senders && in_flight > 1,
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

    /// Takes the messages that were collected. Messages appended later are still part of the same arrangement, until
    /// this returns `None` or [`SendQueue::end_collecting`] is called.
    pub fn take_collected(&mut self, now: Instant) -> Option<WriteBatch> {
        let batch = self.take();
        self.is_flush_due = batch.is_some();
        if self.is_flush_due {
            self.note_oneway_written(now);
        }
        batch
    }

    /// Notes that the transport has just taken a message without a reply: one that follows closely may wait.
    #[inline]
    pub fn note_oneway_written(&mut self, now: Instant) {
        self.oneway_written = Some(now);
    }

    /// Ends the arrangement to flush later, and takes the messages that have come meanwhile.
    pub fn end_collecting(&mut self) -> Option<WriteBatch> {
        self.is_flush_due = false;
        self.take()
    }

    /// The buffer to append whole messages to.
    #[inline]
    pub fn pending(&mut self) -> &mut Buffer {
        let spare = &mut self.spare;
        self.pending
            .get_or_insert_with(|| spare.take().unwrap_or_default())
    }

    /// Its plain bytes, to which short messages are appended.
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
    /// Returns false, with nothing changed, if the reply must wait for other bytes, or if a long spare buffer is due
    /// for review, which only batches do.
    #[inline]
    pub fn begin_single_reply(&mut self, len: usize) -> bool {
        let mut kept = [&mut self.pending, &mut self.spare].into_iter().flatten();
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

    /// Counts bytes that the transport has taken of a batch that is not done.
    #[inline]
    pub fn progress(&mut self, count: usize) {
        self.written += count as u64;
    }

    /// Ends the write of a batch whose bytes are all counted. Returns the next batch if more has come.
    #[inline]
    pub fn put_back(&mut self, batch: WriteBatch) -> Option<WriteBatch> {
        self.batch_replies = 0;
        self.keep(batch.buffer);
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
        let is_well_used = capacity <= Self::SPARE_MAX_USED && bytes.len() >= capacity / 4;
        if self.is_closed || capacity > Self::SPARE_MAX && !is_well_used {
            return;
        }
        buffer.clear();
        self.spare = match self.pending_len() {
            0 => self.pending.replace(buffer),
            _ => Some(buffer),
        };
    }

    /// Drops the pending bytes of a closed connection. Returns how many bytes were never sent.
    pub fn clear(&mut self) -> usize {
        self.pending_replies = 0;
        self.batch_replies = 0;
        self.is_closed = true;
        self.spare = None;
        let pending = self.pending.take();
        pending.map_or(0, |pending| pending.len())
    }

    /// Drops spare buffers, because nothing was written for a while.
    pub fn drop_spares(&mut self) {
        self.pending.take_if(|pending| pending.is_empty());
        self.spare = None;
    }

    /// Returns true if a buffer is so long that it is kept only while batches need it.
    #[inline]
    pub fn is_long(buffer: &mut Buffer) -> bool {
        buffer.bytes_mut().capacity() > Self::SPARE_MAX
    }

    #[inline]
    fn next_batch(&mut self) -> Option<WriteBatch> {
        let buffer = self.pending.take_if(|pending| !pending.is_empty())?;
        self.taken += buffer.len() as u64;
        self.batch_replies = std::mem::take(&mut self.pending_replies);
        Some(WriteBatch { buffer })
    }
}

impl WriteBatch {
    /// Makes a batch of these bytes.
    pub fn of(buffer: Buffer) -> Self {
        let buffer = Box::new(buffer);
        Self { buffer }
    }

    /// Returns the bytes that are still to be written.
    #[inline]
    pub fn remaining(&self) -> &Buffer {
        &self.buffer
    }

    /// Counts bytes as written, and releases shared ones. Returns true if all are written.
    #[inline]
    pub fn advance(&mut self, count: usize) -> bool {
        if count == self.buffer.len() && !self.buffer.has_pieces() {
            // The usual case. The buffer is cleared when it is put back.
            return true;
        }
        self.buffer.advance(count);
        self.buffer.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_appended_during_a_write_form_the_next_batch() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"one");
        let mut batch = output.take().expect("something is pending");
        output.bytes().extend(b"two");
        assert!(output.take().is_none(), "one writer at a time");
        assert_eq!(
            (output.waiting_len(), output.taken(), output.end()),
            (6, 3, 6)
        );

        assert!(!batch.advance(2));
        output.progress(2);
        assert_eq!(
            (batch.remaining().chunk(), output.waiting_len()),
            (&b"e"[..], 4)
        );
        assert!(batch.advance(1));
        output.progress(1);
        let batch = output.put_back(batch).expect("more has come");
        assert_eq!(
            (batch.remaining().chunk(), output.written()),
            (&b"two"[..], 3)
        );
    }

    /// Whether a message without a reply leaves immediately, which is noted to be written a moment later.
    fn leaves(output: &mut SendQueue, now: Instant) -> bool {
        const WRITE_TIME: Duration = Duration::from_micros(20);
        output.bytes().push(0);
        match output.flush(FlushPolicy::Oneway, 0, || now) {
            Flush::Write(batch) => {
                assert!(output.put_back(batch).is_none());
                output.note_oneway_written(now + WRITE_TIME);
                true
            }
            _ => false,
        }
    }

    #[test]
    fn only_a_message_that_closely_follows_the_write_of_another_one_waits() {
        let start = Instant::now();
        let at = |micros| start + Duration::from_micros(micros);
        let mut output = SendQueue::new(true);
        assert!(leaves(&mut output, at(0)));
        // Somebody has waited for what the first one did, at a fast peer.
        assert!(leaves(&mut output, at(30)));
        assert!(leaves(&mut output, at(80)));
        // A loop goes on when the write ends.
        assert!(!leaves(&mut output, at(101)));
        assert!(
            !leaves(&mut output, at(130)),
            "they are collected meanwhile"
        );
        assert!(output.take_collected(at(150)).is_some());
    }

    #[test]
    fn a_written_queue_is_idle() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"one");
        let batch = output.take().expect("something is pending");
        output.progress(3);
        assert!(output.put_back(batch).is_none());
        assert!(output.take().is_none());
        assert_eq!(output.waiting_len(), 0);
    }

    #[test]
    fn single_messages_reuse_one_buffer() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"one");
        let address = output.bytes().as_ptr();
        for _ in 0..3 {
            let batch = output.take().expect("something is pending");
            output.progress(3);
            assert!(output.put_back(batch).is_none());
            output.bytes().extend(b"two");
            assert_eq!(output.bytes().as_ptr(), address);
        }
        assert!(output.spare.is_none(), "a second one was never needed");
    }

    #[test]
    fn a_written_batch_releases_shared_bytes() {
        let shared = bytes::Bytes::from(vec![1; crate::encoding::PIECE_MIN]);
        let mut output = SendQueue::default();
        let encoding = crate::encoding::EncodingVersion::V1_1;
        crate::encoding::Encoder::new(output.pending(), encoding).put(&shared);
        assert!(!shared.is_unique());
        let mut batch = output.take().expect("something is pending");
        let len = batch.remaining().len();
        assert!(batch.advance(len));
        assert!(shared.is_unique());
        output.progress(len);
        assert!(output.put_back(batch).is_none());
        assert_eq!((output.waiting_len(), output.pending_len()), (0, 0));
    }

    /// Writes this many bytes. Returns the bytes of the buffers kept afterwards.
    fn kept_after(output: &mut SendQueue, len: usize) -> usize {
        output.bytes().resize(len, 0);
        let batch = output.take().expect("something is pending");
        output.progress(len);
        assert!(output.put_back(batch).is_none());
        kept(output)
    }

    fn kept(output: &mut SendQueue) -> usize {
        let kept = [&mut output.pending, &mut output.spare]
            .into_iter()
            .flatten();
        kept.map(|buffer| size_of::<Buffer>() + buffer.bytes_mut().capacity())
            .sum()
    }

    #[test]
    fn a_large_buffer_is_kept_while_large_batches_need_it() {
        let mut output = SendQueue::default();
        for _ in 0..3 {
            let kept = kept_after(&mut output, 1_000_000);
            assert!((1_000_000..1_100_000).contains(&kept), "{kept}");
        }
        assert!(kept_after(&mut output, 100) <= SendQueue::SPARE_MAX);
    }

    #[test]
    fn a_queue_at_rest_keeps_only_pending_bytes() {
        let mut output = SendQueue::default();
        assert!(kept_after(&mut output, 1_000_000) >= 1_000_000);
        output.bytes().extend(b"message");
        output.drop_spares();
        let batch = output.take().expect("it is pending");
        assert_eq!(batch.remaining().chunk(), b"message");

        let mut output = SendQueue::default();
        kept_after(&mut output, 60_000);
        output.drop_spares();
        assert_eq!(kept(&mut output), 0);
    }

    #[test]
    fn a_closed_queue_keeps_nothing() {
        let mut output = SendQueue::default();
        kept_after(&mut output, 60_000);
        output.bytes().resize(60_000, 0);
        let batch = output.take().expect("something is pending");
        output.bytes().resize(60_000, 0);
        assert_eq!(output.clear(), 60_000);
        output.progress(60_000);
        assert!(output.put_back(batch).is_none());
        assert_eq!(kept(&mut output), 0);
    }

    fn replies(bytes: &[u8]) -> Buffer {
        let mut replies = Buffer::default();
        replies.bytes_mut().extend(bytes);
        replies
    }

    #[test]
    fn replies_are_counted_until_they_are_written() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"request");
        output.append_replies(&mut replies(b"reply"));
        assert_eq!(output.replies_len(), 5);
        let batch = output.take().expect("something is pending");
        output.append_replies(&mut replies(b"more"));
        assert_eq!(output.replies_len(), 9);
        output.progress(12);
        output.put_back(batch).expect("more has come");
        assert_eq!(output.replies_len(), 4);
    }

    #[test]
    fn a_single_reply_is_written_as_if_it_had_been_appended() {
        let mut output = SendQueue::default();
        assert!(output.begin_single_reply(5));
        assert_eq!(
            (output.waiting_len(), output.taken(), output.end()),
            (5, 5, 5)
        );
        assert_eq!(output.replies_len(), 5);
        assert!(!output.begin_single_reply(3), "one writer at a time");
        output.bytes().extend(b"more");
        assert!(output.take().is_none(), "one writer at a time");
        let batch = output.end_single_reply(5).expect("more has come");
        assert_eq!((output.replies_len(), output.written()), (0, 5));
        assert!(!output.begin_single_reply(3), "it is still being written");
        output.progress(4);
        assert!(output.put_back(batch).is_none());

        output.bytes().extend(b"first");
        assert!(
            !output.begin_single_reply(3),
            "what is pending leaves first"
        );
        let batch = output.take().expect("something is pending");
        output.progress(5);
        assert!(output.put_back(batch).is_none());
        assert!(output.begin_single_reply(3) && output.end_single_reply(3).is_none());
        assert_eq!((output.waiting_len(), output.written()), (0, 17));
    }

    #[test]
    fn a_partly_written_single_reply_continues_as_a_batch() {
        let mut output = SendQueue::default();
        assert!(output.begin_single_reply(5));
        let mut batch = WriteBatch::of(replies(b"reply"));
        assert!(!batch.advance(2));
        output.progress(2);
        assert_eq!(
            (batch.remaining().chunk(), output.waiting_len()),
            (&b"ply"[..], 3)
        );
        assert_eq!(output.replies_len(), 5);
        assert!(batch.advance(3));
        output.progress(3);
        assert!(output.put_back(batch).is_none());
        assert_eq!((output.waiting_len(), output.replies_len()), (0, 0));
    }

    #[test]
    fn a_single_reply_waits_until_batches_have_given_up_a_long_buffer() {
        let mut output = SendQueue::default();
        kept_after(&mut output, 1_000_000);
        assert!(!output.begin_single_reply(5));
        assert!(kept_after(&mut output, 100) <= SendQueue::SPARE_MAX);
        assert!(output.begin_single_reply(5));
    }

    #[test]
    fn bytes_that_were_never_taken_never_left() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"left");
        let _batch = output.take();
        let start = output.end();
        output.bytes().extend(b"stayed");
        assert_eq!(output.clear(), 6);
        assert!(start >= output.taken());
    }
}
