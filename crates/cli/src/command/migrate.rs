//! `floe migrate`: the topics, subscribers and links of an IceStorm, made again at a hub.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use floe::contracts::ice_storm::{
    AlreadySubscribedOrBadQoSOrInvalidSubscriberError as SubscribeError, LinkExistsError,
    NoSuchTopicError, TopicExistsError, TopicManagerProxy, TopicProxy,
};
use floe::reference::Target;
use floe::{Communicator, Identity, InvokeError, Reference, TypedProxy, regular_file};
use serde_json::{Value as Json, json};

use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::icestorm_export::{ExportedTopic, IceStormExport};
use crate::output::{self, Output};
use crate::peer::{self, TimeoutArgument};

/// Makes the topics, subscribers and links of an IceStorm again at a hub
///
/// From a file that `icestormdb --export FILE --dbpath DIR` has written while the IceStorm was stopped, all of
/// them; from an IceStorm that runs (--from), topics and links, because it tells nobody the proxies of its
/// subscribers. What the hub has already stays as it is, so the command can be repeated. A Glacier2 keeps nothing:
/// `floe serve --config FILE` takes its property file as it is. Exit code 1: something could not be made.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// The file that `icestormdb --export` has written
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    export: Option<PathBuf>,

    /// An IceStorm that runs: an endpoint, or the proxy of its topic manager
    #[arg(long, value_name = "ENDPOINT")]
    from: Option<String>,

    /// Links to a topic that is migrated, too, lead to the old place instead of the new one
    #[arg(long)]
    keep_targets: bool,

    /// Only show what would be made
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

/// Bytes of an export. A subscriber takes about 200.
const EXPORT_LEN_MAX: usize = 1 << 30;

/// The end of a topic, subscriber or link that is migrated.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Migrated {
    Made,
    /// The hub has it already.
    There,
    /// It was not tried.
    NotTried,
    Failed(String),
}

/// All that was made, for people and scripts.
#[derive(Debug, Default)]
struct Report {
    rows: Vec<Json>,
    failed: usize,
}

