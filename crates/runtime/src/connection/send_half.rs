//! The sending half of a connection: what waits to be written, and the writing.
//!
//! A sender encodes its messages straight into the send queue and, if nobody else is writing, writes them. Only when the
//! transport is full does a task take over. `flush_policy.rs` says which messages wait for others.

use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Buf;
use floe_wire::encoding::Buffer;
use tokio::sync::Notify;

use super::ConnectionCore;
use super::flush_policy::{FlushPolicy, flush_on_thread};
use super::send_queue::Batch;
use super::shared::Shared;
use super::stream_compression::StreamCompression;
use crate::settings::Settings;
use crate::transport::StreamWriter;

/// Slices that are given to the transport in one write; a write seldom takes as many.
const SLICES_MAX: usize = 16;
/// A longer reply goes through the send queue, which knows when to keep its buffer, in bytes.
const SINGLE_REPLY_MAX: usize = 8 * 1024;

/// The sending half of a connection.
pub(super) struct SendHalf {
    writer: Box<dyn StreamWriter>,
    /// A panic while it is held leaves whole messages behind: see [`super::shared::Whole`].
    shared: Mutex<Shared>,
    /// Woken when output has been written.
    room: Notify,
    compression: StreamCompression,
    /// Whether senders are threads that block, and not tasks.
    is_blocking: bool,
    /// Bytes that may wait to be written, [`Settings::output_limit`].
    limit: usize,
}

impl SendHalf {
    pub(super) fn new(
        writer: Box<dyn StreamWriter>,
        shared: Shared,
        is_blocking: bool,
        settings: &Settings,
    ) -> Self {
        Self {
            writer,
            shared: Mutex::new(shared),
            room: Notify::new(),
            compression: StreamCompression::new(settings),
            is_blocking,
            limit: settings.output_limit,
        }
    }

    #[inline(always)]
    pub(super) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn writer(&self) -> &dyn StreamWriter {
        &*self.writer
    }

    pub(super) fn compression(&self) -> &StreamCompression {
        &self.compression
    }

    /// Wakes all that wait for output to be written: there will be no more.
    pub(super) fn end(&self) {
        self.room.notify_waiters();
    }

    /// Writes what is pending, unless somebody is writing already: then it goes along with theirs.
    pub(super) fn flush(&self, connection: &Arc<ConnectionCore>) {
        let batch = self.lock().output.take();
        if let Some(batch) = batch {
            self.write(connection, batch);
        }
    }

    /// Writes a batch and all that comes meanwhile, as far as the transport takes it.
    fn write(&self, connection: &Arc<ConnectionCore>, batch: Batch) {
        connection.keepalive.mark_written();
        let written = self.try_write(batch.rest());
        self.write_on(connection, batch, written);
    }

    /// Goes on with a batch, of which the transport has taken this.
    fn write_on(
        &self,
        connection: &Arc<ConnectionCore>,
        mut batch: Batch,
        mut written: io::Result<usize>,
    ) {
        loop {
            match written {
                Ok(0) => return connection.lose(&io::ErrorKind::WriteZero.into()),
                Ok(count) => match self.written(batch, count) {
                    Some(next) => batch = next,
                    None => return,
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let own = connection.clone();
                    let rest = async move { own.output.write_rest(&own, batch).await };
                    return connection.tasks().spawn(rest);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return connection.lose(&error),
            }
            written = self.try_write(batch.rest());
        }
    }

    /// Writes some bytes, those that others share from where they are.
    #[inline]
    fn try_write(&self, bytes: &Buffer) -> io::Result<usize> {
        if !bytes.has_pieces() {
            return self.writer.try_write(bytes.chunk());
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = bytes.chunks_vectored(&mut slices);
        self.writer.try_write_vectored(&slices[..count])
    }

    /// Writes what a full transport did not take, and all that comes meanwhile.
    async fn write_rest(&self, connection: &ConnectionCore, mut batch: Batch) {
        while !self.lock().machine.is_closed() {
            let ready = std::future::poll_fn(|context| self.writer.poll_write_ready(context));
            let written = match ready.await {
                Ok(()) => self.try_write(batch.rest()),
                Err(error) => Err(error),
            };
            match written {
                Ok(0) => return connection.lose(&io::ErrorKind::WriteZero.into()),
                Ok(count) => match self.written(batch, count) {
                    Some(next) => batch = next,
                    None => return,
                },
                Err(error) if is_transient(&error) => {}
                Err(error) => return connection.lose(&error),
            }
        }
    }

    /// Counts what the transport took of a batch; gives what is to be written next.
    #[inline]
    fn written(&self, mut batch: Batch, count: usize) -> Option<Batch> {
        let is_done = batch.advance(count);
        let mut shared = self.lock();
        shared.output.progress(count);
        let has_waiters = std::mem::take(&mut shared.has_room_waiters);
        let next = if is_done {
            shared.output.put_back(batch)
        } else {
            Some(batch)
        };
        drop(shared);
        if has_waiters {
            self.room.notify_waiters();
        }
        next
    }

    /// Waits until the condition holds for what has been written, or the connection is closed.
    pub(super) async fn wait_until(&self, is_met: impl Fn(&Shared) -> bool) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Enabled before the look, so that nothing written in between is missed.
            room.as_mut().enable();
            {
                let mut shared = self.lock();
                if shared.machine.is_closed() || is_met(&shared) {
                    return;
                }
                shared.has_room_waiters = true;
            }
            room.await;
        }
    }

