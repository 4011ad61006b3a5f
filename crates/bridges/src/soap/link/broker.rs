//! Answers requests.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use floe::hub::Qos;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::consumer::Consumer;
use super::http::{Post, Reply};
use super::leases::{End, Leases, PULL_POINT_MAX, SUBSCRIPTION_MAX, Subscription};
use super::pull_point::PullPoint;
use super::push::{LEN_MAX, Push};
use super::stream::Watch;
use super::target::Target;
use super::topic::{Event, Topic};
use super::topics::Topics;
use crate::hub::Port;
use crate::networks::Networks;
use crate::soap::codec::Document;
use crate::soap::message::{
    Answer, Envelope, Fault, Headers, Notification, NotificationFault, Request, Resource,
    Termination, Version, date_time, wrap,
};
use crate::soap::settings::SoapSettings;

/// How long an answer to GetMessages waits for a first event: a program that asks again and again does not do so at full speed.
const GET_PATIENCE: Duration = Duration::from_millis(200);
/// How often leases are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The broker that SOAP programs speak to.
#[derive(Debug)]
pub(in crate::soap) struct Broker {
    topics: Topics,
    leases: Arc<Leases>,
    settings: Arc<SoapSettings>,
    consumers: Arc<Networks>,
    /// Where it listens.
    own: SocketAddr,
    /// With [`PLACE`] where the beginning of URLs belongs.
    wsdl: String,
    _sweeper: JoinSet<()>,
}

/// Stands for the beginning of URLs, which is as each program says it.
pub(in crate::soap) const PLACE: &str = "http://floe.invalid";

impl Broker {
    /// A broker of these topics. Must be called inside the runtime.
    pub(in crate::soap) fn new(
        ports: Vec<Port>,
        settings: Arc<SoapSettings>,
        own: SocketAddr,
        wsdl: String,
    ) -> Arc<Self> {
        let topics = Topics::new(ports, &settings.namespace);
        let leases = Arc::new(Leases::default());
        let mut sweeper = JoinSet::new();
        sweeper.spawn(sweep(
            Arc::downgrade(&leases),
            Duration::from_secs(settings.idle_seconds),
        ));
        Arc::new(Self {
            topics,
            leases,
            consumers: Arc::new(settings.consumer_networks()),
            settings,
            own,
            wsdl,
            _sweeper: sweeper,
        })
    }

    /// Some of the programs that have subscriptions, and how many subscriptions there are.
    pub(in crate::soap) fn peers(&self, max: usize) -> (Vec<String>, usize) {
        self.leases.peers(max)
    }

    /// Ends all subscriptions and pull points.
    pub(in crate::soap) fn end(&self) {
        self.leases.clear();
    }

    /// The WSDL of everything that is served.
    pub(super) fn wsdl(&self, base: &str) -> Reply {
        Reply {
            status: 200,
            content_type: "text/xml; charset=utf-8",
            text: self.wsdl.replace(PLACE, base),
        }
    }

    /// Answers a message.
    pub(super) async fn answer(&self, post: Post) -> Reply {
        let Post {
            peer,
            base,
            path,
            text,
            watch,
        } = post;
        let read = self.read(&text, &path);
        drop(text);
        let Opened {
            version,
            headers,
            call,
        } = read;
        let answered = match call {
            Ok(call) => self.serve(call, version, (peer, &base), &watch).await,
            Err(fault) => Err(fault),
        };
        reply(version, headers.as_ref(), answered)
    }

