//! Publishes a few ticks.
//!
//! Usage: `ticker-publisher [HUB]`

use floe::hub::HubClient;
use ticker::demo::{Tick, TickerProxy};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("localhost:10000".into());
    let hub = HubClient::connect(&address).await?;
    let ticker: TickerProxy = hub.topic("ticker").await?.publisher().await?;
    for (symbol, price) in [("FLOE", 1.5), ("ICE", 0.5), ("FLOE", 1.75)] {
        let symbol = symbol.to_owned();
        println!("published {symbol} {price:.2}");
        ticker.tick(&Tick { symbol, price }).await?;
    }
    Ok(())
}
