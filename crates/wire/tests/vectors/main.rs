//! The vectors of `tests/vectors/`, run through `floe-wire` in both directions.
//!
//! Every test runs all vectors of its file or counts those that it leaves out, so a vector that is
//! added or renamed cannot be passed over. `graphs`, `parts` and `hostile` are no vectors: they try the types of
//! the vectors with graphs and bytes of any shape.

mod classes;
mod exceptions;
mod file;
mod graphs;
mod hostile;
mod json;
mod messages;
mod optionals;
mod parts;
mod proxies;
mod replies;
mod types;
mod values;
