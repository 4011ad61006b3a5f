//! The hub as an argument, and the questions that any event service with IceStorm's interface answers.

mod overview;
mod pages;

use std::borrow::Cow;

use clap::Args;
use floe::contracts::ice_storm::{
    NoSuchTopicError, TopicExistsError, TopicManagerProxy, TopicProxy,
};
use floe::{Communicator, Identity, InvokeError, SystemException, TypedProxy};
#[cfg(feature = "bridges")]
use floe_bridges::BRIDGES;
#[cfg(feature = "bridges")]
use floe_bridges::contracts::floe::{BridgeStatus, BridgesProxy};
use floe_hub::contracts::floe::{
    Backpressure, BackupProxy, DurableTopicsProxy, HubAdminProxy, HubStatus,
    IceStormNoSuchTopicError, TopicInfo, TopicStatus, TopicTotals,
};
use floe_hub::{BACKUP, DURABLE_TOPICS, HUB_ADMIN};
use floe_wire::reference::{Endpoint, Reference};

use crate::context;
use crate::endpoint::{self, HUB_PORT};
use crate::exit::{Exit, Failure};
use crate::locator;
use crate::near;
use crate::output;
use crate::peer;
use floe::hub::nearest_name as nearest;
pub(crate) use floe_server::totals::{add, lost};
pub(crate) use overview::Overview;

/// Where the hub is.
#[derive(Debug, Clone, Args)]
pub(crate) struct HubArgument {
    /// The hub: HOST, HOST:PORT, an endpoint, or the proxy of its topic manager [env: FLOE_HUB] [default: the
    /// hub of the context, or tcp -h 127.0.0.1 -p 10000]
    // The library's own reading of the environment takes an empty variable for a value.
    #[arg(long, value_name = "ENDPOINT")]
    hub: Option<String>,

    /// The name of the argument.
    #[arg(skip = "--hub")]
    name: &'static str,
}

/// Says where the hub is, where --hub does not.
const VARIABLE: &str = "FLOE_HUB";

/// The hub that is asked unless told otherwise.
pub(crate) const DEFAULT_ENDPOINT: &str = "tcp -h 127.0.0.1 -p 10000";

impl HubArgument {
    /// The hub of the topic at the other end of a link.
    pub(crate) fn of_other(hub: &str) -> Self {
        Self {
            hub: Some(hub.to_owned()),
            name: "--to-hub",
        }
    }

    /// The event service that topics are copied from.
    pub(crate) fn of_source(hub: &str) -> Self {
        Self {
            hub: Some(hub.to_owned()),
            name: "--from",
        }
    }

    /// The topic manager; nothing is sent.
    ///
    /// # Errors
    /// Text that is neither an endpoint nor a proxy.
    pub(crate) fn manager(
        &self,
        communicator: &Communicator,
    ) -> Result<TopicManagerProxy, Failure> {
        let (text, place) = self.text();
        if let Some(mistake) = endpoint::mistake(&text) {
            return Err(Failure::usage(mistake).when(place));
        }
        peer::proxy(communicator, &manager_text(&text))
            .map_err(|error| error.when(place).help(format_args!("give {ADDRESSES}")))
    }

    /// Describes the hub that was given, and where, for people.
    pub(crate) fn described(&self) -> String {
        let (text, place) = self.text();
        format!("{text} ({place})")
    }

    /// Returns the hub that was given, and where; an empty variable is as good as none.
    ///
    /// A context that is named on the command line goes before the variable, the current one behind it.
    fn text(&self) -> (Cow<'_, str>, &'static str) {
        if let Some(hub) = &self.hub {
            return (hub.into(), self.name);
        }
        let of_context = context::chosen().and_then(|chosen| {
            let hub = chosen.context.hub.as_deref()?;
            Some((hub, chosen.is_named))
        });
        if let Some((hub, true)) = of_context {
            return (hub.into(), "the hub of the context");
        }
        match std::env::var(VARIABLE) {
            Ok(hub) if !hub.trim().is_empty() => return (hub.into(), VARIABLE),
            _ => {}
        }
        match of_context {
            Some((hub, _)) => (hub.into(), "the hub of the current context"),
            None => (DEFAULT_ENDPOINT.into(), "the default hub"),
        }
    }

