//! `floe topic replay`: shows events of a log again, or publishes them again.

use clap::Args;
use floe::Communicator;
use floe_hub::contracts::floe::{
    BadRequestOrIceStormNoSuchTopicOrNotDurableError as LocateError, DurableTopicsProxy,
    LoggedEvent,
};

use floe_server::dead_letters::publish_again;

use super::Access;
use super::durable::{invoke_failed, log_failed, not_durable};
use crate::contract::ContractArguments;
use crate::count;
use crate::event::{EventReader, LoggedPrinter};
use crate::exit::{Exit, Failure};
use crate::hub::no_topic;
use crate::output::{self, Output};

/// Shows the events in the log of a durable topic, or publishes them again with --into
///
/// `floe replay` publishes the events of an MCAP file that `floe record` made, and needs no durable topic.
///
/// The command ends with the last event that was in the log when it began. It changes no subscription. To send events
/// to a durable subscription again, use `floe topic position --set`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The topic
    topic: String,

    /// Where to begin: beginning, last, -10 for the last ten events, seq:42, or time:2026-01-31T12:00:00Z
    #[arg(
        long,
        value_name = "POSITION",
        default_value = "beginning",
        allow_hyphen_values = true
    )]
    from: String,

    /// Where to end; this event is not among them
    #[arg(
        long,
        value_name = "POSITION",
        default_value = "end",
        allow_hyphen_values = true
    )]
    until: String,

    /// Ends after this many events
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = count::any::<u64>)]
    count: Option<u64>,

    /// Publishes them to this topic, and shows how many there were
    #[arg(long, value_name = "TOPIC")]
    into: Option<String>,

    #[command(flatten)]
    contract: ContractArguments,

    #[command(flatten)]
    pub(super) access: Access,
}

/// How many events are read at a time.
const READ_COUNT: i32 = 500;

impl Replay {
    pub(super) async fn run(
        &self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<(), Failure> {
        let hub = &self.access.hub;
        let topics = hub.durable_topics(communicator)?;
        let from = self.locate(&topics, &self.from).await?;
        let until = self.locate(&topics, &self.until).await?;
        let mut sink = self.sink(communicator, output).await?;
        match self.copy(&topics, from, until, &mut sink).await {
            Ok(()) => sink.end(self),
            Err(failure) => Err(sink.cut_short(failure)),
        }
    }

    /// Reads the events between two positions into the sink.
    async fn copy(
        &self,
        topics: &DurableTopicsProxy,
        mut from: i64,
        until: i64,
        sink: &mut Sink,
    ) -> Result<(), Failure> {
        let hub = &self.access.hub;
        let mut left = self.count.unwrap_or(u64::MAX);
        while from < until && left > 0 {
            let read = topics.read(&self.topic, from, READ_COUNT).await;
            let (events, next) = read.map_err(|error| log_failed(hub, error))?;
            for event in events.into_iter().filter(|event| event.number < until) {
                if left == 0 {
                    break;
                }
                left -= 1;
                sink.take(event, self).await?;
            }
            if next <= from {
                break;
            }
            from = next;
        }
        Ok(())
    }

    async fn locate(&self, topics: &DurableTopicsProxy, text: &str) -> Result<i64, Failure> {
        let located = topics.locate(&self.topic, text).await;
        located.map_err(|error| match error {
            LocateError::NoSuchTopic(_) => no_topic(&self.topic),
            LocateError::NotDurable(_) => not_durable(&self.topic),
            LocateError::BadRequest(bad) => Failure::usage(bad.reason),
            LocateError::Invoke(error) => invoke_failed(&self.access.hub, error),
            error => Failure::new(Exit::Failure, error),
        })
    }

    async fn sink(&self, communicator: &Communicator, output: &Output) -> Result<Sink, Failure> {
        let Some(into) = &self.into else {
            let contract = self.contract.require()?;
            let reader = EventReader::new(contract, self.contract.interface());
            return Ok(Sink::Shown(LoggedPrinter::new(reader, output.format())));
        };
        let hub = &self.access.hub;
        let topic = hub.topic(communicator, into).await?;
        let publisher = topic.get_publisher().await;
        let publisher = publisher.map_err(|error| hub.unanswered(error.into()))?;
        Ok(Sink::Published {
            publisher,
            count: 0,
            next: 0,
        })
    }
}

/// Where the events go.
enum Sink {
    Shown(LoggedPrinter),
    Published {
        publisher: floe::Proxy,
        count: u64,
        /// The number of the event after the last one that was published.
        next: i64,
    },
}

impl Sink {
    async fn take(&mut self, event: LoggedEvent, replay: &Replay) -> Result<(), Failure> {
        match self {
            Self::Shown(printer) => printer.print(event),
            Self::Published {
                publisher,
                count,
                next,
            } => {
                let number = event.number;
                publish_again(publisher, event)
                    .await
                    .map_err(|error| replay.access.hub.unanswered(error.into()))?;
                *count += 1;
                *next = number + 1;
                Ok(())
            }
        }
    }

    /// Says how far it came.
    fn cut_short(self, failure: Failure) -> Failure {
        match self {
            Self::Shown(printer) => {
                // The failure says more than one of the output.
                let _ = printer.end();
                failure
            }
            Self::Published { count: 0, .. } => failure,
            Self::Published { count, next, .. } => {
                let events = if count == 1 { "event" } else { "events" };
                failure
                    .when(format_args!("after {count} {events}"))
                    .further_help(&format!("`--from seq:{next}` goes on with the next event"))
            }
        }
    }

    fn end(self, replay: &Replay) -> Result<(), Failure> {
        match self {
            Self::Shown(printer) => printer.end(),
            Self::Published { count, .. } => {
                let into = replay.into.as_deref().unwrap_or_default();
                output::talk(format_args!("published {count} events to topic `{into}`"));
                Ok(())
            }
        }
    }
}
