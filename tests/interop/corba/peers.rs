//! Where the peers are, and how they are started.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use floe_tests::peer::Peer;
use floe_tests::skip;
use floe_tests::workspace;

/// A Python with omniORB.
pub(crate) struct Python {
    program: PathBuf,
    /// The folder in which the wheel has its libraries and programs.
    prefix: PathBuf,
}

/// The Python that can import omniORB. The gate says by an empty name that PyPI is out of reach, which fails nothing.
pub(crate) fn python_or_skip() -> Option<Python> {
    let program = env::var_os("FLOE_OMNIORB_PYTHON");
    if program.is_none() {
        skip::report(
            "omniORB",
            "FLOE_OMNIORB_PYTHON names no Python: cargo xtask interop-corba provides one",
        );
    }
    let program = PathBuf::from(program.filter(|program| !program.is_empty())?);
    let code = "import cmeel, os, sysconfig; print(os.path.join(sysconfig.get_path('purelib'), 'cmeel.prefix'))";
    let output = Command::new(&program).args(["-c", code]).output();
    let output = output.expect("FLOE_OMNIORB_PYTHON can be started");
    assert!(output.status.success(), "{output:?}");
    let prefix = String::from_utf8(output.stdout).expect("a path is text");
    let prefix = PathBuf::from(prefix.trim());
    Some(Python { program, prefix })
}

impl Python {
    /// Starts `peer.py`.
    pub(crate) fn start(&self, what: &str, arguments: &[&str]) -> Peer {
        let mut command = self.run(&workspace::root().join("tests/interop/corba/peer.py"));
        command.arg(what).args(arguments);
        Peer::start(&format!("peer.py {what}"), &mut command)
    }

    /// The command that runs a script.
    pub(crate) fn run(&self, script: &std::path::Path) -> Command {
        let mut command = self.command(&self.program);
        command.arg(script);
        command
    }

    fn command(&self, program: &std::path::Path) -> Command {
        let mut command = Command::new(program);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.prefix.join("bin")]
            .into_iter()
            .chain(env::split_paths(&path));
        let path: OsString = env::join_paths(folders).expect("folders of PATH hold no separator");
        command
            .env("PATH", path)
            .env("LD_LIBRARY_PATH", self.prefix.join("lib"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONIOENCODING", "utf-8");
        command
    }

    /// Starts omniNames on a free port.
    pub(crate) fn start_names(&self) -> Names {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it listens").port();
        drop(listener);
        let folder = env::temp_dir().join(format!("floe-names-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        let mut command = self.command(&self.prefix.join("bin/omniNames"));
        command
            .args(["-always", "-start", &port.to_string(), "-logdir"])
            .arg(&folder)
            .args(["-errlog", "/dev/stderr", "-ORBendPoint"])
            .arg(format!("giop:tcp:127.0.0.1:{port}"));
        let peer = Peer::start("omniNames", &mut command);
        let deadline = std::time::Instant::now() + floe_tests::peer::PATIENCE;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                std::time::Instant::now() < deadline,
                "omniNames: {}",
                peer.errors()
            );
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Names {
            port,
            folder,
            _peer: peer,
        }
    }
}

/// Returns true if Debian's program is there, and reports it as missing otherwise.
pub(crate) fn has_program_or_skip(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    let is_there = folders.any(|folder| folder.join(program).is_file());
    if !is_there {
        skip::report(
            program,
            "it is not in PATH: cargo xtask install installs it",
        );
    }
    is_there
}

/// A running omniEvents of Debian, with its omniORB, which registers itself with a naming service.
pub(crate) struct Events {
    folder: PathBuf,
    naming: String,
    _peer: Peer,
}

impl Events {
    /// Starts it on a free port.
    pub(crate) fn start(naming: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it listens").port();
        drop(listener);
        let folder = env::temp_dir().join(format!("floe-events-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room");
        let naming = format!("NameService={naming}");
        let mut command = Command::new("/usr/sbin/omniEvents");
        command
            .args(["-f", "-p", &port.to_string(), "-l"])
            .arg(&folder)
            // Its own code set is ISO 8859-1 otherwise, and it refuses text with other characters.
            .args(["-ORBnativeCharCodeSet", "UTF-8"])
            .args([
                "-ORBendPointPublish",
                "giop:tcp:127.0.0.1:",
                "-ORBInitRef",
                &naming,
            ]);
        let peer = Peer::start("omniEvents", &mut command);
        Self {
            folder,
            naming,
            _peer: peer,
        }
    }

    /// Makes a channel, and binds it in the naming service.
    pub(crate) fn create_channel(&self, name: &str) {
        // The factory is there when the server has registered itself, which takes it a moment.
        let deadline = std::time::Instant::now() + floe_tests::peer::PATIENCE;
        loop {
            let output = Command::new("eventc")
                .args(["-n", name, "-ORBInitRef", &self.naming])
                .output();
            let output = output.expect("eventc comes with omniEvents");
            if output.status.success() {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{output:?}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A running omniNames.
pub(crate) struct Names {
    pub(crate) port: u16,
    folder: PathBuf,
    _peer: Peer,
}

impl Names {
    pub(crate) fn corbaloc(&self) -> String {
        format!("corbaloc:iiop:1.2@127.0.0.1:{}/NameService", self.port)
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