    /// The topic of this name.
    ///
    /// # Errors
    /// There is none, or the hub does not answer.
    pub(crate) async fn topic(
        &self,
        communicator: &Communicator,
        name: &str,
    ) -> Result<TopicProxy, Failure> {
        match self.manager(communicator)?.retrieve(name).await {
            Ok(topic) => Ok(topic),
            Err(NoSuchTopicError::NoSuchTopic(_)) => {
                let near = self.near_topic(communicator, name).await;
                Err(match near {
                    Some(near) => {
                        no_topic(name).help(format_args!("did you mean `{near}`? {TOPIC_HELP}"))
                    }
                    None => no_topic(name),
                })
            }
            Err(NoSuchTopicError::Invoke(error)) => Err(self.unanswered(error.into())),
            Err(error) => Err(Failure::new(Exit::Failure, error)),
        }
    }

    /// The topic of this name, created if that is wanted. If it is not, the failure says how to want it.
    ///
    /// # Errors
    /// There is none, or the hub does not answer.
    pub(crate) async fn topic_for_events(
        &self,
        communicator: &Communicator,
        name: &str,
        creates: bool,
    ) -> Result<TopicProxy, Failure> {
        if creates {
            return self.topic_or_create(communicator, name).await;
        }
        let topic = self.topic(communicator, name).await;
        topic.map_err(|failure| match failure.exit() {
            Exit::NotFound => failure.further_help("with --create this command does"),
            _ => failure,
        })
    }

    /// The names of all topics.
    ///
    /// # Errors
    /// The hub does not answer.
    pub(crate) async fn topic_names(
        &self,
        communicator: &Communicator,
    ) -> Result<Vec<String>, Failure> {
        if let Some(topics) = self.known_topics(communicator).await? {
            return Ok(topics.into_iter().map(|topic| topic.name).collect());
        }
        // An IceStorm, or a hub that does not tell this caller more.
        let topics = self.manager(communicator)?.retrieve_all().await;
        let topics = topics.map_err(|error| self.unanswered(error.into()))?;
        Ok(topics.into_keys().collect())
    }

    /// The topic whose name is most like this, if one is like it.
    async fn near_topic(&self, communicator: &Communicator, name: &str) -> Option<String> {
        let topics = self.manager(communicator).ok()?.retrieve_all().await.ok()?;
        let names: Vec<&str> = topics.keys().map(String::as_str).collect();
        nearest(name, &names).map(str::to_owned)
    }

    /// The topic of this name, created if there is none.
    ///
    /// # Errors
    /// The hub does not answer.
    async fn topic_or_create(
        &self,
        communicator: &Communicator,
        name: &str,
    ) -> Result<TopicProxy, Failure> {
        match self.topic(communicator, name).await {
            Err(failure) if failure.exit() == Exit::NotFound => {}
            found => return found,
        }
        // IceStorm 3.7 has no `createOrRetrieve`, and somebody else may be as quick.
        match self.manager(communicator)?.create(name).await {
            Ok(topic) => Ok(topic),
            Err(TopicExistsError::TopicExists(_)) => self.topic(communicator, name).await,
            Err(TopicExistsError::Invoke(error)) => Err(self.unanswered(error.into())),
            Err(error) => Err(Failure::new(Exit::Failure, error)),
        }
    }

    /// How many events the hub lost for a subscriber; 0 also where it cannot tell. Says so if it should be able to.
    pub(crate) async fn lost_by(
        &self,
        communicator: &Communicator,
        topic: &str,
        subscriber: &Identity,
    ) -> i64 {
        let info = self.topic_info(communicator, topic).await;
        let info = info.unwrap_or_else(|failure| {
            output::talk(format_args!(
                "how many events the hub lost for this subscriber is not known: {}",
                failure.message()
            ));
            None
        });
        let own = info
            .iter()
            .flat_map(|info| &info.subscribers)
            .find(|known| &known.subscriber.reference().identity == subscriber);
        own.map_or(0, |own| lost(&own.lost))
    }

