//! A real registry of IceGrid 3.7: Ice's own locator.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::storm::{new_database, published_endpoint};
use crate::peer::Peer;

/// A running registry that knows nothing, and with which any server may register its adapters. Dropping it kills it and
/// removes its database.
#[derive(Debug)]
pub struct IceGrid {
    peer: Peer,
    locator: String,
    database: PathBuf,
}

impl IceGrid {
    pub(super) fn start() -> Self {
        let database = new_database();
        let mut registry = Command::new("icegridregistry");
        for adapter in ["Client", "Server", "Internal"] {
            registry.arg(format!(
                "--IceGrid.Registry.{adapter}.Endpoints=tcp -h 127.0.0.1 -p 0"
            ));
        }
        let path = format!("--IceGrid.Registry.LMDB.Path={}", database.display());
        registry.args([
            &path,
            "--IceGrid.Registry.DynamicRegistration=1",
            "--IceGrid.Registry.Discovery.Enabled=0",
            "--Ice.Trace.Network=2",
        ]);
        let peer = Peer::start("the IceGrid registry", &mut registry);
        // It listens already when it says so.
        let endpoint = published_endpoint(&peer, "IceGrid.Registry.Client");
        Self {
            peer,
            locator: format!("IceGrid/Locator:{endpoint}"),
            database,
        }
    }

    /// The proxy of its locator.
    pub fn locator(&self) -> &str {
        &self.locator
    }
}

impl Drop for IceGrid {
    fn drop(&mut self) {
        self.peer.kill();
        // A database that cannot be removed harms nobody: its name is not used again.
        let _ = fs::remove_dir_all(&self.database);
    }
}
