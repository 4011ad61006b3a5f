//! Publishes a few ticks.
//!
//! Usage: `ticker-publisher [HUB-ENDPOINT]`

use std::process::ExitCode;

use floe::contracts::ice_storm::TopicManagerProxy;
use floe::{Communicator, TypedProxy};
use ticker::demo::{Tick, TickerProxy};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ticker-publisher: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let hub = std::env::args().nth(1);
    let hub = hub.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 10000");

    let communicator = Communicator::new();
    let topics: TopicManagerProxy = communicator.proxy(&format!("IceStorm/TopicManager:{hub}"))?;
    let topic = topics
        .create_or_retrieve("ticker")
        .await?
        .ok_or("the hub gave no topic")?;
    let publisher = topic
        .get_publisher()
        .await?
        .ok_or("the topic has no publisher")?;
    let ticker = TickerProxy::from_proxy(publisher);
    for (symbol, price) in [("FLOE", 1.5), ("ICE", 0.5), ("FLOE", 1.75)] {
        ticker
            .tick(&Tick {
                symbol: symbol.into(),
                price,
            })
            .await?;
        println!("published {symbol} {price:.2}");
    }
    communicator.shutdown().await;
    Ok(())
}
