//! Contenders of the scenario `codec`: they encode and decode the same values, each in one process.
//!
//! - `value.rs`: the values, for the contenders in Rust and for those in C++
//! - `task.rs`: what to do with them
//! - `floe.rs`, `floe_view.rs`, `floor.rs`: the contenders in Rust
//! - `peers.rs`: those in C++, whose sources are in `contenders/`

mod floe;
mod floe_view;
mod floor;
mod peers;
mod task;
pub(crate) mod value;

pub(crate) use floe::FLOE;
pub(crate) use floe_view::FLOE_VIEW;
pub(crate) use floor::FLOOR;
pub(crate) use peers::{CAPNP, CYCLONEDDS, FASTCDR, GSOAP, ICE, OMNIORB, PROTOBUF};

/// The types of the values.
#[allow(missing_docs)]
pub(crate) mod contract {
    floe::include_contract!("Codec");
}

/// The encoding of contenders that speak Ice: all of them must make the same bytes.
const ICE_ENCODING: Option<&str> = Some("Ice 1.1");
