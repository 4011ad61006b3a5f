//! What references look like as text and as bytes.
//!
//! Exact bytes are in `tests/vectors/proxies.json`; here are the rules for what is not canonical,
//! not valid, or hostile.

mod bytes;
mod identities;
mod property;
mod text;
