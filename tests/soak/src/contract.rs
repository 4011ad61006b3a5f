//! The contract of the soak, as Rust.

floe::include_contract!("Soak");
