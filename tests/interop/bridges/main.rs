//! Bridges: a hub of Floe between stock programs of other worlds, which publish and subscribe.
//!
//! - `event.rs`: the events of all tests; `fixture.rs`: a hub and a bridge
//! - `ice.rs`, `amqp.rs`, `corba.rs`, `dds.rs`, `soap.rs`: a world each, with the programs of `examples/worlds` and those in `peers/`
//!
//! A peer takes these arguments:
//!
//! ```text
//! subscribe ADDRESS COUNT          prints `ready` when it is subscribed, then each event as a line of JSON
//! publish ADDRESS WORLD SEED...    publishes the event of each seed, and ends when all are acknowledged
//! ```

mod amqp;
mod corba;
mod dds;
mod event;
mod five_worlds;
mod fixture;
mod ice;
mod soap;
mod toy;
