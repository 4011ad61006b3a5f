//! `floe sub`: subscribes to topics and shows their events.
//!
//! - `subscribe/delivery.rs`: the way of the events: over a connection of its own, or to an endpoint
//! - `subscribe/callback.rs`: where a hub reaches it that cannot deliver over the connection of a subscriber
//! - `subscribe/subscription.rs`: what it asks of the hub

mod callback;
mod delivery;
mod subscription;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use floe::contracts::ice_storm::TopicProxy;
use floe::{Adapter, Communicator, ConnectionInfo, Identity, Proxy, TypedProxy};
use floe_dynamic::Contract;
use floe_hub::QOS_KEYS;
use floe_hub::contracts::floe::LossListenerDispatcher;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::command::call::parse_entry;
use crate::contract::ContractArguments;
use crate::count;
use crate::event::{self, EventReader, Printed, Printer};
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::input::excerpt;
use crate::output::{self, Output};
use crate::peer::{self, parse_own_endpoint, parse_time};
use crate::reconnect::ReconnectArgument;
use crate::router::{Login, RouterArguments, Session};
use crate::topic_names::{self, is_pattern};
use delivery::Delivery;
use floe::hub::nearest_name as nearest;
use subscription::{DURABLE, FROM, Subscription};

/// Subscribes to topics of a hub or an IceStorm, and shows their events
///
/// Each event is one line: {"operation": "sampled", "parameters": {...}}, and "context" if there is one. With several topics or a
/// pattern, the line begins with its "topic". If an
/// event does not fit the Slice file, its line has "error" instead of "parameters". The command unsubscribes
/// when it ends: after --count events or --timeout with exit code 0, at a signal with 130. Exit code 3: the
/// time was over before --count events came. 6: the hub dropped events for this subscriber.
///
/// If the hub is lost or ends the subscription, the command subscribes again as soon as it can, and says so.
/// Events come over the connection that the command opens, so no port needs to be open; from an IceStorm, or with --listen, the hub connects to
/// the command. A hub with a data directory keeps a subscription with --listen while it restarts. Unless it has done so or the subscription is --durable, events in between are missing, and the exit code is
/// 6. With --no-reconnect the command ends instead: exit code 1 if the hub has ended the subscription, 5 if the hub
/// is gone.
#[derive(Debug, Args)]
#[command(name = "sub")]
pub(crate) struct Subscribe {
    /// The topics, or patterns for the names of those that there are when the command begins: * stands for any characters, ? for one
    #[arg(required = true)]
    topics: Vec<String>,

    #[command(flatten)]
    contract: ContractArguments,

    #[command(flatten)]
    hub: HubArgument,

    /// Ends after this many events
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = count::any::<u64>)]
    count: Option<u64>,

    /// How the hub delivers
    #[arg(long, value_enum, default_value_t = Mode::Twoway)]
    mode: Mode,

    /// Adds an entry to the quality of service, such as retryCount=3 or floe.queueEvents=1000. Can be repeated. The guide
    /// `operating.md` lists the keys
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_entry)]
    qos: Vec<(String, String)>,

    /// Prints a line {"lost": COUNT} before the next event if events were lost. Needs a Floe hub
    #[arg(long)]
    gaps: bool,

    /// Continues the subscription of this name where it ended. No event in between is lost. Needs a durable topic
    ///
    /// An event is acknowledged after it has been printed. The hub keeps the position when this command ends.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    durable: Option<String>,

    /// Where the subscription begins if it has no position yet: beginning, new, last, -10 for the last ten events, seq:42, or
    /// time:2026-01-31T12:00:00Z. Needs a durable topic
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    from: Option<String>,

    /// Shows the sequence and time of each event in its context; needs --durable or --from
    #[arg(long)]
    stamps: bool,

    /// Ends after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    timeout: Option<Duration>,

    /// Creates topics that do not exist
    #[arg(long)]
    create: bool,

    /// Where the hub can reach this subscriber: HOST, HOST:PORT or an endpoint. Port 0 picks a free port
    /// [default: a Floe hub uses the connection of this command, and an IceStorm connects to its local address]
    #[arg(long, value_name = "ENDPOINT", value_parser = parse_own_endpoint, conflicts_with = "router")]
    listen: Option<String>,

    #[command(flatten)]
    reconnect: ReconnectArgument,

    #[command(flatten)]
    router: RouterArguments,
}

