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
mod value;

pub(crate) use floe::FLOE;
pub(crate) use floe_view::FLOE_VIEW;
pub(crate) use floor::FLOOR;
pub(crate) use peers::{CAPNP, CYCLONEDDS, FASTCDR, GSOAP, ICE, OMNIORB, PROTOBUF};

/// All cases of the scenario, in the order of its report.
const ALL_CASES: &[&str] = &[
    "bytes-1000/encode",
    "bytes-1000/decode",
    "bytes-65536/encode",
    "bytes-65536/decode",
    "bytes-1000000/encode",
    "bytes-1000000/decode",
    "doubles-1000/encode",
    "doubles-1000/decode",
    "doubles-100000/encode",
    "doubles-100000/decode",
    "doubles-1000000/encode",
    "doubles-1000000/decode",
    "nested/encode",
    "nested/decode",
    "text/encode",
    "text/decode",
    "bibliography/encode",
    "bibliography/decode",
];

/// For those that only decode.
const ALL_DECODING: &[&str] = &[
    "bytes-1000/decode",
    "bytes-65536/decode",
    "bytes-1000000/decode",
    "doubles-1000/decode",
    "doubles-100000/decode",
    "doubles-1000000/decode",
    "nested/decode",
    "text/decode",
    "bibliography/decode",
];

/// For those to whom a million doubles are a document of 32 MB.
const ALL_CASES_BUT_THE_LONGEST: &[&str] = &[
    "bytes-1000/encode",
    "bytes-1000/decode",
    "bytes-65536/encode",
    "bytes-65536/decode",
    "bytes-1000000/encode",
    "bytes-1000000/decode",
    "doubles-1000/encode",
    "doubles-1000/decode",
    "doubles-100000/encode",
    "doubles-100000/decode",
    "nested/encode",
    "nested/decode",
    "text/encode",
    "text/decode",
    "bibliography/encode",
    "bibliography/decode",
];

/// What contenders make that speak Ice: its encoding 1.1, of which all must make the same bytes.
const ICE_ENCODING: Option<&str> = Some("Ice 1.1");
