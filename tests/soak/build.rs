//! Turns the contract of the soak into Rust.

fn main() {
    floe_codegen::Build::new()
        .file("ice/Soak.ice")
        .blocking()
        .compile()
        .unwrap_or_else(|error| error.exit());
}
