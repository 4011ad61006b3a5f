//! Takes one order, is away for a while, and takes the others.
//!
//! Usage: `durable-subscriber [HUB]`

use durable::demo::OrdersEvent;
use floe::hub::{Delivery, HubClient, Qos};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("localhost:10000".into());
    let hub = HubClient::connect(&address).await?;
    take(&hub, 1).await?;
    println!("away");
    take(&hub, 2).await
}

/// Takes this many orders, from where the subscription "billing" is.
async fn take(hub: &HubClient, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let qos = Qos::new().durable("billing").begin_at("beginning");
    let orders = hub.topic("orders").await?.subscribe();
    let mut orders = orders.qos(qos.delivery(Delivery::Ordered)).await?;
    let mut taken = 0;
    while taken < count {
        match orders.next().await.ok_or("no more orders")? {
            Ok(OrdersEvent::Placed { number, item }) => {
                println!("order {number}: {item}");
                taken += 1;
            }
            Err(interruption) => eprintln!("{interruption}"),
        }
    }
    Ok(orders.unsubscribe().await?)
}
