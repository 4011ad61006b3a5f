//! The built-in contracts against the calls of Ice 3.7.8 and 3.8.3: every operation of a service travels in the mode of 3.7.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use floe_codegen::{BUILT_IN_DIR, built_in_files, compile_files};
use floe_slice::Options;
use floe_slice::model::OperationMode;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

/// IceStorm has it from 3.8 on.
const NEWER: &str = "::IceStorm::TopicManager createOrRetrieve";

/// 3.7 alone has it.
#[cfg(feature = "ice38")]
const OLDER: &str = "::IceStorm::TopicManager getSliceChecksums";

#[test]
fn operations_of_services_have_the_modes_in_which_ice_sends_them() {
    let Some(ice) = Ice::or_skip() else { return };
    let sent = sent(&ice);
    let mut ours = declared(&sent);
    ours.remove(NEWER);
    assert_eq!(ours, sent);
}

/// Ice 3.8 sends operations as idempotent that were once nonmutating. Its servants take both, as `runtime/` shows.
#[cfg(feature = "ice38")]
#[test]
fn ice38_has_the_same_services_without_the_nonmutating_mode() {
    let sent = sent(&crate::values::ice38::ice());
    let mut ours = declared(&sent);
    ours.remove(OLDER);
    for mode in ours.values_mut().filter(|mode| *mode == "1") {
        "2".clone_into(mode);
    }
    assert_eq!(ours, sent);
}

/// The operations that an Ice client has called, and the mode of each.
fn sent(ice: &Ice) -> BTreeMap<String, String> {
    let said = Peer::start("the Ice client", &mut ice.peer("modes", Language::Python)).succeed();
    let lines = said.iter().map(|line| line.rsplit_once(' '));
    lines
        .map(|line| line.expect("an operation and its mode"))
        .map(|(operation, mode)| (operation.to_owned(), mode.to_owned()))
        .collect()
}

/// The operations that the interfaces of `sent` declare in the built-in contracts, and their modes.
fn declared(sent: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let names = sent
        .keys()
        .filter_map(|operation| operation.split(' ').next());
    let interfaces: BTreeSet<&str> = names.collect();
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
