//! Publishes three orders to a durable topic, whether or not anybody subscribes.
//!
//! Usage: `durable-publisher [HUB]`

use durable::demo::OrdersProxy;
use floe::hub::HubClient;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("localhost:10000".into());
    let hub = HubClient::connect(&address).await?;
    let orders: OrdersProxy = hub.topic("orders").await?.publisher().await?;
    for (number, item) in [(1, "bread"), (2, "cheese"), (3, "wine")] {
        // When the call returns, the order is on the disk of the hub.
        orders.placed(number, item).await?;
    }
    println!("ready: three orders are stored");
    Ok(())
}
