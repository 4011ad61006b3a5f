//! `floe dlq replay`.

use clap::Args;
use floe::{Communicator, TypedProxy};
use floe_hub::contracts::floe::{
    BadRequestOrIceStormNoSuchTopicOrNotDurableError as OpenError,
    IceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as PullError,
};
use floe_server::dead_letters::{self, ReplayError};

use super::Letters;
use crate::command::topic::invoke_failed;
use crate::exit::{Exit, Failure};
use crate::output;

/// Publishes dead letters to their topic again, except those that this command has already published
///
/// All durable subscriptions of the topic get them, not only the one that refused them. The command ends with the last letter
/// that was there when it began: one that is refused again is a new letter, for the next time.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(super) letters: Letters,
}

impl Replay {
    pub(super) async fn run(self, communicator: &Communicator) -> Result<(), Failure> {
        let (letters, hub) = (&self.letters, &self.letters.hub);
        let own = letters.of();
        if own.topic.len() > own.topic_len_max() {
            return Err(Failure::usage(format_args!(
                "expected a topic with a name of at most {} bytes beside --dead, got {}",
                own.topic_len_max(),
                own.topic.len()
            )));
        }
        let topics = letters.durable_topics(communicator)?;
        let topic = hub.topic(communicator, &letters.topic).await?;
        let publisher = topic.get_publisher().await;
        let publisher = publisher.map_err(|error| hub.unanswered(error.into()))?;
        let replay = dead_letters::Replay::begin(&own, &topics).await;
        let mut replay = replay.map_err(|error| letters.replay_failed(error))?;
        let done = replay.publish_all(&publisher.ice_twoway()).await;
        let (count, topic) = (replay.published, &letters.topic);
        let letters_text = if count == 1 { "letter" } else { "letters" };
        output::talk(format_args!(
            "published {count} dead {letters_text} to topic `{topic}` again"
        ));
        letters.tell_of_others(replay.others);
        done.map_err(|error| letters.replay_failed(error))?;
        let pending = replay.check_pending().await;
        pending.map_err(|error| letters.replay_failed(error))
    }
}

impl Letters {
    fn replay_failed(&self, error: ReplayError) -> Failure {
        let hub = &self.hub;
        match error {
            ReplayError::Log(error) => self.failed(error),
            ReplayError::Open(OpenError::NoSuchTopic(error)) => self.failed(error.into()),
            ReplayError::Open(OpenError::NotDurable(error)) => self.failed(error.into()),
            ReplayError::Open(OpenError::Invoke(error)) => invoke_failed(hub, error),
            ReplayError::Pull(PullError::NoSuchTopic(error)) => self.failed(error.into()),
            ReplayError::Pull(PullError::NotDurable(error)) => self.failed(error.into()),
            ReplayError::Pull(PullError::Invoke(error)) => invoke_failed(hub, error),
            ReplayError::Publish(error) => hub.unanswered(error.into()),
            ReplayError::Pending(_) => Failure::new(Exit::Failure, error).help(
                "if it has failed, the hub gives them again after its `send-timeout`: wait, and run the command again",
            ),
            ReplayError::Open(_) | ReplayError::Pull(_) => Failure::new(Exit::Failure, error),
        }
    }
}
