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
        let trace = peer.errors_with("accepting tcp connections");
        let endpoint = traced_endpoint(&trace, "IceStorm.TopicManager").unwrap_or_else(|| {
            panic!("expected IceStorm's trace to name its endpoint, got:\n{trace}")
        });
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

    /// The proxy of its topic manager.
    pub fn manager(&self) -> &str {
        &self.manager
    }

    /// Where one of its adapters listens, such as `Ice.Admin`.
    ///
    /// # Panics
    /// If its trace does not say so.
    pub fn endpoint_of(&self, adapter: &str) -> String {
        let trace = self.peer.errors();
        let endpoint = traced_endpoint(&trace, adapter);
        endpoint
            .unwrap_or_else(|| panic!("expected an endpoint of {adapter}, got:\n{trace}"))
            .to_owned()
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

/// Finds the endpoint in the network trace: the line below the one that names the adapter.
pub(super) fn traced_endpoint<'a>(trace: &'a str, adapter: &str) -> Option<&'a str> {
    let mut lines = trace.lines();
    let heading = format!("published endpoints for object adapter `{adapter}':");
    lines.find(|line| line.ends_with(&heading))?;
    lines.next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_stands_below_the_name_of_its_adapter() {
        let trace = "-- icebox: Network: published endpoints for object adapter `IceStorm.TopicManager':\n   \
                     tcp -h 127.0.0.1 -p 37997 -t 60000\nmore";
        assert_eq!(
            traced_endpoint(trace, "IceStorm.TopicManager"),
            Some("tcp -h 127.0.0.1 -p 37997 -t 60000")
        );
        assert_eq!(
            traced_endpoint("nothing of it", "IceStorm.TopicManager"),
            None
        );
    }
}
