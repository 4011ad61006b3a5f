//! Dead letters, published to their topic again.

use std::error::Error;
use std::fmt;

use floe::contracts::ice_storm::QoS;
use floe::{InvokeError, Proxy};
use floe_hub::contracts::floe::{
    BadRequestOrIceStormNoSuchTopicOrNotDurableError as OpenError, DurableTopicsProxy,
    IceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as PullError,
    IceStormNoSuchTopicOrNotDurableError as LogError, LoggedEvent,
};

use super::{DeadLetters, READ_COUNT, publish_again};

/// How long to wait for a dead letter, in milliseconds. A pull that finds some does not wait.
const PULL_WAIT: i32 = 200;

/// Why dead letters were not, or not all, published again.
#[derive(Debug)]
pub enum ReplayError {
    /// The log of the dead letters cannot be read.
    Log(LogError),
    /// The hub gives no position in it.
    Open(OpenError),
    /// The hub gives no letters, or takes no acknowledgement.
    Pull(PullError),
    /// The topic takes no event.
    Publish(InvokeError),
    /// So many letters were given to another replay, which has not published them.
    Pending(i64),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => error.fmt(f),
            Self::Open(error) => error.fmt(f),
            Self::Pull(error) => error.fmt(f),
            Self::Publish(error) => write!(f, "a dead letter was not published again: {error}"),
            Self::Pending(count) => {
                let (were, them) = match count {
                    1 => ("letter was", "it"),
                    _ => ("letters were", "them"),
                };
                write!(
                    f,
                    "{count} more dead {were} given to another `floe dlq replay`, which has not published {them}"
                )
            }
        }
    }
}

impl Error for ReplayError {}

/// A replay of the dead letters of a topic, except those that were published again before. It ends with the last letter that
/// was there when it began: one that is refused again is a new letter, for the next time.
pub struct Replay<'a> {
    letters: &'a DeadLetters,
    topics: &'a DurableTopicsProxy,
    /// The name of its position.
    name: String,
    /// Letters from this number on came after it began.
    end: i64,
    /// Letters that it has published.
    pub published: u64,
    /// Events in the topic of dead letters that it has passed over, because they are no dead letters of the topic.
    pub others: u64,
    /// Letters that it was given and has not published, because they came after it began.
    given_back: i64,
}

impl<'a> Replay<'a> {
    /// Begins with the letters that are there.
    ///
    /// # Errors
    /// There is no such topic of dead letters, or the hub refuses.
    pub async fn begin(
        letters: &'a DeadLetters,
        topics: &'a DurableTopicsProxy,
    ) -> Result<Self, ReplayError> {
        let contents = topics.contents(&letters.dead).await;
        let end = contents.map_err(ReplayError::Log)?.next;
        let name = letters.position_name();
        let mut qos = QoS::new();
        qos.insert("floe.durable".to_owned(), name.clone());
        qos.insert("floe.from".to_owned(), "beginning".to_owned());
        let opened = topics.open_pull(&letters.dead, &qos).await;
        opened.map_err(ReplayError::Open)?;
        Ok(Self {
            letters,
            topics,
            name,
            end,
            published: 0,
            others: 0,
            given_back: 0,
        })
    }

    /// Publishes them by this publisher of their topic.
    ///
    /// # Errors
    /// The hub refuses; what was published until then stays so.
    pub async fn publish_all(&mut self, publisher: &Proxy) -> Result<(), ReplayError> {
        loop {
            let dead = &self.letters.dead;
            let pulled = self.topics.pull(dead, &self.name, READ_COUNT, PULL_WAIT);
            let pulled = pulled.await.map_err(ReplayError::Pull)?;
            let is_over = pulled.last().is_none_or(|last| last.number >= self.end);
            let (old, new): (Vec<_>, Vec<_>) =
                pulled.into_iter().partition(|it| it.number < self.end);
            // Whatever happens to the old ones, the next replay gets these at once.
            self.give_back(&new).await?;
            for letter in old {
                self.publish(publisher, letter).await?;
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// Publishes a letter, if it is one of the topic.
    async fn publish(&mut self, publisher: &Proxy, letter: LoggedEvent) -> Result<(), ReplayError> {
        let number = letter.number;
        if self.letters.has(&letter) {
            let published = publish_again(publisher, letter).await;
            published.map_err(ReplayError::Publish)?;
            self.published += 1;
        } else {
            self.others += 1;
        }
        // One by one, so that none is published twice if the next one fails.
        let dead = &self.letters.dead;
        let acknowledged = self.topics.acknowledge(dead, &self.name, &[number]).await;
        acknowledged.map_err(ReplayError::Pull)
    }

    async fn give_back(&mut self, letters: &[LoggedEvent]) -> Result<(), ReplayError> {
        if letters.is_empty() {
            return Ok(());
        }
        let numbers: Vec<_> = letters.iter().map(|it| it.number).collect();
        self.given_back += i64::try_from(numbers.len()).unwrap_or(i64::MAX);
        let dead = &self.letters.dead;
        let refused = self.topics.refuse(dead, &self.name, &numbers).await;
        refused.map_err(ReplayError::Pull)
    }

    /// Checks that no other replay has letters that it has not published.
    ///
    /// # Errors
    /// One has.
    pub async fn check_pending(&self) -> Result<(), ReplayError> {
        let contents = self.topics.contents(&self.letters.dead).await;
        let contents = contents.map_err(ReplayError::Log)?;
        let pending = self.letters.position(&contents);
        let pending = pending.map_or(0, |it| it.pending);
        match pending.saturating_sub(self.given_back) {
            ..=0 => Ok(()),
            pending => Err(ReplayError::Pending(pending)),
        }
    }
}
