//! Stands behind a firewall, and tells its callers what is wrong.
//!
//! Usage: `firewall-server [ENDPOINT]`

use std::process::ExitCode;

use firewall::demo::{AlarmProxy, Plant, PlantDispatcher};
use floe::{Communicator, Current, InvokeError};

struct Running;

impl Plant for Running {
    async fn state(&self, _current: &Current) -> Result<String, InvokeError> {
        Ok("running".to_owned())
    }

    async fn watch(
        &self,
        alarm: Option<AlarmProxy>,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        if let Some(alarm) = alarm {
            for what in ["pressure", "temperature"] {
                alarm.raised(what).await?;
            }
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("firewall-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 4062");

    let communicator = Communicator::new();
    communicator.shutdown_on_signals()?;
    let adapter = communicator.adapter(endpoint).await?;
    let proxy = adapter.add("plant", PlantDispatcher::new(Running))?;
    adapter.activate();
    println!("ready {proxy}");

    communicator.wait_for_shutdown().await;
    Ok(())
}
