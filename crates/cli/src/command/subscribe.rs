//! `floe sub`: subscribes to a topic and shows its events.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Args, ValueEnum};
use floe::contracts::ice_storm::{AlreadySubscribedOrBadQoSOrInvalidSubscriberError, TopicProxy};
use floe::{Communicator, Identity, Proxy, TypedProxy};
use floe_hub::contracts::floe::LossListenerDispatcher;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::command::call::parse_entry;
use crate::contract::ContractArguments;
use crate::count;
use crate::event::{self, EventReader, Printed, Printer};
use crate::exit::{Exit, Failure};
use crate::hub::{self, HubArgument};
use crate::output::{self, Output};
use crate::peer::{self, parse_time};

/// Subscribes to a topic of a hub or an IceStorm, and shows its events
///
/// Each event is one line: {"operation": "sampled", "parameters": {...}}, with "context" if it has
/// one, and with "error" in place of "parameters" if it does not fit the Slice file. It ends after
/// --count events or --timeout with 0, or at a signal with 130, and unsubscribes; exit code 3 if
/// the time was over before --count events came, 6 if the hub dropped events for this subscriber. It
/// looks every five seconds whether it is still subscribed: exit code 1 if the hub has ended the
/// subscription, 5 if there is no hub any more.
#[derive(Debug, Args)]
#[command(name = "sub")]
pub(crate) struct Subscribe {
    /// The topic
    topic: String,

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

    /// Adds an entry to the quality of service; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_entry)]
    qos: Vec<(String, String)>,

    /// Shows where events were lost, at a Floe hub: a line {"lost": COUNT} in front of the next event
    #[arg(long)]
    gaps: bool,

    /// Ends after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    timeout: Option<Duration>,

    /// Creates the topic if it does not exist
    #[arg(long)]
    create: bool,

    /// Where the hub reaches this subscriber; port 0 picks a free one
    #[arg(long, value_name = "ENDPOINT", default_value = "tcp -h 127.0.0.1 -p 0")]
    listen: String,
}

/// How events are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Several requests at a time, each answered
    Twoway,
    /// One request at a time, each answered
    Ordered,
    /// Requests that nobody answers
    Oneway,
    /// Requests that nobody answers, several in one message
    Batch,
}

