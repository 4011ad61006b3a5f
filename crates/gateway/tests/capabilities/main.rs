//! What a user of a gateway can do, a file for each capability; `world.rs` is what they share.

mod access;
mod admin;
mod attacks;
mod compression;
mod faults;
mod filters;
mod forwarding;
mod limits;
mod resumption;
mod rings;
mod routers;
mod sessions;
mod world;
