//! Ice 3.7 as it is installed: our peers in C++ and Python, its tools, a real IceStorm, IceGrid and Glacier2.
//!
//! The peers' sources and their contract are in `tests/interop/ice/`; each says there how it is used.

mod build;
mod glacier2;
mod grid;
mod storm;

pub use grid::IceGrid;
pub use storm::IceStorm;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::gateway::Router;
use crate::peer::Peer;
use crate::{skip, workspace};
use build::Peers;

/// Returns true if a trace of Ice (`--Ice.Trace.Protocol=1`) shows a message, such as `received request`, with
/// this compression byte.
pub fn was_traced(trace: &str, what: &str, compression: u8) -> bool {
    let heading = format!("Protocol: {what} ");
    let status = format!("compression status = {compression} ");
    let mut entries = trace.split("\n-- ");
    entries.any(|entry| entry.contains(&heading) && entry.contains(&status))
}

/// An installed Ice 3.7.
#[derive(Debug)]
pub struct Ice {
    python: PathBuf,
}

/// The language that a peer is written in. Every peer exists in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// The C++11 mapping; built with `g++` and `slice2cpp` when first used.
    Cpp,
    /// Ice for Python.
    Python,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Cpp, Self::Python];
}

/// Which version of a contract a peer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The one that lacks some types and tags.
    Older,
    /// The one that has them.
    Newer,
}

impl Version {
    /// The version that this one is not.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Older => Self::Newer,
            Self::Newer => Self::Older,
        }
    }
}

impl Ice {
    /// The installed Ice; `None` after reporting a skip if something of it is missing.
    pub fn or_skip() -> Option<Self> {
        match Self::find() {
            Ok(ice) => Some(ice),
            Err(reason) => {
                skip::report("ice", &reason);
                None
            }
        }
    }

