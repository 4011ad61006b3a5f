//! The world CORBA with a hub in this process, and clients over the pure core of GIOP.
//!
//! Stock programs of CORBA are in `tests/interop/bridges/` of the repository.

mod client;
mod codec;
mod consumer;
mod consuming;
mod fixture;
mod hostile;
mod naming;
mod supplying;
mod values;