    /// Reads a message. The document is gone when this returns: it takes more memory than the text.
    fn read(&self, text: &str, path: &str) -> Opened {
        let opened = |version, headers, call| Opened {
            version,
            headers,
            call,
        };
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                return opened(Version::Soap11, None, Err(Fault::sender(error.to_string())));
            }
        };
        let version = Envelope::version(&document).unwrap_or(Version::Soap11);
        let envelope = match Envelope::read(&document) {
            Ok(envelope) => envelope,
            Err(fault) => return opened(version, None, Err(fault)),
        };
        let Some(resource) = Resource::of_path(path) else {
            return opened(version, envelope.headers, Err(unknown()));
        };
        let request = Request::read(&document, envelope.content, &now());
        let call = match request {
            Ok(Request::Notify(messages)) if resource == Resource::Broker => {
                self.topics.events(&document, &messages).map(Call::Publish)
            }
            Ok(request) => Ok(Call::Do(request, resource)),
            Err(fault) => Err(fault),
        };
        opened(version, envelope.headers, call)
    }

    async fn serve(
        &self,
        call: Call,
        version: Version,
        (peer, base): (SocketAddr, &str),
        watch: &Watch,
    ) -> Result<Answer, Fault> {
        let (request, resource) = match call {
            Call::Publish(events) => return publish(&events).await,
            Call::Do(request, resource) => (request, resource),
        };
        match (request, resource) {
            (
                Request::Subscribe {
                    consumer,
                    topic,
                    termination,
                },
                Resource::Broker,
            ) => {
                let lease = self.lease(termination)?;
                let topic = self
                    .topics
                    .find(topic.as_deref(), |it| it.port().direction().is_out())?;
                let id = self
                    .subscribe(&consumer, topic, version, (peer, lease))
                    .await?;
                let (now, until) = times(lease);
                let url = Resource::Subscription(id).url(base);
                Ok(Answer::Subscribed { url, now, until })
            }
            (Request::CreatePullPoint, Resource::Broker) => {
                let (id, _) = self.create_pull_point()?;
                let url = Resource::PullPoint(id).url(base);
                Ok(Answer::PullPoint { url })
            }
            (Request::CreatePullPointSubscription { topic, termination }, Resource::Broker) => {
                let lease = self.lease(termination)?;
                let topic = self
                    .topics
                    .find(topic.as_deref(), |it| it.port().direction().is_out())?;
                let (id, pull_point) = self.create_pull_point()?;
                // One URL is both: its subscription has the id of the pull point.
                let source = self
                    .source(id.clone(), topic, pull_point, (peer, lease))
                    .await;
                if let Err(fault) = source {
                    self.leases.end_pull_point(&id);
                    return Err(fault);
                }
                let (now, until) = times(lease);
                let url = Resource::PullPoint(id).url(base);
                Ok(Answer::PullPointSubscribed { url, now, until })
            }
            (Request::GetMessages { max }, Resource::PullPoint(id)) => {
                let pull_point = self.leases.pull_point(&id).ok_or_else(unknown)?;
                Ok(Answer::Messages(
                    pull(&pull_point, max, GET_PATIENCE, watch).await,
                ))
            }
            (Request::PullMessages { max, patience }, Resource::PullPoint(id)) => {
                let pull_point = self.leases.pull_point(&id).ok_or_else(unknown)?;
                let messages = pull(&pull_point, max, patience, watch).await;
                let until = self.leases.until(&id);
                let idle = || Instant::now() + Duration::from_secs(self.settings.idle_seconds);
                let (now, until) = times(until.unwrap_or_else(idle).duration_since(Instant::now()));
                Ok(Answer::Pulled {
                    messages,
                    now,
                    until,
                })
            }
            (Request::Renew(termination), Resource::Subscription(id) | Resource::PullPoint(id)) => {
                let lease = self.lease(termination)?;
                match self.leases.renew(&id, Instant::now() + lease) {
                    true => {
                        if let Some(pull_point) = self.leases.pull_point(&id) {
                            pull_point.touch();
                        }
                        let (now, until) = times(lease);
                        Ok(Answer::Renewed { now, until })
                    }
                    false => Err(unknown()),
                }
            }
            (Request::Unsubscribe, Resource::Subscription(id)) => {
                match self.leases.end_subscription(&id) {
                    true => Ok(Answer::Unsubscribed),
                    false => Err(gone(NotificationFault::UnableToDestroySubscription)),
                }
            }
            (Request::Unsubscribe, Resource::PullPoint(id)) => {
                match self.leases.end_pull_point(&id) {
                    true => Ok(Answer::Unsubscribed),
                    false => Err(gone(NotificationFault::UnableToDestroySubscription)),
                }
            }
            (Request::DestroyPullPoint, Resource::PullPoint(id)) => {
                match self.leases.end_pull_point(&id) {
                    true => Ok(Answer::Destroyed),
                    false => Err(gone(NotificationFault::UnableToDestroyPullPoint)),
                }
            }
            (_, Resource::Broker) => Err(Fault::sender(
                "send this to the URL of the subscription or pull point, which came when it was made",
            )),
            (_, Resource::Subscription(_)) => Err(Fault::sender(
                "expected Renew or Unsubscribe at the URL of a subscription",
            )),
            (_, Resource::PullPoint(_)) => Err(Fault::sender(
                "expected GetMessages, PullMessages, Renew, Unsubscribe or DestroyPullPoint at the URL of a pull point",
            )),
        }
    }

    /// How long a lease is: what was asked for, or less.
    fn lease(&self, asked: Termination) -> Result<Duration, Fault> {
        let longest = Duration::from_secs(self.settings.lease_seconds);
        let asked = asked.map_or(longest, |it| it.remaining(SystemTime::now()));
        match asked.is_zero() {
            false => Ok(asked.min(longest)),
            true => Err(Fault::notification(
                NotificationFault::UnacceptableInitialTerminationTime,
                now(),
                "expected a time in the future",
            )),
        }
    }

    fn create_pull_point(&self) -> Result<(String, Arc<PullPoint>), Fault> {
        let (id, pull_point) = (new_id()?, Arc::new(PullPoint::new()));
        match self.leases.add_pull_point(&id, pull_point.clone()) {
            true => Ok((id, pull_point)),
            false => Err(Fault::notification(
                NotificationFault::UnableToCreatePullPoint,
                now(),
                format!(
                    "there are {PULL_POINT_MAX} pull points already; destroy those that are not needed"
                ),
            )),
        }
    }

    async fn subscribe(
        &self,
        consumer: &str,
        topic: Arc<Topic>,
        version: Version,
        (peer, lease): (SocketAddr, Duration),
    ) -> Result<String, Fault> {
        let id = new_id()?;
        let failed =
            |reason| Fault::notification(NotificationFault::SubscribeCreationFailed, now(), reason);
        let target = Target::parse(consumer).map_err(failed)?;
        // A pull point is known by its id, under whatever name of this host.
        let path = Resource::of_path(target.path());
        if let Some(Resource::PullPoint(pull_point)) = path
            && let Some(pull_point) = self.leases.pull_point(&pull_point)
        {
            self.source(id.clone(), topic, pull_point, (peer, lease))
                .await?;
            return Ok(id);
        }
        target.addresses(&self.consumers).await.map_err(failed)?;
        let deliveries = self.deliveries(&topic).await?;
        let push = Push {
            topic,
            deliveries,
            consumer: Consumer::new(target, self.consumers.clone(), self.own),
            version,
            patience: Duration::from_secs(self.settings.away_seconds),
        };
        let leases = Arc::downgrade(&self.leases);
        let own_id = id.clone();
        let task = tokio::spawn(async move {
            push.run().await;
            if let Some(leases) = Weak::upgrade(&leases) {
                leases.end_subscription(&own_id);
            }
        });
        let end = End::Task(task.abort_handle());
        self.hold(&id, end, (consumer.to_owned(), lease))?;
        Ok(id)
    }

    /// Subscribes for a pull point.
    async fn source(
        &self,
        id: String,
        topic: Arc<Topic>,
        pull_point: Arc<PullPoint>,
        (peer, lease): (SocketAddr, Duration),
    ) -> Result<(), Fault> {
        let deliveries = self.deliveries(&topic).await?;
        pull_point.add(&id, topic, deliveries);
        let end = End::Source {
            id: id.clone(),
            pull_point,
        };
        self.hold(&id, end, (peer.to_string(), lease))
    }

    fn hold(&self, id: &str, end: End, (peer, lease): (String, Duration)) -> Result<(), Fault> {
        let until = Instant::now() + lease;
        let subscription = Subscription { until, end, peer };
        match self.leases.add_subscription(id, subscription) {
            true => Ok(()),
            false => Err(too_many()),
        }
    }

    async fn deliveries(&self, topic: &Topic) -> Result<crate::hub::Deliveries, Fault> {
        if !self.leases.has_room() {
            return Err(too_many());
        }
        let deliveries = topic.port().subscribe(Qos::default()).await;
        deliveries.map_err(|error| {
            Fault::notification(
                NotificationFault::SubscribeCreationFailed,
                now(),
                format!("the hub did not subscribe: {error}"),
            )
        })
    }
}

