//! A client of the soak: workers that call at random, in tasks and in threads, and note what each call ended with.
//!
//! - `worker.rs`: what a worker does next
//! - `calls.rs`: the kinds of calls
//! - `notes.rs`: what is noted, and the watch over calls that do not end

mod calls;
mod notes;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Args;
use floe::blocking::Wait;
use floe::{Adapter, Current, InvokeError};

use crate::contract::soak::{Caller, CallerDispatcher};
use crate::id::CallId;
use crate::journal::{Journal, Note};
use crate::server::{settings, wait_for_end};
use notes::Notes;
use worker::{Places, Worker};

/// Workers that are tasks, over one communicator.
const TASK_COUNT: usize = 6;
/// How long each call may take in seconds, unless told: above all limits in `settings`, and pauses.
pub(crate) const PATIENCE: u64 = 30;
/// Workers that are threads, over another.
const THREAD_COUNT: usize = 3;

/// Calls the targets at random, until standard input ends.
#[derive(Debug, Args)]
pub(crate) struct Client {
    /// The number of this process among all clients of the run, from 1
    #[arg(long)]
    number: u16,
    #[arg(long)]
    seed: u64,
    /// Where to note what calls ended with
    #[arg(long)]
    journal: PathBuf,
    /// The folder of the certificates
    #[arg(long)]
    certificates: PathBuf,
    /// Proxies to call
    #[arg(long = "target", required = true)]
    targets: Vec<String>,
    /// Proxies to send datagrams to
    #[arg(long = "datagram")]
    datagrams: Vec<String>,
    /// How long a worker rests between two turns at most, in milliseconds
    #[arg(long, default_value_t = 20)]
    rest: usize,
    /// How long each call may take, in seconds
    #[arg(long, default_value_t = PATIENCE)]
    patience: u64,
}

impl Client {
    pub(crate) fn run(&self) -> ExitCode {
        crate::run::log::start();
        let journal = Journal::create(&self.journal).expect("a new journal");
        journal.note_panics().expect("one more descriptor");
        let notes = Arc::new(Notes::new(self.number, journal, self.patience));
        let watch = notes.clone();
        thread::spawn(move || watch.watch());
        println!("ready");
        let threads = self.start_threads(&notes);
        self.run_tasks(&notes);
        threads.end();
        println!("ended after {} calls", notes.count());
        ExitCode::SUCCESS
    }

    #[tokio::main(worker_threads = 2)]
    async fn run_tasks(&self, notes: &Arc<Notes>) {
        let settings = settings(&self.certificates, "client");
        let communicator = floe::Communicator::with_settings(settings);
        let adapter = communicator.adapter_without_endpoints().await;
        let adapter = with_caller(adapter.expect("it needs nothing"), notes);
        let places = Places::new(&communicator, &self.targets, &self.datagrams, adapter);
        let tasks: Vec<_> = (0..TASK_COUNT)
            .map(|at| {
                let mut worker = self.worker(at, &places, notes);
                tokio::spawn(async move {
                    while worker.turn().await {
                        tokio::time::sleep(worker.rest()).await;
                    }
                })
            })
            .collect();
        let ended = tokio::task::spawn_blocking(wait_for_end);
        ended.await.expect("no panic");
        notes.end();
        for task in tasks {
            task.await.expect("a worker does not panic");
        }
        communicator.shutdown().await;
    }

    fn start_threads(&self, notes: &Arc<Notes>) -> Threads {
        let settings = settings(&self.certificates, "client");
        let communicator = floe::blocking::Communicator::with_settings(settings);
        let adapter = communicator.adapter_without_endpoints();
        let adapter = with_caller(adapter.expect("it needs nothing"), notes);
        let places = Places::new(
            communicator.as_async(),
            &self.targets,
            &self.datagrams,
            adapter,
        );
        let threads = (0..THREAD_COUNT).map(|at| {
            let mut worker = self.worker(TASK_COUNT + at, &places, notes);
            thread::spawn(move || {
                while worker.turn().wait() {
                    thread::sleep(worker.rest());
                }
            })
        });
        Threads {
            threads: threads.collect(),
            communicator,
        }
    }

    fn worker(&self, at: usize, places: &Arc<Places>, notes: &Arc<Notes>) -> Worker {
        let seed = self.seed.wrapping_add(at as u64);
        let rest = Duration::from_millis(self.rest as u64);
        Worker::new(seed, rest, places.clone(), notes.clone())
    }
}

/// The workers that are threads.
struct Threads {
    threads: Vec<thread::JoinHandle<()>>,
    communicator: floe::blocking::Communicator,
}

impl Threads {
    fn end(self) {
        for thread in self.threads {
            thread.join().expect("a worker does not panic");
        }
        self.communicator.shutdown();
    }
}

fn with_caller(adapter: Adapter, notes: &Arc<Notes>) -> Adapter {
    let called = CallerDispatcher::new(Called(notes.clone()));
    adapter.add("caller", called).expect("the first");
    adapter
}

/// The object that servers call back.
struct Called(Arc<Notes>);

impl Caller for Called {
    async fn called_back(&self, id: i64, _: &Current) -> Result<(), InvokeError> {
        self.0.note(CallId(id.cast_unsigned()), Note::CalledBack);
        Ok(())
    }
}
