//! `floe topic`: the topics of a hub, or of an IceStorm.
//!
//! - `topic/create.rs`: `floe topic create`
//! - `topic/info.rs`: `floe topic info`
//! - `topic/subscribers.rs`: `floe topic subscribers`, and the rows that tell of subscribers
//! - `topic/attempts.rs`: several attempts of one command
//! - `topic/durable.rs`: durable topics: how they begin, and where their subscriptions are
//! - `topic/replay.rs`: `floe topic replay`
//! - `topic/link.rs`: links between topics
//! - `topic/rates.rs`: two looks at a topic, and what happened between them
//! - `topic/unsubscribe.rs`: `floe topic unsubscribe`
//! - `topic/watch.rs`: `floe topic watch`

mod attempts;
mod create;
mod durable;
mod info;
mod link;
mod rates;
mod replay;
mod subscribers;
mod unsubscribe;
mod watch;

use clap::{Args, Subcommand};
use floe::{Communicator, InvokeError, SystemException};
use floe_hub::contracts::floe::TopicTotals;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{self, Output};
use crate::peer::{self, TimeoutArgument};
use attempts::Attempts;
pub(super) use durable::{invoke_failed, log_failed};
pub(super) use replay::publish_again;
#[cfg(feature = "recordings")]
pub(super) use replay::remove_number;

/// Lists, creates, shows, links and removes topics of a hub or an IceStorm
///
/// Exit code 4: no such topic or link; 5: the topic or link exists already, or no hub listens at the address.
#[derive(Debug, Subcommand)]
pub(crate) enum Topic {
    List(List),
    Create(create::Create),
    Info(info::Info),
    Remove(Remove),
    Subscribers(subscribers::Subscribers),
    Link(link::Link),
    Unlink(link::Unlink),
    Unsubscribe(unsubscribe::Unsubscribe),
    Watch(watch::Watch),
    Position(durable::Position),
    Replay(replay::Replay),
}

impl Topic {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let timeout = self.access().timeout;
        peer::run(timeout, async |communicator| {
            match self {
                Self::List(list) => list.run(&communicator, output).await,
                Self::Create(create) => create.run(&communicator, output).await,
                Self::Info(info) => info.run(&communicator, output).await,
                Self::Remove(remove) => remove.run(&communicator).await,
                Self::Subscribers(subscribers) => subscribers.run(&communicator, output).await,
                Self::Link(link) => link.run(&communicator).await,
                Self::Unlink(unlink) => unlink.run(&communicator).await,
                Self::Unsubscribe(unsubscribe) => unsubscribe.run(&communicator).await,
                Self::Watch(watch) => watch.run(&communicator, output).await,
                Self::Position(position) => position.run(&communicator, output).await,
                Self::Replay(replay) => replay.run(&communicator, output).await,
            }
            .map(|()| Exit::Success)
        })
    }

    fn access(&self) -> &Access {
        match self {
            Self::List(List { access })
            | Self::Create(create::Create { access, .. })
            | Self::Info(info::Info { access, .. })
            | Self::Remove(Remove { access, .. })
            | Self::Subscribers(subscribers::Subscribers { access, .. })
            | Self::Link(link::Link { access, .. })
            | Self::Unlink(link::Unlink { access, .. })
            | Self::Unsubscribe(unsubscribe::Unsubscribe { access, .. })
            | Self::Position(durable::Position { access, .. })
            | Self::Replay(replay::Replay { access, .. }) => access,
            Self::Watch(watch) => watch.access(),
        }
    }
}

/// Where the hub is, and how long it may take.
#[derive(Debug, Args)]
struct Access {
    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

/// Lists the topics with the number of their subscribers
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    access: Access,
}

impl List {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let hub = &self.access.hub;
        let topics = hub.manager(communicator)?.retrieve_all().await;
        if let Err(InvokeError::System(SystemException::UnknownException(_))) = &topics {
            // There are more than fit into one message.
            let topics = hub.topics_in_pages(communicator).await?;
            let row = |it: &TopicTotals| json!({"name": it.name, "subscribers": it.subscribers});
            let rows: Vec<_> = topics.iter().map(row).collect();
            return output.rows(&["name", "subscribers"], &rows);
        }
        let topics = topics.map_err(|error| hub.unanswered(error.into()))?;
        let mut rows = Vec::with_capacity(topics.len());
        for (name, topic) in topics {
            match topic.get_subscribers().await {
                Ok(subscribers) => {
                    rows.push(json!({"name": name, "subscribers": subscribers.len()}));
                }
                // Removed since it was listed.
                Err(InvokeError::System(SystemException::ObjectNotExist(_))) => {}
                Err(error) => return Err(hub.unanswered(error.into())),
            }
        }
        output.rows(&["name", "subscribers"], &rows)
    }
}

/// Removes topics and their subscriptions. Exit code 4: a topic does not exist
///
/// It tries all of them, and reports the result of each.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The topics
    #[arg(required = true)]
    names: Vec<String>,

    #[command(flatten)]
    access: Access,
}

impl Remove {
    async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let mut attempts = Attempts::default();
        for name in &self.names {
            if attempts
                .note(self.remove(communicator, name).await)?
                .is_some()
            {
                output::talk(format_args!("removed topic `{name}`"));
            }
        }
        attempts.finish()
    }

    async fn remove(&self, communicator: &Communicator, name: &str) -> Result<(), Failure> {
        let topic = self.access.hub.topic(communicator, name).await?;
        let removed = topic.destroy().await;
        removed.map_err(|error| self.access.hub.unanswered(error.into()))
    }
}
