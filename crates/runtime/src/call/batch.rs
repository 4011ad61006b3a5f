//! Batched invocations: requests that are collected and sent together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use bytes::Bytes;
use floe_wire::encoding::{Buffer, EncodeError, Encoder};
use floe_wire::message::{BatchWriter, EventBatches};

use super::fast_path::SendAttempt;
use super::invoke::check_datagram;
use crate::communicator::{CollectedBatch, FlushFuture};
use crate::connection::{ConnectionCore, SendUntil, WriteMessages};
use crate::error::{InvokeError, LocalError};
use crate::event::Events;
use crate::proxy::{CollectedRequests, FullBatch, OperationInfo, Proxy, ProxyCore};

/// A batch that is being sent. If the send is given up before the batch is in a send queue, the proxy gets the batch
/// back.
struct OutgoingBatch<'a> {
    proxy: &'a Proxy,
    /// Present until the result of the send is known.
    batch: Option<FullBatch>,
    /// True if the batch is in the send queue of a connection, which then sends it.
    is_queued: AtomicBool,
}

impl Drop for OutgoingBatch<'_> {
    fn drop(&mut self) {
        if !*self.is_queued.get_mut()
            && let Some(batch) = self.batch.take()
        {
            self.proxy.take_back(batch);
        }
    }
}

impl Proxy {
    /// Sends the requests that a batch proxy has collected, and waits until the transport has them. Does nothing if
    /// there are none. If the future is dropped before the requests are in the send queue of a connection, they stay
    /// collected; after that, they are sent anyway.
    ///
    /// # Errors
    /// [`LocalError::BatchLost`] if the requests could not be sent; it says how many were lost. Requests that an
    /// earlier flush gave back are sent first. If that fails, the others stay collected.
    #[doc(alias = "ice_flushBatchRequests")]
    pub async fn flush_batch(&self) -> Result<(), InvokeError> {
        self.send_given_back().await?;
        let collected = self.lock_batch().finish();
        match collected {
            Some(batch) => self.post_batch(batch).await,
            None => Ok(()),
        }
    }

    async fn send_given_back(&self) -> Result<(), InvokeError> {
        loop {
            let next = self.lock_batch().given_back.pop_front();
            match next {
                Some(batch) => self.post_batch(batch).await?,
                None => return Ok(()),
            }
        }
    }

    fn take_back(&self, batch: FullBatch) {
        let mut own = self.lock_batch();
        let at = own
            .given_back
            .partition_point(|it| it.position < batch.position);
        own.given_back.insert(at, batch);
        drop(own);
        self.register_for_flush();
    }

    /// Collects a request to a generated operation, unless an earlier batch must be sent first. The caller must send
    /// the batch if it is full, see [`Proxy::collect`].
    #[inline]
    pub(super) fn try_collect(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
    ) -> SendAttempt {
        let len_max = self.inner.batch_size_max;
        let mut batch = self.lock_batch();
        if !batch.given_back.is_empty() {
            return SendAttempt::NeedsWait(None);
        }
        if let Some(head) = self.head_of(operation)
            && batch.writer.extend_prepared(head, len_max, encode)
        {
            return SendAttempt::Done;
        }
        let context = self.sent_context();
        let head = self.request_head(operation.name, operation.mode, &context);
        let encoding = self.sending_encoding();
        let write = |encoder: &mut Encoder<'_>| encoder.encapsulation(encoding, encode);
        match self.push(batch, |batch, len_max| batch.push(&head, len_max, write)) {
            Ok(full) => full.map_or(SendAttempt::Done, SendAttempt::Full),
            Err(error) => SendAttempt::Failed(Box::new(error)),
        }
    }

    /// Collects the request that `add` adds to a batch, whose length limit it gets. If the batch would get too long,
    /// the requests collected before are sent first; if that fails, all are dropped. If a batch that an earlier flush
    /// gave back cannot be sent, this request is not collected, and the others stay. If the future is dropped, all
    /// requests that are not yet in a send queue stay collected.
    pub(super) async fn collect(
        &self,
        add: impl FnOnce(&mut BatchWriter, usize) -> Result<Option<Vec<u8>>, EncodeError>,
    ) -> Result<(), InvokeError> {
        self.send_given_back().await?;
        match self.push(self.lock_batch(), add)? {
            Some(full) => self.post_full(full).await,
            None => Ok(()),
        }
    }

    /// Sends events in batches of their own, apart from the collected requests.
    pub(super) async fn forward_batch(&self, events: &[Events]) -> Result<(), InvokeError> {
        if self.reference().mode.is_datagram() {
            return self.forward_datagrams(events).await;
        }
        let count = events.iter().map(Events::len).sum();
        let write = |buffer: &mut Buffer| {
            let runs = events.iter().map(|run| (run, run.len()));
            self.write_batches(buffer, runs)
        };
        match count {
            0 => Ok(()),
            _ => {
                self.post_batches(count, &write, &AtomicBool::new(false))
                    .await
            }
        }
    }

