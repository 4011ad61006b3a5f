//! The programs of the guide `docs/guides/events.md`, with the lab's events: what a user who copies them gets.
//!
//! A test compares the lines that both have.

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
    let runtime = Builder::new_current_thread().enable_all().build()?;
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

#[cfg(test)]
mod tests {
    /// The lines of a snippet of the guide that say what its program does with the hub, with the lab's names.
    fn guided(heading: &str) -> Vec<String> {
        let guide = include_str!("../../../../docs/guides/events.md");
        let (_, section) = guide.split_once(heading).expect("the heading");
        let snippet = section.split("```").nth(1).expect("a snippet");
        let names = [("\"localhost:10000\"", "address"), ("\"ticker\"", "TOPIC")];
        let lines = snippet.lines().map(|line| {
            let named = |line: String, (theirs, ours): (&str, &str)| line.replace(theirs, ours);
            names.into_iter().fold(line.trim().to_owned(), named)
        });
        lines.filter(|line| line.contains("await")).collect()
    }

    #[test]
    fn the_lab_measures_the_programs_of_the_guide() {
        let own = include_str!("guide.rs");
        for line in guided("## Subscribe") {
            assert!(own.contains(&line), "{line}");
        }
        for part in [
            "HubClient::connect(address).await?",
            "hub.topic(TOPIC).await?.publisher().await",
        ] {
            assert!(guided("## Publish").concat().contains(part), "{part}");
            assert!(own.contains(part), "{part}");
        }
        let flavor = "#[tokio::main(flavor = \"current_thread\")]";
        let guide = include_str!("../../../../docs/guides/events.md");
        assert_eq!(
            guide.matches(flavor).count(),
            guide.matches("#[tokio::main").count()
        );
    }
}
