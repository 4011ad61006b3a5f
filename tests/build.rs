//! Compiles the contracts that the tests of this package speak.

use floe_codegen::Build;

fn main() {
    for contract in [
        "contracts/Everything.ice",
        "contracts/Classes.ice",
        "interop/ice/Interop.ice",
    ] {
        let build = Build::new().file(contract);
        build.compile().unwrap_or_else(|error| error.exit());
    }
}
