//! The contract by which a server shows its bridges, in Rust.
//!
//! `floe.rs` is generated from `contracts/Floe/Bridges.ice`. It is committed, and a test of `floe-codegen` generates it again
//! and compares.

// Generated text has its own layout, and names that authors of contracts chose.
#[rustfmt::skip]
#[allow(
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    clippy::result_large_err,
    clippy::type_complexity
)]
pub mod floe;
