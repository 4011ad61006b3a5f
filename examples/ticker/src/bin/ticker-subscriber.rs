//! Prints three ticks.
//!
//! Usage: `ticker-subscriber [HUB-ENDPOINT]`

use std::process::ExitCode;

use floe::contracts::ice_storm::{QoS, TopicManagerProxy};
use floe::{Communicator, Current, InvokeError};
use ticker::demo::{Tick, Ticker, TickerDispatcher};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

struct Forward(UnboundedSender<Tick>);

impl Ticker for Forward {
    async fn tick(&self, tick: Tick, _current: &Current) -> Result<(), InvokeError> {
        // Nobody listens any more once three ticks have been printed.
        let _ = self.0.send(tick);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ticker-subscriber: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let hub = std::env::args().nth(1);
    let hub = hub.as_deref().unwrap_or("tcp -h 127.0.0.1 -p 10000");

    let (sender, mut ticks) = unbounded_channel();
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await?;
    let subscriber = adapter.add("subscriber", TickerDispatcher::new(Forward(sender)))?;
    adapter.activate();

    let topics: TopicManagerProxy = communicator.proxy(&format!("IceStorm/TopicManager:{hub}"))?;
    let topic = topics
        .create_or_retrieve("ticker")
        .await?
        .ok_or("the hub gave no topic")?;
    // Ordered: one event at a time.
    let qos = QoS::from([("reliability".into(), "ordered".into())]);
    topic
        .subscribe_and_get_publisher(&qos, Some(&subscriber))
        .await?;
    println!("ready");
    for _ in 0..3 {
        let tick = ticks.recv().await.ok_or("no more ticks")?;
        println!("{} {:.2}", tick.symbol, tick.price);
    }
    topic.unsubscribe(Some(&subscriber)).await?;
    communicator.shutdown().await;
    Ok(())
}