/// A subscription that has begun, and what it needs.
struct Begun<'a> {
    session: Option<Session>,
    adapter: Adapter,
    subscriptions: Vec<Subscription<'a>>,
    /// How the printing ends.
    printed: oneshot::Receiver<Printed>,
    printed_count: Arc<AtomicU64>,
}

/// How events are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Several requests at a time, with answers
    Twoway,
    /// One request at a time, with answers
    Ordered,
    /// Requests without answers
    Oneway,
    /// Requests without answers, many in one message
    Batch,
}

impl Subscribe {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let contract = self.contract.require()?;
        warn_if_without_events(&contract);
        let reader = EventReader::new(contract, self.contract.interface());
        let login = self.router.login()?;
        if login.is_some() && self.listen.is_some() {
            // On the command line the two exclude each other. The router may also be the one of the context.
            let message = "expected --listen or a router, got both";
            return Err(Failure::usage(message).help(
                "through a router, events come over the session; `--context NAME` selects a context without a router",
            ));
        }
        self.warn_of_unknown_keys();
        self.check_keys_of_ice_storm()?;
        peer::runtime()?.block_on(async {
            let communicator = peer::communicator_through(login.as_ref(), Some(PATIENCE));
            let result = self.listen(&communicator, login, reader, output).await;
            peer::end(&communicator, &result).await;
            result
        })
    }

    /// A hub ignores what it does not know; a mistyped key would be noticed late.
    fn warn_of_unknown_keys(&self) {
        let unknown = self.qos.iter().map(|(key, _)| key.as_str());
        for key in unknown.filter(|key| !QOS_KEYS.contains(key)) {
            let help = nearest(key, &QOS_KEYS).map(|near| format!(": did you mean `{near}`?"));
            output::talk(format_args!(
                "warning: --qos {key}: Floe and IceStorm know no such key{}",
                help.unwrap_or_default()
            ));
        }
    }

    /// IceStorm's keys are refused by a hub in IceStorm's words, which do not say what was expected, or not at all.
    fn check_keys_of_ice_storm(&self) -> Result<(), Failure> {
        let is_number = |value: &str| value.trim().parse::<i32>().is_ok();
        for (key, value) in &self.qos {
            let expected = match key.as_str() {
                "reliability" if !matches!(value.as_str(), "" | "ordered") => {
                    "ordered, or nothing for any order"
                }
                "retryCount" if !is_number(value) => "a number of failures, or -1 for any number",
                "locatorCacheTimeout" if !is_number(value) => "a number of seconds, or -1 for ever",
                "connectionCached" if !is_number(value) => "0 or 1",
                _ => continue,
            };
            return Err(Failure::usage(format_args!(
                "--qos {key}: expected {expected}, got `{}`",
                excerpt(value)
            )));
        }
        Ok(())
    }

    async fn listen(
        &self,
        communicator: &Communicator,
        login: Option<Login>,
        reader: EventReader,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let mut signals = peer::signals()?;
        let begun = tokio::select! {
            begun = self.begin(communicator, login, reader, output) => begun?,
            _ = signals.next() => return Ok(Exit::Interrupted),
        };
        let Begun {
            session,
            adapter,
            mut subscriptions,
            mut printed,
            printed_count,
        } = begun;
        let ended = tokio::select! {
            ended = self.wait(&mut subscriptions, &mut printed) => match &session {
                // Then the hub cannot be reached either, which may be noticed first.
                Some(session) if ended.is_err() && session.is_lost() => Err(session.lost().await),
                _ => ended,
            },
            failure = lost(session.as_ref()) => Err(failure),
            _ = signals.next() => Ok(Exit::Interrupted),
        };
        let farewell = tokio::time::timeout(FAREWELL_PATIENCE, end_all(&subscriptions)).await;
        if let Some(session) = &session {
            session.end().await;
        }
        for subscription in &subscriptions {
            adapter.remove_all_facets(subscription.identity());
        }
        let gap_count: u64 = subscriptions.iter().map(|one| one.gap_count).sum();
        // What has arrived is still printed, unless nobody reads it.
        if !printed.is_terminated() {
            let _ = tokio::time::timeout(PRINT_PATIENCE, &mut printed).await;
        }
        let exit = ended?;
        match farewell {
            // It has said so.
            Ok(Ok(0)) if gap_count > 0 => Ok(Exit::LossDetected),
            Ok(Ok(0)) if exit == Exit::TimedOut => {
                Err(self.too_few(printed_count.load(Ordering::Acquire)))
            }
            Ok(Ok(0)) => Ok(exit),
            Ok(Ok(lost)) => {
                let events = if lost == 1 { "event" } else { "events" };
                output::talk(format_args!(
                    "the hub lost {lost} {events} for this subscriber"
                ));
                Ok(Exit::LossDetected)
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => {
                let message = "cannot unsubscribe: the hub does not answer";
                Err(Failure::new(Exit::TimedOut, message))
            }
        }
    }

    /// Reaches the hub, and subscribes.
    async fn begin<'a>(
        &'a self,
        communicator: &'a Communicator,
        login: Option<Login>,
        reader: EventReader,
        output: &Output,
    ) -> Result<Begun<'a>, Failure> {
        let session = match login {
            Some(login) => {
                let mut session = login.open(communicator).await?;
                if self.reconnect.is_wanted() {
                    session.survive(communicator).await;
                }
                Some(session)
            }
            None => None,
        };
        let names = topic_names::named(&self.topics, &self.hub, communicator).await?;
        let mut topics = Vec::with_capacity(names.len());
        for name in &names {
            let topic = self.hub.topic_for_events(communicator, name, self.create);
            topics.push(topic.await?);
        }
        // A pattern may stand for one topic today, and for more tomorrow.
        let shows_topics = names.len() > 1 || self.topics.iter().any(|it| is_pattern(it));
        let (adapter, category, delivery) = self
            .receiver(communicator, session.as_ref(), &topics[0])
            .await?;
        let (servant, events) = event::channel(self.durable.is_some());
        let mut subscriptions = Vec::with_capacity(names.len());
        for (name, topic) in names.iter().zip(topics) {
            let servant = match shows_topics {
                true => servant.of_topic(name),
                false => servant.clone(),
            };
            let identity = unique_identity(category.clone());
            if self.gaps {
                let listener = LossListenerDispatcher::new(servant.gaps());
                let added = adapter.add_facet(&identity, LOST_FACET, listener);
                added.map_err(|error| Failure::new(Exit::Failure, error))?;
            }
            let subscriber = adapter.add(&identity, servant);
            let subscriber = subscriber.map_err(|error| Failure::new(Exit::Failure, error))?;
            let subscriber = delivery.subscriber(communicator, subscriber);
            let mut subscription = self.subscription(communicator, name, topic, &subscriber);
            subscription.delivery = delivery.clone();
            subscriptions.push(subscription);
        }
        let first = &subscriptions[0];
        if session.is_none() && matches!(delivery, Delivery::Endpoints) {
            self.warn_if_out_of_reach(&first.topic, &first.subscriber)
                .await?;
        }
        adapter.activate();
        let printer = Printer::new(reader, output.format(), self.count);
        let printed_count = printer.printed();
        let printed = printer.start(events);
        begin_all(&mut subscriptions).await?;
        self.tell_subscribed(&names, &subscriptions[0].subscriber);
        Ok(Begun {
            session,
            adapter,
            subscriptions,
            printed,
            printed_count,
        })
    }

    /// The adapter of the servants, the category of their identities, and the way of their events.
    async fn receiver(
        &self,
        communicator: &Communicator,
        session: Option<&Session>,
        topic: &TopicProxy,
    ) -> Result<(Adapter, String, Delivery), Failure> {
        if let Some(session) = session {
            let (adapter, category) = session.adapter(communicator).await?;
            return Ok((adapter, category, Delivery::Endpoints));
        }
        let category = OWN_CATEGORY.to_owned();
        if self.listen.is_none() {
            let calls_back = delivery::calls_back(topic).await;
            if calls_back.map_err(|error| self.hub.unanswered(error.into()))? {
                let adapter = communicator.adapter_without_endpoints().await;
                let adapter = adapter.map_err(|error| Failure::new(Exit::Failure, error))?;
                let id = unique_identity(String::new()).name;
                let delivery = Delivery::OwnConnection {
                    adapter: adapter.clone(),
                    id,
                };
                return Ok((adapter, category, delivery));
            }
        }
        let adapter = self.adapter(communicator, topic).await?;
        Ok((adapter, category, Delivery::Endpoints))
    }

    /// An adapter that listens where the hub reaches this subscriber.
    async fn adapter(
        &self,
        communicator: &Communicator,
        topic: &TopicProxy,
    ) -> Result<Adapter, Failure> {
        let endpoint = self.endpoint(topic).await?;
        let adapter = communicator.adapter(&endpoint).await;
        adapter.map_err(|error| peer::not_listening(&error).when("--listen"))
    }

    /// Where the hub reaches this subscriber.
    async fn endpoint(&self, topic: &TopicProxy) -> Result<String, Failure> {
        if let Some(endpoint) = &self.listen {
            return Ok(endpoint.clone());
        }
        callback::endpoint_for(&self.connection_to(topic).await?)
    }

    /// The connection to the hub.
    async fn connection_to(&self, topic: &TopicProxy) -> Result<ConnectionInfo, Failure> {
        let connection = topic.ice_connection().await;
        let connection = connection.map_err(|error| self.hub.unanswered(error.into()))?;
        let info = connection.map(|connection| connection.info());
        Ok(info.unwrap_or_default())
    }

    async fn warn_if_out_of_reach(
        &self,
        topic: &TopicProxy,
        subscriber: &Proxy,
    ) -> Result<(), Failure> {
        let info = self.connection_to(topic).await?;
        if let Some(warning) = callback::out_of_reach(subscriber, &info) {
            output::talk(format_args!("warning: {warning}"));
        }
        Ok(())
    }

    fn subscription<'a>(
        &'a self,
        communicator: &'a Communicator,
        name: &str,
        topic: TopicProxy,
        subscriber: &Proxy,
    ) -> Subscription<'a> {
        let mut qos: BTreeMap<String, String> = self.qos.iter().cloned().collect();
        let reading = [(DURABLE, &self.durable), (FROM, &self.from)];
        for (key, value) in reading {
            if let Some(value) = value {
                qos.insert(key.to_owned(), value.clone());
            }
        }
        if self.stamps {
            qos.insert("floe.stamps".to_owned(), "yes".to_owned());
        }
        if self.gaps {
            qos.insert("floe.lostFacet".to_owned(), LOST_FACET.to_owned());
        }
        let subscriber = match self.mode {
            Mode::Twoway => subscriber.ice_twoway(),
            Mode::Ordered => {
                qos.insert("reliability".to_owned(), "ordered".to_owned());
                subscriber.ice_twoway()
            }
            Mode::Oneway => subscriber.ice_oneway(),
            Mode::Batch => subscriber.ice_batch_oneway(),
        };
        Subscription {
            communicator,
            hub: &self.hub,
            topic_name: name.to_owned(),
            creates: self.create,
            subscriber,
            qos,
            delivery: Delivery::Endpoints,
            connection: None,
            topic,
            gap_count: 0,
        }
    }

    fn tell_subscribed(&self, topics: &[String], subscriber: &Proxy) {
        let topics = topic_names::shown(topics);
        output::talk(match callback::beyond_loopback(subscriber) {
            Some(endpoints) => {
                format!("subscribed to {topics}; the hub delivers to {endpoints}")
            }
            None => format!("subscribed to {topics}"),
        });
    }

    /// The time was over before all events came that were wanted.
    fn too_few(&self, printed: u64) -> Failure {
        let (time, count) = (
            self.timeout.unwrap_or_default(),
            self.count.unwrap_or_default(),
        );
        Failure::new(
            Exit::TimedOut,
            match printed {
                0 => format!("no event within {time:?} (0 of {count})"),
                1 => format!("1 event within {time:?}, expected {count}"),
                _ => format!("{printed} events within {time:?}, expected {count}"),
            },
        )
    }

    /// Waits for the end: enough events, a time, or a hub that is gone for good.
    async fn wait(
        &self,
        subscriptions: &mut [Subscription<'_>],
        printed: &mut oneshot::Receiver<Printed>,
    ) -> Result<Exit, Failure> {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let reconnects = self.reconnect.is_wanted();
        let kept = subscriptions.iter_mut().map(|one| one.keep(reconnects));
        tokio::select! {
            printed = printed => printed.unwrap_or(Ok(())).map(|()| Exit::Success),
            () = sleep_until(deadline) => Ok(match self.count {
                Some(_) => Exit::TimedOut,
                None => Exit::Success,
            }),
            failure = first_to_end(kept) => Err(failure),
        }
    }
}

