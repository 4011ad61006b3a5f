//! Floe and unmodified Ice 3.7.8 programs, in C++ and Python.
//!
//! All these tests are one program: they share the generated contracts and the peers, and while one test waits for a peer another
//! one runs.

mod by_value;
mod command;
mod contracts;
mod gateway;
mod graphs;
mod hub;
mod links;
mod measured;
mod modes;
mod peers;
mod relay;
mod rings;
mod rpc;
mod runtime;
mod storm;
mod values;
