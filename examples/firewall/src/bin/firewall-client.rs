//! Calls through a gateway, and is called back through it.
//!
//! Usage: `firewall-client [PROXY [ROUTER]]`

use std::process::ExitCode;

use firewall::demo::{Alarm, AlarmDispatcher, AlarmProxy, PlantProxy};
use floe::contracts::glacier2::RouterProxy;
use floe::{Communicator, Current, Identity, InvokeError, Settings, TypedProxy};

struct Printing;

impl Alarm for Printing {
    async fn raised(&self, what: String, _current: &Current) -> Result<(), InvokeError> {
        println!("alarm: {what}");
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("firewall-client: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let proxy = arguments.next();
    let proxy = proxy.as_deref().unwrap_or("plant:tcp -h 127.0.0.1 -p 4062");
    let router = arguments.next();
    let router = router
        .as_deref()
        .unwrap_or("Glacier2/router:tcp -h 127.0.0.1 -p 4063");

    let mut settings = Settings::default();
    settings.router = Some(router.parse()?);
    let communicator = Communicator::with_settings(settings);
    let router: RouterProxy = communicator.proxy(router)?;
    router.create_session("joe", "secret").await?;
    let plant: PlantProxy = communicator.proxy(proxy)?;
    println!("the plant is {}", plant.state().await?);
    let adapter = communicator
        .adapter_with_router(&router.clone().into())
        .await?;
    let identity = Identity::with_category("alarm", router.get_category_for_client().await?);
    let alarm = adapter.add(identity, AlarmDispatcher::new(Printing))?;
    plant.watch(Some(&AlarmProxy::from_proxy(alarm))).await?;
    router.destroy_session().await?;
    println!("done");
    communicator.shutdown().await;
    Ok(())
}
