//! A hub that is killed at any moment, while topics, subscriptions and links change: what it has
//! acknowledged is there when it starts again, and the change under way has happened or has not.
//!
//! `FLOE_CRASH_ROUNDS` says how often it is killed, `FLOE_CRASH_SEED` repeats a run as far as time
//! allows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use floe::{Communicator, Identity, InvokeError, Proxy, TypedProxy};
use floe_tests::hub::{Data, serve};
use tokio::runtime::Runtime;

/// Kills in a run that was not told otherwise.
const ROUNDS: usize = 20;
/// Clients that make changes at a time, each to topics of its own.
const CLIENTS: usize = 3;
/// The longest that a hub lives.
const LIFE_MAX: Duration = Duration::from_millis(150);
/// Topics of a client, and subscribers of each.
const NAMES: u64 = 4;

/// The topics of one client, and who gets the events of each.
type Topics = BTreeMap<String, BTreeSet<Recipient>>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Recipient {
    Subscriber(String),
    /// A link to a topic, and its cost.
    Link(String, i32),
}

#[derive(Debug, Clone)]
enum Change {
    Create(String),
    Destroy(String),
    Add(String, Recipient),
    Remove(String, Recipient),
}

impl Change {
    /// Any that fits what there is.
    fn random(topics: &Topics, client: usize, random: &mut Random) -> Self {
        let topic = format!("{client}-{}", random.below(NAMES));
        let Some(recipients) = topics.get(&topic) else {
            return Self::Create(topic);
        };
        if random.below(12) == 0 {
            return Self::Destroy(topic);
        }
        let recipient = match random.below(2) {
            0 => Recipient::Subscriber(format!("s{}", random.below(NAMES))),
            _ => {
                let at = random.below(topics.len() as u64) as usize;
                let to = topics.keys().nth(at).expect("it is there").clone();
                Recipient::Link(to, random.below(9) as i32 - 3)
            }
        };
        match recipients.iter().find(|known| known.is_alike(&recipient)) {
            Some(known) => Self::Remove(topic, known.clone()),
            None => Self::Add(topic, recipient),
        }
    }

    fn apply(&self, topics: &mut Topics) {
        match self {
            Self::Create(topic) => {
                topics.insert(topic.clone(), BTreeSet::new());
            }
            Self::Destroy(topic) => {
                topics.remove(topic);
            }
            Self::Add(topic, recipient) => {
                topics
                    .entry(topic.clone())
                    .or_default()
                    .insert(recipient.clone());
            }
            Self::Remove(topic, recipient) => {
                topics.entry(topic.clone()).or_default().remove(recipient);
            }
        }
    }
}

impl Recipient {
    /// Returns true if a topic cannot have both.
    fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Link(to, _), Self::Link(other, _)) => to == other,
            _ => self == other,
        }
    }
}

/// A hub that runs, as its clients see it.
#[derive(Clone)]
struct Service {
    communicator: Communicator,
    manager: TopicManagerProxy,
}

impl Service {
    fn new(manager: &str) -> Self {
        let communicator = Communicator::new();
        let manager = communicator.proxy(manager).expect("a proxy");
        Self {
            communicator,
            manager,
        }
    }

    fn topic(&self, name: &str) -> TopicProxy {
        let identity = Identity::with_category(format!("topic.{name}"), "IceStorm");
        TopicProxy::from_proxy(self.manager.as_proxy().ice_identity(identity))
    }

    fn subscriber(&self, name: &str) -> Proxy {
        let text = format!("{name}:tcp -h 127.0.0.1 -p 1");
        self.communicator.proxy(&text).expect("a proxy")
    }

    /// Asks for a change. An answer that does not fit what the client knows is a mistake of the hub.
    async fn make(&self, change: &Change) -> Result<(), InvokeError> {
        match change {
            Change::Create(topic) => self
                .manager
                .create(topic)
                .await
                .map(drop)
                .map_err(unexpected),
            Change::Destroy(topic) => self.topic(topic).destroy().await,
            Change::Add(topic, Recipient::Subscriber(name)) => {
                let (topic, subscriber) = (self.topic(topic), self.subscriber(name));
                let qos = QoS::new();
                let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
                subscribed.await.map(drop).map_err(unexpected)
            }
            Change::Add(topic, Recipient::Link(to, cost)) => {
                let (topic, to) = (self.topic(topic), self.topic(to));
                topic.link(Some(&to), *cost).await.map_err(unexpected)
            }
            Change::Remove(topic, Recipient::Subscriber(name)) => {
                let subscriber = self.subscriber(name);
                self.topic(topic).unsubscribe(Some(&subscriber)).await
            }
            Change::Remove(topic, Recipient::Link(to, _)) => {
                let (topic, to) = (self.topic(topic), self.topic(to));
                topic.unlink(Some(&to)).await.map_err(unexpected)
            }
        }
    }

