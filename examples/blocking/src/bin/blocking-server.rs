//! Greets whoever calls, without async.
//!
//! Usage: `blocking-server [ENDPOINT]`

use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};

use blocking::demo::{GreeterBlocking, GreeterDispatcher, NoName, NoNameError};
use floe::Current;
use floe::blocking::Communicator;

#[derive(Default)]
struct Polite {
    count: AtomicI32,
}

impl GreeterBlocking for Polite {
    fn greet(&self, name: String, _current: &Current) -> Result<(String, i32), NoNameError> {
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

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("blocking-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 4061");

    let communicator = Communicator::new();
    let adapter = communicator.adapter(endpoint)?;
    let proxy = adapter.add("greeter", GreeterDispatcher::blocking(Polite::default()))?;
    adapter.activate();
    println!("ready {proxy}");

    communicator.wait_for_shutdown();
    Ok(())
}
