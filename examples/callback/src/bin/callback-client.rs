//! Is called back, without an endpoint of its own.
//!
//! Usage: `callback-client [PROXY]`

use std::process::ExitCode;

use callback::demo::{Listener, ListenerDispatcher, TellerProxy};
use floe::{Communicator, Current, InvokeError, TypedProxy};

struct Printing;

impl Listener for Printing {
    async fn tell(&self, number: i32, _current: &Current) -> Result<(), InvokeError> {
        println!("told {number}");
        Ok(())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("callback-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let proxy = std::env::args().nth(1);
    let proxy = proxy
        .as_deref()
        .unwrap_or("teller:tcp -h 127.0.0.1 -p 4062");

    let communicator = Communicator::new();
    let teller: TellerProxy = communicator.proxy(proxy)?;
    let adapter = communicator.adapter_without_endpoints().await?;
    adapter.add("me", ListenerDispatcher::new(Printing))?;
    if let Some(connection) = teller.ice_connection().await? {
        connection.set_adapter(Some(&adapter));
    }
    teller.tell_me("me", 3).await?;
    println!("done");
    communicator.shutdown().await;
    Ok(())
}
