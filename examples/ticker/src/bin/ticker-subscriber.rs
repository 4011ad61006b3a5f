//! Prints three ticks.
//!
//! Usage: `ticker-subscriber [HUB]`

use floe::hub::HubClient;
use ticker::demo::TickerEvent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("localhost:10000".into());
    let hub = HubClient::connect(&address).await?;
    let mut events = hub.topic("ticker").await?.subscribe().await?;
    println!("ready");
    for _ in 0..3 {
        // An error is an interruption, after which events go on. This program ends at the first.
        let TickerEvent::Tick(tick) = events.next().await.ok_or("no more ticks")??;
        println!("{} {:.2}", tick.symbol, tick.price);
    }
    Ok(events.unsubscribe().await?)
}
