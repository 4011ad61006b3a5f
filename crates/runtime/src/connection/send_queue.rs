//! The send queue: bytes that wait to be written, and the state of the one writer.

use bytes::Buf;
use floe_wire::encoding::Buffer;

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
pub(super) struct SendQueue {
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
}

/// Bytes that are being written.
#[derive(Debug)]
pub(super) struct WriteBatch {
    buffer: Box<Buffer>,
}

impl SendQueue {
    /// A spare buffer up to this length is always kept.
    const SPARE_MAX: usize = 64 * 1024;
    /// A longer spare buffer, up to this length, is kept while batches make good use of it. New memory would cost more
    /// than filling it, because the system provides each page of it through a page fault.
    const SPARE_MAX_USED: usize = 16 * 1024 * 1024;

    /// The buffer to append whole messages to.
    #[inline]
    pub(super) fn pending(&mut self) -> &mut Buffer {
        let spare = &mut self.spare;
        self.pending
            .get_or_insert_with(|| spare.take().unwrap_or_default())
    }

    /// Its plain bytes, to which short messages are appended.
    #[inline]
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        self.pending().bytes_mut()
    }

    /// Returns how many bytes have no writer yet.
    #[inline]
    pub(super) fn pending_len(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.len())
    }

    /// Appends replies, without a copy if nothing is pending. `replies` is empty afterwards.
    pub(super) fn append_replies(&mut self, replies: &mut Buffer) {
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
    pub(super) fn len(&self) -> usize {
        (self.end() - self.written) as usize
    }

    /// Returns how many bytes of replies wait. Those in a batch count until the whole batch is written.
    pub(super) fn replies_len(&self) -> usize {
        self.pending_replies + self.batch_replies
    }

    /// Returns the position at which the next message will start.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.taken + self.pending_len() as u64
    }

    /// Position up to which bytes may have reached the peer.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Position up to which bytes are with the transport.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Takes the pending bytes to write them. Returns `None` if there are none, or if another writer will take them
    /// along.
    #[inline]
    pub(super) fn take(&mut self) -> Option<WriteBatch> {
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
    pub(super) fn take_single_reply(&mut self, len: usize) -> bool {
        let mut kept = [&mut self.pending, &mut self.spare].into_iter().flatten();
        if self.is_writing || kept.any(|buffer| !buffer.is_empty() || is_long(buffer)) {
            return false;
        }
        self.is_writing = true;
        self.taken += len as u64;
        self.batch_replies = len;
        true
    }

    /// Ends the write of such a reply. Returns the next batch if more has come.
    #[inline]
    pub(super) fn end_single_reply(&mut self, len: usize) -> Option<WriteBatch> {
        self.written += len as u64;
        self.batch_replies = 0;
        self.next_or_end()
    }

    /// Counts bytes that the transport has taken of a batch that is not done.
    #[inline]
    pub(super) fn progress(&mut self, count: usize) {
        self.written += count as u64;
    }

    /// Ends the write of a batch whose bytes are all counted. Returns the next batch if more has come.
    #[inline]
    pub(super) fn put_back(&mut self, batch: WriteBatch) -> Option<WriteBatch> {
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
    pub(super) fn clear(&mut self) -> usize {
        self.pending_replies = 0;
        self.batch_replies = 0;
        self.is_closed = true;
        self.spare = None;
        let pending = self.pending.take();
        pending.map_or(0, |pending| pending.len())
    }

    /// Drops spare buffers, because nothing was written for a while.
    pub(super) fn drop_spares(&mut self) {
        self.pending.take_if(|pending| pending.is_empty());
        self.spare = None;
    }

    #[inline]
    fn next_batch(&mut self) -> Option<WriteBatch> {
        let buffer = self.pending.take_if(|pending| !pending.is_empty())?;
        self.taken += buffer.len() as u64;
        self.batch_replies = std::mem::take(&mut self.pending_replies);
        Some(WriteBatch { buffer })
    }
}

/// Returns true if a buffer is so long that it is kept only while batches need it.
#[inline]
pub(super) fn is_long(buffer: &mut Buffer) -> bool {
    buffer.bytes_mut().capacity() > SendQueue::SPARE_MAX
}

impl WriteBatch {
    /// Makes a batch of these bytes.
    pub(super) fn of(buffer: Buffer) -> Self {
        let buffer = Box::new(buffer);
        Self { buffer }
    }

    /// Returns the bytes that are still to be written.
    #[inline]
    pub(super) fn remaining(&self) -> &Buffer {
        &self.buffer
    }

    /// Counts bytes as written, and releases shared ones. Returns true if all are written.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) -> bool {
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
        assert_eq!((output.len(), output.taken(), output.end()), (6, 3, 6));

        assert!(!batch.advance(2));
        output.progress(2);
        assert_eq!((batch.remaining().chunk(), output.len()), (&b"e"[..], 4));
        assert!(batch.advance(1));
        output.progress(1);
        let batch = output.put_back(batch).expect("more has come");
        assert_eq!(
            (batch.remaining().chunk(), output.written()),
            (&b"two"[..], 3)
        );
    }

    #[test]
    fn a_written_queue_is_idle() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"one");
        let batch = output.take().expect("something is pending");
        output.progress(3);
        assert!(output.put_back(batch).is_none());
        assert!(output.take().is_none());
        assert_eq!(output.len(), 0);
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
        let shared = bytes::Bytes::from(vec![1; floe_wire::encoding::PIECE_MIN]);
        let mut output = SendQueue::default();
        let encoding = floe_wire::EncodingVersion::V1_1;
        floe_wire::Encoder::new(output.pending(), encoding).put(&shared);
        assert!(!shared.is_unique());
        let mut batch = output.take().expect("something is pending");
        let len = batch.remaining().len();
        assert!(batch.advance(len));
        assert!(shared.is_unique());
        output.progress(len);
        assert!(output.put_back(batch).is_none());
        assert_eq!((output.len(), output.pending_len()), (0, 0));
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
        assert!(output.take_single_reply(5));
        assert_eq!((output.len(), output.taken(), output.end()), (5, 5, 5));
        assert_eq!(output.replies_len(), 5);
        assert!(!output.take_single_reply(3), "one writer at a time");
        output.bytes().extend(b"more");
        assert!(output.take().is_none(), "one writer at a time");
        let batch = output.end_single_reply(5).expect("more has come");
        assert_eq!((output.replies_len(), output.written()), (0, 5));
        assert!(!output.take_single_reply(3), "it is still being written");
        output.progress(4);
        assert!(output.put_back(batch).is_none());

        output.bytes().extend(b"first");
        assert!(!output.take_single_reply(3), "what is pending leaves first");
        let batch = output.take().expect("something is pending");
        output.progress(5);
        assert!(output.put_back(batch).is_none());
        assert!(output.take_single_reply(3) && output.end_single_reply(3).is_none());
        assert_eq!((output.len(), output.written()), (0, 17));
    }

    #[test]
    fn a_partly_written_single_reply_continues_as_a_batch() {
        let mut output = SendQueue::default();
        assert!(output.take_single_reply(5));
        let mut batch = WriteBatch::of(replies(b"reply"));
        assert!(!batch.advance(2));
        output.progress(2);
        assert_eq!((batch.remaining().chunk(), output.len()), (&b"ply"[..], 3));
        assert_eq!(output.replies_len(), 5);
        assert!(batch.advance(3));
        output.progress(3);
        assert!(output.put_back(batch).is_none());
        assert_eq!((output.len(), output.replies_len()), (0, 0));
    }

    #[test]
    fn a_single_reply_waits_until_batches_have_given_up_a_long_buffer() {
        let mut output = SendQueue::default();
        kept_after(&mut output, 1_000_000);
        assert!(!output.take_single_reply(5));
        assert!(kept_after(&mut output, 100) <= SendQueue::SPARE_MAX);
        assert!(output.take_single_reply(5));
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
