//! The contracts of Ice and IceStorm that Floe speaks, in Rust.
//!
//! `ice.rs` and `ice_storm.rs` are generated from `contracts/` and committed; a test of `floe-codegen`
//! generates them again and compares. Generated code of users refers to these modules wherever a
//! contract names something in `::Ice` or `::IceStorm`. Types that have more to them than their
//! contract are written by hand and stand elsewhere: `Identity`, `EncodingVersion`,
//! `ProtocolVersion`.

// Generated text has its own layout, and names that authors of contracts chose.
#[rustfmt::skip]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::result_large_err)]
pub mod ice;
#[rustfmt::skip]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::result_large_err)]
pub mod ice_storm;
