//! The programs of the guide `docs/guides/events.md`, with the lab's events: what a user who copies them gets.
//!
//! `tests/tidy/guides.rs` compares the lines that both have.

use ::floe::TypedProxy;
use ::floe::hub::HubClient;
use tokio::runtime::Builder;

use super::case::Case;
use super::floe::TOPIC;
use super::floe::contract::floe_events::{TickerEvent, TickerProxy};
use super::publishing::publish_all;
use super::tally::Tally;
use crate::contender::{Failure, end_with_stdin};
use crate::measure::Effort;

/// A publisher of the guide.
pub(super) fn publish(
    case: Case,
    effort: Effort,
    address: &str,
    index: usize,
) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let ticker: TickerProxy = runtime.block_on(async {
        let hub = HubClient::connect(address).await?;
        hub.topic(TOPIC).await?.publisher().await
    })?;
    let batch = ticker.ice_batch_oneway();
    publish_all(case, effort, index, |numbers| {
        runtime.block_on(async {
            if case.is_acknowledged() {
                for number in numbers {
                    ticker.tick(*number).await?;
                }
                return Ok(());
            }
            for number in numbers {
                batch.tick(*number).await?;
            }
            Ok(batch.ice_flush_batch().await?)
        })
    })
}

/// A subscriber of the guide.
pub(super) fn subscribe(case: Case, effort: Effort, address: &str) -> Result<(), Failure> {
    let runtime = match std::env::var("RT").as_deref() {
        Ok("mt") => Builder::new_multi_thread().enable_all().build()?,
        _ => Builder::new_current_thread().enable_all().build()?,
    };
    runtime.block_on(async {
        let hub = HubClient::connect(address).await?;
        let mut events = hub.topic(TOPIC).await?.subscribe().await?;
        let mut tally = Tally::new(case, effort);
        end_with_stdin();
        while let Some(event) = events.next().await {
            match event {
                Ok(TickerEvent::Tick(number)) => tally.take(number)?,
                Err(interruption) => return Err(interruption.into()),
            }
        }
        Ok(())
    })
}
