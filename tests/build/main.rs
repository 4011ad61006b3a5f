//! Compiles the contracts that the tests of this package speak.

mod documents;
mod guide;
mod includes;
mod names;
mod snippets;
mod vectors;

use floe_codegen::{Build, Language};

fn main() {
    for contract in [
        "contracts/Everything.ice",
        "contracts/Clashes.ice",
        "contracts/Classes.ice",
        "contracts/Views.ice",
        "contracts/Nil.ice",
        "contracts/Composing.ice",
        "interop/ice/ByValue.ice",
        "interop/ice/Measured.ice",
        "interop/ice/Interop.ice",
        "interop/ice/runtime/Runtime.ice",
        "interop/ice/relay/Relay.ice",
        "interop/ice/rings/Rings.ice",
    ] {
        compile(Build::new().file(contract));
    }
    let extra = Build::new().file("contracts/Extra.ice");
    compile(extra.external("::Classes", "crate::contract::classes"));
    let relay = Build::new().file("interop/ice/relay/Relay.ice");
    compile(relay.language(Language::V37).output("Relay37"));
    compile(Build::new().file(VALUES).output("OlderValues"));
    let newer = Build::new().file(VALUES).define("NEWER", "1");
    compile(newer.output("NewerValues"));
    names::compile_hostile();
    guide::compile_examples();
    guide::compile_project();
    documents::compile_all();
    includes::compile_all();
    vectors::compile_all();
}

fn compile(build: Build) {
    build
        .blocking()
        .compile()
        .unwrap_or_else(|error| error.exit());
}

/// Compiled in both its versions.
const VALUES: &str = "interop/ice/values/Values.ice";
