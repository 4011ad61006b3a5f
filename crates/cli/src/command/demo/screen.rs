//! What the demo shows: a table drawn in place on a terminal, a line a second elsewhere, JSON for
//! programs.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value as Json, json};

use super::is_for_people;
use super::publisher::STEADY_RATE;
use super::stage::{Stage, Subscriber, TOPIC};
use super::summary::{Line, Summary};
use super::telemetry::Sample;
use crate::exit::Failure;
use crate::output::{Format, Output};

/// Where the demo is shown.
pub(super) struct Screen<'a> {
    output: &'a Output,
    format: Format,
    seconds: u32,
    /// Lines of the picture that is there, to be drawn over.
    lines: usize,
    before: Option<(Duration, Sample)>,
}

impl<'a> Screen<'a> {
    /// For people unless something else was asked for, even in a pipe.
    pub(super) fn new(output: &'a Output, seconds: u32) -> Self {
        Self {
            output,
            format: output.format_or(Format::Table),
            seconds,
            lines: 0,
            before: None,
        }
    }

    /// How often there is something new to see.
    pub(super) fn interval(&self) -> Duration {
        match self.is_picture() {
            true => Duration::from_millis(500),
            false => Duration::from_secs(1),
        }
    }

    /// Says what is about to happen.
    pub(super) fn begin(&self, stage: &Stage) -> Result<(), Failure> {
        if !is_for_people(self.format) {
            return Ok(());
        }
        let endpoints = stage.endpoints();
        self.output.line(format_args!(
            "A hub, a publisher and three subscribers, joined by TCP on this computer.\n\
             Each event is this machine's load, memory and network, typed by a Slice contract.\n\n\
             hub    {endpoints}\n\
             topic  {TOPIC}\n"
        ))
    }

    /// Shows how it is going.
    pub(super) async fn draw(&mut self, stage: &Stage, elapsed: Duration) -> Result<(), Failure> {
        let span = self
            .before
            .as_ref()
            .map_or(elapsed, |(before, _)| elapsed - *before);
        let losses = stage.losses().await;
        let rows: Vec<Row> = stage
            .subscribers()
            .iter()
            .zip(losses)
            .map(|(subscriber, lost)| Row::new(subscriber, lost, span))
            .collect();
        let sample = stage.subscribers()[0].tally.last();
        match self.format {
            Format::Json => {}
            Format::Jsonl => self.output.line(json_of(&rows, &sample, elapsed))?,
            Format::Table | Format::Raw if self.is_picture() => {
                let picture = self.picture(stage, &rows, &sample, elapsed, span);
                self.redraw(&picture)?;
            }
            Format::Table | Format::Raw => self.output.line(line_of(&rows, &sample, elapsed))?,
        }
        self.before = Some((elapsed, sample));
        Ok(())
    }

    /// Shows the final figures, what they mean, and where to go next.
    pub(super) fn end(&mut self, stage: &Stage, summary: &Summary) -> Result<(), Failure> {
        if !is_for_people(self.format) {
            return self.output.line(summary.to_json());
        }
        if self.is_picture() {
            let sample = stage.subscribers()[0].tally.last();
            let rows: Vec<Row> = summary.subscribers.iter().map(Row::finally).collect();
            let table = format!("{}\n\n{}", machine(&sample, None), self.table(&rows));
            self.redraw(&table)?;
        }
        self.output.text(final_words(summary))
    }

    fn is_picture(&self) -> bool {
        is_for_people(self.format) && self.output.can_redraw()
    }

    fn picture(
        &self,
        stage: &Stage,
        rows: &[Row],
        sample: &Sample,
        elapsed: Duration,
        span: Duration,
    ) -> String {
        let before = self.before.as_ref().map(|(_, sample)| (sample, span));
        let doing = match stage.counts().is_burst() {
            true => "a burst: as many events as the slowest subscriber takes".to_owned(),
            false => format!("{STEADY_RATE} events a second"),
        };
        format!(
            "{}\n\n{}\n  {:.0} of {} s: {doing}\n",
            machine(sample, before),
            self.table(rows),
            elapsed.as_secs_f64(),
            self.seconds
        )
    }

    fn table(&self, rows: &[Row]) -> String {
        let (bold, plain) = match self.output.has_colour() {
            true => ("\x1b[1m", "\x1b[0m"),
            false => ("", ""),
        };
        let mut text = format!(
            "  {bold}{:<10}  {:>9}  {:>11}  {:>6}  {:>9}  {:>9}{plain}\n",
            "SUBSCRIBER", "EVENTS/S", "DELIVERED", "LOST", "P50", "P99"
        );
        for row in rows {
            text += &format!(
                "  {:<10}  {:>9}  {:>11}  {:>6}  {:>9}  {:>9}  {}\n",
                row.mode,
                row.rate
                    .map_or_else(String::new, |rate| grouped(rate.round() as u64)),
                grouped(row.delivered),
                grouped(row.lost),
                time(row.p50),
                time(row.p99),
                row.about,
            );
        }
        text
    }

    fn redraw(&mut self, picture: &str) -> Result<(), Failure> {
        let up = match self.lines {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        };
        self.lines = picture.matches('\n').count();
        self.output.text(format_args!("{up}{picture}"))
    }
}

/// One subscriber in a picture. Latencies are in nanoseconds.
struct Row {
    mode: &'static str,
    about: &'static str,
    /// Events a second since the last picture.
    rate: Option<f64>,
    delivered: u64,
    lost: u64,
    p50: u64,
    p99: u64,
}

impl Row {
    fn new(subscriber: &Subscriber, lost: u64, span: Duration) -> Self {
        let recent = subscriber.tally.take_recent();
        Self {
            mode: subscriber.mode,
            about: subscriber.about,
            rate: Some(recent.len() as f64 / span.as_secs_f64()),
            delivered: subscriber.tally.delivered(),
            lost,
            p50: recent.value_at_quantile(0.5),
            p99: recent.value_at_quantile(0.99),
        }
    }

