//! `floe dlq`: the dead letters of a durable topic: events that a subscription could not deliver.

use clap::{Args, Subcommand};
use floe::contracts::ice_storm::QoS;
use floe::{Communicator, TypedProxy};
use floe_dynamic::to_hex;
use floe_hub::contracts::floe::{
    BadRequestOrIceStormNoSuchTopicOrNotDurableError as OpenError, DurableTopicsProxy,
    IceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as PullError, LogContents,
    LoggedEvent, SubscriptionPosition,
};
use floe_server::dead_letters::{REPLAYED, publish_again};
use serde_json::{Value as Json, json};

use super::topic::{invoke_failed, log_failed};
use crate::contract::ContractArguments;
use crate::event::EventReader;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{self, Format, Output};
use crate::peer::{self, TimeoutArgument};

/// Lists, publishes again and deletes dead letters: events that a durable subscription could not deliver
///
/// Exit code 4: the topic has no dead letters, or does not exist.
#[derive(Debug, Subcommand)]
pub(crate) enum Dlq {
    List(List),
    Replay(Replay),
    Purge(Purge),
}

impl Dlq {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let timeout = self.letters().timeout;
        peer::run(timeout, async |communicator| {
            match self {
                Self::List(list) => list.run(&communicator, output).await,
                Self::Replay(replay) => replay.run(&communicator).await,
                Self::Purge(purge) => purge.run(&communicator).await,
            }
            .map(|()| Exit::Success)
        })
    }

    fn letters(&self) -> &Letters {
        match self {
            Self::List(List { letters, .. })
            | Self::Replay(Replay { letters })
            | Self::Purge(Purge { letters }) => letters,
        }
    }
}

/// Which dead letters.
#[derive(Debug, Args)]
struct Letters {
    /// The topic of the events
    topic: String,

    /// The topic of the dead letters [default: TOPIC.dead]
    #[arg(long, value_name = "TOPIC")]
    dead: Option<String>,

    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

impl Letters {
    fn dead(&self) -> String {
        let named = self.dead.clone();
        named.unwrap_or_else(|| format!("{}.dead", self.topic))
    }
}

/// Lists dead letters, with their origin, the reason and their parameters
///
/// With --slice, the parameters are decoded. Without it, a table shows their size and their first bytes in hexadecimal, and JSON
/// has all bytes (`parameters_hex`).
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    letters: Letters,

    #[command(flatten)]
    contract: ContractArguments,
}

/// Publishes dead letters to their topic again, except those that this command has already published
///
/// All durable subscriptions of the topic get them, not only the one that refused them.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    letters: Letters,
}

/// Deletes all dead letters
#[derive(Debug, Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    letters: Letters,
}

/// How many dead letters are read at a time.
const READ_COUNT: i32 = 200;

/// How far the dead letters were published again.
fn replayed(contents: &LogContents) -> Option<&SubscriptionPosition> {
    let mut all = contents.subscriptions.iter();
    all.find(|it| it.name == REPLAYED)
}

impl List {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let (hub, dead) = (&self.letters.hub, self.letters.dead());
        let interface = self.contract.interface();
        let contract = self.contract.load()?;
        let mut reader = contract.map(|contract| EventReader::new(contract, interface));
        let is_table = output.format() == Format::Table;
        let topics = hub.durable_topics(communicator)?;
        let contents = topics.contents(&dead).await;
        let contents = contents.map_err(|error| log_failed(hub, error))?;
        let replayed = replayed(&contents).map_or(0, |it| it.position);
        let mut rows = Vec::new();
        let mut from = contents.first;
        while from < contents.next {
            let read = topics.read(&dead, from, READ_COUNT).await;
            let (events, next) = read.map_err(|error| log_failed(hub, error))?;
            for event in events {
                let mut row = row(&event, event.number < replayed);
                add_parameters(event, reader.as_mut(), is_table, &mut row);
                rows.push(row);
            }
            if next <= from {
                break;
            }
            from = next;
        }
        let columns = [
            "letter",
            "operation",
            "subscription",
            "sequence",
            "attempts",
            "replayed",
            "reason",
            "parameters",
        ];
        output.rows(&columns, &rows)
    }
}

fn row(event: &LoggedEvent, is_replayed: bool) -> Json {
    let entry = |key: &str| event.context.get(key).cloned();
    let number = |key: &str| entry(key).and_then(|text| text.parse::<i64>().ok());
    json!({
        "letter": event.number,
        "operation": event.operation,
        "topic": entry("floe.deadTopic"),
        "subscription": entry("floe.deadSubscription"),
        "sequence": number("floe.deadSequence"),
        "time": number("floe.deadTime"),
        "attempts": number("floe.deadAttempts"),
        "replayed": is_replayed,
        "reason": entry("floe.deadReason"),
    })
}

