//! Requests that a batch proxy has collected.

use std::collections::VecDeque;
use std::sync::PoisonError;

use bytes::Bytes;
use floe_wire::message::BatchWriter;
use floe_wire::reference::Reference;

use super::ProxyCore;
use crate::communicator::Communicator;
use crate::transport::udp::DATAGRAM_LEN_MAX;

/// The requests that a batch proxy has collected.
#[derive(Default)]
pub(crate) struct CollectedRequests {
    pub(crate) writer: BatchWriter,
    /// Batches whose sending was cancelled before it began. They leave before more requests are
    /// collected, so their number is at most that of the calls cancelled at the same time.
    pub(crate) given_back: VecDeque<FullBatch>,
    /// How many batches were cut off.
    pub(crate) cut_count: u64,
}

/// A batch that is ready to leave, and the number of its requests.
pub(crate) struct FullBatch {
    pub(crate) message: Bytes,
    pub(crate) count: usize,
    /// Its position among the batches of its proxy.
    pub(crate) position: u64,
}

impl CollectedRequests {
    /// Assigns its number to a batch that was cut off.
    pub(crate) fn cut(&mut self, message: Vec<u8>, count: usize) -> FullBatch {
        self.cut_count += 1;
        FullBatch {
            message: message.into(),
            count,
            position: self.cut_count,
        }
    }

    /// The collected requests, as a batch.
    pub(crate) fn finish(&mut self) -> Option<FullBatch> {
        let count = self.writer.count();
        let message = self.writer.finish()?;
        Some(self.cut(message, count))
    }

    /// The number of its requests.
    pub(crate) fn count(&self) -> usize {
        let given_back = self.given_back.iter().map(|batch| batch.count);
        self.writer.count() + given_back.sum::<usize>()
    }
}

/// When the last handle is dropped, the collected requests can no longer be flushed. They are lost,
/// and the loss is logged.
impl Drop for ProxyCore {
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
pub(crate) fn size_max(reference: &Reference, communicator: Option<&Communicator>) -> usize {
    let len_max = communicator.map_or(usize::MAX, |c| c.settings().batch_size_max);
    match reference.mode.is_datagram() {
        true => len_max.min(DATAGRAM_LEN_MAX),
        false => len_max,
    }
}
