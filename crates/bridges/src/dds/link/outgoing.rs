//! Events of a topic for the domain: from the hub to the writer.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::{Command, LinkState};
use crate::dds::codec::EventCodec;
use crate::hub::{Deliveries, Delivery};

/// Gives all events of a topic to its writer. The next batch is asked for when that has written the last one, and its readers
/// have taken all but a bounded rest.
pub(crate) async fn deliver_all(
    mut deliveries: Deliveries,
    codec: EventCodec,
    topic: usize,
    driver: mpsc::Sender<Command>,
    state: Arc<LinkState>,
) {
    while let Some(batch) = deliveries.next_batch().await {
        let mut samples = Vec::new();
        let mut len = 0;
        for delivery in batch {
            let Some(sample) = encode(&deliveries, &codec, &delivery, &state) else {
                continue;
            };
            len += sample.len();
            samples.push(sample);
            if samples.len() >= SAMPLES_AT_ONCE || len >= BYTES_AT_ONCE {
                len = 0;
                if !write(topic, std::mem::take(&mut samples), &driver).await {
                    return;
                }
            }
        }
        if !samples.is_empty() && !write(topic, samples, &driver).await {
            return;
        }
    }
}

fn encode(
    deliveries: &Deliveries,
    codec: &EventCodec,
    delivery: &Delivery,
    state: &LinkState,
) -> Option<Bytes> {
    match codec.encode(delivery.kind, &delivery.parameters) {
        Ok(sample) => Some(sample.into()),
        Err(error) => {
            let port = deliveries.port();
            port.account().refuse(error.reason(), 1);
            if state.may_warn() {
                tracing::warn!(topic = port.topic(), "an event cannot go to DDS: {error}");
            }
            None
        }
    }
}

/// Waits until the driver has written the samples; false if there is no driver any more.
async fn write(topic: usize, samples: Vec<Bytes>, driver: &mpsc::Sender<Command>) -> bool {
    let (done, written) = oneshot::channel();
    let command = Command::Write {
        topic,
        samples,
        done,
    };
    driver.send(command).await.is_ok() && written.await.is_ok()
}

/// How many samples are given to the driver at a time.
const SAMPLES_AT_ONCE: usize = 64;
/// After how many bytes no more samples are added.
const BYTES_AT_ONCE: usize = 1 << 20;