/// A message that was read.
struct Opened {
    version: Version,
    headers: Option<Headers>,
    call: Result<Call, Fault>,
}

enum Call {
    /// Events, each with its topic.
    Publish(Vec<(Arc<Topic>, Event)>),
    Do(Request, Resource),
}

/// Publishes events in order. The answer means that the hub has all of them.
async fn publish(events: &[(Arc<Topic>, Event)]) -> Result<Answer, Fault> {
    for (index, (topic, event)) in events.iter().enumerate() {
        if let Err(fault) = topic.publish(event).await {
            return Err(match index {
                0 => fault,
                _ => Fault::receiver(format!(
                    "the hub has the first {index} of {} events, and not the next: {}",
                    events.len(),
                    fault.reason()
                )),
            });
        }
    }
    Ok(Answer::Notified)
}

/// Takes events out of a pull point.
async fn pull(
    pull_point: &PullPoint,
    max: usize,
    patience: Duration,
    watch: &Watch,
) -> Vec<Notification> {
    let mut messages: Vec<Notification> = Vec::new();
    let mut len = 0;
    let take = |topic: &Topic, delivery: &crate::hub::Delivery| {
        if let Some(message) = topic.write(delivery) {
            topic.port().account().send_out(1);
            len += message.event.len();
            messages.push(message);
        }
        messages.len() < max && len < LEN_MAX
    };
    pull_point.pull(patience, watch, take).await;
    messages
}

