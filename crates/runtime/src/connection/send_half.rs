//! The sending half of a connection: the send queue, the writing, and the lock that senders and reader share.
//!
//! A sender encodes its messages straight into the send queue and writes the queue itself, unless another thread or
//! task is writing. A task takes over only when the transport is full. The send queue decides which messages wait for
//! others ([`FlushPolicy`]).

use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use bytes::Buf;
use floe_wire::connection::{Flush, FlushPolicy, SendQueue, StateMachine, WriteBatch};
use floe_wire::encoding::Buffer;
use tokio::sync::Notify;

use super::ConnectionCore;
use super::flush_thread::{flush_on_thread, policy_of_thread};
use super::reply_recipient::ReplyRecipient;
use super::stream_compression::StreamCompression;
use crate::byte_account::{ByteAccount, HeldBytes};
use crate::condition::wait_for;
use crate::environment::Environment;
use crate::error::LocalError;
use crate::settings::Settings;
use crate::transport::StreamWriter;

/// Most slices that the transport gets in one write. A write seldom needs more.
const SLICES_MAX: usize = 16;
/// Longest reply, in bytes, that is written from its own buffer. A longer one goes through the send queue, which
/// decides how long to keep the buffer.
const SINGLE_REPLY_MAX: usize = 8 * 1024;

/// The sending half of a connection.
pub(super) struct SendHalf {
    writer: Box<dyn StreamWriter>,
    /// A panic under this lock leaves whole messages behind: see [`SendQueue::append`].
    shared: Mutex<ConnectionState>,
    /// Wakes tasks after bytes of the send queue were written.
    room: Notify,
    compression: StreamCompression,
    /// True if senders are blocking threads, not tasks.
    is_blocking: bool,
    /// True while a task that writes the send queue is ready and has not run.
    has_flush_task: AtomicBool,
    /// Most bytes that may wait in the send queue, [`Settings::output_limit`].
    limit: usize,
    /// Counts the bytes of replies that the peers of all connections do not read.
    reply_memory: Arc<ByteAccount>,
    /// Most bytes that `reply_memory` may count, [`Settings::reply_memory_max`].
    reply_memory_max: usize,
}

/// The state that the lock of a connection guards: the order of all messages sent, and the protocol's state machine.
/// The lock is never held across an await or a system call.
pub(super) struct ConnectionState {
    pub(super) machine: StateMachine<ReplyRecipient>,
    pub(super) queue: SendQueue,
    /// True if a task waits for the send queue to be written.
    pub(super) has_room_waiters: bool,
    /// The replies that the peer does not read, in the account of all connections; set while the transport is full.
    pub(super) unread_replies: Option<Box<HeldBytes>>,
    /// The reason why the connection is closed, once it is. Boxed, because it is long.
    pub(super) error: Option<Box<LocalError>>,
}

impl ConnectionState {
    pub(super) fn new(machine: StateMachine<ReplyRecipient>, queue: SendQueue) -> Self {
        Self {
            machine,
            queue,
            has_room_waiters: false,
            unread_replies: None,
            error: None,
        }
    }
}

impl SendHalf {
    pub(super) fn new(
        writer: Box<dyn StreamWriter>,
        shared: ConnectionState,
        environment: &Environment,
        settings: &Settings,
    ) -> Self {
        let reply_memory = environment.reply_memory().clone();
        Self {
            writer,
            shared: Mutex::new(shared),
            room: Notify::new(),
            compression: StreamCompression::new(
                settings,
                environment.compression_streams().clone(),
            ),
            is_blocking: environment.is_blocking(),
            has_flush_task: AtomicBool::new(false),
            limit: settings.output_limit,
            reply_memory,
            // One reply must always fit.
            reply_memory_max: settings.reply_memory_max.max(settings.message_size_max),
        }
    }

