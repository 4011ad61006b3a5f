//! The final figures of the demo.

use hdrhistogram::Histogram;
use serde_json::{Value as Json, json};

use super::publisher::Published;
use super::stage::Stage;

/// The events that were published and that arrived, and how fast.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) published: Published,
    /// From the first event to the last arrival.
    pub(super) seconds: f64,
    /// True if it ended before its time.
    pub(super) is_interrupted: bool,
    pub(super) subscribers: Vec<Line>,
}

/// The events that one subscriber got. Latencies are in nanoseconds.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) mode: &'static str,
    pub(super) about: &'static str,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) steady: Histogram<u64>,
    pub(super) burst: Histogram<u64>,
}

impl Summary {
    /// Adds up, when everything has arrived that will.
    pub(super) fn new(stage: &Stage, published: &Published) -> Self {
        let total = published.count();
        let lines = stage.subscribers().iter().map(|subscriber| {
            let (steady, burst) = subscriber.tally.latencies();
            let delivered = steady.len() + burst.len();
            Line {
                mode: subscriber.mode,
                about: subscriber.about,
                delivered,
                lost: total.saturating_sub(delivered),
                steady,
                burst,
            }
        });
        let arrivals = stage.subscribers().iter();
        let last_at = arrivals.map(|subscriber| subscriber.tally.last_at()).max();
        let last_at = last_at.unwrap_or(0);
        Self {
            published: *published,
            seconds: seconds(last_at),
            is_interrupted: stage.counts().is_stopped(),
            subscribers: lines.collect(),
        }
    }

    pub(super) fn published(&self) -> u64 {
        self.published.count()
    }

    /// The one whose latencies are told: nothing holds its events up.
    pub(super) fn oneway(&self) -> &Line {
        let mut lines = self.subscribers.iter();
        let oneway = lines.find(|line| line.mode == "oneway");
        oneway.unwrap_or(&self.subscribers[0])
    }

    /// Deliveries to all subscribers.
    pub(super) fn delivered(&self) -> u64 {
        self.subscribers.iter().map(|line| line.delivered).sum()
    }

    /// Published and not delivered, over all subscribers.
    pub(super) fn lost(&self) -> u64 {
        self.subscribers.iter().map(|line| line.lost).sum()
    }

    /// Events a second in the burst, until the last one arrived; none if there was no burst.
    pub(super) fn burst_rate(&self) -> Option<f64> {
        let burst = self.published.burst?;
        Some(rate(burst.count, self.seconds - seconds(burst.began_at)))
    }

    /// Events a second before the burst.
    fn steady_rate(&self) -> f64 {
        let burst = self.published.burst;
        let end = burst.map_or(self.seconds, |burst| seconds(burst.began_at));
        rate(self.published.steady, end)
    }

    /// All of it as one object; `floe demo --help` explains its keys.
    pub(super) fn to_json(&self) -> Json {
        let lines = self.subscribers.iter();
        let all = merged(lines.flat_map(|line| [&line.steady, &line.burst]));
        let oneway = self.oneway();
        let burst = self.published.burst.map(|burst| {
            json!({
                "published": burst.count,
                "events_per_second": self.burst_rate().map(|rate| rounded(rate, 10.0)),
                "latency_us": latency(&oneway.burst),
            })
        });
        json!({
            "kind": "summary",
            "published": self.published(),
            "delivered": self.delivered(),
            "lost": self.lost(),
            "seconds": rounded(self.seconds, 1e3),
            "events_per_second": rounded(rate(self.published(), self.seconds), 10.0),
            "latency_us": latency(&all),
            "interrupted": self.is_interrupted,
            "steady": {
                "published": self.published.steady,
                "events_per_second": rounded(self.steady_rate(), 10.0),
                "latency_us": latency(&oneway.steady),
            },
            "burst": burst,
            "subscribers": self.subscribers.iter().map(Line::to_json).collect::<Vec<_>>(),
        })
    }
}

/// The part of `floe demo --help` that describes the JSON.
pub(super) const JSON_HELP: &str = "\
With -o json one object, and with -o jsonl as the last line:
  kind               \"summary\"
  published          events that were published, the burst included
  delivered          deliveries to all three subscribers together
  lost               deliveries that are missing: 3 x published - delivered
  seconds            from the first event to the last arrival
  events_per_second  published / seconds, the burst included
  latency_us         from the publisher through the hub to a subscriber, in microseconds: mean, p50,
                     p99 and max of all deliveries to all subscribers, the burst included, and the
                     batch subscriber, whose events wait up to 50 ms to be sent together
  interrupted        whether a signal ended it before its time
  steady             before the burst: published, events_per_second, and the latency_us of the
                     oneway subscriber, as the text has it
  burst              the same of the burst; null if it was interrupted before
  subscribers        of each: mode, delivered, lost, latency_us of all its deliveries, and the same
                     apart as steady_latency_us and burst_latency_us

With -o jsonl also a line a second:
  kind               \"progress\"
  seconds            since the start
  load, memory_available
                     the newest event: load average, and memory in bytes
  subscribers        of each: mode, delivered and lost so far; since the line before
                     events_per_second, p50_us and p99_us";

impl Line {
    fn to_json(&self) -> Json {
        json!({
            "mode": self.mode,
            "delivered": self.delivered,
            "lost": self.lost,
            "latency_us": latency(&merged([&self.steady, &self.burst].into_iter())),
            "steady_latency_us": latency(&self.steady),
            "burst_latency_us": latency(&self.burst),
        })
    }
}

fn merged<'a>(mut parts: impl Iterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    let mut all = parts.next().cloned().expect("there are subscribers");
    for part in parts {
        all.add(part).expect("all histograms have the same bounds");
    }
    all
}

/// Latencies in microseconds.
fn latency(nanoseconds: &Histogram<u64>) -> Json {
    let microseconds = |value: f64| rounded(value / 1e3, 10.0);
    let quantile = |q| microseconds(nanoseconds.value_at_quantile(q) as f64);
    json!({
        "mean": microseconds(nanoseconds.mean()),
        "p50": quantile(0.5),
        "p99": quantile(0.99),
        "max": microseconds(nanoseconds.max() as f64),
    })
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn rate(count: u64, seconds: f64) -> f64 {
    if count == 0 || seconds <= 0.0 {
        0.0
    } else {
        count as f64 / seconds
    }
}

fn rounded(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}
