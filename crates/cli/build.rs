//! Compiles the contract of `floe demo`.

fn main() {
    floe_codegen::Build::new()
        .file("contracts/Telemetry.ice")
        .compile()
        .unwrap_or_else(|error| error.exit());
}
