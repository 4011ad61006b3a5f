//! Delivery to programs that pull: events wait in the queue until a program asks for them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::time::Instant;

use tokio::time::sleep_until;

use crate::core::DeliveryFailure;
use crate::service::subscriber::{Pull, Subscriber};

/// The maximum bytes in one answer, unless a single event is longer. Peers refuse messages of more than 1 MiB by default.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Answers programs until the subscription ends. Ends it if no program pulls for too long.
pub(super) async fn run(subscriber: &Subscriber) {
    let pulls = subscriber.pulls();
    let Some((pulls, mut programs)) = pulls.and_then(|it| Some((it, it.receive()?))) else {
        return subscriber.remove();
    };
    let mut waiting = VecDeque::<Pull>::new();
    let mut last_pull = Instant::now();
    loop {
        waiting.retain(|pull| !pull.taker.is_closed());
        let is_wanted = !waiting.is_empty();
        let idle_until = last_pull.checked_add(pulls.idle_max());
        let until = waiting.iter().map(|pull| pull.until).min().or(idle_until);
        let over = async {
            match until {
                Some(until) => sleep_until(until.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            has_events = poll_fn(|context| subscriber.poll_pull(context, is_wanted)) => {
                if !has_events {
                    break;
                }
                // A program may have gone while events came: they are for the next one.
                waiting.retain(|pull| !pull.taker.is_closed());
                if let Some(pull) = waiting.pop_front() {
                    waiting.extend(answer(subscriber, pull).await);
                }
            }
            Some(pull) = programs.recv() => {
                last_pull = Instant::now();
                waiting.push_back(pull);
            }
            () = over => {
                if !is_wanted {
                    tracing::info!("ended the subscription of {}, which no program pulls", subscriber.log_name());
                    break;
                }
                end_waits(&mut waiting);
                last_pull = Instant::now();
            }
        }
    }
    // What is queued counts as lost.
    subscriber.remove();
}

/// Gives events to a program. Returns it if there are none: the time of those that waited was over.
async fn answer(subscriber: &Subscriber, pull: Pull) -> Option<Pull> {
    let mut events = Vec::new();
    let count = subscriber
        .take(pull.count, ANSWER_BYTES_MAX, &mut events)
        .await;
    if events.is_empty() {
        return Some(pull);
    }
    match pull.taker.send(events) {
        Ok(()) => subscriber.settle_delivered(count),
        // The program has gone, which says nothing about the next one.
        Err(_) => {
            let subscription = &mut subscriber.lock().subscription;
            subscription.handle_failed(count as u64, DeliveryFailure::Ours, Instant::now());
        }
    }
    None
}

/// Tells the programs whose waits are over that there are no events.
fn end_waits(waiting: &mut VecDeque<Pull>) {
    let now = Instant::now();
    let (over, others) = std::mem::take(waiting)
        .into_iter()
        .partition::<VecDeque<_>, _>(|pull| pull.until <= now);
    for pull in over {
        // If the program has gone, it needs no answer.
        let _ = pull.taker.send(Vec::new());
    }
    *waiting = others;
}
