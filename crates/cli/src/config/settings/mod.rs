//! All settings of `floe.toml`, in the order of the reference. To add one, add a row: a setting without one is unknown.

mod access;
mod connections;
mod durable;
mod gateway;
mod hub;
mod limits;
mod queues;

use std::sync::LazyLock;

use super::setting::Setting;
pub(crate) use hub::POLLING_MAX;

/// All settings.
pub(crate) static ALL: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let tables = [
        hub::settings(),
        queues::settings(),
        durable::settings(),
        limits::settings(),
        connections::settings(),
        gateway::settings(),
        access::settings(),
    ];
    let mut all: Vec<_> = tables.into_iter().flatten().collect();
    // TOML has what is in no table at the top.
    all.sort_by_key(|setting| setting.key.contains('.'));
    all
});
