//! Lists folders and lays circle lines.
//!
//! Usage: `graph-server [ENDPOINT]`

use std::process::ExitCode;

use floe::{Communicator, Current, InvokeError, Link, Ref};
use graph::demo::{Folder, Library, LibraryDispatcher, Mount, Names, Station};

struct Shelf;

impl Library for Shelf {
    async fn list(&self, folder: Link<Folder>, _: &Current) -> Result<Names, InvokeError> {
        let mut lines = Names::new();
        list(&folder, 0, &mut lines);
        Ok(lines)
    }

    async fn circle(&self, names: Names, _: &Current) -> Result<Link<Station>, InvokeError> {
        Ok(circle(&names))
    }
}

fn list(folder: &Link<Folder>, depth: usize, lines: &mut Names) {
    let Some(folder) = folder.get() else {
        return;
    };
    // An instance keeps its class, so what is a mount can be told from other folders.
    let host = folder.cast::<Mount>().map(|mount| mount.host.clone());
    let place = host.map_or(String::new(), |host| format!(" (on {host})"));
    lines.push(format!("{}{}{place}", "  ".repeat(depth), folder.name));
    for inner in &folder.folders {
        list(inner, depth + 1, lines);
    }
}

/// The stations from the last one to the first: the last gets the link back to the first, which
/// does not own it.
fn circle(names: &[String]) -> Link<Station> {
    let Some((first, others)) = names.split_first() else {
        return Link::nil();
    };
    let first = Ref::new_cyclic(|back| {
        let others = others.iter().rev();
        let next = others.fold(back.clone(), |next, name| {
            let name = name.clone();
            Link::new(Station { name, next })
        });
        let name = first.clone();
        Station { name, next }
    });
    first.into()
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("graph-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 4061");

    let communicator = Communicator::new();
    let adapter = communicator.adapter(endpoint).await?;
    let proxy = adapter.add("library", LibraryDispatcher::new(Shelf))?;
    adapter.activate();
    println!("ready {proxy}");

    tokio::signal::ctrl_c().await?;
    communicator.shutdown().await;
    Ok(())
}
