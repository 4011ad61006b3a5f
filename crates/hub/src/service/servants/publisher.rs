//! Publisher objects: every request is an event, and its reply has no results.
//!
//! As in IceStorm, this holds for the operations of every object too: `ice_ping` is an event. The facet for publishers
//! that wait ([`WAITING_FACET`](crate::WAITING_FACET)) is an addition of Floe.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use floe::{DispatchSlot, Events, Requests, SystemException, TakenEvents};
use floe_access::Action;

use crate::core::without_token;
use crate::service::directory::Object;
use crate::service::durable::TopicLog;
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, all};

/// Publishes to all subscribers of a topic. If `waits`, the reply comes when each subscriber has room.
pub(super) fn publish(requests: Requests, slot: &mut DispatchSlot, topic: &Topic, waits: bool) {
    if let Some(log) = topic.log() {
        return store(requests, slot, topic, log, waits);
    }
    let mut waiting = Vec::new();
    let taken = requests.take_events(|events, now| match waits {
        true => waiting.extend(topic.publish_or_wait(events, now).map(Box::pin)),
        false => topic.publish(events, now),
    });
    answer(taken, slot, waiting);
}

/// Publishes to a durable topic. The reply comes when the events are as safe as the publisher or the topic wants.
fn store(requests: Requests, slot: &mut DispatchSlot, topic: &Topic, log: &TopicLog, waits: bool) {
    let mut storing = Vec::new();
    let taken = requests.take_events(|events, now| {
        storing.push(topic.store(log, events, now, waits));
    });
    taken.answer_or_refuse(slot, async move {
        let mut stored = Ok(());
        for storing in storing {
            stored = stored.and(storing.await);
        }
        stored
    });
}

/// Publishes to one subscriber. If `waits`, the reply comes when it has room.
pub(super) fn publish_to_one(
    requests: Requests,
    slot: &mut DispatchSlot,
    subscriber: &Arc<Subscriber>,
    waits: bool,
) {
    if subscriber.is_gone() {
        return slot.run(ready(Err(gone())));
    }
    let mut waiting = Vec::new();
    let taken = requests.take_events(|events, now| match waits {
        _ if subscriber.loses_own(&events) => {}
        true => waiting.extend(subscriber.publish_or_wait(events, now).map(Box::pin)),
        false => subscriber.publish(events, now),
    });
    answer(taken, slot, waiting);
}

/// Replies when all publications have room.
fn answer<F: Future<Output = ()> + Send + 'static>(
    taken: TakenEvents,
    slot: &mut DispatchSlot,
    waiting: Vec<Pin<Box<F>>>,
) {
    match waiting.is_empty() {
        true => taken.answer(slot),
        false => taken.answer_after(slot, all(waiting)),
    }
}

/// The subscriber or subscribers that a publisher object publishes to.
#[derive(Clone)]
pub(super) enum Recipient {
    /// All subscribers of a topic.
    Topic(Arc<Topic>),
    /// One subscriber.
    Subscriber(Arc<Subscriber>),
}

impl Recipient {
    /// The recipient of a publisher object; `None` for other objects.
    pub(super) fn of(object: &Object) -> Option<Self> {
        match object {
            Object::Publisher(topic) => Some(Self::Topic(topic.clone())),
            Object::SubscriberPublisher(subscriber) => Some(Self::Subscriber(subscriber.clone())),
            _ => None,
        }
    }

    /// Publishes one request after another, and asks the rules about each, because they may come from several users.
    /// Subscribers do not get the tokens.
    pub(super) fn publish_each(
        self,
        waits: bool,
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
                let events = without_token(request.event())?;
                recipient.publish(events, waits).await?;
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

    async fn publish(&self, events: Events, waits: bool) -> Result<(), SystemException> {
        let now = Instant::now();
        match (self, waits) {
            (Self::Topic(topic), waits) if let Some(log) = topic.log() => {
                topic.store(log, events, now, waits).await?;
            }
            (Self::Topic(topic), false) => topic.publish(events, now),
            (Self::Topic(topic), true) => {
                if let Some(wait) = topic.publish_or_wait(events, now) {
                    wait.await;
                }
            }
            (Self::Subscriber(subscriber), _) if subscriber.is_gone() => return Err(gone()),
            (Self::Subscriber(subscriber), _) if subscriber.loses_own(&events) => {}
            (Self::Subscriber(subscriber), false) => subscriber.publish(events, now),
            (Self::Subscriber(subscriber), true) => {
                if let Some(wait) = subscriber.publish_or_wait(events, now) {
                    wait.await;
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
