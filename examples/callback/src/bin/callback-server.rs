//! Calls its callers back, over the connections that they made.
//!
//! Usage: `callback-server [ENDPOINT]`

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
        let connection = current.connection();
        let connection =
            connection.ok_or(SystemException::UnknownException("no connection".into()))?;
        let listener = ListenerProxy::from_proxy(connection.proxy(Identity::new(name)));
        for number in 1..=count {
            listener.tell(number).await?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    floe::log_to_stderr();
    let endpoint = std::env::args().nth(1);
    let endpoint = endpoint.unwrap_or_else(|| "tcp -h 127.0.0.1 -p 4062".to_owned());

    let communicator = Communicator::new();
    communicator.shutdown_on_signals()?;
    let adapter = communicator.adapter(&endpoint).await?;
    let proxy = adapter.add("teller", TellerDispatcher::new(Patient))?;
    adapter.activate();
    println!("ready {proxy}");

    communicator.wait_for_shutdown().await;
    Ok(())
}
