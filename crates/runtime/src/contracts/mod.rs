//! The contracts of Ice, IceStorm and Glacier2 that Floe speaks, in Rust.
//!
//! `ice.rs`, `ice_storm.rs` and `glacier2.rs` are generated from `contracts/` and committed; a test of `floe-codegen`
//! generates them again and compares. Generated code of users refers to these modules wherever a
//! contract names something in `::Ice`, `::IceStorm` or `::Glacier2`. Types that have more to them than their
//! contract are written by hand and stand elsewhere: `Identity`, `EncodingVersion`,
//! `ProtocolVersion`.

// Generated text has its own layout, and names that authors of contracts chose.
#[rustfmt::skip]
#[allow(
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    clippy::result_large_err,
    clippy::type_complexity
)]
pub mod glacier2;
#[rustfmt::skip]
#[allow(
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    clippy::result_large_err,
    clippy::type_complexity
)]
pub mod ice;
#[rustfmt::skip]
#[allow(
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    clippy::result_large_err,
    clippy::type_complexity
)]
pub mod ice_storm;