/// Adds the parameters: decoded if there is a contract, and else their bytes.
fn add_parameters(
    event: LoggedEvent,
    reader: Option<&mut EventReader>,
    is_table: bool,
    row: &mut Json,
) {
    let payload = event.parameters.get(ENCAPSULATION_HEADER_LEN..);
    let payload = payload.unwrap_or(&event.parameters);
    row["parameters_bytes"] = payload.len().into();
    if !is_table {
        row["parameters_hex"] = to_hex(payload).into();
    }
    let Some(reader) = reader else {
        row["parameters"] = match is_table {
            true => bytes_text(payload).into(),
            false => Json::Null,
        };
        return;
    };
    let bytes = is_table.then(|| bytes_text(payload));
    let mut read = reader.read_logged(event);
    row["parameters"] = match (read["parameters"].take(), bytes) {
        (Json::Null, Some(bytes)) => {
            format!("{bytes} ({})", read["error"].as_str().unwrap_or("")).into()
        }
        (parameters, _) => parameters,
    };
    if let Some(error) = read.get("error") {
        row["error"] = error.clone();
    }
}

/// The bytes of parameters in a cell of a table.
fn bytes_text(payload: &[u8]) -> String {
    let (shown, dots) = match payload.len() > SHOWN_BYTES {
        true => (&payload[..SHOWN_BYTES], "..."),
        false => (payload, ""),
    };
    format!("{} bytes: {}{dots}", payload.len(), to_hex(shown))
}

/// A table shows this many bytes of parameters that it cannot decode.
const SHOWN_BYTES: usize = 16;
/// The size and the encoding in front of parameters.
const ENCAPSULATION_HEADER_LEN: usize = 6;

impl Replay {
    async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let (hub, dead) = (&self.letters.hub, self.letters.dead());
        let topics = hub.durable_topics(communicator)?;
        let topic = hub.topic(communicator, &self.letters.topic).await?;
        let publisher = topic.get_publisher().await;
        let publisher = publisher.map_err(|error| hub.unanswered(error.into()))?;
        let publisher = publisher.ice_twoway();
        let mut qos = QoS::new();
        qos.insert("floe.durable".to_owned(), REPLAYED.to_owned());
        qos.insert("floe.from".to_owned(), "beginning".to_owned());
        let opened = topics.open_pull(&dead, &qos).await;
        opened.map_err(|error| match error {
            OpenError::NoSuchTopic(error) => log_failed(hub, error.into()),
            OpenError::NotDurable(error) => log_failed(hub, error.into()),
            OpenError::Invoke(error) => invoke_failed(hub, error),
            error => Failure::new(Exit::Failure, error),
        })?;
        let mut count = 0;
        loop {
            let letters = pull(&topics, hub, &dead).await?;
            if letters.is_empty() {
                break;
            }
            for letter in letters {
                let number = letter.number;
                let published = publish_again(&publisher, letter).await;
                published.map_err(|error| hub.unanswered(error.into()))?;
                // One by one, so that none is published twice if the next one fails.
                let acknowledged = topics.acknowledge(&dead, REPLAYED, &[number]).await;
                acknowledged.map_err(|error| pull_failed(hub, error))?;
                count += 1;
            }
        }
        let topic = &self.letters.topic;
        output::talk(format_args!(
            "published {count} dead letters to topic `{topic}` again"
        ));
        let contents = topics.contents(&dead).await;
        let contents = contents.map_err(|error| log_failed(hub, error))?;
        match replayed(&contents).map_or(0, |it| it.pending) {
            0 => Ok(()),
            pending => {
                let (were, them) = match pending {
                    1 => ("letter was", "it"),
                    _ => ("letters were", "them"),
                };
                let message = format_args!(
                    "{pending} more dead {were} given to another `floe dlq replay`, which has not published {them}"
                );
                Err(Failure::new(Exit::Failure, message).help(
                    "if it has failed, the hub gives them again after its `send-timeout`: wait, and run the command again",
                ))
            }
        }
    }
}

async fn pull(
    topics: &DurableTopicsProxy,
    hub: &HubArgument,
    dead: &str,
) -> Result<Vec<LoggedEvent>, Failure> {
    let pulled = topics.pull(dead, REPLAYED, READ_COUNT, PULL_WAIT).await;
    pulled.map_err(|error| pull_failed(hub, error))
}

/// How long to wait for a dead letter, in milliseconds. A pull that finds some does not wait.
const PULL_WAIT: i32 = 200;

fn pull_failed(hub: &HubArgument, error: PullError) -> Failure {
    match error {
        PullError::NoSuchTopic(error) => log_failed(hub, error.into()),
        PullError::NotDurable(error) => log_failed(hub, error.into()),
        PullError::Invoke(error) => invoke_failed(hub, error),
        error => Failure::new(Exit::Failure, error),
    }
}

impl Purge {
    async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let (hub, dead) = (&self.letters.hub, self.letters.dead());
        let topics = hub.durable_topics(communicator)?;
        let contents = topics.contents(&dead).await;
        let contents = contents.map_err(|error| log_failed(hub, error))?;
        let topic = hub.topic(communicator, &dead).await?;
        let destroyed = topic.destroy().await;
        destroyed.map_err(|error| hub.unanswered(error.into()))?;
        let created = topics.create(&dead).await;
        created.map_err(|error| Failure::new(Exit::Failure, error))?;
        let count = contents.events;
        output::talk(format_args!("deleted {count} dead letters"));
        Ok(())
    }
}
