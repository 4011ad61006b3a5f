//! What the contenders of Floe call.

use std::sync::atomic::{AtomicI64, Ordering};

use floe::{Bytes, Current, InvokeError};

use super::contract::floe_calls::Calls;
use crate::contender::calls::payload::{ack_of_bytes, ack_of_records};
use crate::contender::codec::contract::floe_lab::{Doubles, OuterSeq};

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

    async fn echo(&self, values: Doubles, _current: &Current) -> Result<Doubles, InvokeError> {
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
        Ok(ack_of_records(&records))
    }
}
