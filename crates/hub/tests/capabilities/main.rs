//! The capabilities of the hub, as its users see them, with Floe on both sides.

mod access;
mod backpressure;
mod client;
mod dead_endpoints;
mod dead_letters;
mod delivery;
mod durable;
mod durable_refusals;
mod durable_views;
mod failures;
mod hostile_names;
mod hostile_receivers;
mod info;
mod late_reports;
mod lifespan;
mod limits;
mod links;
mod located;
mod locator;
#[cfg(unix)]
mod odd_files;
mod order;
mod poison_events;
mod policies;
mod pulling;
mod reconnecting;
mod registered;
mod restart;
mod scheduler;
mod sharing;
mod shutdown;
mod subscriptions;
mod threads;
mod topics;
mod user_limits;
mod world;
