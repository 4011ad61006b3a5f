//! Classes, optional values and exceptions between Floe and unmodified Ice 3.7.8 programs, in both
//! directions, in C++ and Python.
//!
//! Every client has the same conversation with every server: it sends all samples and asks for all, and says what came of
//! each call. One side always has the newer version of the contract, and so sends classes, exceptions and tags that
//! the other does not know. What an Ice client and an Ice server say is expected of all.

// Both versions are compiled from the same text.
#![allow(clippy::duplicate_mod)]

mod draw;
mod dynamic;
#[cfg(feature = "ice38")]
pub(crate) mod ice38;
mod newer;
mod older;
mod pairs;
mod random;
