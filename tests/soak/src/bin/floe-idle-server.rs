//! The smallest server: one servant, one adapter over tcp. What `cargo xtask memory` measures.
//!
//! Usage: `floe-idle-server`; it says the port of its adapter, and serves until it is killed.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Communicator, Dispatcher, Settings};

struct Silent;

impl Dispatcher for Silent {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Silent {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move { request.returned_nothing() })
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floe-idle-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::default();
    // Connections are looked at each second, so that the measurement need not wait for long.
    settings.incoming.heartbeat_interval = Duration::from_secs(2);
    let communicator = Communicator::with_settings(settings);
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await?;
    adapter.add("target", Arc::new(Silent))?;
    adapter.activate();
    let port = adapter.endpoints()[0].port().ok_or("tcp has a port")?;
    println!("{port}");
    communicator.wait_for_shutdown().await;
    Ok(())
}
