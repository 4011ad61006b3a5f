//! Asks to be greeted.
//!
//! Usage: `greeter-client [PROXY]`

use std::process::ExitCode;

use floe::Communicator;
use greeter::demo::{GreeterProxy, NoNameError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("greeter-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let proxy = std::env::args().nth(1);
    let proxy = proxy
        .as_deref()
        .unwrap_or("greeter:tcp -h 127.0.0.1 -p 4061");

    let communicator = Communicator::new();
    let greeter: GreeterProxy = communicator.proxy(proxy)?;
    for name in ["Ada", "Grace", ""] {
        match greeter.greet(name).await {
            Ok((greeting, count)) => println!("{greeting} (number {count})"),
            Err(NoNameError::NoName(error)) => println!("refused: {}", error.advice),
            Err(error) => return Err(error.into()),
        }
    }
    communicator.shutdown().await;
    Ok(())
}
