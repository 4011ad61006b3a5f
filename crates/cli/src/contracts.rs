//! The contracts that the command itself speaks, in Rust.

::floe::include_contract!("Echo");
