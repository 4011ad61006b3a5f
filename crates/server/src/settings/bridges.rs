//! The tables `[contracts]` and `[bridge]` of `floe.toml`, which `floe-bridges` reads.

use std::path::Path;

use super::Configuration;
use super::entry::Problem;

/// The tables.
pub(super) const TABLES: [&str; 2] = ["contracts", "bridge"];

#[cfg(feature = "bridges")]
pub(crate) use floe_bridges::settings::Settings as BridgeSettings;

/// No bridges: this build has none.
#[cfg(not(feature = "bridges"))]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BridgeSettings {}

/// Reads the bridges in the text of a file in this folder, and the contracts of their topics. Returns the problems of both.
#[cfg(feature = "bridges")]
pub(super) fn read(text: &str, folder: &Path, configuration: &mut Configuration) -> Vec<Problem> {
    let read = BridgeSettings::parse(text).and_then(|settings| {
        settings.plan(folder)?;
        Ok(settings)
    });
    match read {
        Ok(settings) if !settings.is_empty() && !configuration.has_hub => {
            let message = "expected a hub beside [bridge], got none: bridges join other worlds with its topics";
            vec![Problem::new(0, message)]
        }
        Ok(settings) => {
            configuration.bridges = settings;
            Vec::new()
        }
        Err(error) => vec![Problem::new(0, error)],
    }
}

/// Refuses bridges.
#[cfg(not(feature = "bridges"))]
pub(super) fn read(text: &str, _folder: &Path, _configuration: &mut Configuration) -> Vec<Problem> {
    let table = text.parse::<toml::Table>();
    let has_bridges = table.is_ok_and(|table| table.contains_key("bridge"));
    let message = "this build has no bridges to other worlds; `cargo build --release --features full` includes them";
    has_bridges
        .then(|| Problem::new(0, message))
        .into_iter()
        .collect()
}
