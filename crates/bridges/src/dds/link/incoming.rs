//! Samples of a topic for the hub: from the reader to the publishers.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use floe::hub::HubError;
use floe_rtps::endpoint::{ChangeKind, Received};
use floe_rtps::guid::GuidPrefix;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{Command, LinkState};
use crate::core::mapping::EventKind;
use crate::dds::codec::EventCodec;
use crate::hub::{Port, PublishError, Publisher};

/// The samples of a topic on their way to the hub.
pub(crate) struct Incoming {
    pub(crate) port: Port,
    pub(crate) codec: EventCodec,
    /// The position of the topic among those of the driver.
    pub(crate) topic: usize,
    pub(crate) driver: mpsc::Sender<Command>,
    pub(crate) state: Arc<LinkState>,
}

/// An event that the hub does not have yet.
struct Event<'c> {
    publisher: Publisher,
    kind: &'c EventKind,
    parameters: Vec<u8>,
}

type Publishers = HashMap<GuidPrefix, Publisher>;

/// Publishes all samples that come, in their order. The driver hears of each sample when the hub has it, or surely will not.
pub(crate) async fn publish_all(incoming: Incoming, mut samples: mpsc::Receiver<Received>) {
    let mut publishers = Publishers::new();
    let mut batch = Vec::new();
    while samples.recv_many(&mut batch, AT_ONCE).await > 0 {
        incoming.publish(&batch, &mut publishers).await;
        let of_sample = |it: Received| (it.writer, it.number, it.sample.payload.len());
        let command = Command::Published {
            topic: incoming.topic,
            samples: batch.drain(..).map(of_sample).collect(),
        };
        if incoming.driver.send(command).await.is_err() {
            return;
        }
    }
}

impl Incoming {
    async fn publish(&self, samples: &[Received], publishers: &mut Publishers) {
        let mut events = VecDeque::new();
        for received in samples {
            // The end of an instance is no event. There are none without keys.
            if received.sample.kind != ChangeKind::Written {
                continue;
            }
            match self.codec.decode(&received.sample.payload) {
                Ok((kind, parameters)) => events.push_back(Event {
                    publisher: self.publisher(received.writer.prefix, publishers).await,
                    kind,
                    parameters,
                }),
                Err(error) => {
                    self.port.account().refuse(error.reason(), 1);
                    if self.state.may_warn() {
                        tracing::warn!(
                            topic = self.port.topic(),
                            writer = %received.writer,
                            "a sample is no event: {error}"
                        );
                    }
                }
            }
        }
        self.publish_events(events).await;
    }

    /// Publishes events, and those again that surely did not arrive. If the hub is away, one at a time is tried until it is
    /// back, so that the order stays.
    async fn publish_events(&self, mut events: VecDeque<Event<'_>>) {
        let mut pause = PAUSE_MIN;
        let mut is_away = false;
        while !events.is_empty() {
            let count = if is_away { 1 } else { events.len() };
            let results = publish_in_order(events.iter().take(count)).await;
            let mut left = VecDeque::new();
            let mut trouble = None;
            for (event, result) in events.drain(..count).zip(results) {
                match result {
                    Err(PublishError::Away(reason)) => {
                        trouble.get_or_insert(reason);
                        left.push_back(event);
                    }
                    Err(error) if self.state.may_warn() => {
                        tracing::warn!(topic = self.port.topic(), "{error}");
                    }
                    Ok(()) | Err(_) => {}
                }
            }
            left.append(&mut events);
            events = left;
            match trouble {
                Some(reason) => {
                    is_away = true;
                    self.wait(&reason, &mut pause).await;
                }
                None if is_away => {
                    is_away = false;
                    pause = PAUSE_MIN;
                    self.state.set_trouble(self.port.topic(), None);
                }
                None => {}
            }
        }
    }

    /// The publisher of a participant.
    async fn publisher(&self, prefix: GuidPrefix, publishers: &mut Publishers) -> Publisher {
        if let Some(publisher) = publishers.get(&prefix) {
            return publisher.clone();
        }
        // Participants come and go under new names.
        if publishers.len() >= PUBLISHERS_MAX {
            publishers.clear();
        }
        let mut pause = PAUSE_MIN;
        loop {
            let made: Result<Publisher, HubError> = self.port.publisher(&prefix.to_string()).await;
            match made {
                Ok(publisher) => {
                    if pause != PAUSE_MIN {
                        self.state.set_trouble(self.port.topic(), None);
                    }
                    publishers.insert(prefix, publisher.clone());
                    return publisher;
                }
                Err(error) => self.wait(&error.to_string(), &mut pause).await,
            }
        }
    }

    /// Waits before the hub is tried again.
    async fn wait(&self, reason: &str, pause: &mut Duration) {
        let topic = self.port.topic();
        if *pause == PAUSE_MIN {
            tracing::warn!(topic, "samples of DDS wait for the hub: {reason}");
        }
        let trouble =
            format!("topic {topic}: samples wait for the hub, which is tried again: {reason}");
        self.state.set_trouble(topic, Some(trouble));
        sleep(*pause).await;
        *pause = (*pause * 2).min(PAUSE_MAX);
    }
}

/// Publishes events side by side, in their order; returns what became of each.
async fn publish_in_order<'e>(
    events: impl Iterator<Item = &'e Event<'e>>,
) -> Vec<Result<(), PublishError>> {
    let mut calls: Vec<_> = events
        .map(|event| Box::pin(event.publisher.attempt(event.kind, &event.parameters)))
        .collect();
    let mut results: Vec<Option<Result<(), PublishError>>> = calls.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for (call, result) in calls.iter_mut().zip(&mut results) {
            if result.is_some() {
                continue;
            }
            match Pin::new(call).poll(context) {
                Poll::Ready(outcome) => *result = Some(outcome),
                Poll::Pending => is_done = false,
            }
        }
        if is_done {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    results.into_iter().flatten().collect()
}

/// How many events are published at a time.
const AT_ONCE: usize = 64;
/// How many participants have a publisher at a time: as many as the participant knows at most.
const PUBLISHERS_MAX: usize = 256;
/// How long the first pause is before the hub is tried again; it doubles.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
