//! Turns the contract into Rust.

fn main() {
    floe_codegen::Build::new()
        .file("Thermometer.ice")
        .compile()
        .unwrap_or_else(|error| error.exit());
}
