//! Turns the contract into Rust, with a trait for servants without async.

fn main() {
    floe_codegen::Build::new()
        .file("Greeter.ice")
        .blocking()
        .compile()
        .unwrap_or_else(|error| error.exit());
}
