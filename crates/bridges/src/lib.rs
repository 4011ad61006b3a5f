//! Bridges: programs of other worlds publish to the topics of a hub, and get its events.
//!
//! A [`Bridge`] joins one [`World`] with a hub, by topic. It knows the hub only as a client does, through proxies: rules,
//! limits, queues, durable positions and accounts hold for it as for anybody, and an IceStorm will do as well.
//!
//! - [`core`]: what bridges decide, pure: mapping, origins, accounts
//! - `networks`: who may call, and who is called
//! - [`settings`]: the tables `[contracts]` and `[bridge]` of a `floe.toml`
//! - [`hub`]: the hub, as a world sees it: a [`Port`] for each topic
//! - [`world`]: what a bridge asks of a world
//! - [`bridge`]: joins them; [`bridges`]: all of a process, and the object that lists them
//! - [`contracts`]: how a server shows its bridges
//! - `amqp/`, `corba/`, `dds/`, `soap/`: the worlds, a feature each

#![forbid(unsafe_code)]

pub mod bridge;
pub mod bridges;
pub mod contracts;
pub mod core;
pub mod hub;
#[cfg(any(feature = "corba", feature = "soap"))]
pub mod networks;
pub mod settings;
pub mod world;

#[cfg(feature = "amqp")]
pub mod amqp;
#[cfg(feature = "corba")]
pub mod corba;
#[cfg(feature = "dds")]
pub mod dds;
#[cfg(feature = "soap")]
pub mod soap;

pub use bridge::{Bridge, BridgeError};
pub use bridges::{BRIDGES, Bridges, BridgesServant};
pub use hub::{Deliveries, Delivery, Port, PublishError};
pub use world::{Running, StartError, World, WorldFuture, WorldState};
