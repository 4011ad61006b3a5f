//! `floe topic watch`: shows topics, and refreshes them periodically.

use std::collections::HashMap;
use std::time::Duration;

use clap::{Args, ValueEnum};
use floe::Communicator;
use floe_hub::contracts::floe::{DurableTopicStatus, HubStatus, TopicTotals};
use serde_json::{Value as Json, json};

use super::super::durable_rows::{self, largest_lag};
use super::Access;
use super::rates::{self, Rates};
use super::subscribers::losses;
use crate::count;
use crate::exit::Failure;
use crate::hub;
use crate::output::{self, Format, Output};
use crate::peer::parse_time;

/// Watches the rates, queues, lags and losses of topics and of the whole hub
///
/// A terminal shows a table that is redrawn, a pipe gets a line of JSON for each reading, until Ctrl-C or
/// --count readings. `lag_events` is by how many events the durable subscription of a topic is behind that is furthest behind.
/// `lag_ms` is the age of the oldest event that waits, in a queue or for a durable subscription. Rates are those since the previous reading. Without --count it continues after a restart
/// of the hub. It ends if something that is not a hub answers.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The topics [default: all]
    names: Vec<String>,

    /// Only topics whose names contain this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// The order
    #[arg(long, value_enum, default_value_t = Order::Name)]
    sort: Order,

    /// The time between two readings
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    interval: Duration,

    /// Ends after this many readings
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = count::at_least_one::<u64>)]
    count: Option<u64>,

    #[command(flatten)]
    access: Access,
}

/// The order of topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By name
    Name,
    /// Most events a second first, published and delivered
    Rate,
    /// Most lost events first
    Lost,
    /// Longest waiting events first
    Lag,
    /// Most waiting events first
    Queued,
}

impl Order {
    fn sort(self, rows: &mut [Json]) {
        let number = |row: &Json, key: &str| row[key].as_f64().unwrap_or(0.0);
        let key = |row: &Json| match self {
            Self::Name => 0.0,
            Self::Rate => number(row, "published_per_second") + number(row, "delivered_per_second"),
            Self::Lost => number(row, "lost"),
            Self::Lag => number(row, "lag_ms"),
            Self::Queued => number(row, "queued"),
        };
        // Topics with equal figures stay in the order of their names.
        rows.sort_by(|one, other| key(other).total_cmp(&key(one)));
    }
}

/// The columns of a table; `lag_events` only if a topic is durable.
const COLUMNS: [&str; 11] = [
    "name",
    "subscribers",
    "published_per_second",
    "delivered_per_second",
    "lost_per_second",
    "queued",
    "outstanding",
    "lag_events",
    "lag_ms",
    "published",
    "lost",
];

/// No hub is asked more often.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

