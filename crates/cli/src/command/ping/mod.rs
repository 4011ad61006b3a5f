//! `floe ping`: how long calls take to a peer and back.
//!
//! - `sizes.rs`: the sizes of payloads, as an argument
//! - `load.rs`: the calls, and what their failures mean
//! - `tally.rs`: times, and their statistics
//! - `plot.rs`: the plots; `ticks.rs`: the marks on their axes

mod load;
mod plot;
mod sizes;
mod tally;
mod ticks;

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use floe::{Communicator, Proxy, TypedProxy};
use serde_json::Value as Json;

use self::load::Load;
use self::sizes::Sizes;
use self::tally::{COLUMNS, Tally};
use crate::compression::CompressArgument;
use crate::count;
use crate::exit::{Exit, Failure};
use crate::near;
use crate::output::{Format, Output};
use crate::peer::{self, TimeoutArgument};
use crate::progress::ProgressLine;
use crate::router::RouterArguments;
use crate::size::Size;

/// Measures how long calls take to an Ice or Floe server and back
///
/// It calls ice_ping, which every object has. With --sizes it sends doubles and gets them back; that needs an
/// object with the interface ::Floe::Echo, such as the one of `floe echo`. Times are in microseconds; stddev is
/// the standard deviation. Ctrl-C ends the measurement and shows its results.
#[derive(Debug, Args)]
pub(crate) struct Ping {
    /// The object, such as 'greeter:tcp -h localhost -p 4061'
    proxy: String,

    /// Sizes of payloads, separated by commas. 16..8M means 16, 32, 64 and so on up to 8M
    #[arg(long, value_name = "SIZES", value_parser = sizes::parse)]
    sizes: Option<Sizes>,

    /// The number of measured calls of each size
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = |text: &str| count::up_to(text, COUNT_MAX), default_value_t = 100)]
    count: u32,

    /// The pause between two calls. 0 means none
    #[arg(long, value_name = "TIME", value_parser = peer::parse_time, default_value = "10ms")]
    interval: Duration,

    /// The number of calls of each size before the measured ones
    #[arg(long, value_name = "COUNT", value_parser = count::any::<u32>, default_value_t = 10)]
    warm_up: u32,

    /// Writes a plot of times by size, with bars from the shortest to the longest time
    #[arg(long, value_name = "FILE", requires = "sizes")]
    svg: Option<PathBuf>,

    /// Draws the plot with characters below the table
    #[arg(long, requires = "sizes")]
    plot: bool,

    /// The facet of the object: a second object under the same identity, such as another version or a facet for
    /// administrators. `floe proxy show` tells whether an object has it
    #[arg(long, value_name = "NAME")]
    facet: Option<String>,

    #[command(flatten)]
    timeout: TimeoutArgument,

    #[command(flatten)]
    compress: CompressArgument,

    #[command(flatten)]
    router: RouterArguments,
}

/// The width of a plot, in characters, if the output is not a terminal.
const PLOT_WIDTH: usize = 80;

/// The largest number of calls. Their times take 8 MB.
const COUNT_MAX: u32 = 1_000_000;

