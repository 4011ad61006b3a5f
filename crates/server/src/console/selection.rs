//! The topics that a caller asks for: a hub may have a hundred thousand, and a page shows some.

use floe_hub::contracts::floe::TopicTotals;

use super::request::parameter;
use super::sample::Sample;
use crate::totals::lost;

/// Which topics are told of, and in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selection {
    /// A part of their names, in any case of letters.
    filter: String,
    order: Order,
    limit: usize,
}

/// The order of topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Those that need attention first: losses, then waiting events, then rates.
    Attention,
    Name,
    Published,
    Delivered,
    Queued,
    Lag,
    Lost,
    Subscribers,
}

const ORDERS: [(&str, Order); 8] = [
    ("attention", Order::Attention),
    ("name", Order::Name),
    ("published", Order::Published),
    ("delivered", Order::Delivered),
    ("queued", Order::Queued),
    ("lag", Order::Lag),
    ("lost", Order::Lost),
    ("subscribers", Order::Subscribers),
];

/// Topics in an answer, unless a caller asks for others.
const LIMIT: usize = 100;
/// Topics in an answer at most.
const LIMIT_MAX: usize = 1000;

impl Selection {
    /// Reads the parameters `filter`, `sort` and `limit`. What makes no sense is as if it were not there.
    pub(super) fn of(query: &str) -> Self {
        let sort = parameter(query, "sort").unwrap_or_default();
        let order = ORDERS.iter().find(|(name, _)| *name == sort);
        let limit = parameter(query, "limit").and_then(|text| text.parse().ok());
        Self {
            filter: parameter(query, "filter")
                .unwrap_or_default()
                .to_lowercase(),
            order: order.map_or(Order::Attention, |(_, order)| *order),
            limit: limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX),
        }
    }

    /// The topics of a look, and how many match.
    pub(super) fn apply<'a>(&self, now: &'a Sample) -> (Vec<&'a TopicTotals>, usize) {
        let matches = |topic: &&TopicTotals| {
            self.filter.is_empty() || topic.name.to_lowercase().contains(&self.filter)
        };
        let mut found: Vec<_> = now.topics().iter().filter(matches).collect();
        let count = found.len();
        let rate =
            |topic: &TopicTotals| now.rates(&topic.name).map_or(0.0, |rates| rates.published);
        let lately_lost =
            |topic: &TopicTotals| now.rates(&topic.name).map_or(0.0, |rates| rates.lost);
        let descending = |key: &dyn Fn(&TopicTotals) -> (f64, i64, f64),
                          found: &mut Vec<&TopicTotals>| {
            let order = |one: &(f64, i64, f64), other: &(f64, i64, f64)| {
                let first = other.0.total_cmp(&one.0).then(other.1.cmp(&one.1));
                first.then(other.2.total_cmp(&one.2))
            };
            // Names are in order already, and the sort keeps them.
            let mut keyed: Vec<_> = found.drain(..).map(|topic| (key(topic), topic)).collect();
            keyed.sort_by(|one, other| order(&one.0, &other.0));
            found.extend(keyed.into_iter().map(|(_, topic)| topic));
        };
        let by_count = |count: i64| (0.0, count, 0.0);
        match self.order {
            Order::Name => {}
            Order::Attention => {
                descending(&|it| (lately_lost(it), it.queued, rate(it)), &mut found)
            }
            Order::Published => descending(&|it| (rate(it), it.published, 0.0), &mut found),
            Order::Delivered => descending(&|it| by_count(it.delivered), &mut found),
            Order::Queued => descending(&|it| by_count(it.queued), &mut found),
            Order::Lag => descending(&|it| by_count(it.lag), &mut found),
            Order::Lost => descending(&|it| by_count(lost(&it.lost)), &mut found),
            Order::Subscribers => descending(&|it| by_count(it.subscribers.into()), &mut found),
        }
        found.truncate(self.limit);
        (found, count)
    }
}