    /// Returns the counts of a topic's events; `None` from a service that does not tell, as IceStorm.
    ///
    /// # Errors
    /// There is no such topic, or the hub does not answer.
    pub(crate) async fn topic_info(
        &self,
        communicator: &Communicator,
        name: &str,
    ) -> Result<Option<TopicInfo>, Failure> {
        match self.admin(communicator)?.topic_info(name).await {
            Ok(info) => Ok(Some(info)),
            Err(IceStormNoSuchTopicError::Invoke(InvokeError::System(
                SystemException::ObjectNotExist(_),
            ))) => Ok(None),
            Err(IceStormNoSuchTopicError::NoSuchTopic(_)) => Err(no_topic(name)),
            Err(IceStormNoSuchTopicError::Invoke(error)) => Err(self.unanswered(error.into())),
            Err(error) => Err(Failure::new(Exit::Failure, error)),
        }
    }

    /// Returns the counts of a topic's events, and how far its subscribers are behind; `None` from a
    /// service that does not tell.
    ///
    /// # Errors
    /// There is no such topic, or the hub does not answer.
    pub(crate) async fn topic_status(
        &self,
        communicator: &Communicator,
        name: &str,
    ) -> Result<Option<TopicStatus>, Failure> {
        let admin = self.admin(communicator)?;
        let answer = match admin.topic_page(name, 0).await {
            Ok(first) => pages::rest_of_topic(&admin, name, first, self).await?,
            // An older hub has no pages.
            Err(IceStormNoSuchTopicError::Invoke(error)) if tells_nothing(&error) => {
                admin.topic_status(name).await
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(status) => Ok(Some(status)),
            Err(IceStormNoSuchTopicError::Invoke(error)) if tells_nothing(&error) => Ok(None),
            Err(IceStormNoSuchTopicError::NoSuchTopic(_)) => Err(no_topic(name)),
            Err(IceStormNoSuchTopicError::Invoke(error)) => Err(self.unanswered(error.into())),
            Err(error) => Err(Failure::new(Exit::Failure, error)),
        }
    }

    /// Which publishers are held back by which subscribers of a topic. Nothing if the hub does not tell.
    ///
    /// # Errors
    /// There is no such topic, or the hub does not answer.
    pub(crate) async fn backpressure(
        &self,
        communicator: &Communicator,
        name: &str,
    ) -> Result<Vec<Backpressure>, Failure> {
        let admin = self.admin(communicator)?;
        let answer = match admin.backpressure_page(name, 0).await {
            Ok(first) => pages::rest_of_backpressure(&admin, name, first, self).await?,
            // An older hub has no pages.
            Err(IceStormNoSuchTopicError::Invoke(error)) if tells_nothing(&error) => {
                admin.backpressure(name).await
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(backpressure) => Ok(backpressure),
            Err(IceStormNoSuchTopicError::Invoke(error)) if tells_nothing(&error) => Ok(Vec::new()),
            Err(IceStormNoSuchTopicError::NoSuchTopic(_)) => Err(no_topic(name)),
            Err(IceStormNoSuchTopicError::Invoke(error)) => Err(self.unanswered(error.into())),
            Err(error) => Err(Failure::new(Exit::Failure, error)),
        }
    }

    /// Checks that the topic manager exists: the hub has its other objects whatever the manager is called.
    ///
    /// # Errors
    /// There is no such object, it is another one, or the hub does not answer.
    pub(crate) async fn check_manager(&self, communicator: &Communicator) -> Result<(), Failure> {
        let manager = self.manager(communicator)?;
        let identity = &manager.as_proxy().reference().identity;
        match manager.ice_is_a(TOPIC_MANAGER).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(
                Failure::not_found(format_args!("`{identity}` is no topic manager"))
                    .help(MANAGER_HELP),
            ),
            Err(error) => {
                let failure = self.unanswered(error.into());
                Err(near::explained(failure, manager.as_proxy()).await)
            }
        }
    }

    /// Returns the status of the hub and its topics.
    ///
    /// # Errors
    /// It does not tell, or does not answer.
    pub(crate) async fn status(&self, communicator: &Communicator) -> Result<HubStatus, Failure> {
        let status = self.admin(communicator)?.status().await;
        status.map_err(|error| match tells_nothing(&error) {
            true => Failure::not_found("the hub does not report its state").help(
                "it is not a Floe hub, or an older one; `floe topic info` shows what it reports",
            ),
            false => self.unanswered(error.into()),
        })
    }

    /// All topics, read in pages.
    ///
    /// # Errors
    /// The hub does not tell, or does not answer.
    pub(crate) async fn topics_in_pages(
        &self,
        communicator: &Communicator,
    ) -> Result<Vec<TopicTotals>, Failure> {
        let admin = self.admin(communicator)?;
        pages::topics(&admin, self).await
    }

    /// All topics of the hub together, those that were destroyed included; `None` from an older hub.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) async fn totals(
        &self,
        communicator: &Communicator,
    ) -> Result<Option<TopicTotals>, Failure> {
        match self.admin(communicator)?.totals().await {
            Ok(totals) => Ok(Some(totals)),
            Err(error) if tells_nothing(&error) => Ok(None),
            Err(error) => Err(self.unanswered(error.into())),
        }
    }