fn reply(version: Version, headers: Option<&Headers>, answered: Result<Answer, Fault>) -> Reply {
    let content_type = version.content_type();
    let (status, action, body) = match answered {
        Ok(answer) => match answer.body() {
            Some(body) => (200, answer.action(), body),
            None => {
                return Reply {
                    status: 202,
                    content_type,
                    text: String::new(),
                };
            }
        },
        Err(fault) => {
            let action = "http://www.w3.org/2005/08/addressing/soap/fault".to_owned();
            (fault.status(version), action, fault.body(version))
        }
    };
    Reply {
        status,
        content_type,
        text: wrap(version, &action, (headers, None), &body),
    }
}

fn unknown() -> Fault {
    Fault::sender(UNKNOWN)
}

fn gone(kind: NotificationFault) -> Fault {
    Fault::notification(kind, now(), UNKNOWN)
}

const UNKNOWN: &str = "there is no such subscription or pull point: it has ended, or never was";

fn too_many() -> Fault {
    Fault::notification(
        NotificationFault::SubscribeCreationFailed,
        now(),
        format!(
            "there are {SUBSCRIPTION_MAX} subscriptions already; unsubscribe those that are not needed"
        ),
    )
}

/// The time, as text.
fn now() -> String {
    date_time(SystemTime::now())
}

/// The time, and the time after a while, as text.
fn times(lease: Duration) -> (String, String) {
    let now = SystemTime::now();
    (date_time(now), date_time(now + lease))
}

/// An id that nobody guesses.
fn new_id() -> Result<String, Fault> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Fault::receiver(format!("the system has no random numbers: {error}")))?;
    Ok(bytes.iter().map(|it| format!("{it:02x}")).collect())
}

async fn sweep(leases: Weak<Leases>, idle_max: Duration) {
    let mut ticks = interval(SWEEP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match leases.upgrade() {
            Some(leases) => leases.sweep(Instant::now(), idle_max),
            None => return,
        }
    }
}
