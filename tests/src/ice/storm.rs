//! A real IceStorm 3.7, in the IceBox that Debian installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::folder;
use crate::peer::Peer;
use crate::workspace;

/// A running IceStorm with an empty database. Dropping it kills it and removes the database.
#[derive(Debug)]
pub struct IceStorm {
    peer: Peer,
    manager: String,
    database: PathBuf,
}

impl IceStorm {
    pub(super) fn start(properties: &str) -> Self {
        let database = new_database();
        let config = database.with_extension("config");
        let own = fs::read_to_string(folder().join("icestorm.config"));
        let own = own.expect("the configuration is committed");
        // What comes last counts.
        let config_text = format!("{own}\n{properties}");
        fs::write(&config, config_text).expect("the target folder can be written");
        let peer = start_icebox(&database);
        // It starts to accept only when it has said where.
        peer.errors_with("accepting tcp connections");
        let endpoint = published_endpoint(&peer, "IceStorm.TopicManager");
        Self {
            peer,
            manager: format!("IceStorm/TopicManager:{endpoint}"),
            database,
        }
    }

    /// Kills it, and starts it again with its database. It must have been told where to listen.
    pub fn restart(&mut self) {
        self.peer.kill();
        self.peer = start_icebox(&self.database);
        self.peer.errors_with("accepting tcp connections");
    }

    /// Kills it, and exports its database with `icestormdb`. Returns the file.
    ///
    /// # Panics
    /// If the database cannot be exported.
    pub fn export(&mut self) -> PathBuf {
        self.peer.kill();
        let file = self.database.join("export.bin");
        let mut export = Command::new("icestormdb");
        export.arg("--export").arg(&file);
        export.arg("--dbpath").arg(&self.database);
        Peer::start("icestormdb", &mut export).succeed();
        file
    }

    /// The proxy of its topic manager.
    pub fn manager(&self) -> &str {
        &self.manager
    }

    /// Where one of its adapters listens, such as `Ice.Admin`.
    ///
    /// # Panics
    /// If its trace does not say so in time.
    pub fn endpoint_of(&self, adapter: &str) -> String {
        published_endpoint(&self.peer, adapter)
    }

    /// The process, to look at its standard error or to kill it.
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }
}

impl Drop for IceStorm {
    fn drop(&mut self) {
        self.peer.kill();
        // A database that cannot be removed harms nobody: its name is not used again.
        let _ = fs::remove_dir_all(&self.database);
        let _ = fs::remove_file(self.database.with_extension("config"));
    }
}

/// Starts an IceBox with the configuration beside a database, and waits until it is ready.
fn start_icebox(database: &Path) -> Peer {
    let config = database.with_extension("config");
    let mut icebox = Command::new("icebox");
    icebox.arg(format!("--Ice.Config={}", config.display()));
    icebox.arg(format!("--IceStorm.LMDB.Path={}", database.display()));
    let mut peer = Peer::start("IceStorm", &mut icebox);
    peer.line_after("IceBox ready");
    peer
}

pub(super) fn new_database() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("interop/service-{}-{number}", process::id());
    let path = workspace::target_dir().join(name);
    fs::create_dir_all(&path).expect("the target folder can be written");
    path
}

/// The endpoint of an adapter of an Ice service, from its network trace; waits until the trace names it.
///
/// The service may already have said on standard output that it is ready: the two are read by different threads.
pub(super) fn published_endpoint(peer: &Peer, adapter: &str) -> String {
    let heading = format!("published endpoints for object adapter `{adapter}':\n");
    let trace = peer.errors_with(&format!("{heading}   "));
    line_below(&trace, &heading).to_owned()
}

/// The line below a heading of a trace.
fn line_below<'a>(trace: &'a str, heading: &str) -> &'a str {
    let (_, rest) = trace.split_once(heading).expect("a trace with the heading");
    rest.lines().next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_stands_below_the_name_of_its_adapter() {
        let trace = "-- icebox: Network: published endpoints for object adapter `IceStorm.TopicManager':\n   \
                     tcp -h 127.0.0.1 -p 37997 -t 60000\nmore";
        let heading = "object adapter `IceStorm.TopicManager':\n";
        assert_eq!(
            line_below(trace, heading),
            "tcp -h 127.0.0.1 -p 37997 -t 60000"
        );
    }

    #[test]
    fn an_endpoint_that_is_written_late_and_in_pieces_is_waited_for() {
        let script = "sleep 0.05; printf \"published endpoints for object adapter \\`A':\\n\" >&2; \
                      sleep 0.05; printf '   tcp -h 127' >&2; sleep 0.05; printf '.0.0.1 -p 1\\n' >&2; read line";
        let peer = Peer::start("a trace", Command::new("sh").args(["-c", script]));
        assert_eq!(published_endpoint(&peer, "A"), "tcp -h 127.0.0.1 -p 1");
    }
}
