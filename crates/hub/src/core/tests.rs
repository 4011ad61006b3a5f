//! Topics, subscribers and links under any sequence of steps, built from the core alone. The results are compared with
//! a list of the events that each recipient should get.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use floe::encoding::{Decoder, Encoder};
use floe::forwarding::{EventParts, Events, EventsBuilder};
use floe::{EncodingVersion, OperationMode};
use proptest::prelude::*;

use super::qos::RetryCount;
use super::*;

/// The number of topics. A destroyed topic is created again when a step needs it.
const TOPICS: usize = 3;
/// The number of publishers of each topic.
const PUBLISHERS: usize = 2;
/// The maximum number of recipients of a topic.
const RECIPIENTS_MAX: usize = 4;
const DISCARD_INTERVAL: Duration = Duration::from_secs(60);
const TWOWAY: DeliveryMode = DeliveryMode::Twoway {
    outstanding: 5,
    outstanding_max: 5,
};

/// The publisher of an event, and its number.
type Name = (usize, u32);

/// A step of the test. Numbers choose among what exists.
#[derive(Debug, Clone)]
enum Step {
    Subscribe {
        topic: usize,
        overflow: OverflowPolicy,
        retry_count: RetryCount,
    },
    Link {
        topic: usize,
        to: usize,
        cost: i32,
    },
    Leave {
        topic: usize,
        recipient: usize,
    },
    Destroy {
        topic: usize,
    },
    Publish {
        topic: usize,
        publisher: usize,
        costs: Vec<Option<i32>>,
    },
    Take {
        topic: usize,
        recipient: usize,
        events_max: usize,
    },
    Deliver {
        topic: usize,
        recipient: usize,
    },
    Fail {
        topic: usize,
        recipient: usize,
        failure: DeliveryFailure,
    },
    Wait {
        seconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let topic = || 0..TOPICS;
    let recipient = || 0..RECIPIENTS_MAX;
    let overflow = prop_oneof![
        3 => Just(OverflowPolicy::DropOldest),
        1 => Just(OverflowPolicy::DropNewest),
        1 => Just(OverflowPolicy::Disconnect),
    ];
    let retry_count = prop_oneof![
        Just(RetryCount::Unlimited),
        (0..3_u32).prop_map(RetryCount::Limited),
    ];
    let failure = prop_oneof![4 => Just(DeliveryFailure::Soft), 1 => Just(DeliveryFailure::Hard)];
    let costs = prop::collection::vec(prop::option::of(0..4_i32), 1..6);
    prop_oneof![
        4 => (topic(), overflow, retry_count)
            .prop_map(|(topic, overflow, retry_count)| Step::Subscribe { topic, overflow, retry_count }),
        3 => (topic(), topic(), 0..3_i32).prop_map(|(topic, to, cost)| Step::Link { topic, to, cost }),
        2 => (topic(), recipient()).prop_map(|(topic, recipient)| Step::Leave { topic, recipient }),
        1 => topic().prop_map(|topic| Step::Destroy { topic }),
        16 => (topic(), 0..PUBLISHERS, costs)
            .prop_map(|(topic, publisher, costs)| Step::Publish { topic, publisher, costs }),
        16 => (topic(), recipient(), 1..8_usize)
            .prop_map(|(topic, recipient, events_max)| Step::Take { topic, recipient, events_max }),
        14 => (topic(), recipient()).prop_map(|(topic, recipient)| Step::Deliver { topic, recipient }),
        3 => (topic(), recipient(), failure)
            .prop_map(|(topic, recipient, failure)| Step::Fail { topic, recipient, failure }),
        2 => (1..90_u64).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

/// A subscriber or link, and what it should receive.
struct Recipient {
    subscription: Subscription<Events>,
    /// The other topic and the cost, if it is a link.
    link: Option<(usize, Cost)>,
    /// The events that it should get and has not taken, in order. Lost events stay here.
    meant: Vec<Name>,
    offered: u64,
    /// The events that it has taken and that have no result yet.
    under_way: Vec<Events>,
    /// The number of events that its other end received.
    delivered: u64,
    /// The last number that it took of each publisher.
    last: BTreeMap<usize, u32>,
}

impl Recipient {
    fn new(qos: &Qos, overflow: OverflowPolicy, link: Option<(usize, Cost)>) -> Self {
        let limits = QueueLimits {
            events: 7,
            bytes: 10_000,
            patience: Duration::ZERO,
            overflow,
        };
        Self {
            subscription: Subscription::new(qos, limits, DISCARD_INTERVAL),
            link,
            meant: Vec::new(),
            offered: 0,
            under_way: Vec::new(),
            delivered: 0,
            last: BTreeMap::new(),
        }
    }

    fn offer(&mut self, events: &Events, now: Instant) {
        let batches: Vec<Events> = match self.link {
            None => vec![events.clone()],
            Some((_, cost)) => cost.passing(events).collect(),
        };
        for batch in batches {
            let before = self.subscription.snapshot().accounts.offered;
            self.subscription.publish(batch.clone(), false, now);
            let offered = self.subscription.snapshot().accounts.offered - before;
            // If a subscription ends within a batch, the rest of the batch does not count as offered.
            self.offered += offered;
            self.meant
                .extend(names(&batch).into_iter().take(offered as usize));
        }
    }

    fn take(&mut self, events_max: usize) -> Result<(), TestCaseError> {
        if self.subscription.next_step(1) != DeliveryStep::Deliver {
            return Ok(());
        }
        let mut taken = Vec::new();
        self.subscription
            .take(events_max, usize::MAX, &mut taken, Instant::now);
        for name in taken.iter().flat_map(names) {
            // It is the next of the expected events, except for those that were lost before it.
            let at = self.meant.iter().position(|meant| *meant == name);
            let at = at.ok_or_else(|| {
                TestCaseError::fail(format!("{name:?} was not meant for it, or came twice"))
            })?;
            self.meant.drain(..=at);
            let last = self.last.insert(name.0, name.1);
            prop_assert!(
                last.is_none_or(|last| last < name.1),
                "{:?} after {:?}",
                name,
                last
            );
        }
        self.under_way.extend(taken);
        Ok(())
    }

    fn count_under_way(&self) -> u64 {
        self.under_way.iter().map(|batch| batch.len() as u64).sum()
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let Snapshot {
            accounts,
            queued,
            outstanding,
            ..
        } = self.subscription.snapshot();
        let lost = accounts.lost;
        let lost = lost.overflow + lost.offline + lost.failed + lost.removed;
        prop_assert_eq!(accounts.offered, self.offered);
        prop_assert_eq!(accounts.delivered, self.delivered);
        prop_assert_eq!(outstanding, self.count_under_way());
        prop_assert_eq!(
            accounts.offered,
            accounts.delivered + lost + queued + outstanding
        );
        Ok(())
    }
}

#[derive(Default)]
struct Topic {
    recipients: Vec<Recipient>,
}

/// All topics, and the recipients that have left.
struct World {
    topics: [Topic; TOPICS],
    left: Vec<Recipient>,
    now: Instant,
    /// The number of events of each publisher of each topic.
    published: [u32; TOPICS * PUBLISHERS],
}

impl World {
    fn new() -> Self {
        Self {
            topics: std::array::from_fn(|_| Topic::default()),
            left: Vec::new(),
            now: Instant::now(),
            published: [0; TOPICS * PUBLISHERS],
        }
    }

    fn recipient(&mut self, topic: usize, recipient: usize) -> Option<&mut Recipient> {
        self.topics[topic].recipients.get_mut(recipient)
    }

    fn add(&mut self, topic: usize, recipient: Recipient) {
        let recipients = &mut self.topics[topic].recipients;
        if recipients.len() < RECIPIENTS_MAX {
            recipients.push(recipient);
        }
    }

    fn remove(&mut self, topic: usize, recipient: usize) {
        if recipient < self.topics[topic].recipients.len() {
            let mut recipient = self.topics[topic].recipients.remove(recipient);
            recipient.subscription.remove(Instant::now());
            self.left.push(recipient);
        }
    }

    fn act(&mut self, step: Step) -> Result<(), TestCaseError> {
        let now = self.now;
        match step {
            Step::Subscribe {
                topic,
                overflow,
                retry_count,
            } => {
                let qos = Qos {
                    delivery: TWOWAY,
                    retry_count,
                    ..Qos::of_link()
                };
                self.add(topic, Recipient::new(&qos, overflow, None));
            }
            Step::Link { topic, to, cost } => {
                let is_linked =
                    |recipient: &Recipient| recipient.link.is_some_and(|(other, _)| other == to);
                // Over a second path, events would come twice, as they should.
                if to != topic && !self.topics[topic].recipients.iter().any(is_linked) {
                    let link = Some((to, Cost(cost)));
                    let drop_oldest = OverflowPolicy::DropOldest;
                    self.add(topic, Recipient::new(&Qos::of_link(), drop_oldest, link));
                }
            }
            Step::Leave { topic, recipient } => self.remove(topic, recipient),
            Step::Destroy { topic } => {
                while !self.topics[topic].recipients.is_empty() {
                    self.remove(topic, 0);
                }
            }
            Step::Publish {
                topic,
                publisher,
                costs,
            } => {
                // Events of one publisher to two topics may overtake each other.
                let publisher = topic * PUBLISHERS + publisher;
                let first = self.published[publisher] + 1;
                let events = batch(publisher, first, &costs);
                self.published[publisher] += costs.len() as u32;
                let recipients = self.topics[topic].recipients.iter_mut();
                recipients.for_each(|recipient| recipient.offer(&events, now));
            }
            Step::Take {
                topic,
                recipient,
                events_max,
            } => {
                if let Some(recipient) = self.recipient(topic, recipient) {
                    recipient.take(events_max)?;
                }
            }
            Step::Deliver { topic, recipient } => self.deliver(topic, recipient)?,
            Step::Fail {
                topic,
                recipient,
                failure,
            } => {
                if let Some(recipient) = self.recipient(topic, recipient) {
                    let count = recipient.count_under_way();
                    recipient.under_way.clear();
                    recipient.subscription.handle_failed(count, failure, now);
                }
            }
            Step::Wait { seconds } => self.now += Duration::from_secs(seconds),
        }
        Ok(())
    }

    /// Delivers everything that is under way; for a link, to the subscribers of the other topic.
    fn deliver(&mut self, topic: usize, recipient: usize) -> Result<(), TestCaseError> {
        let now = self.now;
        let Some(recipient) = self.recipient(topic, recipient) else {
            return Ok(());
        };
        let count = recipient.count_under_way();
        let arrived = std::mem::take(&mut recipient.under_way);
        recipient.delivered += count;
        recipient.subscription.handle_delivered(count);
        let Some((to, cost)) = recipient.link.filter(|_| count > 0) else {
            return Ok(());
        };
        prop_assert!(
            arrived.iter().all(|batch| cost.passing(batch).count() == 1),
            "it lets all pass that it took"
        );
        let call = encode_forward(&arrived).expect("short enough");
        let mut decoder = Decoder::new(&call, EncodingVersion::V1_1);
        let mut inner = decoder.open_encapsulation().expect("an encapsulation");
        let events = decode_forward(&mut inner).expect("events").expect("some");
        prop_assert_eq!(
            names(&events),
            arrived.iter().flat_map(names).collect::<Vec<_>>()
        );
        let others = self.topics[to].recipients.iter_mut();
        others
            .filter(|other| other.link.is_none())
            .for_each(|other| other.offer(&events, now));
        Ok(())
    }

    fn recipients(&self) -> impl Iterator<Item = &Recipient> {
        let present = self.topics.iter().flat_map(|topic| &topic.recipients);
        present.chain(&self.left)
    }
}

/// Events of a publisher, numbered from `first`, with these costs.
fn batch(publisher: usize, first: u32, costs: &[Option<i32>]) -> Events {
    let mut events = EventsBuilder::default();
    for (number, cost) in (first..).zip(costs) {
        let write = |buffer: &mut Vec<u8>| {
            let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
            encoder.string(&format!("{publisher} {number}"));
            encoder.put(&OperationMode::Normal);
            encoder.size(usize::from(cost.is_some()));
            if let Some(cost) = cost {
                encoder.string("cost");
                encoder.string(&cost.to_string());
            }
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.int(7));
            encoder.finish().expect("a short event");
            Ok::<(), floe::DecodeError>(())
        };
        events.push_with(write).expect("an event");
    }
    events.finish().expect("there are costs")
}

/// Events of an operation without parameters, one with each of these contexts.
pub(crate) fn events_with_contexts(operation: &str, contexts: &[&[(&str, &str)]]) -> Events {
    let mut builder = EventsBuilder::default();
    for context in contexts {
        let write = |buffer: &mut Vec<u8>| {
            let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
            encoder.string(operation);
            encoder.put(&OperationMode::Normal);
            encoder.size(context.len());
            for (key, value) in *context {
                encoder.string(key);
                encoder.string(value);
            }
            encoder.encapsulation(EncodingVersion::V1_1, |_| ());
            encoder.finish().expect("it is short");
            Ok(())
        };
        builder.push_with(write).expect("it is an event");
    }
    builder.finish().expect("some events")
}

fn names(events: &Events) -> Vec<Name> {
    let name = |event: &[u8]| {
        let head = EventParts::parse(event).expect("an event").head;
        let mut decoder = Decoder::new(head, EncodingVersion::V1_0);
        let operation = decoder.str("operation").expect("it was checked");
        let (publisher, number) = operation.split_once(' ').expect("both");
        (
            publisher.parse().expect("a number"),
            number.parse().expect("a number"),
        )
    };
    events.iter().map(name).collect()
}

#[test]
fn accepted_events_do_not_keep_the_memory_of_lost_ones() {
    let qos = Qos::parse(&BTreeMap::new(), floe::InvocationMode::Twoway).expect("no wishes");
    let limits = QueueLimits {
        events: 2,
        patience: Duration::ZERO,
        overflow: OverflowPolicy::DropNewest,
        ..QueueLimits::default()
    };
    let mut subscription = Subscription::new(&qos, limits, DISCARD_INTERVAL);
    let events = batch(0, 0, &[None; 100]);
    subscription.publish(events.clone(), false, Instant::now());
    let mut queued = Vec::new();
    subscription.take(2, usize::MAX, &mut queued, Instant::now);
    let accepted: Vec<_> = queued.iter().flat_map(names).collect();
    assert_eq!(accepted, [(0, 0), (0, 1)]);
    let came = events.each().map(|event| event.as_bytes().as_ptr());
    let came: Vec<_> = came.collect();
    let events = queued.iter().flat_map(Events::each);
    for event in events {
        assert!(!came.contains(&event.as_bytes().as_ptr()));
    }
}

proptest! {
    #[test]
    fn events_keep_their_order_and_each_is_in_one_place(
        steps in prop::collection::vec(step(), 1..250),
    ) {
        let mut world = World::new();
        for step in steps {
            world.act(step)?;
            for recipient in world.recipients() {
                recipient.check()?;
            }
        }
        // In the end, all queued events arrive, and nothing is left over.
        for round in 0..2 {
            for topic in 0..TOPICS {
                for recipient in 0..RECIPIENTS_MAX {
                    if let Some(recipient) = world.recipient(topic, recipient) {
                        recipient.take(usize::MAX)?;
                    }
                    world.deliver(topic, recipient)?;
                }
            }
            let mut all = world.topics.iter().flat_map(|topic| &topic.recipients);
            let is_idle = |recipient: &Recipient| {
                let snapshot = recipient.subscription.snapshot();
                (snapshot.queued, snapshot.outstanding) == (0, 0)
            };
            let are_idle = all.all(is_idle);
            // The second round takes what links bring in the first.
            prop_assert!(round == 0 || are_idle);
        }
        for recipient in world.recipients() {
            recipient.check()?;
        }
    }
}