    /// Writes the send queue, or lets a task or a thread write it soon; whether it was written now.
    #[inline]
    pub(super) fn flush_by(
        &self,
        connection: &Arc<ConnectionCore>,
        mut shared: MutexGuard<'_, Shared>,
        policy: FlushPolicy,
    ) -> bool {
        if !policy.may_wait(&mut shared, self.is_blocking) {
            let batch = shared.output.take();
            drop(shared);
            if let Some(batch) = batch {
                self.write(connection, batch);
            }
            return true;
        }
        let is_flush_due = std::mem::replace(&mut shared.flush.is_flush_due, true);
        drop(shared);
        if !is_flush_due {
            self.flush_soon(connection);
        }
        false
    }

    fn flush_soon(&self, connection: &Arc<ConnectionCore>) {
        let own = connection.clone();
        if self.is_blocking {
            if !flush_on_thread(own) {
                // There is no thread that would.
                self.lock().flush.is_flush_due = false;
                self.flush(connection);
            }
        } else {
            connection.tasks().spawn(async move {
                let output = &own.output;
                output.flush_joined(&own);
                // What comes from now on makes its own task; what came meanwhile leaves with it.
                output.lock().flush.is_flush_due = false;
                output.flush(&own);
            });
        }
    }

    /// Writes the messages that have come together; false if there are none, or if another writer takes them along.
    pub(super) fn flush_joined(&self, connection: &Arc<ConnectionCore>) -> bool {
        let mut shared = self.lock();
        let batch = shared.output.take();
        shared.flush.is_flush_due = batch.is_some();
        let Some(batch) = batch else {
            return false;
        };
        shared.flush.written = Some(Instant::now());
        drop(shared);
        self.write(connection, batch);
        true
    }

    /// Appends replies, of which `twoway_count` end a dispatch, and writes them. `replies` is empty
    /// afterwards, and may have another allocation. Whether there is room for more.
    pub(super) fn send_replies(
        &self,
        connection: &Arc<ConnectionCore>,
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
        self.compression.compress_replies(replies);
        output.append_replies(replies);
        for _ in 0..twoway_count {
            machine.handle_dispatched(output.bytes());
        }
        let has_room = output.replies_len() <= self.limit;
        let batch = output.take();
        drop(shared);
        if let Some(batch) = batch {
            self.write(connection, batch);
        }
        has_room
    }

    /// Writes the reply that ends a dispatch from where it is, if nothing else waits to be written, and if it is
    /// short; false, and nothing is done, if it has to go with others. What is left in `reply` has no meaning.
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
            let Shared {
                machine, output, ..
            } = &mut *shared;
            if machine.is_closed() || !output.take_single_reply(len) {
                return false;
            }
            // What this appends, if anything, comes behind.
            machine.handle_dispatched(output.bytes());
        }
        connection.keepalive.mark_written();
        let written = self.try_write(reply);
        if !matches!(written, Ok(count) if count == len) {
            self.write_on(connection, Batch::of(std::mem::take(reply)), written);
            return true;
        }
        let mut shared = self.lock();
        let next = shared.output.end_single_reply(len);
        let has_waiters = std::mem::take(&mut shared.has_room_waiters);
        drop(shared);
        if has_waiters {
            self.room.notify_waiters();
        }
        if let Some(batch) = next {
            self.write(connection, batch);
        }
        true
    }

    pub(super) async fn wait_for_reply_room(&self) {
        let limit = self.limit;
        if self.lock().output.replies_len() > limit {
            self.wait_until(|shared| shared.output.replies_len() <= limit)
                .await;
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
