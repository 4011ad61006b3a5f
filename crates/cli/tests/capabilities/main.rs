//! The capabilities of the `floe` command, run as a process.

mod access;
#[cfg(feature = "tls")]
mod cert;
#[cfg_attr(
    not(feature = "tls"),
    expect(dead_code, reason = "a plain build connects to nothing by them")
)]
mod certificates;
mod codec;
mod command;
mod config;
mod container;
mod contexts;
mod demo;
mod durable;
mod durable_views;
mod echo;
mod events;
mod guide;
mod health;
mod hub;
mod ice_files;
#[cfg(feature = "lab")]
mod lab;
mod migrate;
mod mistakes;
#[cfg(all(feature = "zstd", feature = "brotli"))]
mod offers;
mod operate;
mod ping;
mod proxy;
mod reconnect;
#[cfg(feature = "recordings")]
mod recording;
mod serve;
mod several_topics;
mod slice;
mod slice_tools;
mod streams;
mod tables;
#[cfg(unix)]
mod terminal;
mod topic;
mod transports;
#[cfg(target_os = "linux")]
mod two_machines;
mod usage;