    /// Returns the topics of a client in the hub.
    async fn topics(&self, client: usize) -> Topics {
        let all = self.manager.retrieve_all().await.expect("topics");
        let mut topics = Topics::new();
        for (name, topic) in all {
            if name.starts_with(&format!("{client}-")) {
                topics.insert(name, recipients(&topic).await);
            }
        }
        topics
    }
}

async fn recipients(topic: &TopicProxy) -> BTreeSet<Recipient> {
    let links = topic.get_link_info_seq().await.expect("links");
    let links = links
        .into_iter()
        .map(|link| Recipient::Link(link.name, link.cost));
    let identities = topic.get_subscribers().await.expect("subscribers");
    let subscribers = identities
        .into_iter()
        .filter(|identity| identity.category.is_empty());
    let subscribers = subscribers.map(|identity| Recipient::Subscriber(identity.name));
    links.chain(subscribers).collect()
}

/// The failure of the connection, the only one that there may be.
fn unexpected<E>(error: E) -> InvokeError
where
    E: std::fmt::Display + floe::OperationError,
{
    match error.into_invoke_error() {
        Ok(error) => error,
        Err(exception) => panic!("expected the hub to make the change, got {exception}"),
    }
}

/// Changes what there is until the hub is gone: what was acknowledged, how often, and what was not.
async fn change_until_killed(
    service: Service,
    client: usize,
    mut topics: Topics,
    mut random: Random,
) -> (Topics, usize, Change) {
    for count in 0.. {
        let change = Change::random(&topics, client, &mut random);
        match service.make(&change).await {
            Ok(()) => change.apply(&mut topics),
            Err(InvokeError::System(error)) => panic!("{change:?}: {error}"),
            Err(_) => return (topics, count, change),
        }
    }
    unreachable!("the hub is killed before")
}

#[test]
fn what_a_killed_hub_has_acknowledged_is_there_when_it_starts_again() {
    let rounds = number("FLOE_CRASH_ROUNDS").unwrap_or(ROUNDS as u64);
    let seed = number("FLOE_CRASH_SEED").unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(1, |since| since.as_nanos() as u64)
    });
    println!("FLOE_CRASH_ROUNDS={rounds} FLOE_CRASH_SEED={seed}");
    let runtime = Runtime::new().expect("a runtime");
    let data = Data::new("crash");
    let mut random = Random(seed);
    let mut known = vec![Topics::new(); CLIENTS];
    let mut acknowledged = 0;
    for round in 0..rounds {
        let (mut hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
        let changed = runtime.block_on(async {
            let service = Service::new(&manager);
            let clients: Vec<_> = known
                .drain(..)
                .enumerate()
                .map(|(client, topics)| {
                    let random = Random(random.next());
                    tokio::spawn(change_until_killed(service.clone(), client, topics, random))
                })
                .collect();
            let life = random.below(LIFE_MAX.as_micros() as u64);
            tokio::time::sleep(Duration::from_micros(life)).await;
            hub.kill();
            let mut changed = Vec::new();
            for client in clients {
                changed.push(client.await.expect("no client panics"));
            }
            service.communicator.shutdown().await;
            changed
        });
        let (_hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
        known = runtime.block_on(async {
            let service = Service::new(&manager);
            let mut known = Vec::new();
            for (client, (topics, count, change)) in changed.into_iter().enumerate() {
                acknowledged += count;
                let found = service.topics(client).await;
                let mut with_change = topics.clone();
                change.apply(&mut with_change);
                assert!(
                    found == topics || found == with_change,
                    "seed {seed}, round {round}: expected {topics:?}, with or without {change:?}; found {found:?}"
                );
                known.push(found);
            }
            service.communicator.shutdown().await;
            known
        });
    }
    assert!(
        acknowledged as u64 > rounds,
        "only {acknowledged} changes in {rounds} rounds: they prove little"
    );
    println!("{acknowledged} acknowledged changes");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("expected a number in {variable}, got {text:?}")))
}

/// Numbers that look random, the same for the same seed: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
