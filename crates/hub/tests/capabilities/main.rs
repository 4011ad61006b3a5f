//! What a user of the hub can do, with Floe on both sides.

mod client;
mod delivery;
mod failures;
mod info;
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
mod told_late;
mod topics;
mod world;
