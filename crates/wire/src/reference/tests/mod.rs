//! References as text and as bytes.
//!
//! Exact bytes are in `tests/vectors/proxies.json`. These tests cover what is not canonical, not valid, or hostile.

mod bytes;
mod identities;
mod property;
mod text;