impl Migrate {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let export = self.export.as_ref().map(|path| {
            let shown = path.display();
            let bytes = regular_file::read(path, EXPORT_LEN_MAX).map_err(|error| {
                Failure::usage(format_args!("cannot read \"{shown}\": {error}"))
            })?;
            IceStormExport::parse(&bytes)
                .map_err(|error| Failure::usage(format_args!("\"{shown}\": {error}")))
        });
        let export = export.transpose()?;
        peer::run(self.timeout, async |communicator| {
            let export = match export {
                Some(export) => export,
                None => self.ask(&communicator).await?,
            };
            let report = self.make(&communicator, &export).await?;
            output.rows(&["kind", "topic", "name", "result"], &report.rows)?;
            match report.failed {
                0 => Ok(Exit::Success),
                failed => Err(Failure::new(
                    Exit::Failure,
                    format_args!("{failed} of {} could not be made", report.rows.len()),
                )
                .help("mend the cause, and repeat the command: what was made stays")),
            }
        })
    }

    /// The topics and links of an IceStorm that runs.
    async fn ask(&self, communicator: &Communicator) -> Result<IceStormExport, Failure> {
        let text = self.from.as_deref().unwrap_or_default();
        let from = HubArgument::of_source(text);
        let manager = from.manager(communicator)?;
        let unanswered = |error: InvokeError| from.unanswered(error.into());
        let mut topics = Vec::new();
        let mut subscriber_count = 0;
        for (name, topic) in manager.retrieve_all().await.map_err(unanswered)? {
            let links = topic.get_link_info_seq().await.map_err(unanswered)?;
            let subscribers = topic.get_subscribers().await.map_err(unanswered)?;
            subscriber_count += subscribers.len().saturating_sub(links.len());
            topics.push(ExportedTopic {
                name,
                identity: topic.as_proxy().reference().identity.clone(),
                subscribers: Vec::new(),
                links: links
                    .into_iter()
                    .map(|link| (link.the_topic.as_proxy().reference().clone(), link.cost))
                    .collect(),
            });
        }
        if subscriber_count > 0 {
            output::talk(format_args!(
                "{subscriber_count} subscribers are not copied: a running IceStorm tells nobody their proxies. They subscribe again when they \
                 start; or stop it, and give this command the file of `icestormdb --export FILE --dbpath DIR`"
            ));
        }
        Ok(IceStormExport { topics })
    }

    async fn make(
        &self,
        communicator: &Communicator,
        export: &IceStormExport,
    ) -> Result<Report, Failure> {
        let manager = self.hub.manager(communicator)?;
        let mut report = Report::default();
        let names = export.names();
        let mut proxies = HashMap::new();
        for topic in &export.topics {
            let (made, proxy) = self.make_topic(&manager, &topic.name).await?;
            report.add("topic", &topic.name, &topic.name, made);
            proxies.insert(&topic.name[..], proxy);
        }
        for topic in &export.topics {
            let proxy = &proxies[&topic.name[..]];
            for (subscriber, qos) in &topic.subscribers {
                let made = match proxy {
                    None => self.without_topic(),
                    Some(proxy) => {
                        let subscriber = communicator.proxy_from(subscriber.clone());
                        let subscribed = proxy
                            .subscribe_and_get_publisher(qos, Some(&subscriber))
                            .await;
                        match subscribed {
                            Ok(_) => Migrated::Made,
                            Err(SubscribeError::AlreadySubscribed(_)) => Migrated::There,
                            Err(SubscribeError::Invoke(error)) => self.failed(error)?,
                            Err(error) => Migrated::Failed(error.to_string()),
                        }
                    }
                };
                report.add("subscriber", &topic.name, &subscriber.to_string(), made);
            }
            for (target, cost) in &topic.links {
                let (made, shown) = match self.new_target(&names, topic, target) {
                    Some(name) => {
                        let target = proxies[name].clone();
                        let made = self.link(proxy.as_ref(), target, *cost).await?;
                        (made, format!("{name} (cost {cost})"))
                    }
                    None => {
                        let other = communicator.proxy_from(target.clone());
                        let other = TopicProxy::from_proxy(other);
                        let made = self.link(proxy.as_ref(), Some(other), *cost).await?;
                        (made, format!("{target} (cost {cost})"))
                    }
                };
                report.add("link", &topic.name, &shown, made);
            }
        }
        Ok(report)
    }

    /// The name of the topic at the new hub that a link leads to; `None` if it leads to where it has led.
    ///
    /// The identity of a topic tells nothing of its server: two IceStorms of one name may have topics of one name. So a link
    /// from a topic to one of the same identity leads to another server, and is kept.
    fn new_target<'a>(
        &self,
        names: &HashMap<&Identity, &'a str>,
        from: &ExportedTopic,
        target: &Reference,
    ) -> Option<&'a str> {
        let is_here = !self.keep_targets
            && target.identity != from.identity
            && !matches!(target.target, Target::WellKnown);
        names.get(&target.identity).copied().filter(|_| is_here)
    }

    async fn make_topic(
        &self,
        manager: &TopicManagerProxy,
        name: &str,
    ) -> Result<(Migrated, Option<TopicProxy>), Failure> {
        match manager.retrieve(name).await {
            Ok(topic) => return Ok((Migrated::There, Some(topic).filter(|_| !self.dry_run))),
            Err(NoSuchTopicError::NoSuchTopic(_)) => {}
            Err(NoSuchTopicError::Invoke(error)) => {
                return Err(self.hub.unanswered(error.into()));
            }
            Err(error) => return Ok((Migrated::Failed(error.to_string()), None)),
        }
        if self.dry_run {
            return Ok((Migrated::NotTried, None));
        }
        match manager.create(name).await {
            Ok(topic) => Ok((Migrated::Made, Some(topic))),
            Err(TopicExistsError::Invoke(error)) => Ok((self.failed(error)?, None)),
            Err(error) => Ok((Migrated::Failed(error.to_string()), None)),
        }
    }

    async fn link(
        &self,
        from: Option<&TopicProxy>,
        to: Option<TopicProxy>,
        cost: i32,
    ) -> Result<Migrated, Failure> {
        let (Some(from), Some(to)) = (from, to) else {
            return Ok(self.without_topic());
        };
        Ok(match from.link(Some(&to), cost).await {
            Ok(()) => Migrated::Made,
            Err(LinkExistsError::LinkExists(_)) => Migrated::There,
            Err(LinkExistsError::Invoke(error)) => self.failed(error)?,
            Err(error) => Migrated::Failed(error.to_string()),
        })
    }

    /// The end of something whose topic is not there.
    fn without_topic(&self) -> Migrated {
        match self.dry_run {
            true => Migrated::NotTried,
            false => Migrated::Failed("its topic could not be made".to_owned()),
        }
    }

    /// A refusal of the hub is one failure among others. If it does not answer, the command ends.
    fn failed(&self, error: InvokeError) -> Result<Migrated, Failure> {
        match &error {
            InvokeError::System(_) => Ok(Migrated::Failed(Failure::from(error).to_string())),
            _ => Err(self.hub.unanswered(error.into())),
        }
    }
}

impl Report {
    fn add(&mut self, kind: &str, topic: &str, name: &str, made: Migrated) {
        let result = match made {
            Migrated::Made => "made".to_owned(),
            Migrated::There => "there already".to_owned(),
            Migrated::NotTried => "would be made".to_owned(),
            Migrated::Failed(reason) => {
                self.failed += 1;
                format!("failed: {reason}")
            }
        };
        self.rows
            .push(json!({ "kind": kind, "topic": topic, "name": name, "result": result }));
    }
}
