//! Durable topics: how they begin, and `floe topic position`.

use clap::Args;
use floe::{Communicator, InvokeError, SystemException};
use floe_hub::contracts::floe::{
    BadRequestOrIceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as SetError,
    DurableSubscriptionStatus, DurableTopicStatus, DurableTopicsProxy,
    IceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as RemoveError,
    IceStormNoSuchTopicOrNotDurableError as LogError, IceStormTopicExistsError, LogContents,
};
use serde_json::json;

use super::Access;
use crate::command::durable_rows::counted_events;
use crate::exit::{Exit, Failure};
use crate::hub::{HubArgument, no_topic};
use crate::output::{self, Output};

/// Creates a durable topic. If it exists and that is fine, it must be durable.
///
/// # Errors
/// It exists, or the hub cannot have it.
pub(super) async fn create(
    hub: &HubArgument,
    communicator: &Communicator,
    name: &str,
    exist_ok: bool,
) -> Result<(), Failure> {
    let topics = hub.durable_topics(communicator)?;
    match topics.create(name).await {
        Ok(()) => Ok(()),
        Err(IceStormTopicExistsError::TopicExists(_)) if exist_ok => {
            let contents = topics.contents(name).await;
            contents.map(drop).map_err(|error| log_failed(hub, error))
        }
        Err(IceStormTopicExistsError::TopicExists(_)) => {
            let message = format!("the topic `{name}` exists already");
            Err(Failure::new(Exit::Refused, message)
                .help("a topic is durable from its beginning or not at all; add --exist-ok if it is durable already"))
        }
        Err(IceStormTopicExistsError::Invoke(error)) => Err(invoke_failed(hub, error)),
        Err(error) => Err(Failure::new(Exit::Failure, error)),
    }
}

/// Shows the positions of the durable subscriptions of a topic, or sets one of them
///
/// `position` is the first event that a subscription has not acknowledged, `pending` the number of those that were sent to it and are
/// not acknowledged, and `behind` the number of events of the log that were not sent to it yet. `dropped` counts those that were not
/// sent to it and that the log has not any more.
/// Exit code 4: no such topic or subscription, or the topic is not durable.
#[derive(Debug, Args)]
pub(crate) struct Position {
    /// The topic
    topic: String,

    /// The name of a durable subscription
    name: Option<String>,