impl Ping {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        // Open the file first, so that a user does not measure for minutes in vain.
        let mut file = self.svg_file()?;
        let mut settings = peer::asking_settings(self.timeout.limit());
        // The time of a call that is retried would include both attempts.
        settings.retry_intervals.clear();
        let login = self.router.login()?;
        let report = Report::new(output, self.count);
        let measured = peer::run_with(
            peer::runtime_of_one_thread()?,
            settings,
            login,
            async |it| self.measure(&it, &report).await,
        );
        let tallies = report.finish()?;
        let svg = plot::svg(&self.proxy, &tallies);
        if let (Some(file), Some(svg)) = (&mut file, svg) {
            let written = file
                .set_len(0)
                .and_then(|()| file.write_all(svg.as_bytes()));
            written.map_err(|error| self.not_written(&error))?;
        }
        if self.plot && output.format() == Format::Table {
            let width = output.size().map_or(PLOT_WIDTH, |(width, _)| width);
            output.text(plot::text(&tallies, width).unwrap_or_default())?;
        }
        measured
    }

    async fn measure(
        &self,
        communicator: &Communicator,
        report: &Report<'_>,
    ) -> Result<Exit, Failure> {
        let proxy = self.proxy(communicator)?;
        match self.measure_over(&proxy, report).await {
            Ok(exit) => Ok(exit),
            Err(failure) => Err(near::explained(failure, &proxy).await),
        }
    }

    async fn measure_over(&self, proxy: &Proxy, report: &Report<'_>) -> Result<Exit, Failure> {
        if let Some(connection) = proxy.ice_connection().await? {
            let info = connection.info();
            tracing::info!("measuring over {} to {}", info.transport, info.peer);
        }
        for mut load in self.loads() {
            for _ in 0..self.warm_up {
                load.call(proxy).await?;
            }
            report.begin(load.size());
            for number in 1..=self.count {
                let start = Instant::now();
                let called = load.call(proxy).await;
                let time = start.elapsed();
                called?;
                load.check()?;
                report.add(time)?;
                if number < self.count && !self.interval.is_zero() {
                    tokio::time::sleep(self.interval).await;
                }
            }
        }
        Ok(Exit::Success)
    }

    fn proxy(&self, communicator: &Communicator) -> Result<Proxy, Failure> {
        let mut proxy: Proxy = peer::proxy(communicator, &self.proxy)?;
        if !proxy.reference().mode.is_twoway() {
            let message = format!(
                "`{}` is not twoway, and only twoway calls are answered",
                self.proxy
            );
            return Err(Failure::usage(message).help("omit -o, -O, -d or -D"));
        }
        if let Some(facet) = &self.facet {
            proxy = proxy.ice_facet(facet);
        }
        Ok(self.compress.apply(proxy))
    }

    /// The calls to measure. Each payload is made when it is needed.
    fn loads(&self) -> impl Iterator<Item = Load> {
        let ping = self.sizes.is_none().then(Load::ping);
        let sizes = self.sizes.iter().flat_map(Sizes::iter);
        ping.into_iter().chain(sizes.map(Load::echo))
    }

    /// The file of the plot. It keeps its content until a new plot is written.
    fn svg_file(&self) -> Result<Option<File>, Failure> {
        let mut options = File::options();
        options.create(true).write(true).truncate(false);
        let created = self.svg.as_ref().map(|path| options.open(path)).transpose();
        created.map_err(|error| self.not_written(&error))
    }

    fn not_written(&self, error: &std::io::Error) -> Failure {
        let path = self.svg.clone().unwrap_or_default();
        Failure::usage(format_args!("cannot write `{}`: {error}", path.display()))
    }
}

/// The measurements so far. They are shown also if the command is interrupted.
struct Report<'a> {
    output: &'a Output,
    /// How many calls of each size are measured.
    wanted: usize,
    tallies: RefCell<Vec<Tally>>,
    progress: ProgressLine,
}

impl<'a> Report<'a> {
    fn new(output: &'a Output, wanted: u32) -> Self {
        Self {
            output,
            wanted: wanted as usize,
            tallies: RefCell::default(),
            progress: ProgressLine::new(),
        }
    }

    fn begin(&self, size: Size) {
        self.tallies.borrow_mut().push(Tally::new(size));
    }

    /// Adds the time of a call. With the last call of a size, writes its row if the format has a row a line.
    fn add(&self, time: Duration) -> Result<(), Failure> {
        let mut tallies = self.tallies.borrow_mut();
        let Some(tally) = tallies.last_mut() else {
            return Ok(());
        };
        tally.add(time);
        let (count, wanted) = (tally.count(), self.wanted);
        self.progress
            .rewrite(format_args!("{}  {count}/{wanted}", tally.size));
        match count == wanted {
            true => tell_line(self.output, tally),
            false => Ok(()),
        }
    }

    /// Shows the rows that have not been shown. Returns all measurements.
    fn finish(self) -> Result<Vec<Tally>, Failure> {
        self.progress.clear();
        let tallies = self.tallies.into_inner();
        let rows: Vec<Json> = tallies.iter().filter_map(Tally::to_json).collect();
        match self.output.format() {
            Format::Table if rows.is_empty() => {}
            Format::Table | Format::Json => self.output.rows(&COLUMNS, &rows)?,
            Format::Jsonl | Format::Raw => {
                let unfinished = tallies.last().filter(|it| it.count() < self.wanted);
                unfinished.map_or(Ok(()), |tally| tell_line(self.output, tally))?;
            }
        }
        Ok(tallies)
    }
}

/// Shows a row if the format has a row a line.
fn tell_line(output: &Output, tally: &Tally) -> Result<(), Failure> {
    let Some(row) = tally.to_json() else {
        return Ok(());
    };
    match output.format() {
        Format::Jsonl => output.line(row),
        Format::Raw => output.line(&row["mean_us"]),
        Format::Table | Format::Json => Ok(()),
    }
}
