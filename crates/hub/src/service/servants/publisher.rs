//! Publisher objects: every request is an event, and its reply has no results.
//!
//! As in IceStorm, this holds for the operations of every object too: `ice_ping` is an event. The facet for publishers
//! that wait ([`WAITING_FACET`](crate::WAITING_FACET)) is an addition of Floe.

use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use floe::{DispatchSlot, Event, Events, Requests, SystemException};
use floe_access::Action;

use crate::service::directory::Object;
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, all};

/// Publishes to all subscribers of a topic.
pub(super) fn publish(requests: Requests, slot: &mut DispatchSlot, topic: &Topic) {
    requests
        .take_events(|events, now| topic.publish(events, now))
        .answer(slot);
}

/// Publishes to all subscribers of a topic, and replies when each has room.
pub(super) fn publish_waiting(requests: Requests, slot: &mut DispatchSlot, topic: &Topic) {
    let mut waits = Vec::new();
    let taken = requests.take_events(|events, now| {
        waits.extend(topic.publish_waiting(events, now).map(Box::pin));
    });
    match waits.is_empty() {
        true => taken.answer(slot),
        false => taken.answer_after(slot, all(waits)),
    }
}

/// Publishes to one subscriber.
pub(super) fn publish_to_one(
    requests: Requests,
    slot: &mut DispatchSlot,
    subscriber: &Arc<Subscriber>,
) {
    if subscriber.is_gone() {
        return slot.run(ready(Err(gone())));
    }
    let taken = requests.take_events(|events, now| {
        if !subscriber.loses_own(&events) {
            subscriber.publish(events, now);
        }
    });
    taken.answer(slot);
}

/// Publishes to one subscriber, and replies when it has room.
pub(super) fn publish_to_one_waiting(
    requests: Requests,
    slot: &mut DispatchSlot,
    subscriber: &Arc<Subscriber>,
) {
    if subscriber.is_gone() {
        return slot.run(ready(Err(gone())));
    }
    let mut waits = Vec::new();
    let taken = requests.take_events(|events, now| {
        if subscriber.loses_own(&events) {
            return;
        }
        if let Some(rest) = subscriber.publish_or_wait(events, now) {
            let subscriber = subscriber.clone();
            waits.push(Box::pin(
                async move { subscriber.publish_waiting(rest).await },
            ));
        }
    });
    match waits.is_empty() {
        true => taken.answer(slot),
        false => taken.answer_after(slot, all(waits)),
    }
}

/// What a publisher object publishes to.
#[derive(Clone)]
pub(super) enum Recipient {
    /// All subscribers of a topic.
    Topic(Arc<Topic>),
    /// One subscriber.
    Subscriber(Arc<Subscriber>),
}

impl Recipient {
    /// That of a publisher object; `None` for other objects.
    pub(super) fn of(object: &Object) -> Option<Self> {
        match object {
            Object::Publisher(topic) => Some(Self::Topic(topic.clone())),
            Object::SubscriberPublisher(subscriber) => Some(Self::Subscriber(subscriber.clone())),
            _ => None,
        }
    }

    /// Publishes one request after another, and asks the rules about each: they may come from several users.
    pub(super) fn publish_each(
        self,
        is_waiting: bool,
        registry: &Arc<Registry>,
        requests: Requests,
        slot: &mut DispatchSlot,
    ) {
        let registry = registry.clone();
        requests.each(slot, move |request| {
            let (registry, recipient) = (registry.clone(), self.clone());
            async move {
                let guard = registry.guard();
                guard.check(request.current(), Action::Publish, recipient.topic())?;
                recipient.publish(request.event(), is_waiting).await?;
                request.returned_nothing()
            }
        });
    }

    /// The name of the topic.
    fn topic(&self) -> &str {
        match self {
            Self::Topic(topic) => topic.name(),
            Self::Subscriber(subscriber) => subscriber.topic(),
        }
    }

    async fn publish(&self, event: Event, is_waiting: bool) -> Result<(), SystemException> {
        let (events, now) = (Events::from(event), Instant::now());
        match (self, is_waiting) {
            (Self::Topic(topic), false) => topic.publish(events, now),
            (Self::Topic(topic), true) => {
                if let Some(wait) = topic.publish_waiting(events, now) {
                    wait.await;
                }
            }
            (Self::Subscriber(subscriber), _) if subscriber.is_gone() => return Err(gone()),
            (Self::Subscriber(subscriber), _) if subscriber.loses_own(&events) => {}
            (Self::Subscriber(subscriber), false) => subscriber.publish(events, now),
            (Self::Subscriber(subscriber), true) => {
                if let Some(rest) = subscriber.publish_or_wait(events, now) {
                    subscriber.publish_waiting(rest).await;
                }
            }
        }
        Ok(())
    }
}

/// The runtime fills in the identity of the object.
fn gone() -> SystemException {
    SystemException::ObjectNotExist(Default::default())
}
