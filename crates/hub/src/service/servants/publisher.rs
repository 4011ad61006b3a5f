//! Publisher objects: every request is an event, and its reply has no results.
//!
//! As in IceStorm, this holds for the operations of every object too: `ice_ping` is an event. The facet for publishers
//! that wait without a limit ([`WAITING_FACET`](crate::WAITING_FACET)) is an addition of Floe.

use std::future::ready;
use std::sync::Arc;
use std::time::Instant;

use floe::dispatch::{DispatchSlot, Requests};
use floe::forwarding::Events;
use floe::{Current, SystemException};
use floe_access::Action;

use crate::core::{ByLifespan, Timing, without_tokens};
use crate::service::registry::Registry;
use crate::service::subscriber::Subscriber;
use crate::service::topic::{HeldBack, Published, Topic};
use crate::service::user_accounts::UserName;

/// The subscriber or subscribers that a publisher object publishes to.
#[derive(Clone)]
pub(super) enum Recipient {
    /// All subscribers of a topic.
    Topic(Arc<Topic>),
    /// One subscriber.
    Subscriber(Arc<Subscriber>),
}

impl Recipient {
    /// Publishes requests. The reply comes when the events are as safe as the publisher or the topic wants, and no subscriber
    /// holds the publisher back. Until then, the connection is read only as far as the limit of its dispatches allows.
    pub(super) fn publish_all(
        &self,
        waits_for_room: bool,
        registry: &Registry,
        requests: Requests,
        slot: &mut DispatchSlot,
    ) {
        if self.is_gone() {
            return slot.run(ready(Err(gone())));
        }
        let user = self.user(registry, requests.front().current());
        let mut published = Published::default();
        let taken = requests.take_events(|events, now| {
            published.add(self.publish(user.as_ref(), events, waits_for_room, now));
        });
        if published.is_done() {
            return taken.answer(slot);
        }
        published.set_publisher(taken.current());
        taken.answer_or_refuse(slot, published.done());
    }

    /// Publishes one request after another, and asks the rules about each, because they may come from several users.
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
                let events = request.event().into();
                if recipient.is_gone() {
                    return Err(gone());
                }
                let (user, now) = (recipient.user(&registry, request.current()), Instant::now());
                let published = recipient.publish(user.as_ref(), events, waits_for_room, now);
                published.set_publisher(request.current());
                published.done().await?;
                request.returned_nothing()
            }
        });
    }

    /// The name of the topic.
    pub(super) fn topic(&self) -> &str {
        match self {
            Self::Topic(topic) => topic.name(),
            Self::Subscriber(subscriber) => subscriber.topic(),
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self, Self::Subscriber(subscriber) if subscriber.is_gone())
    }

    /// The user that publishes, if the hub knows it and it matters: only a log tells publishers apart.
    fn user(&self, registry: &Registry, current: &Current) -> Option<UserName> {
        match self {
            Self::Topic(topic) if topic.log().is_some() => registry.guard().user(current),
            _ => None,
        }
    }

    fn publish(
        &self,
        user: Option<&UserName>,
        events: Events,
        waits_for_room: bool,
        now: Instant,
    ) -> Published {
        // Whether the hub takes tokens or not: a token that was meant for another hub is as secret.
        let events = without_tokens(events);
        match self {
            Self::Topic(topic) => topic.publish_for(user, events, waits_for_room, now),
            Self::Subscriber(subscriber) if subscriber.loses_own(&events) => Published::default(),
            Self::Subscriber(subscriber) => {
                // The lifespan of the topic applies to its events, and not to these. An event with an invalid lifespan
                // counts as one without, as in a topic.
                let (divided, _) = ByLifespan::new(events.exclusive(), None);
                let held = divided.filter_map(|(events, lifespan)| {
                    subscriber.publish(events, waits_for_room, Timing::new(now, lifespan))
                });
                held.map(HeldBack::Publication).collect::<Vec<_>>().into()
            }
        }
    }
}

/// The runtime fills in the identity of the object.
fn gone() -> SystemException {
    SystemException::ObjectNotExist(Default::default())
}
