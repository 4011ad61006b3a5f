//! Sends a tree and gets a ring.
//!
//! Usage: `graph-client [PROXY]`

use floe::Communicator;
use floe::classes::Link;
use graph::demo::{Folder, LibraryProxy, Mount};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    floe::log_to_stderr();
    let proxy = std::env::args().nth(1);
    let proxy = proxy.unwrap_or_else(|| "library:tcp -h 127.0.0.1 -p 4061".to_owned());

    let communicator = Communicator::new();
    let library: LibraryProxy = communicator.proxy(&proxy)?;
    for line in library.list(&disk()).await? {
        println!("{line}");
    }

    let names = ["North", "East", "South"].map(str::to_owned);
    let circle = library.circle(&names).await?;
    let first = circle.get().ok_or("there is no station")?;
    let mut station = first.clone();
    loop {
        println!("at {}", station.name);
        // Whoever keeps one station keeps them all.
        station = station.next.get().ok_or("the line ends")?;
        if station.ptr_eq(&first) {
            break;
        }
    }
    println!("round");
    communicator.shutdown().await;
    Ok(())
}

/// A folder with two in it, of which one is a mount.
fn disk() -> Link<Folder> {
    let music = Folder {
        name: "music".to_owned(),
        ..Folder::default()
    };
    let films = Mount {
        base: Folder {
            name: "films".to_owned(),
            ..Folder::default()
        },
        host: "attic".to_owned(),
    };
    Link::new(Folder {
        name: "disk".to_owned(),
        folders: vec![Link::new(music), Link::new(films)],
    })
}
