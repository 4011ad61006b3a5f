//! Greets whoever calls.
//!
//! Usage: `greeter-server [ENDPOINT]`

use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};

use floe::{Communicator, Current};
use greeter::demo::{Greeter, GreeterDispatcher, NoName, NoNameError};

#[derive(Default)]
struct Polite {
    count: AtomicI32,
}

impl Greeter for Polite {
    async fn greet(&self, name: String, _current: &Current) -> Result<(String, i32), NoNameError> {
        if name.is_empty() {
            return Err(NoName {
                advice: "say who you are".into(),
            }
            .into());
        }
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        Ok((format!("Hello, {name}!"), count))
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("greeter-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 4061");

    let communicator = Communicator::new();
    let adapter = communicator.adapter(endpoint).await?;
    let proxy = adapter.add("greeter", GreeterDispatcher::new(Polite::default()))?;
    adapter.activate();
    println!("ready {proxy}");

    tokio::signal::ctrl_c().await?;
    communicator.shutdown().await;
    Ok(())
}
