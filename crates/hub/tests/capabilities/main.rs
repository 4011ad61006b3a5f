//! What a user of the hub can do, with Floe on both sides.

mod access;
mod backpressure;
mod client;
mod delivery;
mod durable;
mod durable_refusals;
mod failures;
mod info;
mod late_reports;
mod lifespan;
mod limits;
mod links;
mod located;
mod locator;
mod policies;
mod reconnecting;
mod registered;
mod restart;
mod scheduler;
mod shutdown;
mod subscriptions;
mod threads;
mod topics;
mod user_limits;
mod world;
