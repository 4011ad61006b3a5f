//! `floe dlq replay`.

use clap::Args;
use floe::contracts::ice_storm::QoS;
use floe::{Communicator, Proxy, TypedProxy};
use floe_hub::contracts::floe::{
    BadRequestOrIceStormNoSuchTopicOrNotDurableError as OpenError, DurableTopicsProxy,
    IceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as PullError, LogContents,
    LoggedEvent, SubscriptionPosition,
};

use super::{Letters, READ_COUNT};
use crate::command::topic::{invoke_failed, publish_again};
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

/// How the names of the durable subscriptions begin whose positions tell which dead letters were published again.
const REPLAYED: &str = "floe dlq replay";
/// The longest name of a durable subscription, in bytes.
const NAME_LEN_MAX: usize = 200;

/// Returns true if a durable subscription is a position of this command, which nobody reads in between.
pub(crate) fn is_replay(subscription: &str) -> bool {
    subscription.starts_with(REPLAYED)
}

/// The name of the position of this command. Topics that share a topic for their dead letters have one each.
fn position_name(letters: &Letters) -> String {
    match letters.dead() == letters.own_dead() {
        true => REPLAYED.to_owned(),
        false => format!("{REPLAYED} to {}", letters.topic),
    }
}

fn position<'a>(letters: &Letters, contents: &'a LogContents) -> Option<&'a SubscriptionPosition> {
    let name = position_name(letters);
    contents.subscriptions.iter().find(|it| it.name == name)
}

/// The dead letters before this number were published again.
pub(super) fn replayed_until(letters: &Letters, contents: &LogContents) -> i64 {
    position(letters, contents).map_or(0, |it| it.position)
}

/// A replay under way.
struct UnderWay<'a> {
    letters: &'a Letters,
    topics: DurableTopicsProxy,
    dead: String,
    /// The name of its position.
    name: String,
    publisher: Proxy,
    /// Letters from this number on came after it began.
    end: i64,
    published: u64,
    others: u64,
    /// Letters that it was given and has not published, because they came after it began.
    given_back: i64,
}

impl Replay {
    pub(super) async fn run(self, communicator: &Communicator) -> Result<(), Failure> {
        let letters = &self.letters;
        let (hub, name) = (&letters.hub, position_name(letters));
        if name.len() > NAME_LEN_MAX {
            return Err(Failure::usage(format_args!(
                "expected a topic with a name of at most {} bytes beside --dead, got {}",
                NAME_LEN_MAX - (name.len() - letters.topic.len()),
                letters.topic.len()
            )));
        }
        let topics = letters.durable_topics(communicator)?;
        let topic = hub.topic(communicator, &letters.topic).await?;
        let publisher = topic.get_publisher().await;
        let publisher = publisher.map_err(|error| hub.unanswered(error.into()))?;
        let end = letters.contents(&topics).await?.next;
        let mut under_way = UnderWay {
            letters,
            topics,
            dead: letters.dead(),
            name,
            publisher: publisher.ice_twoway(),
            end,
            published: 0,
            others: 0,
            given_back: 0,
        };
        under_way.open().await?;
        let done = under_way.publish_all().await;
        let (count, topic) = (under_way.published, &letters.topic);
        let letters_text = if count == 1 { "letter" } else { "letters" };
        output::talk(format_args!(
            "published {count} dead {letters_text} to topic `{topic}` again"
        ));
        letters.tell_of_others(under_way.others);
        done?;
        under_way.check_pending().await
    }
}

impl UnderWay<'_> {
    async fn open(&self) -> Result<(), Failure> {
        let hub = &self.letters.hub;
        let mut qos = QoS::new();
        qos.insert("floe.durable".to_owned(), self.name.clone());
        qos.insert("floe.from".to_owned(), "beginning".to_owned());
        let opened = self.topics.open_pull(&self.dead, &qos).await;
        opened.map_err(|error| match error {
            OpenError::NoSuchTopic(error) => self.letters.failed(error.into()),
            OpenError::NotDurable(error) => self.letters.failed(error.into()),
            OpenError::Invoke(error) => invoke_failed(hub, error),
            error => Failure::new(Exit::Failure, error),
        })
    }

    /// Publishes the letters that were there when it began.
    async fn publish_all(&mut self) -> Result<(), Failure> {
        loop {
            let pulled = self
                .topics
                .pull(&self.dead, &self.name, READ_COUNT, PULL_WAIT);
            let pulled = pulled.await.map_err(|error| self.pull_failed(error))?;
            let is_over = pulled.last().is_none_or(|last| last.number >= self.end);
            let (old, new): (Vec<_>, Vec<_>) =
                pulled.into_iter().partition(|it| it.number < self.end);
            // Whatever happens to the old ones, the next replay gets these at once.
            self.give_back(&new).await?;
            for letter in old {
                self.publish(letter).await?;
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// Publishes a letter, if it is one of the topic.
    async fn publish(&mut self, letter: LoggedEvent) -> Result<(), Failure> {
        let (number, hub) = (letter.number, &self.letters.hub);
        if self.letters.has(&letter) {
            let published = publish_again(&self.publisher, letter).await;
            published.map_err(|error| hub.unanswered(error))?;
            self.published += 1;
        } else {
            self.others += 1;
        }
        // One by one, so that none is published twice if the next one fails.
        let acknowledged = self
            .topics
            .acknowledge(&self.dead, &self.name, &[number])
            .await;
        acknowledged.map_err(|error| self.pull_failed(error))
    }

    async fn give_back(&mut self, letters: &[LoggedEvent]) -> Result<(), Failure> {
        if letters.is_empty() {
            return Ok(());
        }
        let numbers: Vec<_> = letters.iter().map(|it| it.number).collect();
        self.given_back += i64::try_from(numbers.len()).unwrap_or(i64::MAX);
        let refused = self.topics.refuse(&self.dead, &self.name, &numbers).await;
        refused.map_err(|error| self.pull_failed(error))
    }

    /// Checks that no other replay has letters that it has not published.
    async fn check_pending(&self) -> Result<(), Failure> {
        let contents = self.letters.contents(&self.topics).await?;
        let pending = position(self.letters, &contents).map_or(0, |it| it.pending);
        let pending = pending.saturating_sub(self.given_back);
        if pending <= 0 {
            return Ok(());
        }
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

    fn pull_failed(&self, error: PullError) -> Failure {
        match error {
            PullError::NoSuchTopic(error) => self.letters.failed(error.into()),
            PullError::NotDurable(error) => self.letters.failed(error.into()),
            PullError::Invoke(error) => invoke_failed(&self.letters.hub, error),
            error => Failure::new(Exit::Failure, error),
        }
    }
}

/// How long to wait for a dead letter, in milliseconds. A pull that finds some does not wait.
const PULL_WAIT: i32 = 200;