    /// The whole time, latencies of the calm part.
    fn finally(line: &Line) -> Self {
        Self {
            mode: line.mode,
            about: line.about,
            rate: None,
            delivered: line.delivered,
            lost: line.lost,
            p50: line.steady.value_at_quantile(0.5),
            p99: line.steady.value_at_quantile(0.99),
        }
    }

    fn to_json(&self) -> Json {
        json!({
            "mode": self.mode,
            "events_per_second": self.rate.map(f64::round),
            "delivered": self.delivered,
            "lost": self.lost,
            "p50_us": self.p50 as f64 / 1e3,
            "p99_us": self.p99 as f64 / 1e3,
        })
    }
}

fn json_of(rows: &[Row], sample: &Sample, elapsed: Duration) -> Json {
    json!({
        "seconds": (elapsed.as_secs_f64() * 10.0).round() / 10.0,
        "load": sample.load,
        "memory_available": sample.memory_available,
        "subscribers": rows.iter().map(Row::to_json).collect::<Vec<_>>(),
    })
}

fn line_of(rows: &[Row], sample: &Sample, elapsed: Duration) -> String {
    let parts = rows.iter().map(|row| {
        let rate = grouped(row.rate.unwrap_or(0.0).round() as u64);
        format!(
            "{} {rate}/s p50 {} p99 {}",
            row.mode,
            time(row.p50),
            time(row.p99)
        )
    });
    let parts: Vec<String> = parts.collect();
    let lost: u64 = rows.iter().map(|row| row.lost).sum();
    format!(
        "{:>3.0} s  load {:.2}  {}  lost {lost}",
        elapsed.as_secs_f64(),
        sample.load,
        parts.join("  "),
    )
}

/// The machine, as the subscriber sees it.
fn machine(sample: &Sample, before: Option<(&Sample, Duration)>) -> String {
    let gib = |bytes: i64| bytes as f64 / f64::from(1 << 30);
    let used = sample.memory_total - sample.memory_available;
    let mut text = format!(
        "  load {:.2}    memory {:.1} of {:.1} GiB used",
        sample.load,
        gib(used),
        gib(sample.memory_total),
    );
    if let Some((before, span)) = before {
        let (received, sent) = traffic(sample);
        let (received_before, sent_before) = traffic(before);
        let per_second = |bytes: i64| bytes as f64 / span.as_secs_f64() / 1e6;
        text += &format!(
            "    network {:.1} MB/s in, {:.1} MB/s out",
            per_second(received - received_before),
            per_second(sent - sent_before),
        );
    }
    text
}

/// Bytes in and out over all interfaces, loopback included: the demo itself is to be seen.
fn traffic(sample: &Sample) -> (i64, i64) {
    let received = sample.interfaces.iter().map(|interface| interface.received);
    let sent = sample.interfaces.iter().map(|interface| interface.sent);
    (received.sum(), sent.sum())
}

fn final_words(summary: &Summary) -> String {
    let floe = std::env::args().next().unwrap_or_else(|| "floe".to_owned());
    let count = summary.subscribers.len() as f64;
    let steady = steady_of_fastest(summary);
    format!(
        "\n\
         {published} events were published, {delivered} delivered to three subscribers, {lost} lost.\n\
         \n\
         \x20 calm    {STEADY_RATE} events/s: p50 {p50}, p99 {p99} from the publisher through the hub to a subscriber\n\
         \x20 burst   {rate} events/s in, {deliveries} deliveries/s out, paced by the slowest subscriber\n\
         \n\
         \x20 p50, p99  half of the events, and 99 of 100, took at most this long (calm, oneway)\n\
         \x20 lost      published and not delivered; the hub counts each with its reason\n\
         \n\
         Try next, the first two in terminals of their own:\n\
         \x20 {floe} serve\n\
         \x20 {floe} sub ticker --create --slice examples/ticker/Ticker.ice\n\
         \x20 {floe} pub ticker tick '{{\"tick\": {{\"symbol\": \"ICE\", \"price\": 1.5}}}}' --slice examples/ticker/Ticker.ice\n\
         \x20 {floe} topic info ticker\n\
         docs/guides/floe-command.md shows the rest in five minutes.\n",
        published = grouped(summary.published()),
        delivered = grouped(summary.delivered()),
        lost = grouped(summary.lost()),
        p50 = time(steady.value_at_quantile(0.5)),
        p99 = time(steady.value_at_quantile(0.99)),
        rate = grouped(summary.burst_rate().round() as u64),
        deliveries = grouped((summary.burst_rate() * count).round() as u64),
    )
}

/// The calm latencies of the oneway subscriber.
fn steady_of_fastest(summary: &Summary) -> &Histogram<u64> {
    let oneway = summary
        .subscribers
        .iter()
        .find(|line| line.mode == "oneway");
    &oneway.unwrap_or(&summary.subscribers[0]).steady
}

/// A count with its thousands apart.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in the unit that suits it.
fn time(nanoseconds: u64) -> String {
    let microseconds = nanoseconds as f64 / 1e3;
    match nanoseconds {
        0 => "-".to_owned(),
        1..1_000_000 => format!("{microseconds:.0} us"),
        1_000_000..10_000_000 => format!("{:.1} ms", microseconds / 1e3),
        _ => format!("{:.0} ms", microseconds / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        let counts = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn times_are_in_the_unit_that_suits_them() {
        let times = [0, 85_400, 1_250_000, 27_400_000].map(time);
        assert_eq!(times, ["-", "85 us", "1.2 ms", "27 ms"]);
    }
}