/// Says so if no operation of the contract can be an event: then every event that comes is one of another contract.
fn warn_if_without_events(contract: &Contract) {
    let model = contract.model();
    let interfaces = contract.interface_names();
    let mut known = interfaces.iter().filter_map(|name| model.find(name));
    let has_events = known.any(|interface| {
        let operations = model.all_operations(interface);
        operations
            .iter()
            .any(|(_, operation)| !operation.returns_data())
    });
    if !has_events {
        output::talk(
            "warning: no operation of the Slice files can be an event: events return void, have no out parameters and throw nothing",
        );
    }
}

/// Begins all, or none.
async fn begin_all(subscriptions: &mut [Subscription<'_>]) -> Result<(), Failure> {
    for at in 0..subscriptions.len() {
        if let Err(failure) = subscriptions[at].begin().await {
            // The failure says more than one of those that have begun.
            let _ = tokio::time::timeout(FAREWELL_PATIENCE, end_all(&subscriptions[..at])).await;
            return Err(failure);
        }
    }
    Ok(())
}

/// Ends all; how many events the hub lost for them.
async fn end_all(subscriptions: &[Subscription<'_>]) -> Result<i64, Failure> {
    let mut lost = 0_i64;
    for subscription in subscriptions {
        lost = lost.saturating_add(subscription.end().await?);
    }
    Ok(lost)
}

/// Waits for the first of these that ends.
async fn first_to_end<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> T {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        let mut polled = futures.iter_mut().map(|one| one.as_mut().poll(context));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    })
    .await
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits until the session with a router is lost, and says so.
async fn lost(session: Option<&Session>) -> Failure {
    match session {
        Some(session) => session.lost().await,
        None => std::future::pending().await,
    }
}

/// An identity that no other subscriber has.
fn unique_identity(category: String) -> Identity {
    let random = || RandomState::new().hash_one(std::process::id());
    Identity::with_category(format!("{:016x}{:016x}", random(), random()), category)
}

/// The category of subscribers that a hub reaches without a router.
const OWN_CATEGORY: &str = "floe-sub";

/// The facet at which a subscriber is told of events that it lost.
const LOST_FACET: &str = "lost";

/// How long the hub may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the hub may take to let go.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(3);

/// How long a reader may take for the last events.
const PRINT_PATIENCE: Duration = Duration::from_secs(1);
