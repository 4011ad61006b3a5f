//! The servants of subscribers: what they receive, and how they answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::RequestFailed;
use floe::{Dispatcher, SystemException};
use tokio::sync::watch;

use super::RECEIVERS;

/// How a subscriber answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behavior {
    Answering,
    /// It throws an exception; the next event may succeed.
    Failing,
    /// It does not answer until its behavior changes.
    Hanging,
    /// It answers that the object does not exist.
    Missing,
}

/// The topic, publisher and number of an event.
pub(super) type Received = (usize, usize, u64);

/// All subscribers. Each one is a facet of an identity, so that a test can distinguish a subscriber from its successor with
/// the same identity.
pub(super) struct Receivers {
    behaviors: Vec<watch::Sender<Behavior>>,
    received: Mutex<BTreeMap<String, Vec<Received>>>,
}

impl Receivers {
    pub(super) fn new() -> Self {
        Self {
            behaviors: (0..RECEIVERS)
                .map(|_| watch::channel(Behavior::Answering).0)
                .collect(),
            received: Mutex::default(),
        }
    }

    pub(super) fn set_behavior(&self, receiver: usize, behavior: Behavior) {
        self.behaviors[receiver].send_replace(behavior);
    }

    pub(super) fn behavior(&self, receiver: usize) -> Behavior {
        *self.behaviors[receiver].borrow()
    }

    /// The events that the subscriber with this facet has received.
    pub(super) fn received(&self, facet: &str) -> Vec<Received> {
        let received = self.received.lock().expect("no holder panics");
        received.get(facet).cloned().unwrap_or_default()
    }
}

/// The name of the operation that stands for an event.
pub(super) fn operation((topic, publisher, number): Received) -> String {
    format!("{topic} {publisher} {number}")
}

fn parse(operation: &str) -> Option<Received> {
    let mut parts = operation.split(' ');
    let mut part = || parts.next()?.parse::<u64>().ok();
    Some((part()? as usize, part()? as usize, part()?))
}

/// The servant of all subscribers.
pub(super) struct ReceiverServant(pub(super) Arc<Receivers>);

impl Dispatcher for ReceiverServant {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl ReceiverServant {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let current = request.current();
        let event = parse(current.operation()).expect("one of the test's events");
        let receiver: usize = current.identity().name.parse().expect("a receiver");
        let mut received = self.0.received.lock().expect("no holder panics");
        let facet = current.facet().to_owned();
        received.entry(facet).or_default().push(event);
        drop(received);
        let mut behavior = self.0.behaviors[receiver].subscribe();
        Box::pin(async move {
            let behavior = *behavior
                .wait_for(|behavior| *behavior != Behavior::Hanging)
                .await
                .expect("the test lives");
            match behavior {
                Behavior::Failing => Err(SystemException::UnknownException("it fails".to_owned())),
                Behavior::Missing => Err(SystemException::ObjectNotExist(RequestFailed::default())),
                Behavior::Answering | Behavior::Hanging => request.returned_nothing(),
            }
        })
    }
}
