//! The rules of a hub hold after any sequence of steps: topics, subscriptions and links come and go, events are
//! published, and subscribers fail, hang and recover, while deliveries are under way.
//!
//! - `random/scenario.rs`: a registry, its subscribers, and what each of them must receive
//! - `random/receivers.rs`: what subscribers receive, and how they answer

mod receivers;
mod scenario;

use floe::InvocationMode;
use proptest::prelude::*;

use receivers::Behavior;
use scenario::Scenario;

/// The number of topic names, of subscribers of each topic, and of publishers.
const TOPICS: usize = 3;
const RECEIVERS: usize = 3;
const PUBLISHERS: usize = 2;

/// A step of the test.
#[derive(Debug, Clone)]
enum Step {
    Create {
        topic: usize,
    },
    Destroy {
        topic: usize,
    },
    Subscribe {
        topic: usize,
        receiver: usize,
        requested: RequestedQos,
    },
    Unsubscribe {
        topic: usize,
        receiver: usize,
    },
    Link {
        from: usize,
        to: usize,
    },
    Unlink {
        from: usize,
        to: usize,
    },
    /// By a publisher that waits for room if `waits` is set.
    Publish {
        topic: usize,
        publisher: usize,
        count: usize,
        waits: bool,
    },
    SetBehavior {
        receiver: usize,
        behavior: Behavior,
    },
    /// Deliveries proceed while this task yields this many times.
    Deliver {
        yields: usize,
    },
    /// Time passes: discard intervals end, and batches leave.
    Pause,
}

/// The quality of service that a subscriber asks for.
#[derive(Debug, Clone)]
struct RequestedQos {
    mode: InvocationMode,
    is_ordered: bool,
    overflow: &'static str,
    queue_events: usize,
    retry_count: i32,
}

fn step() -> impl Strategy<Value = Step> {
    let topic = 0..TOPICS;
    let pair = (0..TOPICS, 1..TOPICS).prop_map(|(from, by)| (from, (from + by) % TOPICS));
    let behavior = prop_oneof![
        4 => Just(Behavior::Answering),
        2 => Just(Behavior::Failing),
        2 => Just(Behavior::Hanging),
        1 => Just(Behavior::Missing),
    ];
    let publish = (topic.clone(), 0..PUBLISHERS, 1..6_usize, any::<bool>());
    prop_oneof![
        3 => topic.clone().prop_map(|topic| Step::Create { topic }),
        1 => topic.clone().prop_map(|topic| Step::Destroy { topic }),
        6 => (topic.clone(), 0..RECEIVERS, requested())
            .prop_map(|(topic, receiver, requested)| Step::Subscribe { topic, receiver, requested }),
        2 => (topic, 0..RECEIVERS).prop_map(|(topic, receiver)| Step::Unsubscribe { topic, receiver }),
        3 => pair.clone().prop_map(|(from, to)| Step::Link { from, to }),
        1 => pair.prop_map(|(from, to)| Step::Unlink { from, to }),
        20 => publish.prop_map(|(topic, publisher, count, waits)| Step::Publish {
            topic,
            publisher,
            count,
            waits,
        }),
        5 => (0..RECEIVERS, behavior).prop_map(|(receiver, behavior)| Step::SetBehavior { receiver, behavior }),
        12 => (1..8_usize).prop_map(|yields| Step::Deliver { yields }),
        2 => Just(Step::Pause),
    ]
}

fn requested() -> impl Strategy<Value = RequestedQos> {
    let mode = prop_oneof![
        3 => Just(InvocationMode::Twoway),
        1 => Just(InvocationMode::Oneway),
        1 => Just(InvocationMode::BatchOneway),
    ];
    let overflow = prop::sample::select(vec!["drop-oldest", "drop-newest", "block", "disconnect"]);
    let rest = (any::<bool>(), 1..9_usize, -1..3);
    (mode, overflow, rest).prop_map(|(mode, overflow, rest)| {
        let (is_ordered, queue_events, retry_count) = rest;
        RequestedQos {
            mode,
            is_ordered: is_ordered && mode == InvocationMode::Twoway,
            overflow,
            queue_events,
            retry_count,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn events_keep_their_order_and_each_is_in_exactly_one_place(
        is_remote in any::<bool>(),
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut scenario = Scenario::new(is_remote).await;
            // Most steps need a topic.
            scenario.apply(Step::Create { topic: 0 }).await?;
            for step in steps {
                scenario.apply(step).await?;
                scenario.check_accounts()?;
            }
            scenario.settle().await?;
            scenario.check_accounts()?;
            scenario.check_end()
        })?;
    }
}
