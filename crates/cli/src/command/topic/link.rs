//! `floe topic link` and `floe topic unlink`: which topics get the events of another.

use clap::Args;
use floe::Communicator;
use floe::contracts::ice_storm::{TopicLinkError, TopicProxy, TopicUnlinkError};

use super::Access;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output;

/// Forwards the events of a topic to another one; exit code 5 if it does already
///
/// Events go one hop: what comes over a link is not forwarded again.
#[derive(Debug, Args)]
pub(crate) struct Link {
    /// The topic whose events are forwarded
    from: String,

    /// The topic that gets them
    to: String,

    /// What the link costs: an event passes unless the entry `cost` of its context is a higher
    /// number; over a link of cost 0 every event passes
    #[arg(default_value_t = 0, allow_negative_numbers = true, value_parser = parse_cost)]
    cost: i32,

    /// The hub or IceStorm of the topic that gets the events, if it is another one: its endpoint,
    /// or the proxy of its topic manager
    #[arg(long, value_name = "ENDPOINT")]
    to_hub: Option<String>,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Link {
    pub(super) async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let Self { from, to, cost, .. } = self;
        let hub = &self.access.hub;
        if from == to && self.to_hub.is_none() {
            let message = format_args!("topic `{from}` cannot be linked to itself");
            return Err(Failure::usage(message).help(
                "each subscriber would get its events twice; --to-hub names a topic of another hub",
            ));
        }
        let topic = hub.topic(communicator, from).await?;
        let other = self.to_hub.as_deref().map(HubArgument::of_other);
        let other = other.as_ref().unwrap_or(hub);
        let other = other.topic(communicator, to).await?;
        match topic.link(Some(&other), *cost).await {
            Ok(()) => {}
            Err(TopicLinkError::LinkExists(_)) => {
                let message = format_args!("topic `{from}` is linked to `{to}` already");
                return Err(Failure::new(Exit::Refused, message)
                    .help("to change its cost, `floe topic unlink` it first"));
            }
            Err(TopicLinkError::Invoke(error)) => return Err(hub.unanswered(error.into())),
            Err(error) => return Err(Failure::new(Exit::Failure, error)),
        }
        output::talk(format_args!(
            "linked topic `{from}` to `{to}` at cost {cost}"
        ));
        Ok(())
    }
}

fn parse_cost(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| {
        let (min, max) = (i32::MIN, i32::MAX);
        format!(
            "expected a whole number from {min} to {max}, got `{text}`; write 0 to let every event pass"
        )
    })
}

/// Removes the link of a topic to another one; exit code 4 if there is none
///
/// The other topic, or its hub, need not be there any more.
#[derive(Debug, Args)]
pub(crate) struct Unlink {
    /// The topic whose events are forwarded
    from: String,

    /// The topic that gets them
    to: String,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Unlink {
    pub(super) async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let Self { from, to, .. } = self;
        let hub = &self.access.hub;
        let topic = hub.topic(communicator, from).await?;
        let other = self.other(&topic).await?;
        match topic.unlink(Some(&other)).await {
            Ok(()) => {}
            Err(TopicUnlinkError::NoSuchLink(_)) => return Err(self.not_linked()),
            Err(TopicUnlinkError::Invoke(error)) => return Err(hub.unanswered(error.into())),
            Err(error) => return Err(Failure::new(Exit::Failure, error)),
        }
        output::talk(format_args!("unlinked topic `{from}` from `{to}`"));
        Ok(())
    }

    /// The topic at the other end, as the hub knows it.
    async fn other(&self, topic: &TopicProxy) -> Result<TopicProxy, Failure> {
        let links = topic.get_link_info_seq().await;
        let links = links.map_err(|error| self.access.hub.unanswered(error.into()))?;
        let mut found = links.into_iter().filter(|link| link.name == self.to);
        let link = found.next().and_then(|link| link.the_topic);
        link.ok_or_else(|| self.not_linked())
    }

    fn not_linked(&self) -> Failure {
        let Self { from, to, .. } = self;
        Failure::not_found(format_args!("topic `{from}` is not linked to `{to}`"))
            .help(format_args!("`floe topic info {from}` shows its links"))
    }
}