impl Subscribe {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let contract = self.contract.require()?;
        let reader = EventReader::new(contract, self.contract.interface());
        peer::runtime()?.block_on(async {
            let communicator = peer::communicator(Some(PATIENCE));
            let result = self.listen(&communicator, reader, output).await;
            peer::end(&communicator, &result).await;
            result
        })
    }

    async fn listen(
        &self,
        communicator: &Communicator,
        reader: EventReader,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let mut signals = peer::signals()?;
        let topic = match self.create {
            true => self.hub.topic_or_create(communicator, &self.topic).await?,
            false => self.hub.topic(communicator, &self.topic).await?,
        };
        let adapter = communicator.adapter(&self.listen).await;
        let adapter = adapter.map_err(|error| peer::not_listening(&error).when("--listen"))?;
        let (servant, events) = event::channel();
        let identity = unique_identity();
        if self.gaps {
            let listener = LossListenerDispatcher::new(servant.gaps());
            let added = adapter.add_facet(&identity, LOST_FACET, listener);
            added.map_err(|error| Failure::new(Exit::Failure, error))?;
        }
        let subscriber = adapter.add(&identity, servant);
        let subscriber = subscriber.map_err(|error| Failure::new(Exit::Failure, error))?;
        adapter.activate();
        let printer = Printer::new(reader, output.format(), self.count);
        let printed_count = printer.printed();
        let mut printed = printer.start(events);
        self.subscribe(&topic, &subscriber).await?;
        output::talk(format_args!("subscribed to topic `{}`", self.topic));
        let ended = tokio::select! {
            ended = self.wait(&topic, &identity, &mut printed) => ended,
            _ = signals.next() => Ok(Exit::Interrupted),
        };
        let farewell = async {
            let lost = self.lost(communicator, &identity).await;
            topic.unsubscribe(Some(&subscriber)).await.map(|()| lost)
        };
        let farewell = tokio::time::timeout(FAREWELL_PATIENCE, farewell).await;
        adapter.remove(&identity, "");
        adapter.remove(&identity, LOST_FACET);
        // What has arrived is still printed, unless nobody reads it.
        if !printed.is_terminated() {
            let _ = tokio::time::timeout(PRINT_PATIENCE, &mut printed).await;
        }
        let exit = ended?;
        match farewell {
            Ok(Ok(0)) if exit == Exit::TimedOut => {
                Err(self.too_few(printed_count.load(Ordering::Acquire)))
            }
            Ok(Ok(0)) => Ok(exit),
            Ok(Ok(lost)) => {
                output::talk(format_args!(
                    "the hub lost {lost} events for this subscriber"
                ));
                Ok(Exit::LossDetected)
            }
            Ok(Err(error)) => Err(self.hub.unanswered(error.into()).when("cannot unsubscribe")),
            Err(_) => {
                let message = "cannot unsubscribe: the hub does not answer";
                Err(Failure::new(Exit::TimedOut, message))
            }
        }
    }

    async fn subscribe(&self, topic: &TopicProxy, subscriber: &Proxy) -> Result<(), Failure> {
        let mut qos: BTreeMap<String, String> = self.qos.iter().cloned().collect();
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
        let result = topic
            .subscribe_and_get_publisher(&qos, Some(&subscriber))
            .await;
        match result {
            Ok(_) => Ok(()),
            Err(AlreadySubscribedOrBadQoSOrInvalidSubscriberError::Invoke(error)) => {
                Err(self.hub.unanswered(error.into()))
            }
            Err(error) => Err(Failure::new(
                Exit::Refused,
                format_args!("the hub declined the subscription: {error}"),
            )),
        }
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

    /// How many events the hub lost for this subscriber; 0 also where it cannot tell.
    async fn lost(&self, communicator: &Communicator, identity: &Identity) -> i64 {
        let info = self.hub.topic_info(communicator, &self.topic).await;
        let info = info.ok().flatten();
        let own = info
            .iter()
            .flat_map(|info| &info.subscribers)
            .find(|subscriber| {
                let subscriber = subscriber.subscriber.as_ref();
                subscriber.is_some_and(|subscriber| &subscriber.reference().identity == identity)
            });
        own.map_or(0, |own| hub::lost(&own.lost))
    }

    /// Waits for the end: enough events, a time, or a hub that is gone.
    async fn wait(
        &self,
        topic: &TopicProxy,
        identity: &Identity,
        printed: &mut oneshot::Receiver<Printed>,
    ) -> Result<Exit, Failure> {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        tokio::select! {
            printed = printed => printed.unwrap_or(Ok(())).map(|()| Exit::Success),
            () = sleep_until(deadline) => Ok(match self.count {
                Some(_) => Exit::TimedOut,
                None => Exit::Success,
            }),
            failure = watch(topic, identity) => Err(failure),
        }
    }
}

/// Asks the hub now and then whether the subscription still stands.
async fn watch(topic: &TopicProxy, identity: &Identity) -> Failure {
    loop {
        tokio::time::sleep(WATCH_INTERVAL).await;
        match topic.get_subscribers().await {
            Ok(subscribers) if subscribers.contains(identity) => {}
            Ok(_) => {
                let message = "the hub has ended this subscription";
                return Failure::new(Exit::Failure, message)
                    .help("it could not deliver, or somebody unsubscribed; the hub's log tells");
            }
            Err(error) => return Failure::from(error).when("lost the hub or the topic"),
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// An identity that no other subscriber has.
fn unique_identity() -> Identity {
    let random = || RandomState::new().hash_one(std::process::id());
    Identity::with_category(format!("{:016x}{:016x}", random(), random()), "floe-sub")
}

/// The facet at which a subscriber is told of events that it lost.
const LOST_FACET: &str = "lost";

/// How long the hub may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the hub may take to let go.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(3);

/// How long a reader may take for the last events.
const PRINT_PATIENCE: Duration = Duration::from_secs(1);

/// How often the hub is asked whether the subscription still stands.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);
