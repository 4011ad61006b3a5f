//! The built-in contracts against the calls of Ice 3.7.8: every operation of a service travels in the same mode.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use floe_codegen::{BUILT_IN_DIR, built_in_files, compile_files};
use floe_slice::Options;
use floe_slice::model::OperationMode;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

/// IceStorm has it from 3.8 on.
const NEWER: &str = "::IceStorm::TopicManager createOrRetrieve";

#[test]
fn operations_of_services_have_the_modes_in_which_ice_sends_them() {
    let Some(ice) = Ice::or_skip() else { return };
    let said = Peer::start("the Ice client", &mut ice.peer("modes", Language::Python)).succeed();
    let sent: BTreeMap<&str, &str> = said
        .iter()
        .map(|line| line.rsplit_once(' ').expect("an operation and its mode"))
        .collect();
    let interfaces: BTreeSet<&str> = sent
        .keys()
        .filter_map(|operation| operation.split(' ').next())
        .collect();
    let mut ours = operations(&interfaces);
    ours.remove(NEWER);
    let sent: BTreeMap<String, String> = sent
        .into_iter()
        .map(|(operation, mode)| (operation.to_owned(), mode.to_owned()))
        .collect();
    assert_eq!(ours, sent);
}

/// The operations that these interfaces declare in the built-in contracts, and their modes.
fn operations(interfaces: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let files: Vec<PathBuf> = built_in_files()
        .map(|name| Path::new(BUILT_IN_DIR).join(name))
        .collect();
    let compilation = compile_files(&Options::default(), &files);
    let mut operations = BTreeMap::new();
    for (id, definition) in compilation.model.iter() {
        if !interfaces.contains(definition.scoped.as_str()) {
            continue;
        }
        for operation in compilation.model.own_operations(id) {
            let mode = match operation.mode() {
                OperationMode::Normal => "0",
                OperationMode::Nonmutating => "1",
                OperationMode::Idempotent => "2",
            };
            let name = format!("{} {}", definition.scoped, operation.name);
            operations.insert(name, mode.to_owned());
        }
    }
    operations
}
