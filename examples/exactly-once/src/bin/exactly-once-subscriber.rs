//! Writes each order into a table of SQLite exactly once, however often it is killed, until the table has all.
//!
//! Usage: `exactly-once-subscriber [HUB [FILE [COUNT]]]`

use exactly_once::demo::OrdersEvent;
use floe::hub::{Delivery, HubClient, Qos, Stamped};
use rusqlite::Connection;

/// The position has one row. Its event, and all events before it, are in the table of orders.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS orders (number INTEGER, item TEXT);
    CREATE TABLE IF NOT EXISTS position (sequence INTEGER);
    INSERT INTO position SELECT 0 WHERE NOT EXISTS (SELECT * FROM position);";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("localhost:10000".into());
    let mut table = Connection::open(arguments.next().unwrap_or("orders.db".into()))?;
    let count: i64 = arguments.next().unwrap_or("3".into()).parse()?;
    table.execute_batch(TABLES)?;

    let topic = HubClient::connect(&address).await?.topic("sales").await?;
    let qos = Qos::new().durable("table").begin_at("beginning");
    let orders = topic.subscribe::<Stamped<OrdersEvent>>();
    let mut orders = orders.qos(qos.delivery(Delivery::Ordered)).await?;
    while rows(&table)? < count {
        match orders.next().await.ok_or("no more orders")? {
            Ok(order) => {
                write(&mut table, &order)?;
                orders.acknowledge();
            }
            Err(interruption) => eprintln!("{interruption}"),
        }
    }
    println!("{} orders are in the table", rows(&table)?);
    Ok(orders.unsubscribe().await?)
}

/// Writes an order and the position, both or neither, unless the order came before.
fn write(table: &mut Connection, order: &Stamped<OrdersEvent>) -> rusqlite::Result<()> {
    let OrdersEvent::Placed { number, item } = &order.event;
    let transaction = table.transaction()?;
    let moved = "UPDATE position SET sequence = ?1 WHERE sequence < ?1";
    let is_new = transaction.execute(moved, [order.sequence as i64])? > 0;
    if is_new {
        transaction.execute("INSERT INTO orders VALUES (?1, ?2)", (number, item))?;
        transaction.commit()?;
        println!("order {number}: {item}");
    }
    Ok(())
}

fn rows(table: &Connection) -> rusqlite::Result<i64> {
    table.query_row("SELECT count(*) FROM orders", [], |row| row.get(0))
}
