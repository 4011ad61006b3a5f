//! The capabilities of a gateway, as its users see them. There is a file for each; all of them use `world.rs`.

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