impl Watch {
    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) async fn run(
        &self,
        communicator: &Communicator,
        output: &Output,
    ) -> Result<(), Failure> {
        let mut before = self.look(communicator).await?;
        let known: Vec<_> = before.status.topics.iter().map(|it| &it.name).collect();
        for name in self.names.iter().filter(|name| !known.contains(name)) {
            output::talk(format_args!(
                "there is no topic `{name}` yet: it is shown as soon as it exists"
            ));
        }
        let mut left = self.count.unwrap_or(u64::MAX);
        // Why the hub is away, as it was told last.
        let mut away = None;
        while left > 0 {
            tokio::time::sleep(self.interval.max(INTERVAL_MIN)).await;
            let now = match self.look(communicator).await {
                Err(failure) if self.count.is_none() && failure.is_of_connection() => {
                    let reason = Some(failure.to_string());
                    if reason != away {
                        output::talk(format_args!("waiting until the hub is back: {failure}"));
                    }
                    away = reason;
                    continue;
                }
                look => look?,
            };
            away = None;
            self.show(&before, &now, output)?;
            before = now;
            left -= 1;
        }
        Ok(())
    }

    async fn look(&self, communicator: &Communicator) -> Result<Look, Failure> {
        let hub = &self.access.hub;
        let status = hub.status_in_pages(communicator).await?;
        let durable = hub.durable_statuses(communicator).await?;
        let durable = durable.into_iter().flatten();
        let all = match self.names.is_empty() && self.filter.is_none() {
            true => hub.totals(communicator).await?,
            false => None,
        };
        let all = all.map(|all| TopicTotals {
            name: ALL.to_owned(),
            ..all
        });
        Ok(Look {
            status,
            all,
            durable: durable.map(|it| (it.name.clone(), it)).collect(),
        })
    }

    fn show(&self, before: &Look, now: &Look, output: &Output) -> Result<(), Failure> {
        let (all_before, all_now) = (&before.all, &now.all);
        let durable = &now.durable;
        let (before, now) = (&before.status, &now.status);
        let known: HashMap<_, _> = before.topics.iter().map(|it| (&it.name, it)).collect();
        let is_wanted = |topic: &&TopicTotals| {
            let text = self.filter.as_deref().unwrap_or_default();
            (self.names.is_empty() || self.names.contains(&topic.name)) && topic.name.contains(text)
        };
        let (mut rows, mut total, mut all_rates) = (Vec::new(), nothing(), None::<Rates>);
        for topic in now.topics.iter().filter(is_wanted) {
            let rates = known
                .get(&topic.name)
                .and_then(|first| Rates::between(first, before.uptime, topic, now.uptime));
            hub::add(&mut total, topic);
            all_rates = match (all_rates, rates) {
                (Some(all), Some(own)) => Some(all.plus(own)),
                (all, own) => all.or(own),
            };
            let mut row = row(topic, rates);
            add_durable(durable.get(&topic.name), topic.lag, &mut row);
            rows.push(row);
        }
        self.sort.sort(&mut rows);
        let lags: Vec<_> = rows
            .iter()
            .map(|row| (row["lag_events"].as_i64(), row["lag_ms"].as_f64()))
            .collect();
        let mut total = match (all_before, all_now) {
            (Some(first), Some(all)) => {
                row(all, Rates::between(first, before.uptime, all, now.uptime))
            }
            _ => row(&total, all_rates),
        };
        // Of the topic that is furthest behind.
        total["lag_events"] = lags.iter().filter_map(|(events, _)| *events).max().into();
        let ages = lags
            .iter()
            .filter_map(|(_, age)| *age)
            .map(|age| age.max(0.0));
        total["lag_ms"] = json!(ages.fold(total["lag_ms"].as_f64().unwrap_or(0.0), f64::max));
        if output.format() != Format::Table {
            return output.line(json!({
                "uptime": now.uptime as f64 / 1e6,
                "connections": now.connections,
                "connections_refused": now.connections_refused,
                "topics": rows,
                "total": total,
            }));
        }
        // Without a durable topic, the column would be empty.
        let has_lag = |column: &&str| *column != "lag_events" || !durable.is_empty();
        let columns: Vec<_> = COLUMNS.into_iter().filter(has_lag).collect();
        let room = output.size().filter(|_| output.can_redraw());
        let Some((_, height)) = room else {
            rows.push(total);
            output.rows(&columns, &rows)?;
            return output.line("");
        };
        output.text(CLEAR)?;
        let left_out = rows
            .len()
            .saturating_sub(height.saturating_sub(LINES_BESIDE));
        rows.truncate(rows.len() - left_out);
        rows.push(total);
        for row in &mut rows {
            row["name"] = abbreviated(&row["name"]);
        }
        output.rows(&columns, &rows)?;
        match left_out {
            0 => Ok(()),
            count => output.text(format_args!(
                "{count} more topics; --sort, --filter or names choose"
            )),
        }
    }
}

/// A look at a hub.
struct Look {
    status: HubStatus,
    /// All topics together, those included that are gone; none if not all are watched, or the hub does
    /// not tell.
    all: Option<TopicTotals>,
    /// The durable topics by name.
    durable: HashMap<String, DurableTopicStatus>,
}

/// The lines of a screen that are not of single topics: the heading, all topics together, how many were left out,
/// and the one below, where the cursor is.
const LINES_BESIDE: usize = 4;

/// A name that takes one line.
fn abbreviated(name: &Json) -> Json {
    output::abbreviate(name.as_str().unwrap_or_default(), NAME_MAX).into()
}

/// As many characters of a name are shown.
const NAME_MAX: usize = 30;

/// Takes the cursor home, and all that was there away.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Adds what is known of the log and the durable subscriptions of a topic, whose queues have this lag.
fn add_durable(durable: Option<&DurableTopicStatus>, lag: i64, row: &mut Json) {
    let largest = durable.map(largest_lag);
    row["lag_events"] = largest.map(|(events, _)| events).into();
    row["lag_ms"] = rates::milliseconds(lag.max(largest.map_or(0, |(_, age)| age)));
    row["log_events"] = durable.map(|it| it.events).into();
    row["log_bytes"] = durable.map(|it| it.bytes).into();
    row["dead_letters"] = durable.map(|it| it.kept_dead_letters).into();
    row["durable_subscriptions"] = durable.map_or(Json::Null, |it| {
        durable_rows::subscriptions(it).collect::<Vec<_>>().into()
    });
}

fn row(topic: &TopicTotals, rates: Option<Rates>) -> Json {
    let mut row = json!({
        "name": topic.name,
        "subscribers": topic.subscribers,
        "published": topic.published,
        "delivered": topic.delivered,
        "lost": hub::lost(&topic.lost),
        "lost_by_reason": losses(&topic.lost),
    });
    rates::describe(topic, rates, &mut row);
    row
}

/// The name of the last row. It stands behind all topics, also behind one that is called so.
const ALL: &str = "(all)";

fn nothing() -> TopicTotals {
    TopicTotals {
        name: ALL.to_owned(),
        ..TopicTotals::default()
    }
}
