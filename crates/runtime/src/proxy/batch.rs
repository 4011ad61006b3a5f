//! Requests that are collected and sent together.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use bytes::Bytes;
use floe_wire::encoding::{Buffer, EncodeError, Encoder};
use floe_wire::message::{BatchWriter, EventBatches, RequestHead};
use floe_wire::reference::Reference;

use super::fast_path::FastPath;
use super::invoke::check_datagram;
use super::{Inner, OperationInfo, Proxy};
use crate::communicator::{CollectedBatch, Communicator, FlushFuture};
use crate::connection::{ConnectionCore, SendUntil};
use crate::error::{InvokeError, LocalError};
use crate::event::{Event, Events};
use crate::transport::udp::DATAGRAM_LEN_MAX;

/// What a batch proxy has collected.
#[derive(Default)]
pub(super) struct Batch {
    writer: BatchWriter,
    /// Batches whose sending was given up before any of it began; they leave before anything else is
    /// collected, so that there are no more of them than calls that were given up at the same time.
    given_back: VecDeque<Full>,
    /// How many batches were cut.
    cut_count: u64,
}

/// A batch that is full, and the number of its requests.
pub(super) struct Full {
    message: Bytes,
    count: usize,
    /// Its place among the batches of its proxy.
    place: u64,
}

/// A batch on its way to a connection. Given up before it is there, it goes back to its proxy.
struct Leaving<'a> {
    proxy: &'a Proxy,
    /// There until it is known what became of it.
    batch: Option<Full>,
    /// Whether it is in the output of a connection, from where it leaves by itself.
    is_there: AtomicBool,
}

impl Batch {
    /// Numbers a batch that was cut off.
    fn cut(&mut self, message: Vec<u8>, count: usize) -> Full {
        self.cut_count += 1;
        Full {
            place: self.cut_count,
            ..Full::apart(message, count)
        }
    }

    /// What is collected, as a batch.
    fn finish(&mut self) -> Option<Full> {
        let count = self.writer.count();
        let message = self.writer.finish()?;
        Some(self.cut(message, count))
    }

    /// The number of its requests.
    fn count(&self) -> usize {
        let given_back = self.given_back.iter().map(|batch| batch.count);
        self.writer.count() + given_back.sum::<usize>()
    }
}

impl Full {
    /// One that nobody gives back.
    fn apart(message: Vec<u8>, count: usize) -> Self {
        let message = message.into();
        Self {
            message,
            count,
            place: 0,
        }
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !*self.is_there.get_mut()
            && let Some(batch) = self.batch.take()
        {
            self.proxy.take_back(batch);
        }
    }
}

impl Proxy {
    /// Sends the requests that a batch proxy has collected, and waits until the transport has them;
    /// nothing if there are none. If the future is dropped before they are with a connection, they stay
    /// collected; after that they leave by themselves.
    ///
    /// # Errors
    /// [`LocalError::BatchLost`] if they could not be sent; so many are collected no longer. What was given
    /// back by a flush before is sent first, and if that fails, the rest stays collected.
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

    fn take_back(&self, batch: Full) {
        let mut own = self.lock_batch();
        let at = own.given_back.partition_point(|it| it.place < batch.place);
        own.given_back.insert(at, batch);
        drop(own);
        self.be_remembered();
    }

