//! The services of the OMG that clients expect, as objects without I/O: naming, and event channels of the push style.
//!
//! Each takes an operation by name with undecoded arguments, and appends results. Where its objects live, and how events
//! reach consumers, is its driver's business.
//!
//! Source: OMG Naming Service 1.3 and Event Service 1.2.

pub mod event;
pub mod naming;
mod raised;
mod references;

pub use raised::Raised;
pub use references::References;
