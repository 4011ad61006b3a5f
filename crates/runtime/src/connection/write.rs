//! Writing: whoever has appended something writes it, unless somebody is writing already. Only when
//! the transport is full does a task take over.

use std::io::{self, IoSlice};
use std::sync::Arc;

use bytes::Buf;
use floe_wire::encoding::Buffer;

use super::send_queue::Batch;
use super::{ConnectionCore, Shared};
use crate::error::LocalError;

/// Slices that are given to the transport at once; a write seldom takes as many.
const SLICES_MAX: usize = 16;

impl ConnectionCore {
    /// Writes what is pending, unless somebody is writing already: then it goes along with theirs.
    pub(super) fn flush(self: &Arc<Self>) {
        let batch = self.lock().output.take();
        if let Some(batch) = batch {
            self.write(batch);
        }
    }

    /// Writes a batch and all that comes meanwhile, as far as the transport takes it.
    pub(super) fn write(self: &Arc<Self>, batch: Batch) {
        self.pulse.mark_written();
        let written = self.try_write(batch.rest());
        self.write_on(batch, written);
    }

    /// Goes on with a batch, of which the transport has taken this.
    pub(super) fn write_on(self: &Arc<Self>, mut batch: Batch, mut written: io::Result<usize>) {
        loop {
            match written {
                Ok(0) => return self.lose(&io::ErrorKind::WriteZero.into()),
                Ok(count) => match self.written(batch, count) {
                    Some(next) => batch = next,
                    None => return,
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let connection = self.clone();
                    self.tasks
                        .spawn(async move { connection.write_rest(batch).await });
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.lose(&error),
            }
            written = self.try_write(batch.rest());
        }
    }

    /// Writes some bytes, those that others share from where they are.
    #[inline]
    pub(super) fn try_write(&self, bytes: &Buffer) -> io::Result<usize> {
        if !bytes.has_pieces() {
            return self.writer.try_write(bytes.chunk());
        }
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let count = bytes.chunks_vectored(&mut slices);
        self.writer.try_write_vectored(&slices[..count])
    }

    /// Writes what a full transport did not take, and all that comes meanwhile.
    async fn write_rest(self: Arc<Self>, mut batch: Batch) {
        while !self.lock().machine.is_closed() {
            let ready = std::future::poll_fn(|context| self.writer.poll_write_ready(context));
            let written = match ready.await {
                Ok(()) => self.try_write(batch.rest()),
                Err(error) => Err(error),
            };
            match written {
                Ok(0) => return self.lose(&io::ErrorKind::WriteZero.into()),
                Ok(count) => match self.written(batch, count) {
                    Some(next) => batch = next,
                    None => return,
                },
                Err(error) if is_transient(&error) => {}
                Err(error) => return self.lose(&error),
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
    pub(super) async fn wait_for_output(&self, is_met: impl Fn(&Shared) -> bool) {
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

    /// The transport failed. Requests that left may have been executed.
    fn lose(&self, error: &io::Error) {
        let peer = self.peer.clone();
        let reason = error.to_string();
        self.fail(LocalError::ConnectionLost { peer, reason });
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
