//! Publisher objects: every request is an event, and its reply has no results.
//!
//! As in IceStorm, this holds for the operations of every object too: `ice_ping` is an event. The facet for publishers
//! that wait without a limit ([`WAITING_FACET`](crate::WAITING_FACET)) is an addition of Floe.

use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use floe::dispatch::{DispatchSlot, Requests, TakenEvents};
use floe::forwarding::Events;
use floe::{Current, SystemException};
use floe_access::Action;

use crate::core::{ByLifespan, Timing, without_token};
use crate::service::directory::Object;
use crate::service::durable::TopicLog;
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::{Held, Topic, all_released};

/// Publishes to all subscribers of a topic. While one of them holds the publisher back, there is no reply, and the
/// connection is read only as far as the limit of its dispatches allows.
pub(super) fn publish(
    requests: Requests,
    slot: &mut DispatchSlot,
    topic: &Arc<Topic>,
    waits_for_room: bool,
) {
    if let Some(log) = topic.log() {
        return store(requests, slot, topic, log, waits_for_room);
    }
    let mut held = Vec::new();
    let taken = requests
        .take_events(|events, now| held.append(&mut topic.publish(events, waits_for_room, now)));
    answer(taken, slot, held);
}

/// Publishes to a durable topic. The reply comes when the events are as safe as the publisher or the topic wants, and no
/// subscriber holds the publisher back.
fn store(
    requests: Requests,
    slot: &mut DispatchSlot,
    topic: &Arc<Topic>,
    log: &TopicLog,
    waits_for_room: bool,
) {
    let mut held = Vec::new();
    let mut storing = Vec::new();
    let taken = requests.take_events(|events, now| {
        let published = topic.store(log, events, waits_for_room, now);
        held.extend(published.held);
        storing.extend(published.stored);
    });
    name_publisher(&held, taken.current());
    taken.answer_or_refuse(slot, async move {
        let mut stored = Ok(());
        for storing in storing {
            stored = stored.and(storing.await);
        }
        all_released(held).await;
        stored
    });
}

/// Publishes to one subscriber, in the same way.
pub(super) fn publish_to_one(
    requests: Requests,
    slot: &mut DispatchSlot,
    subscriber: &Arc<Subscriber>,
    waits_for_room: bool,
) {
    if subscriber.is_gone() {
        return slot.run(ready(Err(gone())));
    }
    let mut held = Vec::new();
    let taken = requests.take_events(|events, now| {
        if !subscriber.loses_own(&events) {
            held.append(&mut publish_own(subscriber, events, waits_for_room, now));
        }
    });
    answer(taken, slot, held);
}

/// Queues events for one subscriber. The lifespan of its topic is for the events of the topic, and not for these.
fn publish_own(
    subscriber: &Arc<Subscriber>,
    events: Events,
    waits_for_room: bool,
    now: Instant,
) -> Vec<Held> {
    // An event with a wrong lifespan counts as one without, as in a topic.
    let (divided, _) = ByLifespan::new(events, None);
    let publish =
        |(events, lifespan)| subscriber.publish(events, waits_for_room, Timing::new(now, lifespan));
    divided.filter_map(publish).map(Held::Publication).collect()
}

/// Replies when no subscriber holds the publisher back.
fn answer(taken: TakenEvents, slot: &mut DispatchSlot, held: Vec<Held>) {
    if held.is_empty() {
        return taken.answer(slot);
    }
    name_publisher(&held, taken.current());
    taken.answer_after(slot, all_released(held));
}

/// Notes who is held back.
pub(super) fn name_publisher(held: &[Held], current: &Current) {
    if !held.is_empty() {
        let publisher = current.peer().into();
        held.iter().for_each(|held| held.set_publisher(&publisher));
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
        waits_for_room: bool,
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
                let published = recipient.publish(events, waits_for_room, request.current());
                published.await?;
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

    async fn publish(
        &self,
        events: Events,
        waits_for_room: bool,
        current: &Current,
    ) -> Result<(), SystemException> {
        let now = Instant::now();
        let mut stored = None;
        let held = match self {
            Self::Topic(topic) => match topic.log() {
                Some(log) => {
                    let published = topic.store(log, events, waits_for_room, now);
                    stored = published.stored;
                    published.held
                }
                None => topic.publish(events, waits_for_room, now),
            },
            Self::Subscriber(subscriber) if subscriber.is_gone() => return Err(gone()),
            Self::Subscriber(subscriber) if subscriber.loses_own(&events) => Vec::new(),
            Self::Subscriber(subscriber) => publish_own(subscriber, events, waits_for_room, now),
        };
        name_publisher(&held, current);
        if let Some(stored) = stored {
            stored.await?;
        }
        all_released(held).await;
        Ok(())
    }
}

/// The runtime fills in the identity of the object.
fn gone() -> SystemException {
    SystemException::ObjectNotExist(Default::default())
}
