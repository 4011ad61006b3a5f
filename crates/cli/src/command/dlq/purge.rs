//! `floe dlq purge`.

use clap::Args;
use floe::Communicator;
use floe_hub::contracts::floe::{DurableTopicsProxy, LogContents};
use floe_server::dead_letters::more_than_letters;

use super::Letters;
use crate::exit::{Exit, Failure};
use crate::output;

/// Deletes all dead letters
///
/// Their topic is removed and created again. If it has anything else that would go with it, such as events that are no dead
/// letters of TOPIC, or durable subscriptions and links, it is kept without --yes.
#[derive(Debug, Args)]
pub(crate) struct Purge {
    #[command(flatten)]
    pub(super) letters: Letters,

    /// Deletes also what is no dead letter of the topic
    #[arg(long)]
    yes: bool,
}

impl Purge {
    pub(super) async fn run(self, communicator: &Communicator) -> Result<(), Failure> {
        let (letters, dead) = (&self.letters, self.letters.dead());
        let hub = &letters.hub;
        let topics = letters.durable_topics(communicator)?;
        let contents = letters.contents(&topics).await?;
        if !self.yes {
            let more = self.more_than_letters(communicator, &topics, &contents);
            if let Some(more) = more.await? {
                let message = format_args!("kept topic `{dead}`, which has more: {more}");
                return Err(Failure::new(Exit::Failure, message)
                    .help("--yes deletes all of it; `floe dlq replay` passes over what is no dead letter of the topic"));
            }
        }
        let topic = hub.topic(communicator, &dead).await?;
        let destroyed = topic.destroy().await;
        destroyed.map_err(|error| hub.unanswered(error.into()))?;
        let count = contents.events;
        let created = topics.create(&dead).await;
        created.map_err(|error| {
            Failure::new(Exit::Failure, error)
                .when(format_args!(
                    "deleted {count} dead letters, and their topic cannot be created again"
                ))
                .help(format_args!(
                    "events cannot become dead letters until `floe topic create --durable {}` has succeeded",
                    output::word(&dead)
                ))
        })?;
        let noun = if count == 1 { "letter" } else { "letters" };
        output::talk(format_args!("deleted {count} dead {noun}"));
        Ok(())
    }

    /// Looks for something besides the dead letters that the topic has and would lose; `None` if there is nothing.
    async fn more_than_letters(
        &self,
        communicator: &Communicator,
        topics: &DurableTopicsProxy,
        contents: &LogContents,
    ) -> Result<Option<String>, Failure> {
        let (letters, dead) = (&self.letters, self.letters.dead());
        let status = letters.hub.topic_status(communicator, &dead).await?;
        let subscribers = status.map_or(0, |status| status.subscribers.len());
        let more = more_than_letters(&letters.of(), topics, contents, subscribers).await;
        more.map_err(|error| letters.failed(error))
    }
}
