//! Prints three temperatures.
//!
//! Usage: `embedded-server-display [HUB]`

use embedded_server::demo::ThermometerEvent;
use floe::hub::HubClient;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("localhost:10000".into());
    let hub = HubClient::connect(&address).await?;
    let mut events = hub.topic("thermometer").await?.subscribe().await?;
    for _ in 0..3 {
        let event = events.next().await.ok_or("no more temperatures")??;
        let ThermometerEvent::Measured { room, celsius } = event;
        println!("{room} {celsius:.1}");
    }
    Ok(events.unsubscribe().await?)
}
