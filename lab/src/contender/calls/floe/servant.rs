//! The servant that the contenders of Floe call.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use floe::PackedBytes;
use floe::dispatch::{DispatchSlot, Request, Requests, Response};
use floe::{Bytes, Current, Dispatcher, InvokeError, OperationMode, SystemException};

use super::contract::floe_calls::{Calls, CallsDispatcher};
use crate::contender::calls::payload::{ack_of_bytes, ack_of_records};
use crate::contender::codec::contract::floe_lab::{OuterSeq, OuterSeqView};

#[derive(Debug, Default)]
pub(super) struct Servant {
    nothing_count: AtomicI64,
}

impl Calls for Servant {
    async fn nothing(&self, _current: &Current) -> Result<(), InvokeError> {
        self.nothing_count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn count(&self, _current: &Current) -> Result<i64, InvokeError> {
        Ok(self.nothing_count.load(Ordering::Relaxed))
    }

    async fn echo(
        &self,
        values: PackedBytes<f64>,
        _current: &Current,
    ) -> Result<PackedBytes<f64>, InvokeError> {
        Ok(values)
    }

    async fn take_bytes(&self, payload: Bytes, _current: &Current) -> Result<i64, InvokeError> {
        Ok(ack_of_bytes(&payload))
    }

    async fn take_records(
        &self,
        records: OuterSeq,
        _current: &Current,
    ) -> Result<f64, InvokeError> {
        Ok(ack_of_records(
            records.into_iter().flat_map(|outer| outer.inner),
        ))
    }
}

/// Takes records as a view of the request, and leaves all else to the generated dispatcher: what the
/// guide to metadata advises where values are looked at and not kept.
pub(super) struct ReadingInPlace {
    generated: Arc<CallsDispatcher<Servant>>,
}

impl ReadingInPlace {
    pub(super) fn new(generated: CallsDispatcher<Servant>) -> Self {
        Self {
            generated: Arc::new(generated),
        }
    }
}

impl Dispatcher for ReadingInPlace {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        match requests.front().operation() {
            // Each by itself: those that follow may be to another operation.
            "takeRecords" => requests.each(slot, |request| ready(take_records(request))),
            _ => self.generated.clone().dispatch(requests, slot),
        }
    }
}

fn take_records(request: Request) -> Result<Response, SystemException> {
    let ack = request.decode(OperationMode::Normal, |decoder| {
        let records: OuterSeqView<'_> = decoder.view()?;
        let inner = records.iter().flat_map(|outer| outer.inner.iter());
        Ok(ack_of_records(inner))
    })?;
    request.returned(|encoder| encoder.put(&ack))
}
