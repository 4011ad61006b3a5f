//! Replies on their way to the peer.

use std::sync::Arc;

use floe_wire::encoding::Buffer;

use super::send_queue::Batch;
use super::{ConnectionCore, Shared};

/// A longer reply goes through the output, which knows when to keep its buffer, in bytes.
const SOLE_REPLY_MAX: usize = 8 * 1024;

impl ConnectionCore {
    /// Appends replies, of which `twoway_count` end a dispatch, and writes them. `replies` is empty
    /// afterwards, and may have another allocation. Whether there is room for more.
    pub(super) fn send_replies(
        self: &Arc<Self>,
        replies: &mut Buffer,
        twoway_count: usize,
    ) -> bool {
        let mut shared = self.lock();
        let Shared {
            machine, output, ..
        } = &mut *shared;
        if machine.is_closed() {
            replies.clear();
            return true;
        }
        self.compress_stream(replies);
        output.append_replies(replies);
        for _ in 0..twoway_count {
            machine.handle_dispatched(output.bytes());
        }
        let has_room = output.replies_len() <= self.settings.output_limit;
        let batch = output.take();
        drop(shared);
        if let Some(batch) = batch {
            self.write(batch);
        }
        has_room
    }

    /// Writes the reply that ends a dispatch from where it is, if nothing else waits to be written, and if it is
    /// short; false, and nothing is done, if it has to go with others. What is left in `reply` has no meaning.
    #[inline]
    pub(super) fn send_sole_reply(self: &Arc<Self>, reply: &mut Buffer) -> bool {
        let len = reply.len();
        if len > SOLE_REPLY_MAX.min(self.settings.output_limit) || self.has_compressed_stream() {
            return false;
        }
        {
            let mut shared = self.lock();
            let Shared {
                machine, output, ..
            } = &mut *shared;
            if machine.is_closed() || !output.take_sole_reply(len) {
                return false;
            }
            // What this appends, if anything, comes behind.
            machine.handle_dispatched(output.bytes());
        }
        self.pulse.mark_written();
        let written = self.try_write(reply);
        if !matches!(written, Ok(count) if count == len) {
            self.write_on(Batch::of(std::mem::take(reply)), written);
            return true;
        }
        let mut shared = self.lock();
        let next = shared.output.end_sole_reply(len);
        let has_waiters = std::mem::take(&mut shared.has_room_waiters);
        drop(shared);
        if has_waiters {
            self.room.notify_waiters();
        }
        if let Some(batch) = next {
            self.write(batch);
        }
        true
    }

    pub(super) async fn wait_for_reply_room(&self) {
        let limit = self.settings.output_limit;
        if self.lock().output.replies_len() > limit {
            self.wait_for_output(|shared| shared.output.replies_len() <= limit)
                .await;
        }
    }
}
