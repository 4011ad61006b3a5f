//! `floe topic`: the topics of a hub, or of an IceStorm.

use clap::{Args, Subcommand};
use floe::contracts::ice_storm::{LinkInfo, TopicManagerCreateError, TopicProxy};
use floe::{Communicator, InvokeError, SystemException, TypedProxy};
use serde_json::{Value as Json, json};

use crate::exit::{Exit, Failure};
use crate::hub::{HubArgument, not_nil};
use crate::output::{self, Output};
use crate::peer::{self, TimeoutArgument};

/// Lists, creates, shows and removes topics of a hub or an IceStorm
///
/// Exit code 4: no such topic; 5: the topic exists already, or nobody listens where the hub should.
#[derive(Debug, Subcommand)]
pub(crate) enum Topic {
    List(List),
    Create(Create),
    Info(Info),
    Remove(Remove),
    Subscribers(Subscribers),
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
            }
            .map(|()| Exit::Success)
        })
    }

    fn access(&self) -> &Access {
        match self {
            Self::List(List { access })
            | Self::Create(Create { access, .. })
            | Self::Info(Info { access, .. })
            | Self::Remove(Remove { access, .. })
            | Self::Subscribers(Subscribers { access, .. }) => access,
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
        let topics = topics.map_err(|error| hub.unanswered(error.into()))?;
        let mut rows = Vec::with_capacity(topics.len());
        for (name, topic) in topics {
            let topic = not_nil(topic, "topic")?;
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

/// Creates a topic; exit code 5 if it exists already
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Its name
    name: String,

    /// Succeeds if the topic exists already
    #[arg(long)]
    exist_ok: bool,

    #[command(flatten)]
    access: Access,
}

impl Create {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let hub = &self.access.hub;
        let name = self.name.as_str();
        let topic = match hub.manager(communicator)?.create(name).await {
            Ok(topic) => not_nil(topic, "topic")?,
            Err(TopicManagerCreateError::TopicExists(_)) if self.exist_ok => {
                hub.topic(communicator, name).await?
            }
            Err(TopicManagerCreateError::TopicExists(_)) => {
                let message = format!("the topic `{name}` exists already");
                return Err(
                    Failure::new(Exit::Refused, message).help("add --exist-ok if that is fine")
                );
            }
            Err(TopicManagerCreateError::Invoke(error)) => return Err(hub.unanswered(error.into())),
            Err(error) => return Err(Failure::new(Exit::Failure, error)),
        };
        let proxy = topic.as_proxy().to_string();
        output.rows(&["name", "proxy"], &[json!({"name": name, "proxy": proxy})])
    }
}

/// Shows what the hub knows of a topic
///
/// A Floe hub tells counts of events, and the queue and losses of each subscriber. An IceStorm
/// does not know them; they are null then, and named on standard error.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The topic
    name: String,

    #[command(flatten)]
    access: Access,
}

impl Info {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let topic = self.access.hub.topic(communicator, &self.name).await?;
        let info = info_of(&self.name, &topic).await;
        let info = info.map_err(|error| self.access.hub.unanswered(error.into()))?;
        output.record(&info, "name")
    }
}

/// What any event service that speaks IceStorm tells of a topic.
async fn info_of(name: &str, topic: &TopicProxy) -> Result<Json, InvokeError> {
    let publisher = topic.get_publisher().await?;
    let subscribers = topic.get_subscribers().await?;
    let links = topic.get_link_info_seq().await?;
    Ok(json!({
        "name": name,
        "proxy": topic.as_proxy().to_string(),
        "publisher": publisher.map(|publisher| publisher.to_string()),
        "subscribers": subscribers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "links": links.iter().map(link_json).collect::<Vec<_>>(),
    }))
}

fn link_json(link: &LinkInfo) -> Json {
    json!({"name": link.name, "cost": link.cost})
}

/// Removes topics with their subscriptions
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
        for name in &self.names {
            let topic = self.access.hub.topic(communicator, name).await?;
            topic.destroy().await?;
            output::talk(format_args!("removed topic `{name}`"));
        }
        Ok(())
    }
}

/// Lists the subscribers of a topic
#[derive(Debug, Args)]
pub(crate) struct Subscribers {
    /// The topic
    name: String,

    #[command(flatten)]
    access: Access,
}

impl Subscribers {
    async fn run(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let topic = self.access.hub.topic(communicator, &self.name).await?;
        let subscribers = topic.get_subscribers().await?;
        let rows: Vec<Json> = subscribers
            .iter()
            .map(|identity| json!({"identity": identity.to_string()}))
            .collect();
        output.rows(&["identity"], &rows)
    }
}
