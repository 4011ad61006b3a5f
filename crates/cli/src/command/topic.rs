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

use std::collections::HashMap;
use std::io::{self, IsTerminal};

use clap::{Args, Subcommand};
use floe::{Communicator, InvokeError, SystemException};
use floe_hub::contracts::floe::{DurableTopicStatus, TopicTotals};
use serde_json::json;

use super::durable_rows::{bytes, counted_events, lag_events, largest_lag, seconds};
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::{self, Output};
use crate::peer::{self, TimeoutArgument};
use attempts::Attempts;
pub(super) use durable::{invoke_failed, log_failed};

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
        hub.check_manager(communicator).await?;
        if let Some(topics) = hub.known_topics(communicator).await? {
            let durable = hub.durable_statuses(communicator).await?;
            return list_known(&topics, durable.as_deref(), output);
        }
        // An IceStorm, an older hub, or one that does not let this caller observe it.
        let topics = hub.manager(communicator)?.retrieve_all().await;
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

/// Lists topics with all that the hub knows of them.
fn list_known(
    topics: &[TopicTotals],
    durable: Option<&[DurableTopicStatus]>,
    output: &Output,
) -> Result<(), Failure> {
    let durable = durable.unwrap_or_default();
    let by_name: HashMap<_, _> = durable.iter().map(|it| (it.name.as_str(), it)).collect();
    let row = |topic: &TopicTotals| {
        if durable.is_empty() {
            return json!({"name": topic.name, "subscribers": topic.subscribers});
        }
        let own = by_name.get(topic.name.as_str());
        let lag = own.map(|own| largest_lag(own));
        json!({
            "name": topic.name,
            "subscribers": topic.subscribers,
            "durable": own.is_some(),
            "log_events": own.map(|own| own.events),
            "log_bytes": own.map(|own| own.bytes),
            "durable_subscriptions": own.map(|own| own.subscriptions.len()),
            "lag_events": lag.map(|(events, _)| events),
            "lag_seconds": lag.map(|(_, age)| seconds(age)),
            "dead_letters": own.map(|own| own.kept_dead_letters),
        })
    };
    let rows: Vec<_> = topics.iter().map(row).collect();
    let columns = match durable.is_empty() {
        true => &LIST_COLUMNS[..2],
        false => &LIST_COLUMNS[..],
    };
    output.rows(columns, &rows)
}

/// The columns of a list of topics; the last ones only if a topic is durable.
const LIST_COLUMNS: [&str; 8] = [
    "name",
    "subscribers",
    "log_events",
    "log_bytes",
    "durable_subscriptions",
    "lag_events",
    "lag_seconds",
    "dead_letters",
];

/// Removes topics and their subscriptions. Exit code 4: a topic does not exist
///
/// It tries all of them, and reports the result of each. If durable subscriptions of a topic have not had all of its
/// events, it asks first on a terminal; elsewhere it needs --yes.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The topics
    #[arg(required = true)]
    names: Vec<String>,

    /// Removes topics also if events are lost that durable subscriptions have not had
    #[arg(long)]
    yes: bool,

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
        if !self.yes
            && let Some(durable) = self.access.hub.durable_status(communicator, name).await?
            && let Some(lost) = unread_text(&durable)
        {
            allow_loss(name, &lost)?;
        }
        let removed = topic.destroy().await;
        removed.map_err(|error| self.access.hub.unanswered(error.into()))
    }
}

/// The events that are lost with a topic because durable subscriptions have not had them; `None` if there are none.
fn unread_text(topic: &DurableTopicStatus) -> Option<String> {
    let behind = topic.subscriptions.iter().filter(|own| lag_events(own) > 0);
    let behind: Vec<_> = behind.collect();
    let most = behind.iter().max_by_key(|own| lag_events(own))?;
    let others = match behind.len() - 1 {
        0 => String::new(),
        1 => ", and 1 other is behind too".to_owned(),
        count => format!(", and {count} others are behind too"),
    };
    Some(format!(
        "durable subscription `{}` has not had {} ({}){others}; the log has {} ({})",
        most.name,
        counted_events(lag_events(most)),
        bytes(most.lag_bytes),
        counted_events(topic.events),
        bytes(topic.bytes)
    ))
}

/// Asks on a terminal if these events may be lost.
///
/// # Errors
/// They may not, or nobody can be asked.
fn allow_loss(topic: &str, lost: &str) -> Result<(), Failure> {
    let refusal = Failure::new(
        Exit::Failure,
        format_args!("kept topic `{topic}`, whose events would be lost: {lost}"),
    );
    if !io::stdin().is_terminal() {
        return Err(refusal.help("--yes removes it all the same"));
    }
    output::talk(format_args!(
        "{lost}; remove topic `{topic}` and lose them? [y/N]"
    ));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    match read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        true => Ok(()),
        false => Err(refusal),
    }
}
