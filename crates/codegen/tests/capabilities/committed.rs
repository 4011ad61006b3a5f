//! The code that `floe` and the hub carry, made from `contracts/`.

use std::path::{Path, PathBuf};

use floe_codegen::{BUILT_IN_DIR, RustOptions, generate_rust};

use crate::{assert_committed, compiled, repository};

#[test]
fn module_ice_of_floe_is_what_the_contracts_say() {
    assert_module(
        "::Ice",
        &[
            "Ice/BuiltinSequences.ice",
            "Ice/Context.ice",
            "Ice/EndpointTypes.ice",
            "Ice/Identity.ice",
            "Ice/Locator.ice",
            "Ice/OperationMode.ice",
            "Ice/Process.ice",
            "Ice/PropertiesAdmin.ice",
            "Ice/RemoteLogger.ice",
            "Ice/Router.ice",
            "Ice/SliceChecksumDict.ice",
            "Ice/Version.ice",
        ],
        "crates/runtime/src/contracts/ice.rs",
    );
}

#[test]
fn module_ice_storm_of_floe_is_what_the_contracts_say() {
    assert_module(
        "::IceStorm",
        &["IceStorm/IceStorm.ice", "IceStorm/Internal.ice"],
        "crates/runtime/src/contracts/ice_storm.rs",
    );
}

#[test]
fn module_glacier2_of_floe_is_what_the_contracts_say() {
    assert_module(
        "::Glacier2",
        &[
            "Glacier2/PermissionsVerifier.ice",
            "Glacier2/Router.ice",
            "Glacier2/SSLInfo.ice",
            "Glacier2/SSLSession.ice",
            "Glacier2/Session.ice",
        ],
        "crates/runtime/src/contracts/glacier2.rs",
    );
}

#[test]
fn module_floe_of_the_hub_is_what_its_contracts_say() {
    let contracts = ["contracts/Floe/Hub.ice", "contracts/Floe/Backup.ice"];
    let compilation = compiled(&contracts.map(repository));
    let options = RustOptions::new().root_module("::Floe");
    let text = generate_rust(&compilation.model, &options).unwrap();
    assert_committed("crates/hub/src/contracts/floe.rs", &text);
}

#[test]
fn module_floe_of_bridges_is_what_the_contract_says() {
    let compilation = compiled(&[repository("contracts/Floe/Bridges.ice")]);
    let options = RustOptions::new().root_module("::Floe");
    let text = generate_rust(&compilation.model, &options).unwrap();
    assert_committed("crates/bridges/src/contracts/floe.rs", &text);
}

#[test]
fn module_ice_mx_is_what_the_contracts_say() {
    let contracts = [
        "Ice/Metrics.ice",
        "IceStorm/Metrics.ice",
        "Glacier2/Metrics.ice",
    ];
    let contracts = contracts.map(|name| Path::new(BUILT_IN_DIR).join(name));
    let compilation = compiled(&contracts);
    let options = RustOptions::new().root_module("::IceMX");
    let text = generate_rust(&compilation.model, &options).unwrap();
    assert_committed("crates/metrics/src/contracts/ice_mx.rs", &text);
}

fn assert_module(module: &str, contracts: &[&str], target: &str) {
    let contracts: Vec<PathBuf> = contracts
        .iter()
        .map(|name| Path::new(BUILT_IN_DIR).join(name))
        .collect();
    let compilation = compiled(&contracts);
    let options = RustOptions::for_crate_path("crate")
        .generate(module)
        .root_module(module);
    let text = generate_rust(&compilation.model, &options).unwrap();
    assert_committed(target, &text);
}