    #[inline(always)]
    pub(super) fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks unless another thread has the lock.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, ConnectionState>> {
        match self.shared.try_lock() {
            Ok(shared) => Some(shared),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(super) fn writer(&self) -> &dyn StreamWriter {
        &*self.writer
    }

    pub(super) fn compression(&self) -> &StreamCompression {
        &self.compression
    }

    /// Wakes all tasks that wait for the send queue, because nothing more will be written.
    pub(super) fn end(&self) {
        self.lock().unread_replies = None;
        self.room.notify_waiters();
    }

    /// Writes the send queue. If another thread or task is writing, that one takes these bytes along.
    pub(super) fn flush(&self, connection: &Arc<ConnectionCore>) {
        let batch = self.lock().queue.take();
        if let Some(batch) = batch {
            self.write(connection, batch);
        }
    }

    /// Writes a batch and all later messages until the transport is full.
    fn write(&self, connection: &Arc<ConnectionCore>, batch: WriteBatch) {
        connection.keepalive.mark_written();
        let written = self.try_write(batch.remaining());
        self.write_on(connection, batch, written);
    }

    /// Continues with a batch of which the transport has taken `count` bytes. A task writes what a full transport does
    /// not take.
    fn write_on(
        &self,
        connection: &Arc<ConnectionCore>,
        batch: WriteBatch,
        written: io::Result<usize>,
    ) {
        if let Some(batch) = self.write_until_full(connection, batch, written) {
            let own = connection.clone();
            let rest = async move { own.output.write_rest(&own, batch).await };
            connection.tasks.spawn(rest);
        }
    }

    /// Writes the rest of a batch and all later messages. Returns the batch that a full transport did not take.
    fn write_until_full(
        &self,
        connection: &ConnectionCore,
        mut batch: WriteBatch,
        mut written: io::Result<usize>,
    ) -> Option<WriteBatch> {
        loop {
            match written {
                Ok(0) => {
                    connection.abort(io::ErrorKind::WriteZero.to_string());
                    return None;
                }
                Ok(count) => batch = self.written(batch, count)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(batch),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    connection.abort(error.to_string());
                    return None;
                }
            }
            written = self.try_write(batch.remaining());
        }
    }

    /// Writes some bytes. Shared bytes are written from where they are.
    #[inline]
    fn try_write(&self, bytes: &Buffer) -> io::Result<usize> {
        if !bytes.has_pieces() {
            return self.writer.try_write(bytes.chunk());
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = bytes.chunks_vectored(&mut slices);
        self.writer.try_write_vectored(&slices[..count])
    }

    /// Writes what a full transport did not take, and all later messages.
    async fn write_rest(&self, connection: &ConnectionCore, mut batch: WriteBatch) {
        self.count_replies(connection);
        while !self.lock().machine.is_closed() {
            let ready = std::future::poll_fn(|context| self.writer.poll_write_ready(context));
            let written = match ready.await {
                Ok(()) => self.try_write(batch.remaining()),
                Err(error) => Err(error),
            };
            match self.write_until_full(connection, batch, written) {
                Some(rest) => batch = rest,
                None => return,
            }
        }
    }

    /// Counts bytes of a batch as written. Returns the batch to write next.
    #[inline]
    fn written(&self, mut batch: WriteBatch, count: usize) -> Option<WriteBatch> {
        let is_done = batch.advance(count);
        let mut shared = self.lock();
        shared.queue.progress(count);
        let next = if is_done {
            shared.queue.put_back(batch)
        } else {
            Some(batch)
        };
        if shared.unread_replies.is_some() {
            self.count_in(&mut shared);
        }
        self.wake_room_waiters(shared);
        next
    }

    /// Releases the lock, and wakes the tasks that wait for bytes to be written.
    #[inline]
    fn wake_room_waiters(&self, mut shared: MutexGuard<'_, ConnectionState>) {
        let has_waiters = std::mem::take(&mut shared.has_room_waiters);
        drop(shared);
        if has_waiters {
            self.room.notify_waiters();
        }
    }

    /// Counts the replies of a connection whose peer does not read. Closes the connection if all such replies together
    /// hold too much memory.
    fn count_replies(&self, connection: &ConnectionCore) {
        let used = self.count_in(&mut self.lock());
        self.check_replies(connection, used);
    }

    /// Counts the unread replies of this connection. Returns the bytes that all connections hold, if this one holds
    /// more than before.
    fn count_in(&self, shared: &mut ConnectionState) -> Option<usize> {
        let len = shared.queue.replies_len();
        let unread = &mut shared.unread_replies;
        let held =
            unread.get_or_insert_with(|| Box::new(HeldBytes::none(self.reply_memory.clone())));
        let used = held.set(len);
        unread.take_if(|held| held.is_none());
        used
    }

    fn check_replies(&self, connection: &ConnectionCore, used: Option<usize>) {
        let limit = self.reply_memory_max;
        if let Some(used) = used.filter(|used| *used > limit) {
            connection.refuse(&format!(
                "the replies that peers do not read would hold {used} bytes, and `Settings::reply_memory_max` allows \
                 {limit}: raise it if they are legitimate"
            ));
        }
    }

    /// Waits until there is room for a reply of this length, which is counted meanwhile.
    pub(super) async fn wait_with_reply(&self, connection: &ConnectionCore, len: usize) {
        if self.lock().queue.replies_len() <= self.limit {
            return;
        }
        let mut held = HeldBytes::none(self.reply_memory.clone());
        let used = held.set(len);
        self.check_replies(connection, used);
        self.wait_for_reply_room().await;
    }

    /// Waits until the condition holds for the written bytes, or the connection is closed.
    pub(super) async fn wait_until(&self, is_met: impl Fn(&ConnectionState) -> bool) {
        wait_for(&self.room, || {
            let mut shared = self.lock();
            let is_over = shared.machine.is_closed() || is_met(&shared);
            shared.has_room_waiters |= !is_over;
            is_over
        })
        .await;
    }

    /// Writes the send queue, or leaves it to a task or a thread that writes it soon. Returns false if it was left to
    /// them.
    #[inline]
    pub(super) fn flush_by(
        &self,
        connection: &Arc<ConnectionCore>,
        mut shared: MutexGuard<'_, ConnectionState>,
        policy: FlushPolicy,
    ) -> bool {
        let policy = match self.is_blocking {
            true => policy_of_thread(policy, connection),
            false => policy,
        };
        let in_flight = shared.machine.in_flight();
        let flush = shared.queue.flush(policy, in_flight, Instant::now);
        drop(shared);
        let is_own_oneway = policy == FlushPolicy::Oneway && matches!(flush, Flush::Write(_));
        let is_written = self.carry_out(connection, flush, policy);
        if is_own_oneway {
            self.lock().queue.note_oneway_written(Instant::now());
        }
        is_written
    }

    /// Does what the send queue asks for. Returns false if a task or a thread writes the queue soon.
    #[inline]
    fn carry_out(
        &self,
        connection: &Arc<ConnectionCore>,
        flush: Flush,
        policy: FlushPolicy,
    ) -> bool {
        match flush {
            Flush::Write(batch) => self.write(connection, batch),
            Flush::Busy => {}
            Flush::Schedule => {
                self.flush_soon(connection, policy);
                return false;
            }
            Flush::Scheduled => return false,
        }
        true
    }

    fn flush_soon(&self, connection: &Arc<ConnectionCore>, policy: FlushPolicy) {
        if self.is_blocking {
            if !flush_on_thread(connection.clone()) {
                // The system refused the thread.
                self.end_scheduled(connection);
            }
            return;
        }
        if !self.has_flush_task.swap(true, Ordering::AcqRel) {
            let own = connection.clone();
            connection.tasks.spawn(async move {
                own.output.has_flush_task.swap(false, Ordering::AcqRel);
                own.output.flush_scheduled(&own);
                // Later messages start a task of their own; those that came meanwhile leave with this one.
                own.output.end_scheduled(&own);
            });
        }
        if policy == FlushPolicy::Oneway {
            // The sender does not wait for a reply, so it may go on for long before the task can run. If the system
            // refuses the thread, the messages leave then.
            flush_on_thread(connection.clone());
        }
    }

    /// Writes the messages of a scheduled flush. Returns false if there are none, or if another writer takes them along.
    pub(super) fn flush_scheduled(&self, connection: &Arc<ConnectionCore>) -> bool {
        let batch = self.lock().queue.take_scheduled(Instant::now());
        let is_written = batch.is_some();
        if let Some(batch) = batch {
            self.write(connection, batch);
        }
        is_written
    }

    fn end_scheduled(&self, connection: &Arc<ConnectionCore>) {
        let batch = self.lock().queue.end_scheduled();
        if let Some(batch) = batch {
            self.write(connection, batch);
        }
    }

    /// Appends replies, of which `twoway_count` end a dispatch, and writes them by this policy. `replies` is empty
    /// afterwards, and may have another allocation. Returns true if the send queue has room for more.
    pub(super) fn send_replies(
        &self,
        connection: &Arc<ConnectionCore>,
        replies: &mut Buffer,
        twoway_count: usize,
        policy: FlushPolicy,
    ) -> bool {
        let mut shared = self.lock();
        let ConnectionState { machine, queue, .. } = &mut *shared;
        if machine.is_closed() {
            replies.clear();
            return true;
        }
        self.compression.compress_replies(replies);
        queue.append_replies(replies);
        for _ in 0..twoway_count {
            machine.handle_dispatched(queue.bytes());
        }
        let has_room = queue.replies_len() <= self.limit;
        // If another writer is at it, the peer may not be reading.
        let may_be_unread = queue.is_writing();
        // These replies, and the dispatches that have not finished.
        let due = machine.dispatching() + 1;
        let policy = match self.is_blocking {
            // The runtime cannot see when the threads have no other reply ready.
            true => FlushPolicy::Now,
            false => policy,
        };
        let flush = queue.flush(policy, due, Instant::now);
        let used = may_be_unread.then(|| self.count_in(&mut shared)).flatten();
        drop(shared);
        self.carry_out(connection, flush, policy);
        self.check_replies(connection, used);
        has_room
    }

    /// Writes the reply that ends a dispatch from its own buffer, if it is short and the send queue is empty. Returns
    /// false, with nothing done, if the reply must go through the queue. The content of `reply` is unspecified
    /// afterwards.
    #[inline]
    pub(super) fn send_single_reply(
        &self,
        connection: &Arc<ConnectionCore>,
        reply: &mut Buffer,
    ) -> bool {
        let len = reply.len();
        if len > SINGLE_REPLY_MAX.min(self.limit) || self.compression.is_wanted() {
            return false;
        }
        {
            let mut shared = self.lock();
            let ConnectionState { machine, queue, .. } = &mut *shared;
            if machine.is_closed() || !queue.begin_single_reply(len) {
                return false;
            }
            // Anything that this appends leaves after the reply.
            machine.handle_dispatched(queue.bytes());
        }
        connection.keepalive.mark_written();
        let written = self.try_write(reply);
        if !matches!(written, Ok(count) if count == len) {
            self.write_on(connection, WriteBatch::of(std::mem::take(reply)), written);
            return true;
        }
        let mut shared = self.lock();
        let next = shared.queue.end_single_reply(len);
        self.wake_room_waiters(shared);
        if let Some(batch) = next {
            self.write(connection, batch);
        }
        true
    }

    /// Waits until there is room for more messages of this side.
    pub(super) async fn wait_for_room(&self) {
        self.wait_until(|shared| shared.queue.waiting_len() <= self.limit)
            .await;
    }

    /// Waits until there is room for more replies.
    pub(super) async fn wait_for_reply_room(&self) {
        self.wait_until(|shared| shared.queue.replies_len() <= self.limit)
            .await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;
    use std::task::{Context, Poll};

    use floe_wire::message::RequestId;

    use super::*;
    use crate::communicator::Communicator;
    use crate::connection::Purpose;
    use crate::transport::Stream;

    /// A transport that notes the length of each write.
    #[derive(Clone, Default)]
    struct Noting(Arc<Mutex<Vec<usize>>>);

    impl StreamWriter for Noting {
        fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(bytes.len());
            Ok(bytes.len())
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn shutdown(&self) {}
    }

    impl Noting {
        fn take(&self) -> Vec<usize> {
            std::mem::take(&mut *self.0.lock().unwrap())
        }
    }

    /// A connection of a peer that waits for this many replies.
    fn connection(due: usize) -> (Arc<ConnectionCore>, Noting, Communicator) {
        let writer = Noting::default();
        let (reader, peer) = tokio::io::duplex(1);
        // The peer stays silent and connected.
        std::mem::forget(peer);
        let stream = Stream {
            reader: Box::new(reader),
            writer: Box::new(writer.clone()),
            peer: "a peer that reads".to_owned(),
        };
        let purpose = Purpose::incoming(Weak::new(), Arc::default(), None);
        let communicator = Communicator::new();
        let connection = ConnectionCore::start(stream, purpose, communicator.core().connections());
        for _ in 0..due {
            let is_taken = connection.lock().machine.accept_request(RequestId(1));
            assert!(is_taken, "the connection is active");
        }
        // ValidateConnection.
        writer.take();
        (connection, writer, communicator)
    }

    /// Sends a reply of a dispatch that has waited.
    fn reply(connection: &Arc<ConnectionCore>) {
        let mut reply = Buffer::default();
        reply.bytes_mut().extend([0; 10]);
        let policy = FlushPolicy::WithOthers;
        let has_room = connection
            .output
            .send_replies(connection, &mut reply, 1, policy);
        assert!(has_room && reply.is_empty());
    }

    #[tokio::test]
    async fn replies_that_become_ready_in_one_turn_leave_in_one_write() {
        let (connection, writer, _communicator) = connection(4);
        (0..3).for_each(|_| reply(&connection));
        assert!(writer.take().is_empty(), "other tasks are ready");
        tokio::task::yield_now().await;
        assert_eq!(writer.take(), [30]);
    }

    #[tokio::test]
    async fn the_last_reply_that_is_due_leaves_immediately_and_takes_the_others_along() {
        let (connection, writer, _communicator) = connection(3);
        (0..2).for_each(|_| reply(&connection));
        assert!(writer.take().is_empty());
        reply(&connection);
        assert_eq!(writer.take(), [30]);
        tokio::task::yield_now().await;
        assert!(writer.take().is_empty());
    }
}
