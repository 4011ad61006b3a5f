//! The rules of a hub, whatever happens in whatever order: topics, subscriptions and links come and go, events are
//! published, and subscribers fail, hang and recover, while deliveries are under way.
//!
//! - `random/stage.rs`: a registry, its subscribers, and what each of them must have
//! - `random/ears.rs`: what subscribers hear, and how they answer

mod ears;
mod stage;

use floe::InvocationMode;
use proptest::prelude::*;

use ears::Mood;
use stage::Stage;

/// Names of topics, subscribers of each, and publishers.
const TOPICS: usize = 3;
const EARS: usize = 3;
const PUBLISHERS: usize = 2;

/// What may happen to a hub.
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
        ear: usize,
        wish: Wish,
    },
    Unsubscribe {
        topic: usize,
        ear: usize,
    },
    Link {
        from: usize,
        to: usize,
    },
    Unlink {
        from: usize,
        to: usize,
    },
    /// By a publisher that waits for room, or one that does not.
    Publish {
        topic: usize,
        publisher: usize,
        count: usize,
        waits: bool,
    },
    Turn {
        ear: usize,
        mood: Mood,
    },
    /// Deliveries go on for so many turns of the tasks.
    Deliver {
        turns: usize,
    },
    /// Time passes: discard intervals end, batches leave.
    Pause,
}

/// What a subscriber asks for.
#[derive(Debug, Clone)]
struct Wish {
    mode: InvocationMode,
    is_ordered: bool,
    overflow: &'static str,
    queue_events: usize,
    retry_count: i32,
}

fn step() -> impl Strategy<Value = Step> {
    let topic = 0..TOPICS;
    let pair = (0..TOPICS, 1..TOPICS).prop_map(|(from, by)| (from, (from + by) % TOPICS));
    let mood = prop_oneof![
        4 => Just(Mood::Well),
        2 => Just(Mood::Failing),
        2 => Just(Mood::Stuck),
        1 => Just(Mood::Missing),
    ];
    let publish = (topic.clone(), 0..PUBLISHERS, 1..6_usize, any::<bool>());
    prop_oneof![
        3 => topic.clone().prop_map(|topic| Step::Create { topic }),
        1 => topic.clone().prop_map(|topic| Step::Destroy { topic }),
        6 => (topic.clone(), 0..EARS, wish())
            .prop_map(|(topic, ear, wish)| Step::Subscribe { topic, ear, wish }),
        2 => (topic, 0..EARS).prop_map(|(topic, ear)| Step::Unsubscribe { topic, ear }),
        3 => pair.clone().prop_map(|(from, to)| Step::Link { from, to }),
        1 => pair.prop_map(|(from, to)| Step::Unlink { from, to }),
        20 => publish.prop_map(|(topic, publisher, count, waits)| Step::Publish {
            topic,
            publisher,
            count,
            waits,
        }),
        5 => (0..EARS, mood).prop_map(|(ear, mood)| Step::Turn { ear, mood }),
        12 => (1..8_usize).prop_map(|turns| Step::Deliver { turns }),
        2 => Just(Step::Pause),
    ]
}

fn wish() -> impl Strategy<Value = Wish> {
    let mode = prop_oneof![
        3 => Just(InvocationMode::Twoway),
        1 => Just(InvocationMode::Oneway),
        1 => Just(InvocationMode::BatchOneway),
    ];
    let overflow = prop::sample::select(vec!["drop-oldest", "drop-newest", "block", "disconnect"]);
    let rest = (any::<bool>(), 1..9_usize, -1..3);
    (mode, overflow, rest).prop_map(|(mode, overflow, rest)| {
        let (is_ordered, queue_events, retry_count) = rest;
        Wish {
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
            let mut stage = Stage::set(is_remote).await;
            // Nothing can be shown before there is a topic.
            stage.take(Step::Create { topic: 0 }).await?;
            for step in steps {
                stage.take(step).await?;
                stage.check_accounts()?;
            }
            stage.settle().await?;
            stage.check_accounts()?;
            stage.check_end()
        })?;
    }
}
