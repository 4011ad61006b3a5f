//! The contracts of the soak, as Rust.

floe::include_contract!("Soak");
floe::include_contract!("Feed");
