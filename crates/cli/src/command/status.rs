//! `floe status`: how the hub is doing, in a few lines.

use clap::Args;
use floe::{Communicator, TypedProxy};
use serde_json::{Value as Json, json};

use super::durable_rows::{self, SUBSCRIPTION_COLUMNS, largest_lag, time};
use super::problems::{Thresholds, problems, reasons};
use crate::context;
use crate::endpoint::readable;
use crate::exit::{Exit, Failure};
use crate::hub::{self, HubArgument, Overview};
use crate::output::{Format, Output};
use crate::peer::{self, TimeoutArgument};
use floe_server::totals;

/// Shows the state of the hub in a few lines
///
/// Counts start with the hub. Problems are listed: events that were lost lately (--since) and where, durable
/// subscriptions that are far behind (--lag-events, --lag-age), events that have waited long for their subscriber,
/// connections that were refused lately. `floe topic info` shows the details of a topic. `floe doctor` checks this
/// computer and the way to the hub. Dead letters are not lost: `floe dlq` shows them.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Exits with 100 if there are problems, for scripts
    #[arg(long)]
    exit_code: bool,

    #[command(flatten)]
    thresholds: Thresholds,

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
        let overview = self.hub.overview(communicator, self.thresholds.since);
        let overview = overview.await?;
        let problems = problems(&overview, &self.thresholds.into());
        let mut shown = described(&overview);
        shown["hub"] = readable(&manager.as_proxy().to_string()).into();
        shown["context"] = json!(context::chosen().map(|chosen| &chosen.name));
        shown["problems"] = json!(problems);
        let rows = subscriptions(&overview);
        if output.format() != Format::Table {
            shown["durable_subscriptions"] = rows.into();
            output.record(&shown, "hub")?;
            return Ok(problems);
        }
        let count = rows.len();
        shown["durable_subscriptions"] = count.into();
        output.record(&shown, "hub")?;
        if !rows.is_empty() {
            output.line("")?;
            output.rows(&SUBSCRIPTION_COLUMNS, &rows[..count.min(ROWS_MAX)])?;
        }
        if count > ROWS_MAX {
            let left_out = count - ROWS_MAX;
            output.line(format_args!(
                "{left_out} more durable subscriptions are not as far behind; -o json shows all"
            ))?;
        }
        Ok(problems)
    }
}

/// A table of the durable subscriptions that are furthest behind has this many rows.
const ROWS_MAX: usize = 20;

/// The hub as a whole. Keys whose values come later have their places.
fn described(overview: &Overview) -> Json {
    let (hub, durable) = (&overview.hub, overview.durable.as_ref());
    let totals = &hub.totals;
    let texts = |lost| -> Vec<String> { reasons(lost).iter().map(|it| it.text()).collect() };
    let recent = hub.losses.iter().map(|loss| {
        json!({
            "topic": loss.topic,
            "subscriber": loss.subscriber,
            "lost": texts(&loss.lost),
            "seconds_ago": durable_rows::seconds(loss.age),
        })
    });
    let recent = overview.knows_recent.then(|| recent.collect::<Vec<_>>());
    let lags = durable.into_iter().flatten().map(largest_lag);
    let lag = lags.fold((0, 0), |(events, age), own| {
        (events.max(own.0), age.max(own.1))
    });
    let sum = |of: fn(&floe_hub::contracts::floe::DurableTopicStatus) -> i64| {
        durable.map(|all| all.iter().map(of).fold(0, i64::saturating_add))
    };
    json!({
        "hub": null,
        "context": null,
        "up": time(hub.uptime),
        "connections": hub.connections,
        "connections_refused": hub.connections_refused,
        "topics": hub.topics,
        "subscribers": totals.subscribers,
        "published": totals.published,
        "delivered": totals.delivered,
        "lost": hub::lost(&totals.lost),
        "losses": texts(&totals.lost),
        "recent_losses": recent,
        "dead_letters": durable.map(|all| totals::kept_dead_letters(all)),
        "dead_letters_since_start": overview.knows_recent.then_some(hub.dead_letters),
        "queued": totals.queued,
        "lag_seconds": totals.lag.max(lag.1) as f64 / 1e6,
        "durable_topics": durable.map(Vec::len),
        "log_events": sum(|topic| topic.events),
        "log_bytes": sum(|topic| topic.bytes),
        "durable_subscriptions": null,
        "durable_lag_events": durable.map(|_| lag.0),
        "problems": null,
    })
}

/// All durable subscriptions, those that are furthest behind first.
fn subscriptions(overview: &Overview) -> Vec<Json> {
    let topics = overview.durable.iter().flatten();
    let mut rows: Vec<_> = topics.flat_map(durable_rows::subscriptions).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row["lag_events"].as_i64()));
    rows
}
