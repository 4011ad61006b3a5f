//! Compiles the contracts of `floe demo`, and of `floe echo` and `floe ping`; and tells the linker how to lay the
//! program out.
//!
//! - `layout.rs`: the layout

mod layout;

fn main() {
    for contract in ["contracts/Telemetry.ice", "../../contracts/Floe/Echo.ice"] {
        floe_codegen::Build::new()
            .file(contract)
            .compile()
            .unwrap_or_else(|error| error.exit());
    }
    layout::ask_for();
}
