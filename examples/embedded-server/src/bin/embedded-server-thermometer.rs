//! Measures a room, and is itself the hub that others get the temperature from.
//!
//! Usage: `embedded-server-thermometer [ENDPOINT]`

use std::time::Duration;

use embedded_server::demo::ThermometerProxy;
use floe::Signals;
use floe::hub::HubClient;
use floe_server::{Configuration, Server, ServerError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut signals = Signals::new()?;
    let mut server = Server::start(settings()?).await?;
    let hub = server.hub().ok_or("expected a hub in floe.toml")?;
    println!("ready {}", hub.topic_manager());
    let measuring = tokio::spawn(measure(hub.topic_manager()));
    // Until Ctrl-C; meanwhile a change of the file is applied.
    server.serve_until(settings, signals.next()).await;
    measuring.abort();
    server.shutdown().await;
    Ok(())
}

/// The file, and over it what the command line says.
fn settings() -> Result<Configuration, ServerError> {
    let mut settings = Configuration::load(concat!(env!("CARGO_MANIFEST_DIR"), "/floe.toml"))?;
    if let Some(endpoint) = std::env::args().nth(1) {
        settings.hub.listen = endpoint;
    }
    Ok(settings)
}

/// Publishes a temperature ten times a second.
async fn measure(hub: String) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let topic = HubClient::connect(&hub).await?.topic("thermometer").await?;
    let thermometer: ThermometerProxy = topic.publisher().await?;
    loop {
        thermometer.measured("kitchen", 21.5).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
