//! The contract of this example, as Rust, and where its hub is.

floe::include_contract!("Ticker");

/// The hub that the command line names, or the one on this computer.
pub fn hub_address() -> String {
    let argument = std::env::args().nth(1);
    argument.unwrap_or_else(|| "localhost:10000".to_owned())
}
