//! A subscriber in a process of its own, which can be stopped, and killed and started again.

use std::io::{self, BufRead};
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;
use floe::Communicator;
use floe::contracts::ice_storm::AlreadySubscribedOrBadQoSOrInvalidSubscriberError;

use super::hearing::Hearing;
use super::station::{Mode, own_program, topic, wishes};
use crate::member::Member;

/// Subscribes, and answers each line of standard input with what it has heard, until that ends.
#[derive(Debug, Args)]
pub(crate) struct Listen {
    /// The proxy of the topic manager
    #[arg(long)]
    manager: String,
    #[arg(long)]
    topic: String,
    /// The name of the subscriber: a new process with the same name and port takes its place
    #[arg(long)]
    name: String,
    #[arg(long)]
    port: u16,
    #[arg(long, value_enum)]
    mode: Mode,
    /// Failures that the hub tolerates; -1 is any number
    #[arg(long, allow_negative_numbers = true)]
    retry_count: String,
}

impl Listen {
    #[tokio::main(worker_threads = 2)]
    pub(crate) async fn run(&self) -> ExitCode {
        let communicator = Communicator::new();
        let endpoint = format!("tcp -h 127.0.0.1 -p {}", self.port);
        let adapter = match communicator.adapter(&endpoint).await {
            Ok(adapter) => adapter,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        };
        let hearing = Hearing::default();
        let added = adapter.add(self.name.as_str(), hearing.servant());
        adapter.activate();
        let subscriber = added.expect("the first");
        let qos = [("retryCount", self.retry_count.as_str())];
        let (subscriber, qos) = wishes(&subscriber, self.mode, &qos);
        let topic = topic(&communicator, &self.manager, &self.topic).await;
        let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
        match subscribed.await {
            // The one in whose place it is was subscribed.
            Ok(_)
            | Err(AlreadySubscribedOrBadQoSOrInvalidSubscriberError::AlreadySubscribed(_)) => {}
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
        println!("ready");
        let answering = tokio::task::spawn_blocking(move || answer(&hearing));
        answering.await.expect("no panic");
        communicator.shutdown().await;
        ExitCode::SUCCESS
    }
}

fn answer(hearing: &Hearing) {
    for _ in io::stdin().lock().lines().map_while(Result::ok) {
        let heard = hearing.heard();
        println!("{} {}", heard.count, heard.disorders);
    }
}

/// Such a process, of a driver.
pub(super) struct Listener {
    pub(super) name: String,
    manager: String,
    topic: String,
    port: u16,
    mode: Mode,
    retry_count: &'static str,
    life: Option<Member>,
}

impl Listener {
    /// Starts the first process, on this port.
    ///
    /// # Panics
    /// If it does not start.
    pub(super) fn start(
        name: &str,
        manager: &str,
        topic: &str,
        mode: Mode,
        retry_count: &'static str,
        log: &Path,
    ) -> Self {
        let mut listener = Self {
            name: name.to_owned(),
            manager: manager.to_owned(),
            topic: topic.to_owned(),
            port: free_port(),
            mode,
            retry_count,
            life: None,
        };
        listener.come(log);
        listener
    }

    /// Starts another process in the place of the one that was killed.
    ///
    /// # Panics
    /// If it does not start.
    pub(super) fn come(&mut self, log: &Path) {
        let mut command = Command::new(own_program());
        command.args(["listen", "--manager", &self.manager, "--topic", &self.topic]);
        command.args(["--name", &self.name, "--port", &self.port.to_string()]);
        command.args([
            "--mode",
            self.mode.name(),
            "--retry-count",
            self.retry_count,
        ]);
        let started = Member::start(command, &log.join(format!("{}.log", self.name)));
        let (life, _) = started.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        self.life = Some(life);
    }

    /// Kills it, as a crash would.
    pub(super) fn die(&mut self) {
        self.life = None;
    }

    /// Stops it until it is resumed.
    pub(super) fn stop(&mut self) {
        self.life.iter_mut().for_each(Member::stop);
    }

    /// Lets it go on.
    pub(super) fn resume(&mut self) {
        self.life.iter_mut().for_each(Member::resume);
    }

    /// How many events this process has heard, and how many of them not in their order.
    pub(super) fn heard(&mut self) -> Option<(u64, u64)> {
        let line = self.life.as_mut()?.ask("heard")?;
        let (count, disorders) = line.split_once(' ')?;
        Some((count.parse().ok()?, disorders.parse().ok()?))
    }
}

/// A port that nobody has.
fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("a bound socket").port()
}
