//! The vectors of `tests/vectors/`, run through `floe-wire` in both directions.
//!
//! Every test counts what it ran, so a vector that is added or renamed cannot be passed over.

mod file;
mod json;
mod proxies;
mod values;
