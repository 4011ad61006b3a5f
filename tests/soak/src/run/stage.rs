//! The members: servers and clients of ours with both APIs, and unmodified Ice for C++ where it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use floe_tests::certificates::Certificates;
use floe_tests::ice::Ice;
use floe_tests::ports;

use super::report::Report;
use crate::member::Member;
use crate::mistakes::Mistake;
use crate::watch::Watch;

/// Servers and clients of ours. The first of each lives through the run.
const SERVER_COUNT: usize = 3;
const CLIENT_COUNT: usize = 3;

/// How long a member that could not start waits before it tries again, and how often that may be.
const START_PAUSE: Duration = Duration::from_secs(1);
const FAILED_STARTS_MAX: usize = 10;

/// The role of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Server,
    Client,
}

/// A member through all its lives.
pub(super) struct Actor {
    pub(super) name: String,
    pub(super) part: Part,
    /// True if it lives through the run; then it is watched.
    pub(super) is_elder: bool,
    command: Box<Casting>,
    life: Option<Member>,
    start_count: usize,
    failed_start_count: usize,
    /// When it comes back, from a pause or from death.
    back_at: Option<Instant>,
    watch: Watch,
}

/// Makes a command from the number of a life and its journal.
type Casting = dyn Fn(u16, &Path) -> Command;

/// All of them, and where they write.
pub(super) struct Stage {
    folder: PathBuf,
    actors: Vec<Actor>,
    life_count: u16,
    journals: Vec<PathBuf>,
    logs: Vec<PathBuf>,
    absent: Option<String>,
    /// Removed with this.
    _certificates: Certificates,
}

/// Where a server can be reached.
struct Address {
    /// Endpoints of streams, one for each transport.
    streams: Vec<String>,
    datagram: String,
    /// The proxy as the server published it.
    published: String,
}

impl Address {
    fn listen(&self) -> String {
        let mut all = self.streams.clone();
        all.push(self.datagram.clone());
        all.join(":")
    }
}

