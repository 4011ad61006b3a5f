//! What a user can do with the `floe` command, run as a process.

mod codec;
mod command;
mod demo;
mod events;
mod guide;
mod hub;
#[cfg(feature = "lab")]
mod lab;
mod serve;
mod slice;
mod slice_tools;
mod topic;
mod usage;
