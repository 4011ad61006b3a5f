//! `floe dlq`: the dead letters of a durable topic: events that a subscription could not deliver.
//!
//! Several topics may share a topic for their dead letters (`floe.deadLetters`), and anybody who may can publish to it. Each
//! command concerns the dead letters of one topic alone.

mod list;
mod purge;
mod replay;

use clap::{Args, Subcommand};
use floe::Communicator;
use floe_hub::contracts::floe::{
    DurableTopicsProxy, IceStormNoSuchTopicOrNotDurableError as LogError, LogContents, LoggedEvent,
};
use floe_server::dead_letters::{DeadLetters, READ_COUNT, own_dead};

use super::topic::log_failed;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{self, Output};
use crate::peer::{self, TimeoutArgument};

/// Lists, publishes again and deletes dead letters: events that a durable subscription could not deliver
///
/// Exit code 4: the topic has no dead letters, or does not exist.
#[derive(Debug, Subcommand)]
pub(crate) enum Dlq {
    List(list::List),
    Replay(replay::Replay),
    Purge(purge::Purge),
}

impl Dlq {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let letters = self.letters();
        letters.check()?;
        peer::run(letters.timeout, async |communicator| {
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
            Self::List(list::List { letters, .. })
            | Self::Replay(replay::Replay { letters })
            | Self::Purge(purge::Purge { letters, .. }) => letters,
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
    fn of(&self) -> DeadLetters {
        DeadLetters::new(&self.topic, self.dead.as_deref())
    }

    fn dead(&self) -> String {
        self.of().dead
    }

    /// Checks that the dead letters are not the events of the topic themselves, which a replay would publish without end.
    fn check(&self) -> Result<(), Failure> {
        if !self.of().is_topic_itself() {
            return Ok(());
        }
        let topic = &self.topic;
        Err(Failure::usage(format_args!(
            "expected a topic of dead letters, got `{topic}`, whose events they are"
        ))
        .when("--dead")
        .help(format_args!(
            "without --dead, it is `{}`; a subscription may have chosen another one (floe.deadLetters)",
            own_dead(topic)
        )))
    }

    /// The log of the dead letters.
    async fn contents(&self, topics: &DurableTopicsProxy) -> Result<LogContents, Failure> {
        let contents = topics.contents(&self.dead()).await;
        contents.map_err(|error| self.failed(error))
    }

    /// Reads some events of the log of the dead letters, from this number on. Returns the number of the next one, too.
    async fn read(
        &self,
        topics: &DurableTopicsProxy,
        from: i64,
    ) -> Result<(Vec<LoggedEvent>, i64), Failure> {
        let read = topics.read(&self.dead(), from, READ_COUNT).await;
        read.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: LogError) -> Failure {
        match error {
            LogError::NoSuchTopic(_) => Failure::not_found(format_args!(
                "topic `{}` has no dead letters: there is no topic `{}`",
                self.topic,
                self.dead()
            ))
            .help(
                "events become dead letters if their durable subscription has floe.attempts; --dead names the topic if it has chosen \
                 one (floe.deadLetters)",
            ),
            error => log_failed(&self.hub, error),
        }
    }

    fn durable_topics(&self, communicator: &Communicator) -> Result<DurableTopicsProxy, Failure> {
        self.hub.durable_topics(communicator)
    }

    /// Says that some events of the topic of dead letters were left out.
    fn tell_of_others(&self, count: u64) {
        let others = match count {
            0 => return,
            1 => "1 event".to_owned(),
            count => format!("{count} events"),
        };
        output::talk(format_args!(
            "left out {others} of topic `{}`: no dead letters of `{}`",
            self.dead(),
            self.topic
        ));
    }
}
