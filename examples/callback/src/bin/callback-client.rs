//! Is called back, without an endpoint of its own.
//!
//! Usage: `callback-client [PROXY]`

use callback::demo::{Listener, ListenerDispatcher, TellerProxy};
use floe::{Communicator, Current, InvokeError, TypedProxy};

struct Printing;

impl Listener for Printing {
    async fn tell(&self, number: i32, _current: &Current) -> Result<(), InvokeError> {
        println!("told {number}");
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    floe::log_to_stderr();
    let proxy = std::env::args().nth(1);
    let proxy = proxy.unwrap_or_else(|| "teller:tcp -h 127.0.0.1 -p 4062".to_owned());

    let communicator = Communicator::new();
    let teller: TellerProxy = communicator.proxy(&proxy)?;
    let adapter = communicator.adapter_without_endpoints().await?;
    let me = adapter.add_unique(ListenerDispatcher::new(Printing))?;
    let connection = teller.ice_connection().await?;
    connection
        .ok_or("the teller is in this program")?
        .set_adapter(Some(&adapter));
    teller.tell_me(&me.reference().identity.name, 3).await?;
    println!("done");
    communicator.shutdown().await;
    Ok(())
}
