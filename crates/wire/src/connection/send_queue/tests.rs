//! Tests of the send queue.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Buf;

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

/// Returns true if a message without a reply leaves immediately. It is then noted as written a moment later.
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
    let mut output = SendQueue::default();
    assert!(leaves(&mut output, at(0)));
    // The sender has waited for the effect of the first message at a fast peer.
    assert!(leaves(&mut output, at(30)));
    assert!(leaves(&mut output, at(80)));
    // A loop goes on when the write ends.
    assert!(!leaves(&mut output, at(101)));
    assert!(
        !leaves(&mut output, at(130)),
        "they are collected meanwhile"
    );
    assert!(output.take_scheduled(at(150)).is_some());
}

#[test]
fn a_message_takes_along_those_that_are_overdue() {
    let start = Instant::now();
    let mut output = SendQueue::default();
    output.mark_overdue();
    assert!(leaves(&mut output, start));
    let soon = start + Duration::from_micros(21);
    assert!(!leaves(&mut output, soon) && !leaves(&mut output, soon));
    output.mark_overdue();
    assert!(leaves(&mut output, soon));
    assert_eq!(output.pending_len(), 0);
    assert!(!leaves(&mut output, soon));
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
    assert!(
        output.free_buffer.is_none(),
        "a second one was never needed"
    );
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
    let kept = [&mut output.pending, &mut output.free_buffer]
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
    assert!(kept_after(&mut output, 100) <= SendQueue::FREE_LEN_MAX);
}

#[test]
fn a_queue_at_rest_keeps_only_pending_bytes() {
    let mut output = SendQueue::default();
    assert!(kept_after(&mut output, 1_000_000) >= 1_000_000);
    output.bytes().extend(b"message");
    output.drop_free_buffers();
    let batch = output.take().expect("it is pending");
    assert_eq!(batch.remaining().chunk(), b"message");

    let mut output = SendQueue::default();
    kept_after(&mut output, 60_000);
    output.drop_free_buffers();
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
    assert!(kept_after(&mut output, 100) <= SendQueue::FREE_LEN_MAX);
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

#[test]
fn a_message_that_cannot_be_encoded_leaves_the_queue_as_it_was() {
    let mut queue = SendQueue::default();
    let begin = |queue: &mut SendQueue, is_whole: bool| {
        queue.append(|buffer, start| {
            buffer.bytes_mut().extend(b"abc");
            assert!(is_whole || start != 6, "the encoder panics");
            is_whole.then_some(start).ok_or("too long")
        })
    };
    assert_eq!(begin(&mut queue, true), Ok(0));
    assert_eq!(begin(&mut queue, false), Err("too long"));
    assert_eq!(begin(&mut queue, true), Ok(3));
    let panicked = catch_unwind(AssertUnwindSafe(|| begin(&mut queue, false)));
    assert!(panicked.is_err());
    assert_eq!(queue.pending().bytes(), b"abcabc");
}
