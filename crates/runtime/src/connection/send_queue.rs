//! Bytes that wait to be written, and whose turn it is to write them.

use bytes::Buf;
use floe_wire::encoding::Buffer;

/// The output of a connection: a buffer that grows while another one is being written.
///
/// ```text
/// idle --take--> writing --put_back, nothing pending--> idle
///                writing --put_back, more pending--> writing
/// ```
///
/// Positions count all bytes that were ever appended, those that others share included. What stands
/// before [`SendQueue::taken`] may have reached the peer, what stands before [`SendQueue::written`] is with the
/// transport.
///
/// Buffers are in boxes: each message takes one out and puts it back.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    /// What nobody writes yet; made when something is appended.
    pending: Option<Box<Buffer>>,
    /// An empty buffer, kept for its allocation.
    spare: Option<Box<Buffer>>,
    is_writing: bool,
    /// Whether the connection is closed: then no buffer is kept.
    is_closed: bool,
    /// Position up to which bytes have been given to a writer.
    taken: u64,
    /// Position up to which the transport has taken bytes.
    written: u64,
    /// Bytes of replies among what is pending and in the batch being written.
    pending_replies: usize,
    batch_replies: usize,
}

/// Bytes that are being written.
#[derive(Debug)]
pub(super) struct Batch {
    buffer: Box<Buffer>,
}

impl SendQueue {
    /// A buffer of at most so many bytes is always kept.
    const SPARE_MAX: usize = 64 * 1024;
    /// One of at most so many is kept as long as it is used well: new memory costs more than to fill
    /// it, since the system hands out each page of it with a fault.
    const SPARE_MAX_USED: usize = 16 * 1024 * 1024;

    /// The buffer to append whole messages to.
    #[inline]
    pub(super) fn pending(&mut self) -> &mut Buffer {
        let spare = &mut self.spare;
        self.pending
            .get_or_insert_with(|| spare.take().unwrap_or_default())
    }

    /// The bytes of it, to append messages that are short.
    #[inline]
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        self.pending().bytes_mut()
    }

    /// Bytes that nobody writes yet.
    #[inline]
    pub(super) fn pending_len(&self) -> usize {
        self.pending.as_ref().map_or(0, |pending| pending.len())
    }

    /// Appends replies, without a copy if nothing is pending; `replies` is left empty.
    pub(super) fn append_replies(&mut self, replies: &mut Buffer) {
        self.pending_replies += replies.len();
        let pending = self.pending();
        if pending.is_empty() {
            std::mem::swap(pending, replies);
        } else {
            pending.append(replies);
        }
    }

    /// Bytes that wait, those of a batch being written included.
    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.end() - self.written) as usize
    }

    /// Bytes of replies that wait; those of a batch count until all of it is written.
    pub(super) fn replies_len(&self) -> usize {
        self.pending_replies + self.batch_replies
    }

    /// Position of what is appended next.
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

    /// Takes what is pending in order to write it; `None` if there is nothing, or if somebody is
    /// writing and will take it along.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Batch> {
        if self.is_writing {
            return None;
        }
        let batch = self.next_batch();
        self.is_writing = batch.is_some();
        batch
    }

    /// Has bytes of a reply written that were never appended, as [`SendQueue::take`] does with those that were; false,
    /// and nothing is changed, if they have to wait for others, or if there is a long buffer to be looked at, which only
    /// batches do.
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

    /// Ends the writing of such a reply, all of which was written; gives the next batch if more has come.
    #[inline]
    pub(super) fn end_single_reply(&mut self, len: usize) -> Option<Batch> {
        self.written += len as u64;
        self.batch_replies = 0;
        self.next_or_end()
    }

    /// Counts bytes that the transport has taken, before a batch is done.
    #[inline]
    pub(super) fn progress(&mut self, count: usize) {
        self.written += count as u64;
    }

    /// Ends the writing of a batch whose bytes were all counted; gives the next one if more has come.
    #[inline]
    pub(super) fn put_back(&mut self, batch: Batch) -> Option<Batch> {
        self.batch_replies = 0;
        self.keep(batch.buffer);
        self.next_or_end()
    }

    /// What whoever writes writes next; nobody writes any more if there is nothing.
    #[inline]
    fn next_or_end(&mut self) -> Option<Batch> {
        let next = self.next_batch();
        self.is_writing = next.is_some();
        next
    }

    /// Keeps a buffer whose bytes were written, if it is worth it. The one that was used last is used
    /// next: it is in the processor's cache.
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

    /// Forgets what is pending: the connection is closed. Returns how many bytes were never sent.
    pub(super) fn clear(&mut self) -> usize {
        self.pending_replies = 0;
        self.batch_replies = 0;
        self.is_closed = true;
        self.spare = None;
        let pending = self.pending.take();
        pending.map_or(0, |pending| pending.len())
    }

    /// Keeps no buffers: nothing was written for a while.
    pub(super) fn rest(&mut self) {
        self.pending.take_if(|pending| pending.is_empty());
        self.spare = None;
    }

    #[inline]
    fn next_batch(&mut self) -> Option<Batch> {
        let buffer = self.pending.take_if(|pending| !pending.is_empty())?;
        self.taken += buffer.len() as u64;
        self.batch_replies = std::mem::take(&mut self.pending_replies);
        Some(Batch { buffer })
    }
}