    fn admin(&self, communicator: &Communicator) -> Result<HubAdminProxy, Failure> {
        let manager = self.manager(communicator)?;
        let admin = manager.as_proxy().ice_identity(admin_identity());
        Ok(HubAdminProxy::from_proxy(admin))
    }

    /// The object for durable topics; nothing is sent.
    ///
    /// # Errors
    /// Text that is neither an endpoint nor a proxy.
    pub(crate) fn durable_topics(
        &self,
        communicator: &Communicator,
    ) -> Result<DurableTopicsProxy, Failure> {
        let manager = self.manager(communicator)?;
        let identity = DURABLE_TOPICS.parse::<Identity>();
        let identity = identity.expect("the identity of the hub's own object is one");
        let topics = manager.as_proxy().ice_identity(identity);
        Ok(DurableTopicsProxy::from_proxy(topics))
    }

    /// The object that backs up the hub; nothing is sent.
    ///
    /// # Errors
    /// Text that is neither an endpoint nor a proxy.
    pub(crate) fn backup(&self, communicator: &Communicator) -> Result<BackupProxy, Failure> {
        let manager = self.manager(communicator)?;
        let identity = BACKUP.parse::<Identity>();
        let identity = identity.expect("the identity of the hub's own object is one");
        Ok(BackupProxy::from_proxy(
            manager.as_proxy().ice_identity(identity),
        ))
    }

    /// The bridges of the server; none from one that has none.
    ///
    /// # Errors
    /// The server does not answer.
    #[cfg(feature = "bridges")]
    pub(crate) async fn bridges(
        &self,
        communicator: &Communicator,
    ) -> Result<Vec<BridgeStatus>, Failure> {
        let manager = self.manager(communicator)?;
        let identity: Identity = BRIDGES.parse().expect("it is one");
        let bridges = BridgesProxy::from_proxy(manager.as_proxy().ice_identity(identity));
        match bridges.list().await {
            Ok(bridges) => Ok(bridges),
            Err(error) if tells_nothing(&error) => Ok(Vec::new()),
            Err(error) => Err(self.unanswered(error.into())),
        }
    }

    /// Says that it was the hub that did not answer.
    pub(crate) fn unanswered(&self, failure: Failure) -> Failure {
        match failure.exit() {
            _ if failure.is_access_refusal() => failure,
            _ if self.is_elsewhere(&failure) => failure
                .when("the hub said to call it at another address")
                .help(PUBLISHED_HELP),
            Exit::Refused => failure.when("no hub").help(self.refused_help()),
            Exit::NotFound => failure.when("no topic manager").help(MANAGER_HELP),
            Exit::Usage => failure.when("the hub does not answer"),
            _ if failure.is_answer() => failure.reported_by("the hub"),
            _ if failure.is_unreachable() => failure
                .when("the hub did not answer")
                .help(UNREACHABLE_HELP),
            _ => failure.when("the hub did not answer"),
        }
    }

    /// Returns true if nobody could be reached at an endpoint that --hub does not name: the hub has answered, and its own
    /// proxies lead there.
    fn is_elsewhere(&self, failure: &Failure) -> bool {
        if !failure.is_unreachable() || !failure.message().contains("connect to \"") {
            return false;
        }
        let Ok(manager) = manager_text(&self.text().0).parse::<Reference>() else {
            return false;
        };
        let endpoints = manager.endpoints();
        let is_named = |endpoint: &Endpoint| {
            let endpoint = endpoint::readable(&endpoint.to_string());
            failure.message().contains(&format!("\"{endpoint}\""))
        };
        !endpoints.is_empty() && !endpoints.iter().any(is_named)
    }

