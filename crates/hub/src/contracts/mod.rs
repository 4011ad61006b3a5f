//! The contracts by which a hub shows its status and metrics, in Rust.
//!
//! `floe.rs` is generated from `contracts/Floe/Hub.ice`, `ice_mx.rs` from `contracts/Ice/Metrics.ice` and
//! `contracts/IceStorm/Metrics.ice`. Both are committed, and a test of `floe-codegen` generates them again and
//! compares.

// Generated text has its own layout, and names that authors of contracts chose.
#[rustfmt::skip]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::result_large_err)]
pub mod floe;

#[rustfmt::skip]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::result_large_err)]
pub mod ice_mx;
