//! The output of the demo: a table drawn in place on a terminal, a line a second elsewhere, JSON for
//! programs.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::is_for_people;
use super::picture::{Picture, Size, machine, table};
use super::publisher::STEADY_RATE;
use super::row::{Row, grouped, time};
use super::stage::{Stage, TOPIC};
use super::summary::Summary;
use super::telemetry::Sample;
use crate::exit::Failure;
use crate::output::{Format, Output};

/// Where the demo is shown.
pub(super) struct Screen<'a> {
    output: &'a Output,
    format: Format,
    seconds: u32,
    picture: Picture,
    before: Option<(Duration, Sample)>,
}

impl<'a> Screen<'a> {
    /// For people unless something else was asked for, even in a pipe.
    pub(super) fn new(output: &'a Output, seconds: u32) -> Self {
        Self {
            output,
            format: output.format_or(Format::Table),
            seconds,
            picture: Picture::default(),
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
             Each event is this machine's load, memory and network, typed by Slice.\n\n\
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
                let size = Size::now();
                let lines = self.lines(stage, &rows, &sample, elapsed, span, size);
                self.output.text(self.picture.redraw(&lines, size))?;
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
            let size = Size::now();
            let mut lines = machine(&sample, None, size.columns);
            lines.push(String::new());
            lines.extend(table(&rows, size.columns, self.output.has_colour()));
            self.output.text(self.picture.redraw(&lines, size))?;
        }
        self.output.text(final_words(summary))
    }

    fn is_picture(&self) -> bool {
        is_for_people(self.format) && self.output.can_redraw()
    }

    fn lines(
        &self,
        stage: &Stage,
        rows: &[Row],
        sample: &Sample,
        elapsed: Duration,
        span: Duration,
        size: Size,
    ) -> Vec<String> {
        let before = self.before.as_ref().map(|(_, sample)| (sample, span));
        let doing = match stage.counts().is_burst() {
            true => "a burst: as many events as the slowest subscriber takes".to_owned(),
            false => format!("{STEADY_RATE} events a second"),
        };
        let mut lines = machine(sample, before, size.columns);
        lines.push(String::new());
        lines.extend(table(rows, size.columns, self.output.has_colour()));
        lines.push(String::new());
        lines.push(format!(
            "  {:.0} of {} s: {doing}",
            elapsed.as_secs_f64(),
            self.seconds
        ));
        lines
    }
}

fn json_of(rows: &[Row], sample: &Sample, elapsed: Duration) -> Json {
    json!({
        "kind": "progress",
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

fn final_words(summary: &Summary) -> String {
    let floe = std::env::args().next().unwrap_or_else(|| "floe".to_owned());
    let steady = &summary.oneway().steady;
    let interrupted = match summary.is_interrupted {
        true => format!("interrupted after {:.0} s: ", summary.seconds),
        false => String::new(),
    };
    format!(
        "\n\
         {interrupted}{published} events published, {delivered} delivered to three subscribers, {lost} lost\n\
         \n\
         \x20 calm    {STEADY_RATE} events/s: p50 {p50}, p99 {p99}, publisher to hub to subscriber\n\
         \x20 burst   {burst}\n\
         \n\
         \x20 p50, p99  half, and 99 of 100 events, took at most this long (calm, oneway)\n\
         \x20 lost      published and not delivered; the hub counts each with its reason\n\
         \n\
         Try next from the folder of the repository, the first two in terminals of their own:\n\
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
        burst = burst_words(summary),
    )
}

fn burst_words(summary: &Summary) -> String {
    let Some(rate) = summary.burst_rate() else {
        return "there was none: interrupted before it began".to_owned();
    };
    let count = summary.subscribers.len() as f64;
    format!(
        "{} events/s in, {} deliveries/s out, paced by the slowest",
        grouped(rate.round() as u64),
        grouped((rate * count).round() as u64),
    )
}
