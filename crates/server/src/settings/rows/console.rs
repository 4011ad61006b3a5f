//! Settings of the console.

use crate::settings::setting::{Effect, Field, Kind, Setting, Table};

pub(super) const TABLE: Table = Table {
    rows: &[
        Setting {
            key: "console.listen",
            field: Field::Other {
                kind: Kind::Text(ADDRESS),
                default: None,
                set: |entry, draft| {
                    let address = entry.parsed(ADDRESS, |text| {
                        text.parse()
                            .map_err(|_| format!("expected {ADDRESS}, got `{text}`"))
                    })?;
                    draft.configuration.console.listen = Some(address);
                    Ok(())
                },
            },
            example: "\"127.0.0.1:8080\"",
            effect: Effect::Restart,
            meaning: "Where browsers find the console, over HTTP. Without it, there is none. An address that other computers reach needs \
                      rules of access.",
        },
        Setting {
            key: "console.hosts",
            field: Field::Texts("a host name", |draft| {
                &mut draft.configuration.console.hosts
            }),
            example: "\"hub.example\"",
            effect: Effect::Restart,
            meaning: "Further names of this computer by which browsers ask for the console. IP addresses, `localhost` and the name of \
                      the system need none. A request for any other host is refused.",
        },
    ],
};

const ADDRESS: &str = "an IP address and a port, such as 127.0.0.1:8080";
