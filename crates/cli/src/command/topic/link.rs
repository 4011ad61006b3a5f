//! `floe topic link` and `floe topic unlink`: which topics get the events of another.

use clap::Args;
use floe::contracts::ice_storm::{LinkExistsError, LinkInfo, NoSuchLinkError, TopicProxy};
use floe::{Communicator, Identity, Proxy, TypedProxy};

use super::Access;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output;

/// Forwards the events of a topic to another topic. Exit code 5: the link exists already
///
/// Events travel over one link only: the other topic does not forward them again.
#[derive(Debug, Args)]
pub(crate) struct Link {
    /// The topic whose events are forwarded
    from: String,

    /// The topic that gets them
    to: String,

    /// The cost of the link. An event with a higher `cost` in its context does not pass. A link of cost 0
    /// passes every event
    #[arg(default_value_t = 0, allow_negative_numbers = true, value_parser = parse_cost)]
    cost: i32,

    /// The hub or IceStorm of the other topic, if it is not the same: an endpoint, or the proxy of its topic
    /// manager
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
            Err(LinkExistsError::LinkExists(_)) => {
                let message = format_args!("topic `{from}` is linked to `{to}` already");
                return Err(Failure::new(Exit::Refused, message)
                    .help("to change its cost, `floe topic unlink` it first"));
            }
            Err(LinkExistsError::Invoke(error)) => return Err(hub.unanswered(error.into())),
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

/// Removes the link of a topic to another topic. Exit code 4: there is no such link
///
/// The other topic and its hub may be gone.
#[derive(Debug, Args)]
pub(crate) struct Unlink {
    /// The topic whose events are forwarded
    from: String,

    /// The topic that gets them: its name, or its identity as `floe topic subscribers` shows it, if several
    /// have the same name
    to: String,

    #[command(flatten)]
    pub(super) access: Access,
}

impl Unlink {
    pub(super) async fn run(&self, communicator: &Communicator) -> Result<(), Failure> {
        let Self { from, to, .. } = self;
        let hub = &self.access.hub;
        let topic = hub.topic(communicator, from).await?;
        let ends = far_ends(hub, communicator, from, &topic).await?;
        // Nothing but the identity counts.
        let other = topic.as_proxy().ice_identity(self.chosen(&ends)?);
        match topic.unlink(Some(&TopicProxy::from_proxy(other))).await {
            Ok(()) => {}
            Err(NoSuchLinkError::NoSuchLink(_)) => return Err(self.not_linked()),
            Err(NoSuchLinkError::Invoke(error)) => return Err(hub.unanswered(error.into())),
            Err(error) => return Err(Failure::new(Exit::Failure, error)),
        }
        output::talk(format_args!("unlinked topic `{from}` from `{to}`"));
        Ok(())
    }

    /// The identity of the topic that is meant.
    fn chosen(&self, ends: &[FarEnd]) -> Result<Identity, Failure> {
        let Self { from, to, .. } = self;
        let identity = to.parse::<Identity>().ok();
        let identity = identity.filter(|identity| !identity.category.is_empty());
        let is_known = |identity: &&Identity| ends.iter().any(|end| end.identity == **identity);
        if let Some(known) = identity.as_ref().filter(is_known) {
            return Ok(known.clone());
        }
        let is_named = |end: &&FarEnd| end.name == *to;
        // What only looks like a topic is meant where nothing else is called so.
        let has_certain = ends.iter().filter(is_named).any(|end| end.is_certain);
        let mut named = ends
            .iter()
            .filter(|end| is_named(end) && (end.is_certain || !has_certain))
            .peekable();
        let first = named.next().map(|end| end.identity.clone());
        if let (Some(first), Some(_)) = (&first, named.peek()) {
            let others = named.map(|end| format!(", `{}`", end.identity));
            let others = others.collect::<String>();
            let message = format_args!(
                "topic `{from}` is linked to several topics `{to}`: `{first}`{others}"
            );
            return Err(Failure::usage(message).help(format_args!(
                "name one by its identity, such as `{}`",
                unlinking(from, first)
            )));
        }
        // It may be one of which the hub does not tell.
        first.or(identity).ok_or_else(|| self.not_linked())
    }

    fn not_linked(&self) -> Failure {
        let Self { from, to, .. } = self;
        Failure::not_found(format_args!("topic `{from}` is not linked to `{to}`")).help(
            format_args!(
                "`floe topic subscribers {}` shows its links",
                output::word(from)
            ),
        )
    }
}

/// The command that removes a link.
pub(super) fn unlinking(from: &str, identity: &Identity) -> String {
    let (from, identity) = (output::word(from), identity.to_string());
    format!("floe topic unlink {from} {}", output::word(&identity))
}

/// The topic at the other end of a link.
pub(super) struct FarEnd {
    pub(super) identity: Identity,
    name: String,
    /// True if it is known to be one, and not a subscriber whose identity is like that of a topic.
    pub(super) is_certain: bool,
}

impl FarEnd {
    /// That of a link which has failed.
    fn of_failed(identity: &Identity, is_certain: bool) -> Self {
        let name = &identity.name;
        Self {
            identity: identity.clone(),
            name: name.strip_prefix(TOPIC_PREFIX).unwrap_or(name).to_owned(),
            is_certain,
        }
    }
}

/// The prefix of a topic's name in its identity. Source: observed, IceStorm 3.7.8.
const TOPIC_PREFIX: &str = "topic.";

/// Where the links of a topic lead, those included that have failed, which neither a Floe hub nor an
/// IceStorm tells as links.
pub(super) async fn far_ends(
    hub: &HubArgument,
    communicator: &Communicator,
    name: &str,
    topic: &TopicProxy,
) -> Result<Vec<FarEnd>, Failure> {
    let infos = topic.get_link_info_seq().await;
    let infos = infos.map_err(|error| hub.unanswered(error.into()))?;
    let end = |info: LinkInfo| FarEnd {
        identity: info.the_topic.as_proxy().reference().identity.clone(),
        name: info.name,
        is_certain: true,
    };
    let mut ends: Vec<_> = infos.into_iter().map(end).collect();
    let failed: Vec<_> = match hub.topic_info(communicator, name).await? {
        Some(info) => {
            let links = info.subscribers.iter().filter(|info| info.is_link);
            let topics = links.map(|info| &info.subscriber);
            let end = |topic: &Proxy| FarEnd::of_failed(&topic.reference().identity, true);
            topics.map(end).collect()
        }
        None => {
            let subscribers = topic.get_subscribers().await;
            let subscribers = subscribers.map_err(|error| hub.unanswered(error.into()))?;
            let is_like_topic = |identity: &&Identity| identity.name.starts_with(TOPIC_PREFIX);
            let perhaps = subscribers.iter().filter(is_like_topic);
            perhaps
                .map(|identity| FarEnd::of_failed(identity, false))
                .collect()
        }
    };
    for end in failed {
        if !ends.iter().any(|known| known.identity == end.identity) {
            ends.push(end);
        }
    }
    Ok(ends)
}
