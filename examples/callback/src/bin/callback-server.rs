//! Calls its callers back, over the connections that they made.
//!
//! Usage: `callback-server [ENDPOINT]`

use std::process::ExitCode;

use callback::demo::{ListenerProxy, Teller, TellerDispatcher};
use floe::{Communicator, Current, Identity, InvokeError, SystemException, TypedProxy};

struct Patient;

impl Teller for Patient {
    async fn tell_me(
        &self,
        name: String,
        count: i32,
        current: &Current,
    ) -> Result<(), InvokeError> {
        // A call within one communicator skips the wire, and has no connection.
        let connection = current.connection().ok_or_else(|| {
            SystemException::UnknownException("expected a call over a connection".into())
        })?;
        let listener = ListenerProxy::from_proxy(connection.proxy(Identity::new(name)));
        for number in 1..=count {
            listener.tell(number).await?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("callback-server: {error}");
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
    let proxy = adapter.add("teller", TellerDispatcher::new(Patient))?;
    adapter.activate();
    println!("ready {proxy}");

    communicator.wait_for_shutdown().await;
    Ok(())
}
