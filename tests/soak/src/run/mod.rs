//! The soak itself: members are started, killed, paused and watched for a while; then all they noted is audited.
//!
//! - `stage.rs`: who takes part, and how each is started
//! - `chaos.rs`: kills and pauses at random
//! - `audit.rs`: what was promised, held against what was executed
//! - `report.rs`: the result as a table and as JSON
//! - `log.rs`: what members log

mod audit;
mod chaos;
pub(crate) mod log;
mod report;
mod stage;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;

use crate::client::PATIENCE;
use crate::mistakes::Mistake;
use crate::{journal, process};
use chaos::Chaos;
use report::Report;
use stage::{Actor, Part, Stage};

/// Between two looks of the driver.
const TICK: Duration = Duration::from_millis(50);
/// Between two samples of memory and descriptors.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// Descriptors that a server may keep when all clients have left: what is opened once, when first needed.
const DESCRIPTORS_LEFT_MAX: usize = 8;
/// How long servers may take to notice that the clients have left.
const LEAVING_PATIENCE: Duration = Duration::from_secs(20);

/// Servers and clients under load for a while, killed and paused at random.
///
/// Checked: what was promised was executed, what must not be repeated was executed once, each call ended in
/// time, nobody panicked, and memory and descriptors of the members that live through it stay flat.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// How long the load lasts
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// The seed that decides which member is killed, and when [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// Writes the result to this file as JSON, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How long each call may take, in seconds
    #[arg(long, default_value_t = PATIENCE)]
    patience: u64,
    /// Lets a server make a mistake on purpose: the soak must then fail
    #[arg(long, value_enum)]
    mistake: Option<Mistake>,
}

impl Run {
    pub(crate) fn run(&self) -> ExitCode {
        process::raise_descriptor_limit();
        let seed = self.seed.unwrap_or_else(seed_of_the_moment);
        eprintln!(
            "soak: {} s with seed {seed}; again with --seed {seed}",
            self.seconds
        );
        let mut report = Report::new(seed, self.seconds);
        let mut stage = Stage::set(seed, self.patience, self.mistake);
        eprintln!(
            "soak: journals and logs are in {}",
            stage.folder().display()
        );
        let began = self.load(&mut stage, seed, &mut report);
        end(&mut stage, &mut report);
        audit(&stage, &mut report);
        stage.look_into_logs(&mut report);
        for actor in stage.actors() {
            actor.describe(&mut report, began);
        }
        let passed = report.finish(self.output.as_deref());
        if passed {
            stage.clear();
            return ExitCode::SUCCESS;
        }
        ExitCode::FAILURE
    }

    /// Lets the members call one another while chaos reigns; when that began.
    fn load(&self, stage: &mut Stage, seed: u64, report: &mut Report) -> Instant {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(self.seconds);
        let mut chaos = Chaos::new(seed, begin);
        let mut next_sample = begin;
        while Instant::now() < end {
            let now = Instant::now();
            chaos.act(now, stage, report);
            if now >= next_sample {
                next_sample = now + SAMPLE_INTERVAL;
                stage.actors_mut().for_each(|actor| actor.sample(now));
            }
            thread::sleep(TICK);
        }
        chaos.calm(stage, report);
        begin
    }
}

/// Ends the clients, sees that servers let go of them, and ends the servers.
fn end(stage: &mut Stage, report: &mut Report) {
    let is_client = |actor: &&mut Actor| actor.part == Part::Client;
    stage
        .actors_mut()
        .filter(is_client)
        .for_each(|client| client.ask_to_end());
    stage
        .actors_mut()
        .filter(is_client)
        .for_each(|client| client.end(report));
    for server in stage.actors().filter(|actor| actor.part == Part::Server) {
        check_that_it_let_go(server, report);
    }
    stage.actors_mut().for_each(|server| server.ask_to_end());
    stage.actors_mut().for_each(|server| server.end(report));
}

fn check_that_it_let_go(server: &Actor, report: &mut Report) {
    let Some((id, at_start)) = server.process() else {
        return;
    };
    let limit = at_start + DESCRIPTORS_LEFT_MAX;
    let until = Instant::now() + LEAVING_PATIENCE;
    loop {
        let count = process::descriptors(id).unwrap_or_default();
        if count <= limit {
            return;
        }
        if Instant::now() > until {
            report.finding(format!(
                "{}: expected at most {limit} descriptors when all clients had left, got {count}",
                server.name
            ));
            return;
        }
        thread::sleep(TICK);
    }
}

fn audit(stage: &Stage, report: &mut Report) {
    let mut audit = audit::Audit::default();
    for path in stage.journals() {
        match journal::read(path) {
            Ok(notes) => audit.add_journal(&notes),
            Err(error) => report.finding(format!("{}: {error}", path.display())),
        }
    }
    audit.close(report);
}

fn seed_of_the_moment() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.map_or(1, |time| time.as_millis() as u64 % 1_000_000)
}
