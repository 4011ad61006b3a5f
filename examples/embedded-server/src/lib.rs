//! The contract of this example, as Rust.

floe::include_contract!("Thermometer");
