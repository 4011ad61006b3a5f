//! Gives back what it gets.
//!
//! Usage: `echo-server [ENDPOINT]`

use std::process::ExitCode;

use echo::floe::{Echo, EchoDispatcher};
use floe::{Communicator, Current, InvokeError};

struct Mirror;

impl Echo for Mirror {
    async fn doubles(&self, values: Vec<f64>, _: &Current) -> Result<Vec<f64>, InvokeError> {
        Ok(values)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("echo-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 10007");

    // Messages are refused above 1 MiB unless this is set: payloads of 8 MiB need a little more.
    let mut settings = floe::Settings::default();
    settings.message_size_max = 16 * 1024 * 1024;
    let communicator = Communicator::with_settings(settings);
    let adapter = communicator.adapter(endpoint).await?;
    let proxy = adapter.add("Floe/Echo", EchoDispatcher::new(Mirror))?;
    adapter.activate();
    println!("ready {proxy}");

    tokio::signal::ctrl_c().await?;
    communicator.shutdown().await;
    Ok(())
}
