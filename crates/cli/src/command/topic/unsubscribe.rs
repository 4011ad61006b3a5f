//! `floe topic unsubscribe`: ends subscriptions of others.

use clap::Args;
use floe::contracts::ice_storm::TopicProxy;
use floe::{Communicator, Identity, Proxy, TypedProxy};

use super::Access;
use super::attempts::Attempts;
use super::link::{FarEnd, far_ends, unlinking};
use crate::exit::Failure;
use crate::output;

/// Ends subscriptions of a topic. Exit code 4: there is no such subscription
///
/// Use it for subscribers that are gone and did not unsubscribe, and that the hub keeps because of their
/// `retryCount`. The hub does not notify the subscriber.
#[derive(Debug, Args)]
pub(crate) struct Unsubscribe {
    /// The topic
    name: String,

    /// Identities of subscribers, as `floe topic subscribers` shows them
    #[arg(required = true)]
    identities: Vec<String>,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Unsubscribe {
    pub(super) async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let wanted = self.identities.iter().map(|text| parse(text));
        let wanted = wanted.collect::<Result<Vec<_>, _>>()?;
        let hub = &self.access.hub;
        let topic = hub.topic(communicator, &self.name).await?;
        let ends = far_ends(hub, communicator, &self.name, &topic).await?;
        let mut attempts = Attempts::default();
        for identity in &wanted {
            attempts.note(self.end(&topic, &ends, identity).await)?;
        }
        attempts.finish()
    }

    async fn end(
        &self,
        topic: &TopicProxy,
        ends: &[FarEnd],
        identity: &Identity,
    ) -> Result<(), Failure> {
        let subscriber = self.subscriber(topic, ends, identity).await?;
        let unsubscribed = topic.unsubscribe(Some(&subscriber)).await;
        unsubscribed.map_err(|error| self.access.hub.unanswered(error.into()))?;
        let name = &self.name;
        output::talk(format_args!(
            "ended the subscription of `{identity}` to topic `{name}`"
        ));
        Ok(())
    }

    /// A proxy with this identity, which is that of a subscriber: nothing else of it counts.
    async fn subscriber(
        &self,
        topic: &TopicProxy,
        ends: &[FarEnd],
        identity: &Identity,
    ) -> Result<Proxy, Failure> {
        let (name, hub) = (&self.name, &self.access.hub);
        let is_link = |end: &FarEnd| end.is_certain && end.identity == *identity;
        if ends.iter().any(is_link) {
            let message =
                format_args!("`{identity}` is a link of topic `{name}` and not a subscriber");
            let help = format_args!("`{}` removes it", unlinking(name, identity));
            return Err(Failure::usage(message).help(help));
        }
        let subscribers = topic.get_subscribers().await;
        let subscribers = subscribers.map_err(|error| hub.unanswered(error.into()))?;
        if !subscribers.contains(identity) {
            let message = format_args!("`{identity}` does not subscribe to topic `{name}`");
            return Err(Failure::not_found(message).help(format_args!(
                "`floe topic subscribers {}` shows who does",
                output::word(name)
            )));
        }
        Ok(topic.as_proxy().ice_identity(identity.clone()))
    }
}

fn parse(text: &str) -> Result<Identity, Failure> {
    text.parse().map_err(|error| {
        Failure::usage(format_args!("`{text}` is no identity: {error}"))
            .help("an identity is written name, or category/name")
    })
}
