//! Subscriptions begin and end.

use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use floe::reference::Target;
use floe::{Communicator, Identity, Proxy, Reference};
use floe_access::Caller;

use super::new_reader::NewReader;
use super::new_topic::NewTopic;
use super::{Changes, Registry, name_taken};
use crate::core::{Qos, subscriber_publisher_name};
use crate::error::ChangeError;
use crate::service::client::Client;
use crate::service::directory::Object;
use crate::service::durable::Reader;
use crate::service::one_line::OneLine;
use crate::service::subscriber::Subscriber;
use crate::service::topic::Topic;
use crate::service::user_accounts::{Counted, UserName};
use crate::store::{Change, StoredCaller, StoredSubscription};

impl Registry {
    /// Subscribes an object. `chooser` has chosen the topic for dead letters, if there is one.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        proxy: &Proxy,
        qos_text: BTreeMap<String, String>,
        qos: Qos,
        client: Client,
        chooser: Option<Arc<Caller>>,
    ) -> Result<(), ChangeError> {
        let user = client.user();
        let mut changes = self.begin_change_of(topic)?;
        let identity = &proxy.reference().identity;
        // Check everything before the first change.
        let leaving = former_readers(topic, Some(identity), &qos)?;
        let former = topic.find(identity);
        let stays = |former: &Arc<Subscriber>| {
            let is_leaving = leaving.iter().any(|it| Arc::ptr_eq(it, former));
            !former.is_gone() && !is_leaving
        };
        if former.as_ref().is_some_and(stays) {
            return Err(ChangeError::AlreadySubscribed);
        }
        self.check_subscriber_name(topic.name(), identity, former.as_ref())?;
        let usage = self.usage().without_subscriptions(leaving.len());
        usage.check_subscriptions(&self.live_settings().limits)?;
        let own = leaving.iter().filter(|it| it.user() == user);
        let (counted, own) = (Counted::Subscriptions, own.count());
        self.users().check(counted, user, own)?;
        let dead_letters = self.new_dead_letters(topic, &qos, user.cloned())?;
        let reading = qos.reading.as_ref();
        let has_chosen = reading.is_some_and(|it| it.chosen_dead_letters().is_some());
        let chooser = chooser.filter(|_| has_chosen);
        let reader = self.new_reader(topic, &qos, user, chooser.clone())?;
        let subscription = StoredSubscription {
            subscriber: proxy.reference().clone(),
            qos: qos_text,
            user: user.map(|user| user.to_string()),
            chooser: chooser.map(StoredCaller),
        };
        // A subscription over the subscriber's own connection ends with that, so the store does not keep it.
        let subscribe = (!proxy.is_fixed()).then_some(Change::Subscribe {
            topic: topic.name(),
            subscription: &subscription,
        });
        let create = dead_letters.as_ref().map(NewTopic::change);
        let new: Vec<_> = create.into_iter().chain(subscribe).collect();
        let is_other = |it: &Arc<Subscriber>| !leaving.iter().any(|known| Arc::ptr_eq(known, it));
        let former = former.filter(is_other);
        let former: Vec<_> = leaving.into_iter().chain(former).collect();
        self.replace(&mut changes, topic, &former, &new)?;
        drop(dead_letters.map(NewTopic::add));
        let reader = reader.map(NewReader::put_in_force);
        let (shown, name) = (OneLine(proxy), topic.name());
        match proxy.is_fixed() {
            true => {
                tracing::info!("subscribed \"{shown}\" to topic {name:?}, over its own connection")
            }
            // A subscriber in this process needs no endpoint.
            false if proxy.is_collocated() => {
                tracing::info!("subscribed \"{shown}\" to topic {name:?}, in this process")
            }
            false => {
                tracing::info!("subscribed \"{shown}\" to topic {name:?}");
                if let Err(error) = proxy.check_endpoints() {
                    tracing::warn!("the first event will fail: {}", OneLine(error));
                }
            }
        }
        self.add_subscriber(topic, proxy, subscription, qos, reader, client);
        Ok(())
    }

    /// Begins a subscription that is pulled from a queue, or continues the one with this name.
    pub(crate) fn open_queue_pull(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        name: &str,
        qos_text: BTreeMap<String, String>,
        qos: Qos,
        user: Option<UserName>,
    ) -> Result<(), ChangeError> {
        let mut changes = self.begin_change_of(topic)?;
        let identity = pull_identity(name);
        let former = topic.find(&identity);
        match former.as_ref().filter(|former| !former.is_gone()) {
            Some(former) if former.pulls().is_some() => return Ok(()),
            Some(_) => return Err(ChangeError::AlreadySubscribed),
            None => {}
        }
        self.check_subscriber_name(topic.name(), &identity, former.as_ref())?;
        let usage = self.usage();
        usage.check_subscriptions(&self.live_settings().limits)?;
        self.users()
            .check(Counted::Subscriptions, user.as_ref(), 0)?;
        let Some(adapters) = self.adapters() else {
            return Err(ChangeError::TopicGone);
        };
        self.remove(&mut changes, topic, former.as_slice())?;
        let reference = Reference::new(identity, Target::WellKnown);
        let proxy = adapters.main.communicator().proxy_from(reference);
        let shown = OneLine(&proxy);
        tracing::info!(
            "subscribed \"{shown}\" to topic {:?}, to be pulled",
            topic.name()
        );
        let subscription = StoredSubscription {
            subscriber: proxy.reference().clone(),
            qos: qos_text,
            user: user.as_deref().map(str::to_owned),
            chooser: None,
        };
        let client = Client::of_user(user);
        self.add_subscriber(topic, &proxy, subscription, qos, None, client);
        Ok(())
    }

    /// Ends the subscriptions of those of the objects that are subscribed.
    pub(crate) fn unsubscribe(
        &self,
        topic: &Topic,
        identities: &[Identity],
    ) -> Result<(), ChangeError> {
        let mut changes = self.begin_change_of(topic)?;
        let found = |identity| topic.find(identity);
        let subscribers: Vec<_> = identities.iter().filter_map(found).collect();
        self.remove(&mut changes, topic, &subscribers)
    }

    /// Removes a subscriber whose delivery has ended, because it failed for good or was removed.
    pub(super) fn remove_gone(&self, topic: Arc<Topic>, subscriber: Arc<Subscriber>) {
        let mut changes = self.begin_change();
        changes.unremoved.push((topic, subscriber));
        self.remove_ended(&mut changes);
    }

    /// Removes subscribers whose deliveries have ended, until the store fails.
    pub(super) fn remove_ended(&self, changes: &mut Changes) {
        while let Some((topic, subscriber)) = changes.unremoved.pop() {
            let removed = self.remove(changes, &topic, slice::from_ref(&subscriber));
            if removed.is_err() {
                return changes.unremoved.push((topic, subscriber));
            }
            topic.settle(&subscriber);
        }
    }

    /// Removes those of the subscribers and links that have not been removed yet.
    pub(super) fn remove(
        &self,
        changes: &mut Changes,
        topic: &Topic,
        recipients: &[Arc<Subscriber>],
    ) -> Result<(), ChangeError> {
        self.replace(changes, topic, recipients, &[])
    }

    /// Removes those of the subscribers and links that have not been removed yet, and commits their replacements. If
    /// the store fails, nothing changes.
    pub(super) fn replace(
        &self,
        changes: &mut Changes,
        topic: &Topic,
        recipients: &[Arc<Subscriber>],
        new: &[Change<'_>],
    ) -> Result<(), ChangeError> {
        let is_present = |recipient: &&Arc<Subscriber>| topic.has(recipient);
        let present: Vec<_> = recipients.iter().filter(is_present).collect();
        let stored = present.iter().filter(|s| s.is_stored());
        let identities: Vec<_> = stored.map(|s| s.identity().clone()).collect();
        // A link and a subscription have separate records: the new record would not overwrite the old one.
        let unsubscribe = (!identities.is_empty()).then_some(Change::Unsubscribe {
            topic: topic.name(),
            subscribers: &identities,
        });
        let all: Vec<_> = unsubscribe.into_iter().chain(new.iter().copied()).collect();
        if !all.is_empty() {
            self.apply(changes, &all)?;
        }
        for recipient in present {
            tracing::info!("removed {}", recipient.log_name());
            self.take_out(topic, recipient);
        }
        Ok(())
    }

    /// Takes a subscriber or link out of its topic and out of the directory. Its delivery task then ends.
    pub(super) fn take_out(&self, topic: &Topic, recipient: &Arc<Subscriber>) {
        self.directory.remove_publisher(topic, recipient);
        if topic.remove(recipient) {
            let count = self.counts.of(recipient);
            count.fetch_sub(1, Ordering::Relaxed);
            self.users()
                .remove(Counted::Subscriptions, recipient.user());
        }
    }

    /// Adds a subscription from the store.
    pub(super) fn restore(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        subscription: StoredSubscription,
        communicator: &Communicator,
    ) {
        let subscriber = &subscription.subscriber;
        let parsed =
            Qos::parse(&subscription.qos, subscriber.mode).map_err(|reason| reason.to_string());
        let parsed = parsed.and_then(|mut parsed| {
            if let Some(reading) = &mut parsed.reading {
                reading.go_on_after_restart();
            }
            let user = subscription.user.as_deref().map(UserName::from);
            let chooser = subscription.chooser.as_ref().map(|it| it.0.clone());
            let reader = self.new_reader(topic, &parsed, user.as_ref(), chooser);
            let reader = reader.map_err(|error| error.to_string())?;
            Ok((parsed, reader.map(NewReader::put_in_force)))
        });
        match parsed {
            Ok((parsed, reader)) => {
                let proxy = communicator.proxy_from(subscriber.clone());
                let client = Client::of_user(subscription.user.as_deref().map(UserName::from));
                self.add_subscriber(topic, &proxy, subscription, parsed, reader, client);
            }
            Err(reason) => tracing::error!(
                "ignored the stored subscription of \"{}\" to topic {:?}: {}",
                OneLine(&subscriber.identity),
                topic.name(),
                OneLine(reason)
            ),
        }
    }

    fn add_subscriber(
        self: &Arc<Self>,
        topic: &Arc<Topic>,
        proxy: &Proxy,
        subscription: StoredSubscription,
        qos: Qos,
        reader: Option<Arc<Reader>>,
        client: Client,
    ) {
        let (name, settings) = (topic.shared_name(), self.queue_settings());
        let ready = self.deliveries.ready();
        let subscriber = Subscriber::new(name, proxy, subscription.qos, qos, &settings, ready);
        let subscriber = subscriber.with_client(client);
        let subscriber = Arc::new(subscriber.with_reader(reader));
        self.directory.add_publisher(topic, &subscriber);
        self.add_recipient(topic, subscriber);
    }

    /// `former` is the subscriber that the new one replaces.
    fn check_subscriber_name(
        &self,
        topic: &str,
        identity: &Identity,
        former: Option<&Arc<Subscriber>>,
    ) -> Result<(), ChangeError> {
        self.check_len("topic name and subscriber identity", topic, identity)?;
        let name = subscriber_publisher_name(topic, identity);
        match self.directory.find(&name) {
            None => Ok(()),
            Some(Object::SubscriberPublisher(found))
                if former.is_some_and(|former| Arc::ptr_eq(former, &found)) =>
            {
                Ok(())
            }
            Some(_) => Err(name_taken(&name)),
        }
    }
}