    /// Collects a request to a generated operation, unless something must leave before; a batch that
    /// is full must be sent, see [`Proxy::collect`].
    #[inline]
    pub(super) fn try_collect(
        &self,
        operation: &'static OperationInfo,
        encode: &impl Fn(&mut Encoder<'_>),
    ) -> Result<FastPath, InvokeError> {
        let len_max = self.inner.batch_size_max;
        let mut batch = self.lock_batch();
        if !batch.given_back.is_empty() {
            return Ok(FastPath::No(None));
        }
        if let Some(head) = self.head_of(operation)
            && batch.writer.extend_prepared(head, len_max, encode)
        {
            return Ok(FastPath::Done);
        }
        let context = self.sent_context();
        let head = self.header(operation.name, operation.mode, &context);
        let encoding = self.sending_encoding();
        let write = |encoder: &mut Encoder<'_>| encoder.encapsulation(encoding, encode);
        let full = self.push(batch, |batch| batch.writer.push_head(&head, len_max, write))?;
        Ok(full.map_or(FastPath::Done, FastPath::Full))
    }

    /// Collects a request. If the batch would get too long, what was collected before leaves first;
    /// if that fails, nothing stays collected. If what a flush gave back cannot leave, this one is not
    /// collected, and the rest stays. If the future is dropped, all stays collected that is not on its way.
    pub(super) async fn collect(
        &self,
        header: &RequestHead<'_>,
        encapsulation: &impl Fn(&mut Encoder<'_>),
    ) -> Result<(), InvokeError> {
        self.send_given_back().await?;
        let len_max = self.inner.batch_size_max;
        let push = |batch: &mut Batch| batch.writer.push_head(header, len_max, encapsulation);
        match self.push(self.lock_batch(), push)? {
            Some(full) => self.post_full(full).await,
            None => Ok(()),
        }
    }

    /// Collects an event, as [`Proxy::collect`] does.
    pub(super) async fn collect_event(&self, event: &Event) -> Result<(), InvokeError> {
        self.send_given_back().await?;
        let len_max = self.inner.batch_size_max;
        let full = self.push(self.lock_batch(), |batch| {
            batch
                .writer
                .push_event(self.target(), event.as_bytes(), len_max)
        })?;
        match full {
            Some(full) => self.post_full(full).await,
            None => Ok(()),
        }
    }

    /// Sends events in batches of their own, apart from what is collected.
    pub(super) async fn forward_batch(&self, events: &[Events]) -> Result<(), InvokeError> {
        if self.reference().mode.is_datagram() {
            return self.forward_datagrams(events).await;
        }
        let count = events.iter().map(Events::len).sum();
        let byte_len = events.iter().map(Events::byte_len).sum();
        let write = |buffer: &mut Buffer| {
            let len_max = self.inner.batch_size_max;
            let mut batches = EventBatches::new(self.target(), buffer.bytes_mut(), len_max);
            batches.reserve(count, byte_len);
            for run in events {
                match run.alike() {
                    Some((events, len)) => batches.push_alike(events, len)?,
                    None => run.iter().try_for_each(|event| batches.push(event))?,
                }
            }
            batches.finish()
        };
        match count {
            0 => Ok(()),
            _ => {
                self.post_batches(count, write, &AtomicBool::new(false))
                    .await
            }
        }
    }

    /// The same where each batch is a datagram.
    async fn forward_datagrams(&self, events: &[Events]) -> Result<(), InvokeError> {
        let target = self.target();
        let len_max = self.inner.batch_size_max;
        let mut batch = BatchWriter::default();
        for event in events.iter().flat_map(Events::iter) {
            let count = batch.count();
            let full = batch.push_event(target, event, len_max);
            if let Some(message) = full.map_err(not_encoded)? {
                self.post_apart(Full::apart(message, count)).await?;
            }
        }
        let count = batch.count();
        match batch.finish() {
            Some(last) => self.post_apart(Full::apart(last, count)).await,
            None => Ok(()),
        }
    }

    #[inline]
    fn push(
        &self,
        mut batch: MutexGuard<'_, Batch>,
        push: impl FnOnce(&mut Batch) -> Result<Option<Vec<u8>>, EncodeError>,
    ) -> Result<Option<Full>, InvokeError> {
        let count = batch.writer.count();
        let full = push(&mut batch).map_err(not_encoded)?;
        let full = full.map(|message| batch.cut(message, count));
        drop(batch);
        if count == 0 {
            self.be_remembered();
        }
        Ok(full)
    }

    /// What it has collected is flushed with that of all others. The batch must not be locked.
    fn be_remembered(&self) {
        if let Some(communicator) = self.communicator() {
            communicator.core().batches().remember(&self.inner);
        }
    }

    /// Sends a batch that is full. If that fails, nothing stays collected.
    pub(super) async fn post_full(&self, full: Full) -> Result<(), InvokeError> {
        let sent = self.post_batch(full).await;
        if sent.is_err() {
            // The caller is told that its request failed, so it must not leave later.
            self.lock_batch().writer.discard();
        }
        sent
    }

    /// Sends a batch; if the future is dropped before it is with a connection, the proxy has it again.
    async fn post_batch(&self, batch: Full) -> Result<(), InvokeError> {
        let (message, count) = (batch.message.clone(), batch.count);
        let mut leaving = Leaving {
            proxy: self,
            batch: Some(batch),
            is_there: AtomicBool::new(false),
        };
        let sent = self.post_one(&message, count, &leaving.is_there).await;
        leaving.batch = None;
        sent
    }

    /// Sends a batch that was never collected.
    async fn post_apart(&self, batch: Full) -> Result<(), InvokeError> {
        let is_there = AtomicBool::new(false);
        self.post_one(&batch.message, batch.count, &is_there).await
    }

    /// Sends a batch; `is_there` says whether it is with a connection.
    async fn post_one(
        &self,
        message: &Bytes,
        count: usize,
        is_there: &AtomicBool,
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
        self.post_batches(count, write, is_there).await
    }

    /// Sends batches with so many requests together; `is_there` says whether they are with a connection.
    async fn post_batches(
        &self,
        count: usize,
        write: impl Fn(&mut Buffer) -> Result<(), EncodeError>,
        is_there: &AtomicBool,
    ) -> Result<(), InvokeError> {
        let lost = |source| LocalError::BatchLost {
            count,
            source: Box::new(source),
        };
        let mut terms = self.terms("(batch)", false);
        terms.is_retried = false;
        match self
            .post_noting(&terms, SendUntil::Written, write, is_there)
            .await
        {
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
    fn lock_batch(&self) -> MutexGuard<'_, Batch> {
        self.inner
            .batch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl CollectedBatch for Inner {
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

/// What nobody can flush any more is lost, and said.
impl Drop for Inner {
    fn drop(&mut self) {
        let batch = self.batch.get_mut().unwrap_or_else(PoisonError::into_inner);
        let count = batch.count();
        if count > 0 {
            tracing::warn!(
                "{count} collected requests to {} were never flushed",
                self.reference
            );
        }
    }
}

/// The longest batch of a proxy, in bytes.
pub(super) fn size_max(reference: &Reference, communicator: Option<&Communicator>) -> usize {
    let len_max = communicator.map_or(usize::MAX, |c| c.settings().batch_size_max);
    match reference.mode.is_datagram() {
        true => len_max.min(DATAGRAM_LEN_MAX),
        false => len_max,
    }
}

fn not_encoded(error: EncodeError) -> InvokeError {
    InvokeError::NotDispatched(error.into())
}
