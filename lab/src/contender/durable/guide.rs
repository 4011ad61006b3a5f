//! The programs of the guide `docs/guides/durable.md`, with the lab's events: what a user who copies them gets.

use std::future::Future;
use std::time::Instant;

use ::floe::hub::{HubClient, Qos};
use ::floe::{Bytes, InvokeError};
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Builder;

use super::case::{Case, PAYLOAD_LEN};
use super::floe::contract::floe_durable::{JournalEvent, JournalProxy};
use super::floe::{TOPIC, payload};
use super::publishing::{rate, rate_of};
use crate::contender::Failure;
use crate::measure::Effort;

/// Publishes, or reads what was published before. Returns the events in a second.
pub(super) fn publish(case: Case, effort: Effort, address: &str) -> Result<f64, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if let Case::Replay(count) = case {
        return runtime.block_on(replay(count, address));
    }
    let journal: JournalProxy = runtime.block_on(async {
        let hub = HubClient::connect(address).await?;
        hub.topic(TOPIC).await?.publisher().await
    })?;
    let payload = payload();
    rate(effort, |until| {
        runtime.block_on(publish_until(case, until, || journal.store(&payload)))
    })
}

/// Publishes until that moment, at least once, and awaits all answers; the number of events.
async fn publish_until<F: Future<Output = Result<(), InvokeError>>>(
    case: Case,
    until: Instant,
    store: impl Fn() -> F,
) -> Result<u64, Failure> {
    let mut published = 0;
    match case {
        Case::InFlight(1) | Case::Batch(1) | Case::Replay(_) => loop {
            store().await?;
            published += 1;
            if Instant::now() >= until {
                return Ok(published);
            }
        },
        Case::Batch(count) => loop {
            try_join_all((0..count).map(|_| store())).await?;
            published += count as u64;
            if Instant::now() >= until {
                return Ok(published);
            }
        },
        Case::InFlight(count) => {
            let mut calls: FuturesUnordered<_> = (0..count).map(|_| store()).collect();
            while let Some(answer) = calls.next().await {
                answer?;
                published += 1;
                if Instant::now() < until {
                    calls.push(store());
                }
            }
            Ok(published)
        }
    }
}

/// Reads so many stored events from the first on, and says how many came in a second.
async fn replay(count: u64, address: &str) -> Result<f64, Failure> {
    let hub = HubClient::connect(address).await?;
    let topic = hub.topic(TOPIC).await?;
    let started = Instant::now();
    let qos = Qos::new().durable("replay").begin_at("beginning");
    let mut events = topic.subscribe::<JournalEvent>().qos(qos).await?;
    let mut left = count;
    while let Some(event) = events.next().await {
        let JournalEvent::Store(payload) = event?;
        check(&payload)?;
        left -= 1;
        if left == 0 {
            break;
        }
    }
    Ok(rate_of(count, started))
}

fn check(payload: &Bytes) -> Result<(), Failure> {
    match payload.len() {
        PAYLOAD_LEN => Ok(()),
        len => Err(format!("expected an event of {PAYLOAD_LEN} bytes, got {len}").into()),
    }
}
