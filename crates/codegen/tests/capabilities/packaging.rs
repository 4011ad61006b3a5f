//! The packages in the registry have the built-in contracts.

use std::collections::BTreeSet;
use std::process::Command;

use floe_codegen::built_in_files;

#[test]
fn the_package_has_every_contract_that_is_built_in() {
    let mut list = Command::new(env!("CARGO"));
    list.args(["package", "--list", "--allow-dirty", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let listed = list.output().expect("cargo starts");
    let errors = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success(), "{errors}");
    let listed = String::from_utf8(listed.stdout).expect("names are text");
    let packed: BTreeSet<_> = listed
        .lines()
        .filter_map(|name| name.strip_prefix("contracts/"))
        .collect();
    for name in built_in_files() {
        assert!(packed.contains(name), "expected {name} in {packed:?}");
    }
}