/// Whether a buffer is so long that it is kept only while batches need it.
#[inline]
pub(super) fn is_long(buffer: &mut Buffer) -> bool {
    buffer.bytes_mut().capacity() > SendQueue::SPARE_MAX
}

impl Batch {
    /// One of these bytes.
    pub(super) fn of(buffer: Buffer) -> Self {
        let buffer = Box::new(buffer);
        Self { buffer }
    }

    /// What is still to be written.
    #[inline]
    pub(super) fn rest(&self) -> &Buffer {
        &self.buffer
    }

    /// Counts bytes as written, and lets go of those that others share; whether all are.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) -> bool {
        if count == self.buffer.len() && !self.buffer.has_pieces() {
            // Nearly always. It is cleared when it is put back.
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
    fn what_comes_while_one_batch_is_written_goes_into_the_next() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"one");
        let mut batch = output.take().expect("something is pending");
        output.bytes().extend(b"two");
        assert!(output.take().is_none(), "one writer at a time");
        assert_eq!((output.len(), output.taken(), output.end()), (6, 3, 6));

        assert!(!batch.advance(2));
        output.progress(2);
        assert_eq!((batch.rest().chunk(), output.len()), (&b"e"[..], 4));
        assert!(batch.advance(1));
        output.progress(1);
        let batch = output.put_back(batch).expect("more has come");
        assert_eq!((batch.rest().chunk(), output.written()), (&b"two"[..], 3));
    }

    #[test]
    fn an_output_that_is_written_is_idle() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"one");
        let batch = output.take().expect("something is pending");
        output.progress(3);
        assert!(output.put_back(batch).is_none());
        assert!(output.take().is_none());
        assert_eq!(output.len(), 0);
    }

    #[test]
    fn messages_that_are_alone_go_through_one_buffer() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"one");
        let place = output.bytes().as_ptr();
        for _ in 0..3 {
            let batch = output.take().expect("something is pending");
            output.progress(3);
            assert!(output.put_back(batch).is_none());
            output.bytes().extend(b"two");
            assert_eq!(output.bytes().as_ptr(), place);
        }
        assert!(output.spare.is_none(), "a second one was never needed");
    }

    #[test]
    fn a_batch_that_is_written_lets_go_of_what_others_share() {
        let shared = bytes::Bytes::from(vec![1; floe_wire::encoding::PIECE_MIN]);
        let mut output = SendQueue::default();
        let encoding = floe_wire::EncodingVersion::V1_1;
        floe_wire::Encoder::new(output.pending(), encoding).put(&shared);
        assert!(!shared.is_unique());
        let mut batch = output.take().expect("something is pending");
        let len = batch.rest().len();
        assert!(batch.advance(len));
        assert!(shared.is_unique());
        output.progress(len);
        assert!(output.put_back(batch).is_none());
        assert_eq!((output.len(), output.pending_len()), (0, 0));
    }

    /// Writes so many bytes; the buffers that are kept afterwards, in bytes.
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
    fn one_that_rests_keeps_what_is_pending_and_nothing_else() {
        let mut output = SendQueue::default();
        assert!(kept_after(&mut output, 1_000_000) >= 1_000_000);
        output.bytes().extend(b"message");
        output.rest();
        let batch = output.take().expect("it is pending");
        assert_eq!(batch.rest().chunk(), b"message");

        let mut output = SendQueue::default();
        kept_after(&mut output, 60_000);
        output.rest();
        assert_eq!(kept(&mut output), 0);
    }

    #[test]
    fn one_that_is_closed_keeps_nothing() {
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
    fn a_single_reply_of_which_a_part_was_taken_goes_on_as_a_batch() {
        let mut output = SendQueue::default();
        assert!(output.take_single_reply(5));
        let mut batch = Batch::of(replies(b"reply"));
        assert!(!batch.advance(2));
        output.progress(2);
        assert_eq!((batch.rest().chunk(), output.len()), (&b"ply"[..], 3));
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
    fn what_was_never_taken_surely_stayed_here() {
        let mut output = SendQueue::default();
        output.bytes().extend(b"left");
        let _batch = output.take();
        let start = output.end();
        output.bytes().extend(b"stayed");
        assert_eq!(output.clear(), 6);
        assert!(start >= output.taken());
    }
}
