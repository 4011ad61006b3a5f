//! `floe status`: how the hub is doing, in a few lines.

use std::time::Duration;

use clap::Args;
use floe::{Communicator, TypedProxy};
use floe_hub::contracts::floe::{HubStatus, Losses, TopicTotals};
use serde_json::{Value as Json, json};

use crate::context;
use crate::endpoint::readable;
use crate::exit::{Exit, Failure};
use crate::hub::{self, HubArgument};
use crate::output::Output;
use crate::peer::{self, TimeoutArgument};

/// Shows the state of the hub in a few lines
///
/// Counts start with the hub. Problems are listed: lost events, events that have waited for their subscriber
/// for more than ten seconds, refused connections. `floe topic info` shows the details of a topic. `floe
/// doctor` checks this computer and the way to the hub.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Exits with 100 if there are problems, for scripts
    #[arg(long)]
    exit_code: bool,

    #[command(flatten)]
    hub: HubArgument,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

impl Status {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::run(self.timeout, async |communicator| {
            let problems = self.tell(&communicator, output).await?;
            Ok(match self.exit_code && !problems.is_empty() {
                true => Exit::Findings,
                false => Exit::Success,
            })
        })
    }

    async fn tell(
        &self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<Vec<String>, Failure> {
        let manager = self.hub.manager(communicator)?;
        self.hub.check_manager(communicator).await?;
        let status = self.hub.status(communicator).await?;
        let totals = self.hub.totals(communicator).await?;
        let totals = totals.unwrap_or_else(|| sum(&status));
        let problems = problems(&status, &totals);
        let shown = json!({
            "hub": readable(&manager.as_proxy().to_string()),
            "context": context::chosen().map(|chosen| &chosen.name),
            "up": duration(status.uptime),
            "connections": status.connections,
            "connections_refused": status.connections_refused,
            "topics": status.topics.len(),
            "subscribers": totals.subscribers,
            "published": totals.published,
            "delivered": totals.delivered,
            "lost": hub::lost(&totals.lost),
            "losses": losses(&totals.lost).into_iter().map(|(_, text)| text).collect::<Vec<_>>(),
            "queued": totals.queued,
            "lag_seconds": totals.lag as f64 / 1e6,
            "problems": problems,
        });
        output.record(&shown, "hub")?;
        Ok(problems)
    }
}

/// Lost events by their reason, as texts; and whether each is a problem. Events that waited when a subscriber left are its
/// own affair, as are those that were too old for it.
fn losses(lost: &Losses) -> Vec<(bool, String)> {
    let reasons = [
        (
            true,
            lost.overflow,
            "because the queue of a subscriber was full",
        ),
        (true, lost.offline, "while a subscriber was offline"),
        (true, lost.failed, "because delivery failed"),
        (true, lost.looped, "in a loop of hubs"),
        (
            false,
            lost.removed,
            "when their subscriber left before it had received them",
        ),
        (false, lost.expired, "because their lifespan was over"),
        (
            true,
            lost.retention,
            "because the retention of a topic overtook a subscriber",
        ),
    ];
    let lost = reasons.into_iter().filter(|(_, count, _)| *count != 0);
    lost.map(|(is_problem, count, why)| {
        let events = if count == 1 {
            "event was"
        } else {
            "events were"
        };
        (is_problem, format!("{count} {events} lost {why}"))
    })
    .collect()
}

/// Lists the problems that an operator should look at.
pub(crate) fn problems(status: &HubStatus, totals: &TopicTotals) -> Vec<String> {
    let losses = losses(&totals.lost).into_iter();
    let mut problems: Vec<String> = losses
        .filter_map(|(is_problem, text)| is_problem.then_some(text))
        .collect();
    let lag = Duration::from_micros(totals.lag.try_into().unwrap_or(0));
    if lag > LAG_MAX {
        let seconds = lag.as_secs();
        problems.push(format!(
            "an event has waited {seconds} s for its subscriber"
        ));
    }
    match status.connections_refused {
        0 => {}
        1 => problems.push("1 connection was refused because a limit was reached".to_owned()),
        count => problems.push(format!(
            "{count} connections were refused because a limit was reached"
        )),
    }
    problems
}

/// An event may wait as long as this before it is a problem.
const LAG_MAX: Duration = Duration::from_secs(10);

/// All topics together, as far as an older hub tells.
pub(crate) fn sum(status: &HubStatus) -> TopicTotals {
    let mut total = TopicTotals::default();
    for topic in &status.topics {
        hub::add(&mut total, topic);
    }
    total
}

/// Microseconds as people say them: `3d 4h`, `5m 6s`.
fn duration(microseconds: i64) -> Json {
    let seconds = microseconds.max(0) / 1_000_000;
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let text = match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {seconds}s"),
        (0, ..) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    };
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_losses_a_long_wait_and_refused_connections() {
        let mut status = HubStatus::default();
        let mut totals = TopicTotals::default();
        totals.lost.removed = 7;
        assert!(problems(&status, &totals).is_empty());
        assert_eq!(
            losses(&totals.lost),
            [(
                false,
                "7 events were lost when their subscriber left before it had received them"
                    .to_owned()
            )]
        );
        (totals.lost.overflow, totals.lag) = (1, 11_000_000);
        status.connections_refused = 2;
        assert_eq!(
            problems(&status, &totals),
            [
                "1 event was lost because the queue of a subscriber was full",
                "an event has waited 11 s for its subscriber",
                "2 connections were refused because a limit was reached",
            ]
        );
    }

    #[test]
    fn a_time_has_its_two_largest_units() {
        let texts = [5_000_000, 306_000_000, 7_260_000_000, 300_000_000_000];
        let texts = texts.map(duration);
        assert_eq!(texts, ["5s", "5m 6s", "2h 1m", "3d 11h"]);
    }
}