    /// Looks for Ice.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn find() -> Result<Self, String> {
        for tool in [
            "g++",
            "slice2cpp",
            "icebox",
            "icestormadmin",
            "icegridregistry",
            "glacier2router",
        ] {
            if !runs(Command::new(tool).arg("--version")) {
                return Err(format!(
                    "`{tool}` does not run; cargo xtask install says what to install"
                ));
            }
        }
        let python = find_python()?;
        Ok(Self { python })
    }

    /// Peers in Python alone, of the Ice that this Python can import.
    pub fn with_python(python: PathBuf) -> Self {
        Self { python }
    }

    /// A Python that can `import Ice`.
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// The command that runs a peer: `server`, `client`, `publisher` or `subscriber`.
    ///
    /// # Panics
    /// If a C++ peer does not compile.
    pub fn peer(&self, name: &str, language: Language) -> Command {
        match language {
            Language::Cpp => Command::new(Peers::of_interop().program(name)),
            Language::Python => {
                let mut command = Command::new(&self.python);
                command.arg(folder().join(name).with_extension("py"));
                command
            }
        }
    }

    /// The command that runs a peer of `values/Values.ice`: `server` or `client`.
    ///
    /// # Panics
    /// If a C++ peer does not compile.
    pub fn values(&self, name: &str, language: Language, version: Version) -> Command {
        match language {
            Language::Cpp => Command::new(Peers::of_values(version).program(name)),
            Language::Python => {
                let mut command = Command::new(&self.python);
                command.arg(folder().join("values").join(name).with_extension("py"));
                if version == Version::Newer {
                    command.arg("--newer");
                }
                command
            }
        }
    }

    /// The command that runs the peer of `runtime/Runtime.ice`, which wants to hear its role first.
    ///
    /// # Panics
    /// If the C++ peer does not compile.
    pub fn runtime(&self, language: Language) -> Command {
        match language {
            Language::Cpp => Command::new(Peers::of_runtime().program("peer")),
            Language::Python => {
                let mut command = Command::new(&self.python);
                command.arg(folder().join("runtime/peer.py"));
                command
            }
        }
    }

    /// The path of a program in C++ of an example: `server` of `examples/greeter` with `Greeter.ice`.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn example(&self, name: &str, contract: &str, program: &str) -> PathBuf {
        Peers::of_example(name, contract).program(program)
    }

    /// The path of a peer of `tests/soak/ice/Soak.ice`, in C++: `server` or `client`.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn soak(&self, name: &str) -> PathBuf {
        Peers::of_soak().program(name)
    }

    /// Starts the server on a free port of loopback; returns it with the proxy of its object `everything`.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_server(&self, language: Language) -> (Peer, String) {
        let mut server = Peer::start("the Ice server", &mut self.peer("server", language));
        let proxy = server.ready();
        (server, proxy)
    }

    /// Starts the client against `proxy`, an object `everything`; it ends by itself with a line `ok N checks`.
    pub fn start_client(&self, language: Language, proxy: &str) -> Peer {
        Peer::start("the Ice client", self.peer("client", language).arg(proxy))
    }

    /// Starts a publisher of `count` events; it ends by itself with a line `published <count>`.
    ///
    /// `manager` is the proxy of a topic manager; `mode` is `twoway`, `oneway` or `batch`.
    pub fn start_publisher(
        &self,
        language: Language,
        manager: &str,
        topic: &str,
        mode: &str,
        count: usize,
    ) -> Peer {
        let mut publisher = self.peer("publisher", language);
        Peer::start(
            "the Ice publisher",
            publisher.args([manager, topic, mode, &count.to_string()]),
        )
    }

    /// Starts a subscriber and waits until it has subscribed.
    ///
    /// It prints a line for each event, and ends by itself after `count` events, with a line `received <count>`.
    /// `manager` is the proxy of a topic manager; `mode` is `twoway`, `ordered`, `oneway` or `batch`.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_subscriber(
        &self,
        language: Language,
        manager: &str,
        topic: &str,
        mode: &str,
        count: usize,
    ) -> Peer {
        let mut subscriber = self.peer("subscriber", language);
        let arguments = [manager, topic, mode, &count.to_string()];
        let mut peer = Peer::start("the Ice subscriber", subscriber.args(arguments));
        peer.ready();
        peer
    }

    /// Runs a command of `icestormadmin`, such as `create weather`, against the topic manager `manager`.
    ///
    /// Returns the lines that it prints.
    ///
    /// # Errors
    /// What it says on standard error, if it fails.
    ///
    /// # Panics
    /// If it does not end.
    pub fn admin(&self, manager: &str, command: &str) -> Result<Vec<String>, String> {
        let default = format!("--IceStormAdmin.TopicManager.Default={manager}");
        let mut admin = Command::new("icestormadmin");
        let ended = Peer::start("icestormadmin", admin.args([&default, "-e", command])).end();
        if ended.status.success() {
            Ok(ended.lines)
        } else {
            Err(ended.errors)
        }
    }

    /// Starts a real IceStorm on free ports of loopback.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_storm(&self) -> IceStorm {
        IceStorm::start("")
    }

    /// Starts a real IceStorm with further properties, a line each.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_storm_with(&self, properties: &str) -> IceStorm {
        IceStorm::start(properties)
    }

    /// Starts a real Glacier2 on a free port of loopback for each side, with these properties, a line each.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_glacier2(&self, properties: &str) -> Router {
        glacier2::start(properties)
    }

    /// Starts a back end of `gateway/Routed.ice`, and gives it with the proxy of its object `service`.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_routed(&self) -> (Peer, String) {
        let mut backend = Command::new(&self.python);
        backend.arg(folder().join("gateway/backend.py"));
        let mut backend = Peer::start("the Ice back end", &mut backend);
        let proxy = backend.ready();
        (backend, proxy)
    }

    /// Holds a conversation of a client in `gateway/` through a router with the object `service`, and gives its lines.
    ///
    /// # Panics
    /// If it fails.
    pub fn converse(
        &self,
        language: Language,
        name: &str,
        router: &str,
        service: &str,
        options: &[String],
    ) -> Vec<String> {
        let mut client = self.routed(language);
        client.args([name, router, service]).args(options);
        let mut client = Peer::start("the Ice client", &mut client);
        client.close_input();
        client.succeed()
    }

    /// The command that runs a client behind a router, which wants to hear its conversation, the router and the service.
    ///
    /// # Panics
    /// If the C++ client does not compile.
    pub fn routed(&self, language: Language) -> Command {
        match language {
            Language::Cpp => Command::new(Peers::of_gateway().program("client")),
            Language::Python => {
                let mut command = Command::new(&self.python);
                command.arg(folder().join("gateway/client.py"));
                command
            }
        }
    }

    /// Starts a real registry of IceGrid that knows nothing.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_grid(&self) -> IceGrid {
        IceGrid::start()
    }
}

/// The lines that a subscriber of [`Ice`] prints for the events of one publisher.
pub fn event_lines(count: usize) -> Vec<String> {
    let sampled = |number: usize| {
        format!(
            "sampled {number} [event {number}] {number},{}",
            number as f64 / 2.0
        )
    };
    let last = "flagged last true".to_owned();
    (0..count.saturating_sub(1))
        .map(sampled)
        .chain([last])
        .collect()
}

/// The folder of the peers' sources and of `Interop.ice`.
pub fn folder() -> PathBuf {
    workspace::root().join("tests/interop/ice")
}

/// Debian's Ice belongs to the system's Python, which another one may shadow in `PATH`.
fn find_python() -> Result<PathBuf, String> {
    let candidates = ["/usr/bin/python3", "python3"];
    let found = candidates
        .iter()
        .find(|python| runs(Command::new(python).args(["-c", "import Ice, IceStorm"])));
    found.map(PathBuf::from).ok_or_else(|| {
        format!("none of {candidates:?} can `import Ice`; cargo xtask install says what to install")
    })
}

fn runs(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
