//! `floe demo`: a hub, a publisher of this machine's own telemetry, and three subscribers.
//!
//! - `telemetry.rs`: the machine's telemetry, read from `/proc`, in the types of the contract
//! - `stage.rs`: the hub and the subscribers, each with connections of its own
//! - `publisher.rs`: publishes steadily, then as fast as all subscribers take it
//! - `tally.rs`: the events that one subscriber got, and their latencies
//! - `summary.rs`: the final figures
//! - `screen.rs`: the output during the demo and at its end, for people and for programs
//! - `picture.rs`, `row.rs`: the table that is drawn in place on a terminal

mod picture;
mod publisher;
mod row;
mod screen;
mod stage;
mod summary;
mod tally;
mod telemetry;

use std::time::{Duration, Instant};

use clap::Args;
use tokio::time::MissedTickBehavior;

use crate::count;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::peer;
use publisher::Publisher;
use screen::Screen;
use stage::Stage;
use summary::{JSON_HELP, Summary};

/// Shows typed events at work: a hub, a publisher of this machine's telemetry, three subscribers
///
/// Hub, publisher and subscribers run in this process and talk over TCP on loopback. The publisher sends 100
/// events a second, and at the end as many as the slowest subscriber takes. The output is text for people, also
/// in a pipe, unless you ask for JSON with -o json or -o jsonl. Exit code 6: events were lost. 130: the demo
/// was interrupted.
#[derive(Debug, Args)]
#[command(after_long_help = JSON_HELP)]
pub(crate) struct Demo {
    /// How long the demo takes, including the burst at the end
    #[arg(long, default_value_t = 10, value_parser = count::at_least_one::<u32>)]
    seconds: u32,
}

impl Demo {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::runtime()?.block_on(async {
            let mut signals = peer::signals()?;
            let stage = Stage::set().await?;
            let result = self.play(&stage, &mut signals, output).await;
            stage.strike().await;
            result
        })
    }

    async fn play(
        &self,
        stage: &Stage,
        signals: &mut floe::Signals,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let mut screen = Screen::new(output, self.seconds);
        screen.begin(stage)?;
        let start = Instant::now();
        let (steady, burst) = self.phases();
        let mut publishing = tokio::spawn(Publisher::new(stage).run(steady, burst));
        let mut ticks = tokio::time::interval(screen.interval());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        let mut exit = Exit::Success;
        let published = loop {
            tokio::select! {
                result = &mut publishing => break joined(result)?,
                _ = ticks.tick() => screen.draw(stage, start.elapsed()).await?,
                _ = signals.next() => {
                    exit = Exit::Interrupted;
                    stage.counts().stop();
                }
            }
        };
        stage.drain().await;
        let summary = Summary::new(stage, &published);
        screen.end(stage, &summary)?;
        Ok(match summary.lost() {
            0 => exit,
            _ => Exit::LossDetected,
        })
    }

    /// The length of the steady part, which is most of the time, and that of the burst at the end.
    fn phases(&self) -> (Duration, Duration) {
        let all = Duration::from_secs(self.seconds.into());
        let burst = all.mul_f64(0.3).min(Duration::from_secs(3));
        (all - burst, burst)
    }
}

/// Returns true if the output is for people, and not for programs.
fn is_for_people(format: Format) -> bool {
    matches!(format, Format::Table | Format::Raw)
}

fn joined<T>(
    result: Result<Result<T, floe::InvokeError>, tokio::task::JoinError>,
) -> Result<T, Failure> {
    let published = result
        .map_err(|error| Failure::new(Exit::Failure, format_args!("publishing failed: {error}")))?;
    published.map_err(|error| Failure::from(error).when("publishing failed"))
}
