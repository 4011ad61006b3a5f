//! Asks to be greeted, without async.
//!
//! Usage: `blocking-client [PROXY]`

use std::process::ExitCode;

use blocking::demo::{GreeterProxy, NoNameError};
use floe::blocking::{Communicator, wait_all};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("blocking-client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let proxy = std::env::args().nth(1);
    let proxy = proxy
        .as_deref()
        .unwrap_or("greeter:tcp -h 127.0.0.1 -p 4061");

    let communicator = Communicator::new();
    let greeter: GreeterProxy = communicator.proxy(proxy)?;
    let (greeting, count) = greeter.greet("Ada").wait()?;
    println!("{greeting} (number {count})");
    // Neither of these two calls waits for the reply to the other one.
    for result in wait_all(["Grace", ""].map(|name| greeter.greet(name))) {
        match result {
            Ok((greeting, count)) => println!("{greeting} (number {count})"),
            Err(NoNameError::NoName(error)) => println!("refused: {}", error.advice),
            Err(error) => return Err(error.into()),
        }
    }
    communicator.shutdown();
    Ok(())
}