    /// Appends the first so many events of each run to a buffer, in as few batches as possible.
    pub(super) fn write_batches<'e>(
        &self,
        buffer: &mut Buffer,
        runs: impl Iterator<Item = (&'e Events, usize)> + Clone,
    ) -> Result<(), EncodeError> {
        let len_max = self.inner.batch_size_max;
        let mut batches = EventBatches::new(self.target(), buffer.bytes_mut(), len_max);
        let count = runs.clone().map(|(_, count)| count).sum();
        let byte_lens = runs.clone().map(|(run, count)| run.byte_len_of(count));
        batches.reserve(count, byte_lens.sum());
        for (run, count) in runs {
            match run.alike() {
                Some((events, len)) => batches.push_alike(&events[..len * count], len)?,
                None => run
                    .iter()
                    .take(count)
                    .try_for_each(|event| batches.push(event))?,
            }
        }
        batches.finish()
    }

    /// Sends events in batches that each fit into a datagram.
    async fn forward_datagrams(&self, events: &[Events]) -> Result<(), InvokeError> {
        let target = self.target();
        let len_max = self.inner.batch_size_max;
        let mut batch = BatchWriter::default();
        let is_queued = AtomicBool::new(false);
        for event in events.iter().flat_map(Events::iter) {
            let count = batch.count();
            let full = batch.push_event(target, event, len_max);
            if let Some(message) = full.map_err(not_encoded)? {
                self.post_one(&message.into(), count, &is_queued).await?;
            }
        }
        let count = batch.count();
        match batch.finish() {
            Some(last) => self.post_one(&last.into(), count, &is_queued).await,
            None => Ok(()),
        }
    }

    #[inline]
    fn push(
        &self,
        mut batch: MutexGuard<'_, CollectedRequests>,
        add: impl FnOnce(&mut BatchWriter, usize) -> Result<Option<Vec<u8>>, EncodeError>,
    ) -> Result<Option<FullBatch>, InvokeError> {
        let count = batch.writer.count();
        let full = add(&mut batch.writer, self.inner.batch_size_max).map_err(not_encoded)?;
        let full = full.map(|message| batch.cut(message, count));
        drop(batch);
        if count == 0 {
            self.register_for_flush();
        }
        Ok(full)
    }

    /// Registers the proxy with its communicator, which flushes all batches together. The batch must not be locked.
    fn register_for_flush(&self) {
        if let Some(communicator) = self.communicator() {
            communicator.core().batches().remember(&self.inner);
        }
    }

    /// Sends a full batch. If that fails, all collected requests are dropped.
    pub(super) async fn post_full(&self, full: FullBatch) -> Result<(), InvokeError> {
        let sent = self.post_batch(full).await;
        if sent.is_err() {
            // The caller sees its request fail, so the request must not be sent later.
            self.lock_batch().writer.discard();
        }
        sent
    }

    /// Sends a batch. If the future is dropped before the batch is in a send queue, the proxy gets it back.
    async fn post_batch(&self, batch: FullBatch) -> Result<(), InvokeError> {
        let (message, count) = (batch.message.clone(), batch.count);
        let mut leaving = OutgoingBatch {
            proxy: self,
            batch: Some(batch),
            is_queued: AtomicBool::new(false),
        };
        let sent = self.post_one(&message, count, &leaving.is_queued).await;
        leaving.batch = None;
        sent
    }

    /// Sends a batch; `is_queued` becomes true when it is in a send queue.
    async fn post_one(
        &self,
        message: &Bytes,
        count: usize,
        is_queued: &AtomicBool,
    ) -> Result<(), InvokeError> {
        if self.reference().mode.is_datagram() {
            check_datagram(message.len()).map_err(|source| {
                let source = Box::new(source);
                InvokeError::NotDispatched(LocalError::BatchLost { count, source })
            })?;
        }
        let write = |buffer: &mut Buffer| {
            buffer.bytes_mut().extend_from_slice(message);
            Ok(())
        };
        self.post_batches(count, &write, is_queued).await
    }

    /// Sends batches that hold `count` requests together; `is_queued` becomes true when they are in a send queue.
    async fn post_batches(
        &self,
        count: usize,
        write: &WriteMessages<'_>,
        is_queued: &AtomicBool,
    ) -> Result<(), InvokeError> {
        let lost = |source| LocalError::BatchLost {
            count,
            source: Box::new(source),
        };
        let mut terms = self.terms("(batch)", false);
        terms.is_retried = false;
        let sent = self.post(&terms, SendUntil::Written, write, is_queued);
        match sent.await {
            Err(InvokeError::NotDispatched(source)) => {
                Err(InvokeError::NotDispatched(lost(source)))
            }
            Err(InvokeError::PerhapsDispatched(source)) => {
                Err(InvokeError::PerhapsDispatched(lost(source)))
            }
            result => result,
        }
    }

    #[inline]
    fn lock_batch(&self) -> MutexGuard<'_, CollectedRequests> {
        self.inner
            .batch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl CollectedBatch for ProxyCore {
    fn is_empty(&self) -> bool {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch.count() == 0
    }

    fn mark_listed(&self, is_listed: bool) -> bool {
        self.is_in_batches.swap(is_listed, Ordering::Relaxed)
    }

    fn flush(self: Arc<Self>, over: Option<Arc<ConnectionCore>>) -> FlushFuture {
        Box::pin(async move {
            let proxy = Proxy::from_inner(self);
            match over.is_none_or(|connection| proxy.uses(&connection)) {
                true => proxy.flush_batch().await,
                false => Ok(()),
            }
        })
    }
}

fn not_encoded(error: EncodeError) -> InvokeError {
    InvokeError::NotDispatched(error.into())
}