/// How long a subscriber may take to answer that has a durable subscription and no connection, before another one takes its
/// place. One that runs answers within milliseconds, and who subscribes waits meanwhile.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// Connects to the subscribers whose place a new subscriber of a durable subscription would take, or a program that pulls it and
/// has no `identity`, unless they are known to be away. Those that answer keep their place.
pub(crate) async fn look_for_former(topic: &Topic, identity: Option<&Identity>, qos: &Qos) {
    let reading = qos.reading.as_ref();
    let Some((reading, name)) = reading.and_then(|it| Some((it, it.name.as_ref()?))) else {
        return;
    };
    let mut former = topic.find_reader(name);
    former.retain(|known| {
        let is_other = Some(known.identity()) != identity;
        let shares = reading.is_shared && !is_alone(known);
        let proxy = known.proxy();
        is_other && !shares && !known.is_absent() && !proxy.is_connected() && !proxy.is_fixed()
    });
    let look = async {
        for known in &former {
            if known.connect().await.is_ok() {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(LOOK_MAX, look).await;
}

/// The identity among the subscribers of a topic of a subscription that is pulled from a queue.
pub(crate) fn pull_identity(name: &str) -> Identity {
    Identity::with_category(name, "floe.pull")
}

/// The subscribers that a new subscriber of a durable subscription replaces, or a program that pulls it and has no
/// `identity`. It replaces the same object, and a subscriber that is not connected, because that one has probably
/// ended. Subscribers that share the subscription with it stay.
pub(super) fn former_readers(
    topic: &Topic,
    identity: Option<&Identity>,
    qos: &Qos,
) -> Result<Vec<Arc<Subscriber>>, ChangeError> {
    let reading = qos.reading.as_ref();
    let Some((reading, name)) = reading.and_then(|it| Some((it, it.name.as_ref()?))) else {
        return Ok(Vec::new());
    };
    let is_other = |known: &Subscriber| Some(known.identity()) != identity;
    let shares = |known: &Subscriber| reading.is_shared && !is_alone(known) && is_other(known);
    let has_other_key = |known: &Subscriber| {
        let known = known.qos().reading.as_ref();
        known.and_then(|it| it.sticky.as_ref()) != reading.sticky.as_ref()
    };
    let mut leaving = topic.find_reader(name);
    if leaving.iter().any(|it| shares(it) && has_other_key(it)) {
        return Err(ChangeError::KeyDiffers(name.clone()));
    }
    leaving.retain(|known| !shares(known));
    let is_in_use = |former: &Arc<Subscriber>| is_other(former) && former.proxy().is_connected();
    match leaving.iter().any(is_in_use) {
        true => Err(ChangeError::DurableInUse(name.clone())),
        false => Ok(leaving),
    }
}

/// Refuses a pull from a durable subscription that a connected subscriber has for itself alone.
pub(crate) fn check_may_pull(topic: &Topic, name: &str) -> Result<(), ChangeError> {
    let is_in_use = |it: &Arc<Subscriber>| is_alone(it) && it.proxy().is_connected();
    match topic.find_reader(name).iter().any(is_in_use) {
        true => Err(ChangeError::DurableInUse(name.to_owned())),
        false => Ok(()),
    }
}

/// Returns true if a subscriber of a durable subscription does not share it.
fn is_alone(subscriber: &Subscriber) -> bool {
    let reading = subscriber.qos().reading.as_ref();
    reading.is_some_and(|reading| !reading.is_shared)
}
