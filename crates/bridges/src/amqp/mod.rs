//! JMS and other programs that speak AMQP 1.0: this end is their broker.
//!
//! - `settings`: the table `[bridge.amqp]`
//! - `mapping`: names and types of a topic over there, and which links it takes
//! - `codec`: messages of events, and back
//! - `link`: sockets, connections, and what their links do
//! - `world`: joins them

mod codec;
mod link;
mod mapping;
mod settings;
mod world;

use settings::MessageBody;
pub use settings::Settings;
pub use world::AmqpWorld;
