//! The final figures of the demo.

use hdrhistogram::Histogram;
use serde_json::{Value as Json, json};

use super::publisher::Published;
use super::stage::Stage;

/// What was published, what arrived, and how fast.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) published: Published,
    /// From the first event to the last arrival.
    pub(super) seconds: f64,
    /// From the first event of the burst to the last arrival.
    pub(super) burst_seconds: f64,
    pub(super) subscribers: Vec<Line>,
}

/// What one subscriber got. Latencies are in nanoseconds.
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
        let total = published.steady + published.burst;
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
            burst_seconds: seconds(last_at.saturating_sub(published.burst_at)),
            subscribers: lines.collect(),
        }
    }

    pub(super) fn published(&self) -> u64 {
        self.published.steady + self.published.burst
    }

    /// Deliveries to all subscribers.
    pub(super) fn delivered(&self) -> u64 {
        self.subscribers.iter().map(|line| line.delivered).sum()
    }

    /// Published and not delivered, over all subscribers.
    pub(super) fn lost(&self) -> u64 {
        self.subscribers.iter().map(|line| line.lost).sum()
    }

    /// Events a second in the burst; 0 if there was none.
    pub(super) fn burst_rate(&self) -> f64 {
        rate(self.published.burst, self.burst_seconds)
    }

    /// All of it as one object.
    pub(super) fn to_json(&self) -> Json {
        let all = merged(
            self.subscribers
                .iter()
                .flat_map(|line| [&line.steady, &line.burst]),
        );
        let steady = merged(self.subscribers.iter().map(|line| &line.steady));
        let burst = merged(self.subscribers.iter().map(|line| &line.burst));
        let steady_seconds = self.seconds - self.burst_seconds;
        json!({
            "published": self.published(),
            "delivered": self.delivered(),
            "lost": self.lost(),
            "seconds": rounded(self.seconds, 1e3),
            "events_per_second": rounded(rate(self.published(), self.seconds), 10.0),
            "latency_us": latency(&all),
            "steady": {
                "published": self.published.steady,
                "events_per_second": rounded(rate(self.published.steady, steady_seconds), 10.0),
                "latency_us": latency(&steady),
            },
            "burst": {
                "published": self.published.burst,
                "events_per_second": rounded(self.burst_rate(), 10.0),
                "latency_us": latency(&burst),
            },
            "subscribers": self.subscribers.iter().map(Line::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Line {
    fn to_json(&self) -> Json {
        json!({
            "mode": self.mode,
            "delivered": self.delivered,
            "lost": self.lost,
            "latency_us": latency(&merged([&self.steady, &self.burst].into_iter())),
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
