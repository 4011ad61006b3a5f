//! Compiles the contracts of `floe demo`, and of `floe echo` and `floe ping`.

fn main() {
    for contract in ["contracts/Telemetry.ice", "contracts/Echo.ice"] {
        floe_codegen::Build::new()
            .file(contract)
            .compile()
            .unwrap_or_else(|error| error.exit());
    }
}