impl Stage {
    /// Starts everybody.
    ///
    /// # Panics
    /// If somebody does not start: that is no finding of a soak.
    pub(super) fn set(seed: u64, patience: u64, mistake: Option<Mistake>) -> Self {
        let folder = std::env::temp_dir().join(format!("floe-soak-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("temporary files can be written");
        let certificates = Certificates::make();
        let keys = certificates.folder().to_owned();
        let mut stage = Self {
            folder,
            actors: Vec::new(),
            life_count: 0,
            journals: Vec::new(),
            logs: Vec::new(),
            absent: None,
            _certificates: certificates,
        };
        let mut addresses = stage.start_servers(&keys, mistake);
        let ice = Ice::find()
            .map_err(|reason| stage.absent = Some(reason))
            .ok();
        if let Some(ice) = &ice {
            let address = stage.start_ice_server(ice, &keys);
            addresses.push(address);
        }
        stage.start_clients(&addresses, &keys, seed, patience);
        if let Some(ice) = &ice {
            stage.start_ice_client(ice, &addresses, &keys);
        }
        stage
    }

    fn start_servers(&mut self, keys: &Path, mistake: Option<Mistake>) -> Vec<Address> {
        let mut addresses = Vec::new();
        for at in 0..SERVER_COUNT {
            let mut address = free_address(&["tcp", "ssl", "ws", "wss"]);
            let socket = self.folder.join(format!("server-{at}.socket"));
            address
                .streams
                .push(format!("unix -f {}", socket.display()));
            let face = if at == 1 { "blocking" } else { "async" };
            let (listen, keys) = (address.listen(), keys.to_owned());
            let command = move |_: u16, journal: &Path| {
                let mut command = Command::new(own_program());
                command.args(["server", "--face", face, "--listen", &listen]);
                command.arg("--certificates").arg(&keys);
                command.arg("--journal").arg(journal);
                if let (0, Some(mistake)) = (at, mistake) {
                    command.args(["--mistake", mistake.name()]);
                }
                command
            };
            let name = format!("{face} server {at}");
            address.published = self.enter(name, Part::Server, at == 0, command);
            addresses.push(address);
        }
        addresses
    }

    fn start_ice_server(&mut self, ice: &Ice, keys: &Path) -> Address {
        let address = free_address(&["tcp", "ssl", "ws", "wss"]);
        let program = ice.soak("server");
        let (listen, options) = (address.listen(), ice_ssl(keys, "server"));
        let command = move |_: u16, journal: &Path| {
            let mut command = Command::new(&program);
            command.arg(journal).arg(&listen).args(&options);
            command
        };
        self.enter("Ice server".to_owned(), Part::Server, false, command);
        address
    }

    fn start_clients(&mut self, addresses: &[Address], keys: &Path, seed: u64, patience: u64) {
        let targets = targets(addresses);
        let datagrams = addresses.iter().map(|a| target(&a.datagram));
        let datagrams: Vec<String> = datagrams.collect();
        for at in 0..CLIENT_COUNT {
            let (targets, datagrams, keys) = (targets.clone(), datagrams.clone(), keys.to_owned());
            let command = move |number: u16, journal: &Path| {
                let mut command = Command::new(own_program());
                let seed = seed
                    .wrapping_mul(1000)
                    .wrapping_add(u64::from(number) * 100);
                command.args(["client", "--number", &number.to_string()]);
                command.args(["--seed", &seed.to_string()]);
                command.args(["--patience", &patience.to_string()]);
                command.arg("--certificates").arg(&keys);
                command.arg("--journal").arg(journal);
                for target in &targets {
                    command.args(["--target", target]);
                }
                for datagram in &datagrams {
                    command.args(["--datagram", datagram]);
                }
                command
            };
            self.enter(format!("client {at}"), Part::Client, at == 0, command);
        }
    }

    fn start_ice_client(&mut self, ice: &Ice, addresses: &[Address], keys: &Path) {
        let program = ice.soak("client");
        let streams = addresses.iter().flat_map(|address| &address.streams);
        let known = streams.filter(|endpoint| !endpoint.starts_with("unix"));
        let targets: Vec<String> = known.map(|endpoint| target(endpoint)).collect();
        let options = ice_ssl(keys, "client");
        let command = move |number: u16, journal: &Path| {
            let mut command = Command::new(&program);
            command.arg(number.to_string()).arg(journal);
            command.args(&targets).args(&options);
            command
        };
        self.enter("Ice client".to_owned(), Part::Client, false, command);
    }

    /// Starts the first life of somebody; returns what it said when it was ready.
    fn enter(
        &mut self,
        name: String,
        part: Part,
        is_elder: bool,
        command: impl Fn(u16, &Path) -> Command + 'static,
    ) -> String {
        self.actors.push(Actor {
            name,
            part,
            is_elder,
            command: Box::new(command),
            life: None,
            start_count: 0,
            failed_start_count: 0,
            back_at: None,
            watch: Watch::default(),
        });
        let at = self.actors.len() - 1;
        let ready = self.start(at);
        ready.unwrap_or_else(|error| panic!("{}: {error}", self.actors[at].name))
    }

    fn start(&mut self, at: usize) -> Result<String, String> {
        self.life_count += 1;
        let number = self.life_count;
        let journal = self.folder.join(format!("{number}.journal"));
        let log = self.folder.join(format!("{number}.log"));
        let actor = &mut self.actors[at];
        let command = (actor.command)(number, &journal);
        let (member, ready) = Member::start(command, &log)?;
        actor.life = Some(member);
        actor.start_count += 1;
        actor.failed_start_count = 0;
        self.journals.push(journal);
        self.logs.push(log);
        Ok(ready)
    }

    /// Resumes and restarts those whose time has come. Those that ended by themselves are a finding.
    pub(super) fn bring_back(&mut self, now: Instant, report: &mut Report) {
        for at in 0..self.actors.len() {
            let actor = &mut self.actors[at];
            if let Some(status) = actor.life.as_mut().and_then(Member::ended) {
                report.finding(format!("{}: it ended by itself: {status}", actor.name));
                actor.life = None;
                actor.back_at = Some(now);
            }
            if actor.back_at.is_none_or(|back_at| back_at > now) {
                continue;
            }
            actor.back_at = None;
            match &mut actor.life {
                Some(member) => member.resume(),
                None => {
                    if let Err(error) = self.start(at) {
                        self.try_again(at, now, &error, report);
                    }
                }
            }
        }
    }

    /// Somebody did not start. While a server was dead, another program may have got its port, and keeps it
    /// for a while: only who fails time and again is a finding.
    fn try_again(&mut self, at: usize, now: Instant, error: &str, report: &mut Report) {
        let actor = &mut self.actors[at];
        actor.failed_start_count += 1;
        actor.back_at = Some(now + START_PAUSE);
        if actor.failed_start_count.is_multiple_of(FAILED_STARTS_MAX) {
            report.finding(format!("{}: {error}", actor.name));
        }
    }

    pub(super) fn actors(&self) -> impl Iterator<Item = &Actor> {
        self.actors.iter()
    }

    pub(super) fn actors_mut(&mut self) -> impl Iterator<Item = &mut Actor> {
        self.actors.iter_mut()
    }

    pub(super) fn journals(&self) -> &[PathBuf] {
        &self.journals
    }

    /// Adds where members panicked; that they did stands in their journals.
    pub(super) fn look_into_logs(&mut self, report: &mut Report) {
        if let Some(reason) = self.absent.take() {
            report.absent(format!("Ice: {reason}"));
        }
        for path in &self.logs {
            let log = fs::read(path).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let panics = log.lines().filter(|line| line.contains("panicked at"));
            panics.for_each(|line| report.finding(format!("{}: {line}", path.display())));
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes what the members wrote.
    pub(super) fn clear(&self) {
        // What is left behind is in the folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Actor {
    /// Its process, and the descriptors that it had when it was ready.
    pub(super) fn process(&self) -> Option<(u32, usize)> {
        let life = self.life.as_ref()?;
        Some((life.id(), life.descriptors))
    }

    pub(super) fn sample(&mut self, now: Instant) {
        if let (true, Some(life)) = (self.is_elder, &self.life) {
            self.watch.sample(life.id(), now);
        }
    }

    /// Kills it until then; whether it was alive.
    pub(super) fn kill(&mut self, until: Instant) -> bool {
        // Dropped, it is dead.
        let was_alive = self.life.take().is_some();
        if was_alive {
            self.back_at = Some(until);
        }
        was_alive
    }

    /// Stops it until then; whether it was running.
    pub(super) fn pause(&mut self, until: Instant) -> bool {
        let Some(life) = self.life.as_mut().filter(|_| self.back_at.is_none()) else {
            return false;
        };
        life.stop();
        self.back_at = Some(until);
        true
    }

    pub(super) fn ask_to_end(&mut self) {
        if let Some(life) = &mut self.life {
            life.ask_to_end();
        }
    }

    pub(super) fn end(&mut self, report: &mut Report) {
        if let Some(life) = self.life.take()
            && let Err(error) = life.end()
        {
            report.finding(format!("{}: {error}", self.name));
        }
    }

    pub(super) fn describe(&self, report: &mut Report, began: Instant) {
        let course = self.watch.course(began);
        for problem in course.iter().flat_map(|course| course.problems()) {
            report.finding(format!("{}: {problem}", self.name));
        }
        report.member(&self.name, self.start_count, course);
    }
}

/// Proxies that a client calls: each server over each transport, each transport of all of ours at once, and what
/// servers published.
fn targets(addresses: &[Address]) -> Vec<String> {
    let all = addresses.iter().flat_map(|address| &address.streams);
    let mut targets: Vec<String> = all.map(|endpoint| target(endpoint)).collect();
    let ours = || addresses.iter().filter(|a| !a.published.is_empty());
    let transport_count = ours().map(|address| address.streams.len()).min();
    for at in 0..transport_count.unwrap_or_default() {
        let endpoints: Vec<&str> = ours().map(|a| a.streams[at].as_str()).collect();
        targets.push(target(&endpoints.join(":")));
    }
    targets.extend(ours().map(|address| address.published.clone()));
    targets
}

fn target(endpoints: &str) -> String {
    format!("target:{endpoints}")
}

/// Ports that nobody has, also while nobody listens there, for these transports and for datagrams.
fn free_address(transports: &[&str]) -> Address {
    let endpoint = |transport| format!("{transport} -h 127.0.0.1 -p {}", ports::unclaimed());
    Address {
        streams: transports.iter().map(endpoint).collect(),
        datagram: endpoint(&"udp"),
        published: String::new(),
    }
}

/// The options that give an Ice program one of the identities.
fn ice_ssl(keys: &Path, identity: &str) -> Vec<String> {
    vec![
        "--Ice.Plugin.IceSSL=IceSSL:createIceSSL".to_owned(),
        format!("--IceSSL.DefaultDir={}", keys.display()),
        "--IceSSL.CAs=ca.pem".to_owned(),
        format!("--IceSSL.CertFile={identity}.pem"),
        format!("--IceSSL.KeyFile={identity}.key"),
    ]
}

fn own_program() -> PathBuf {
    std::env::current_exe().expect("a running program has a path")
}
