//! The contract by which a hub tells of itself, in Rust.
//!
//! `floe.rs` is generated from `contracts/Floe/Hub.ice` and committed; a test of `floe-codegen`
//! generates it again and compares.

// Generated text has its own layout, and names that authors of contracts chose.
#[rustfmt::skip]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::result_large_err)]
pub mod floe;
