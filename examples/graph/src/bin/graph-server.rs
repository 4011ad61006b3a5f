//! Lists folders and lays circle lines.
//!
//! Usage: `graph-server [ENDPOINT]`

use floe::classes::{Draft, Graph, Link};
use floe::{Communicator, Current, InvokeError, SystemException};
use graph::demo::{Folder, Library, LibraryDispatcher, Mount, Names, Station};

struct Shelf;

impl Library for Shelf {
    async fn list(&self, folder: Link<Folder>, _: &Current) -> Result<Names, InvokeError> {
        let mut lines = Names::new();
        list(&folder, 0, &mut lines)?;
        Ok(lines)
    }

    async fn circle(&self, names: Names, _: &Current) -> Result<Link<Station>, InvokeError> {
        let mut graph = Graph::new();
        let mut stations = Vec::new();
        for name in names {
            let next = Link::nil();
            stations.push(graph.add(Station { name, next }));
        }
        for (station, next) in stations.iter().zip(stations.iter().cycle().skip(1)) {
            graph[station].next = next.link();
        }
        graph.finish()?;
        Ok(stations.first().map(Draft::link).unwrap_or_default())
    }
}

/// A client may send a folder that is in itself, or in many others. As a tree, it has no end.
const DEPTH_MAX: usize = 100;
const LINES_MAX: usize = 10_000;

fn list(folder: &Link<Folder>, depth: usize, lines: &mut Names) -> Result<(), InvokeError> {
    let Some(folder) = folder.get() else {
        return Ok(());
    };
    if depth >= DEPTH_MAX || lines.len() >= LINES_MAX {
        let expected = format!(
            "expected a tree of at most {LINES_MAX} folders, {DEPTH_MAX} below one another, got more"
        );
        return Err(SystemException::UnknownException(expected).into());
    }
    // An instance keeps its class, so what is a mount can be told from other folders.
    let host = folder.cast::<Mount>().map(|mount| mount.host.clone());
    let place = host.map_or(String::new(), |host| format!(" (on {host})"));
    lines.push(format!("{}{}{place}", "  ".repeat(depth), folder.name));
    for inner in &folder.folders {
        list(inner, depth + 1, lines)?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    floe::log_to_stderr();
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.unwrap_or_else(|| "tcp -h 127.0.0.1 -p 4061".to_owned());

    let communicator = Communicator::new();
    communicator.shutdown_on_signals()?;
    let adapter = communicator.adapter(&endpoint).await?;
    let proxy = adapter.add("library", LibraryDispatcher::new(Shelf))?;
    adapter.activate();
    println!("ready {proxy}");

    communicator.wait_for_shutdown().await;
    Ok(())
}
