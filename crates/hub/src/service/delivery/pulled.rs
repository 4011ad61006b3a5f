//! Delivery to programs that pull: events wait in the queue until a program asks for them.

mod waiting;

use std::future::poll_fn;
use std::time::Instant;

use tokio::time::sleep_until;

use crate::core::DeliveryFailure;
use crate::service::subscriber::{Pull, Subscriber};
use waiting::WaitingPrograms;

/// The maximum bytes in one answer, unless a single event is longer. Peers refuse messages of more than 1 MiB by default.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// Answers programs until the subscription ends. Ends it if no program pulls for too long.
pub(super) async fn run(subscriber: &Subscriber) {
    let pulls = subscriber.pulls();
    let Some((pulls, mut programs)) = pulls.and_then(|it| Some((it, it.receive()?))) else {
        return subscriber.remove();
    };
    let mut waiting = WaitingPrograms::default();
    let mut last_pull = Instant::now();
    loop {
        let is_wanted = !waiting.is_empty();
        let idle_until = last_pull.checked_add(pulls.idle_max());
        let until = waiting.first_deadline().or(idle_until);
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
                if let Some((number, pull)) = waiting.take_first()
                    && let Some(pull) = answer(subscriber, pull).await
                {
                    waiting.put_back(number, pull);
                }
            }
            Some(pull) = programs.recv() => {
                last_pull = Instant::now();
                waiting.push(pull);
            }
            () = over => {
                if !is_wanted {
                    tracing::info!("ended the subscription of {}, which no program pulls", subscriber.log_name());
                    break;
                }
                waiting.end_late(Instant::now());
                tokio::task::yield_now().await;
                last_pull = Instant::now();
            }
        }
    }
    // The queued events count as lost.
    subscriber.remove();
    waiting.end_all().await;
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