    /// Returns advice if nothing listens where the hub should be.
    fn refused_help(&self) -> &'static str {
        match is_of_this_computer(&self.text().0) {
            true => WHERE_HELP,
            false => {
                "does the hub run there, and was it started with --listen '*'? By default a hub listens on its own \
                 computer only"
            }
        }
    }
}

/// The type of the object that a hub is asked for its topics.
pub(crate) const TOPIC_MANAGER: &str = "::IceStorm::TopicManager";

const MANAGER_HELP: &str = "give the whole proxy of the topic manager with --hub";

const WHERE_HELP: &str = "start one with `floe serve`, or say with --hub where it listens";

const PUBLISHED_HELP: &str = "the hub publishes this address, and this computer does not reach it: start the hub with \
                              --published-endpoints, or published-endpoints in floe.toml, that clients reach";

const UNREACHABLE_HELP: &str = "is the host spelt right, is it on, and can this computer reach it? --hub says where the hub listens";

/// Returns true if a text names a hub on this computer, as far as the text says.
fn is_of_this_computer(hub: &str) -> bool {
    hub.contains("127.0.0.1") || hub.contains("localhost") || hub.contains("::1")
}

/// Returns true if there is no such object, or it has no such operation: an IceStorm, or an older hub.
fn tells_nothing(error: &InvokeError) -> bool {
    matches!(
        error,
        InvokeError::System(
            SystemException::ObjectNotExist(_) | SystemException::OperationNotExist(_)
        )
    )
}

/// There is no topic of this name.
pub(crate) fn no_topic(name: &str) -> Failure {
    Failure::not_found(format_args!("no topic `{name}`")).help(TOPIC_HELP)
}

const TOPIC_HELP: &str = "`floe topic list` shows the topics, and `floe topic create` makes one";

fn admin_identity() -> Identity {
    HUB_ADMIN
        .parse()
        .expect("the identity of the hub's own object is one")
}

/// Checks the text of a hub, and returns it. Nothing is sent.
///
/// # Errors
/// Text that is neither an endpoint nor a proxy.
pub(crate) fn parse_hub(text: &str) -> Result<String, String> {
    if let Some(mistake) = endpoint::mistake(text) {
        return Err(mistake);
    }
    let manager = manager_text(text);
    match endpoint::full_proxy(&manager).parse::<Reference>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("expected {ADDRESSES}, got `{text}`: {error}")),
    }
}

const ADDRESSES: &str = "HOST:PORT, an endpoint, such as 'tcp -h localhost -p 10000', or a proxy, such as \
                         'DemoIceStorm/TopicManager:tcp -h localhost -p 9999'";

/// The proxy of the topic manager: what was given, if it is more than where the hub is.
fn manager_text(hub: &str) -> String {
    let hub = match locator::named() {
        // A word may be the name of an object that the locator knows.
        Some(_) => endpoint::full(hub, None),
        None => endpoint::full(hub, Some(HUB_PORT)),
    };
    match endpoint::is_endpoint(&hub) {
        true => format!("IceStorm/TopicManager:{hub}"),
        false => hub.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_count_that_a_hub_may_tell_is_too_much() {
        let mut topic = TopicTotals {
            subscribers: i32::MAX,
            published: i64::MAX,
            ..TopicTotals::default()
        };
        (topic.lost.overflow, topic.lost.removed) = (i64::MAX, 1);
        let mut total = topic.clone();
        add(&mut total, &topic);
        assert_eq!((total.published, total.subscribers), (i64::MAX, i32::MAX));
        assert_eq!(lost(&total.lost), i64::MAX);
    }

    #[test]
    fn endpoints_are_those_of_the_usual_topic_manager() {
        let of = "IceStorm/TopicManager:tcp -h a -p 1:ssl -h a -p 2";
        assert_eq!(manager_text("tcp -h a -p 1:ssl -h a -p 2"), of);
        let unix = "unix -f /run/hub";
        assert_eq!(manager_text(unix), format!("IceStorm/TopicManager:{unix}"));
        assert_eq!(manager_text(of), of);
        let short = "IceStorm/TopicManager:tcp -h a -p 7";
        assert_eq!(manager_text("a:7"), short);
        let host = "IceStorm/TopicManager:tcp -h a -p 10000";
        assert_eq!(manager_text("a"), host);
        let other = "Demo/TopicManager -e 1.0:default -p 9999";
        assert_eq!(manager_text(other), other);
    }
}
