//! What a user can do with the `floe` command, run as a process.

mod access;
mod certificates;
mod codec;
mod command;
mod config;
mod demo;
mod echo;
mod events;
mod guide;
mod hub;
#[cfg(feature = "lab")]
mod lab;
mod operate;
mod ping;
mod proxy;
mod serve;
mod slice;
mod slice_tools;
mod streams;
#[cfg(unix)]
mod terminal;
mod topic;
mod transports;
mod usage;