    /// Sets its position: beginning, new, last, -10 for the last ten events, seq:42, or time:2026-01-31T12:00:00Z
    #[arg(
        long,
        value_name = "POSITION",
        requires = "name",
        allow_hyphen_values = true
    )]
    set: Option<String>,

    /// Forgets its position, and ends the subscriptions of its subscribers
    #[arg(long, requires = "name", conflicts_with = "set")]
    remove: bool,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Position {
    pub(super) async fn run(
        &self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<(), Failure> {
        let hub = &self.access.hub;
        let topics = hub.durable_topics(communicator)?;
        let topic = &self.topic;
        if let Some((name, from)) = self.name.as_ref().zip(self.set.as_ref()) {
            let set = topics.set_position(topic, name, from).await;
            set.map_err(|error| match error {
                SetError::NoSuchTopic(_) => no_topic(topic),
                SetError::NotDurable(_) => not_durable(topic),
                SetError::NoSuchSubscription(_) => no_subscription(topic, name),
                SetError::BadRequest(bad) => Failure::usage(bad.reason).when("--set"),
                SetError::Invoke(error) => invoke_failed(hub, error),
                error => Failure::new(Exit::Failure, error),
            })?;
            output::talk(format_args!(
                "set the position of `{name}` in topic `{topic}` to {from}"
            ));
        }
        if let Some(name) = self.name.as_ref().filter(|_| self.remove) {
            let removed = topics.remove_position(topic, name).await;
            removed.map_err(|error| match error {
                RemoveError::NoSuchTopic(_) => no_topic(topic),
                RemoveError::NotDurable(_) => not_durable(topic),
                RemoveError::NoSuchSubscription(_) => no_subscription(topic, name),
                RemoveError::Invoke(error) => invoke_failed(hub, error),
                error => Failure::new(Exit::Failure, error),
            })?;
            output::talk(format_args!(
                "removed the durable subscription `{name}` of topic `{topic}`"
            ));
            return Ok(());
        }
        self.show(communicator, &topics, output).await
    }

    async fn show(
        &self,
        communicator: &Communicator,
        topics: &DurableTopicsProxy,
        output: &Output,
    ) -> Result<(), Failure> {
        let hub = &self.access.hub;
        // There may be more subscriptions than fit into a message.
        let status = match hub.durable_status(communicator, &self.topic).await? {
            Some(status) => status,
            None => {
                let contents = topics.contents(&self.topic).await;
                status_of(contents.map_err(|error| log_failed(hub, error))?)
            }
        };
        let wanted = status
            .subscriptions
            .iter()
            .filter(|it| self.name.as_ref().is_none_or(|name| *name == it.name));
        let rows: Vec<_> = wanted
            .map(|it| {
                json!({
                    "name": it.name,
                    "position": it.position,
                    "pending": it.pending,
                    "behind": it.behind,
                    "dropped": it.dropped,
                    "expired": it.expired,
                    "subscribers": it.subscribers,
                })
            })
            .collect();
        if let Some(name) = self.name.as_ref().filter(|_| rows.is_empty()) {
            return Err(no_subscription(&self.topic, name));
        }
        output::talk(match status.events {
            0 => format!("the log is empty; the next event is {}", status.next),
            events => format!(
                "the log has {}: {} to {}, {} bytes",
                counted_events(events),
                status.first,
                status.next - 1,
                status.bytes
            ),
        });
        output.rows(
            &[
                "name",
                "position",
                "pending",
                "behind",
                "dropped",
                "subscribers",
            ],
            &rows,
        )
    }
}

/// The status as far as an older hub reports it. It does not tell what the log has dropped, but where its first event is.
fn status_of(contents: LogContents) -> DurableTopicStatus {
    let subscriptions = contents.subscriptions.into_iter();
    DurableTopicStatus {
        first: contents.first,
        next: contents.next,
        events: contents.events,
        bytes: contents.bytes,
        subscriptions: subscriptions
            .map(|own| {
                let dropped = contents.first.saturating_sub(own.next).max(0);
                DurableSubscriptionStatus {
                    name: own.name,
                    position: own.position,
                    pending: own.pending,
                    behind: own.behind,
                    dropped,
                    subscribers: own.subscribers,
                    expired: own.expired,
                    ..DurableSubscriptionStatus::default()
                }
            })
            .collect(),
        ..DurableTopicStatus::default()
    }
}

/// Turns an error of a log into a failure of the command.
pub(in crate::command) fn log_failed(hub: &HubArgument, error: LogError) -> Failure {
    match error {
        LogError::NoSuchTopic(error) => no_topic(&error.name),
        LogError::NotDurable(error) => not_durable(&error.name),
        LogError::Invoke(error) => invoke_failed(hub, error),
        error => Failure::new(Exit::Failure, error),
    }
}

/// Turns an error of the object for durable topics into a failure of the command.
pub(in crate::command) fn invoke_failed(hub: &HubArgument, error: InvokeError) -> Failure {
    match error {
        InvokeError::System(
            SystemException::ObjectNotExist(_) | SystemException::OperationNotExist(_),
        ) => Failure::not_found("the hub has no durable topics")
            .help("it is no Floe hub, or an older one"),
        error => hub.unanswered(error.into()),
    }
}

pub(super) fn not_durable(topic: &str) -> Failure {
    Failure::not_found(format_args!(
        "topic `{topic}` is not durable: it keeps no events"
    ))
    .help("`floe topic create --durable` makes one that does")
}

fn no_subscription(topic: &str, name: &str) -> Failure {
    Failure::not_found(format_args!(
        "topic `{topic}` has no durable subscription `{name}`"
    ))
    .help(format_args!(
        "`floe topic position {}` shows which there are",
        output::word(topic)
    ))
}
