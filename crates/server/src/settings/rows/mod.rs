//! All settings of `floe.toml`, in the order of the reference. To add one, add a row: a setting without one is unknown.

mod access;
mod bridges;
mod connections;
mod console;
mod durable;
mod gateway;
mod hub;
mod limits;
mod queues;

use std::sync::LazyLock;

use super::setting::{Setting, Table};
pub use hub::POLLING_MAX;

/// The tables of rows, in the order of the reference.
const TABLES: [Table; 20] = [
    hub::TABLE,
    queues::TABLE,
    durable::TABLE,
    limits::OF_HUB,
    limits::OF_SUBSCRIPTIONS,
    connections::LIMITS,
    connections::LIVENESS,
    connections::LOCATORS,
    connections::TLS,
    gateway::SESSIONS,
    gateway::FILTER,
    gateway::TO_SERVERS,
    gateway::TO_CLIENTS,
    access::TABLE,
    bridges::CONTRACTS,
    bridges::AMQP,
    bridges::CORBA,
    bridges::DDS,
    bridges::SOAP,
    console::TABLE,
];

/// All settings.
pub static ALL: LazyLock<Vec<&'static Setting>> = LazyLock::new(|| {
    let mut all: Vec<_> = TABLES.iter().flat_map(|table| table.rows).collect();
    // TOML has what is in no table at the top.
    all.sort_by_key(|setting| setting.key.contains('.'));
    all
});
