//! Settings of a gateway.

use std::time::Duration;

use floe_gateway::{
    Batching, CertificateVerifier, ConnectionContext, PasswordVerifier, UserCategory,
};

use crate::settings::gateway::{
    admin, compressions, identities, problem, proxy, rate, rules, set_password_verifier, users,
    verifier,
};
use crate::settings::setting::{Effect, Field, Kind, Setting, Table, choice};

pub(super) const SESSIONS: Table = Table {
    rows: &[
        Setting {
            key: "gateway.listen",
            field: Field::Endpoints(|draft| &mut draft.gateway().client_listen),
            example: "\"ssl -h 0.0.0.0 -p 4064\"",
            effect: Effect::Restart,
            meaning: "Where clients connect to the gateway.",
        },
        Setting {
            key: "gateway.published-endpoints",
            field: Field::PublishedEndpoints(|draft| {
                &mut draft.gateway().client_published_endpoints
            }),
            example: "\"ssl -h gateway.example -p 4064\"",
            effect: Effect::Restart,
            meaning: "The endpoints in proxies to the router. Without it, those of `listen`.",
        },
        Setting {
            key: "gateway.server-listen",
            field: Field::OptionalEndpoints(|draft| &mut draft.gateway().server_listen),
            example: "\"tcp -h 10.0.0.1 -p 4065\"",
            effect: Effect::Restart,
            meaning: "Where servers call back. Without it, there are no callbacks and no session control.",
        },
        Setting {
            key: "gateway.server-published-endpoints",
            field: Field::PublishedEndpoints(|draft| {
                &mut draft.gateway().server_published_endpoints
            }),
            example: "\"tcp -h inside.example -p 4065\"",
            effect: Effect::Restart,
            meaning: "The endpoints in proxies to objects of clients. Without it, those of `server-listen`.",
        },
        Setting {
            key: "gateway.instance",
            field: Field::Text("a name", |draft| &mut draft.gateway().instance_name),
            example: "\"DemoGlacier2\"",
            effect: Effect::Restart,
            meaning: "The category of the router's identity.",
        },
        Setting {
            key: "gateway.passwords",
            field: Field::Other {
                kind: Kind::Text(PASSWORDS),
                default: None,
                set: |entry, draft| {
                    let file = entry.text(PASSWORDS)?;
                    let (users, left_out) = users(&file).map_err(|wrong| problem(entry, &wrong))?;
                    let left_out = left_out.iter().map(|line| problem(entry, line));
                    draft.configuration.warnings.extend(left_out);
                    let verifier = PasswordVerifier::Users(users);
                    set_password_verifier(verifier, entry, draft.gateway())
                },
            },
            example: "\"/etc/floe/passwords\"",
            effect: Effect::Restart,
            meaning: "A file with `USER HASH` in each line. Hashes are argon2id (`$argon2id$`), yescrypt (`$y$`), SHA-256 (`$5$`) or SHA-512 (`$6$`). A \
                      line that cannot be used is left out, with a warning. Without it \
                      and `verifier`, no client gets a session by a password.",
        },
        Setting {
            key: "gateway.verifier",
            field: Field::Other {
                kind: Kind::Text("the proxy of a Glacier2::PermissionsVerifier, or accept-all"),
                default: None,
                set: |entry, draft| {
                    let verifier = verifier(entry, "the proxy of a Glacier2::PermissionsVerifier")?;
                    let verifier = match verifier {
                        Some(proxy) => PasswordVerifier::Proxy(proxy),
                        None => PasswordVerifier::AcceptAll,
                    };
                    set_password_verifier(verifier, entry, draft.gateway())
                },
            },
            example: "\"verifier:tcp -h 10.0.0.2 -p 4070\"",
            effect: Effect::Restart,
            meaning: "The object that checks passwords. `accept-all` accepts every password.",
        },
        Setting {
            key: "gateway.certificate-verifier",
            field: Field::Other {
                kind: Kind::Text("the proxy of a Glacier2::SSLPermissionsVerifier, or accept-all"),
                default: None,
                set: |entry, draft| {
                    let verifier =
                        verifier(entry, "the proxy of a Glacier2::SSLPermissionsVerifier")?;
                    draft.gateway().certificate_verifier = Some(match verifier {
                        Some(proxy) => CertificateVerifier::Proxy(proxy),
                        None => CertificateVerifier::AcceptAll,
                    });
                    Ok(())
                },
            },
            example: "\"accept-all\"",
            effect: Effect::Restart,
            meaning: "The object that checks certificates. `accept-all` accepts those that TLS has verified. Without it, no client gets a \
                      session by a certificate.",
        },
        Setting {
            key: "gateway.session-manager",
            field: Field::Other {
                kind: Kind::Text("the proxy of a Glacier2::SessionManager"),
                default: None,
                set: |entry, draft| {
                    draft.gateway().session_manager = Some(proxy(entry)?);
                    Ok(())
                },
            },
            example: "\"manager:tcp -h 10.0.0.2 -p 4070\"",
            effect: Effect::Restart,
            meaning: "The object that creates sessions of the application for users with passwords.",
        },
        Setting {
            key: "gateway.certificate-session-manager",
            field: Field::Other {
                kind: Kind::Text("the proxy of a Glacier2::SSLSessionManager"),
                default: None,
                set: |entry, draft| {
                    draft.gateway().certificate_session_manager = Some(proxy(entry)?);
                    Ok(())
                },
            },
            example: "\"manager:tcp -h 10.0.0.2 -p 4070\"",
            effect: Effect::Restart,
            meaning: "The object that makes the sessions of clients with certificates.",
        },
        Setting {
            key: "gateway.session-timeout",
            field: Field::OptionalTime("never", |draft| &mut draft.gateway().session_timeout),
            example: "\"30s\"",
            effect: Effect::Restart,
            meaning: "How long a session may be unused.",
        },
        Setting {
            key: "gateway.idle-timeout",
            field: Field::OptionalTime("never", |draft| &mut draft.gateway().idle_timeout),
            example: "\"20s\"",
            effect: Effect::Restart,
            meaning: "How long a client may be silent before its connection is dropped. `session-timeout` replaces it.",
        },
        Setting {
            key: "gateway.resume-grace",
            field: Field::OptionalTime("none", |draft| &mut draft.gateway().resume_grace),
            example: "\"2m\"",
            effect: Effect::Restart,
            meaning: "How long the session of a Floe client waits after its connection is lost. With `none`, the session ends with the connection, as with Glacier2.",
        },
        Setting {
            key: "gateway.session-limit",
            field: Field::Count(|draft| &mut draft.gateway().session_limit),
            example: "100",
            effect: Effect::Restart,
            meaning: "How many sessions there may be. Further clients get none.",
        },
        Setting {
            key: "gateway.user-session-limit",
            field: Field::OptionalCount(|draft| &mut draft.gateway().user_session_limit),
            example: "5",
            effect: Effect::Restart,
            meaning: "How many sessions one user may have at a time. Without it, half of `session-limit`, if a verifier has proven the user's name; a client with a certificate is the user that its subject names.",
        },
        Setting {
            key: "gateway.address-session-limit",
            field: Field::OptionalCount(|draft| &mut draft.gateway().address_session_limit),
            example: "20",
            effect: Effect::Restart,
            meaning: "How many sessions there may be from one address. Without it, half of `session-limit`.",
        },
        Setting {
            key: "gateway.memory-bytes",
            field: Field::Bytes(|draft| &mut draft.gateway().memory_max),
            example: "\"1 GiB\"",
            effect: Effect::Restart,
            meaning: "The memory that all sessions may hold: for routes, for requests that wait or have no answer yet, and for answers that are kept. The sessions of one address may hold as much as is free.",
        },
        Setting {
            key: "gateway.server-connection-limit",
            field: Field::Count(|draft| &mut draft.gateway().server_connection_limit),
            example: "1000",
            effect: Effect::Restart,
            meaning: "How many connections to servers there may be. The sessions of one address may have as many as are free. One that is unused for five minutes is closed.",
        },
        Setting {
            key: "gateway.user-request-rate",
            field: Field::Other {
                kind: Kind::Count,
                default: None,
                set: |entry, draft| {
                    draft.gateway().user_request_rate = Some(rate(entry)?);
                    Ok(())
                },
            },
            example: "1000",
            effect: Effect::Restart,
            meaning: "How many requests a second the sessions of one user may send. Without it, there is no such limit.",
        },
        Setting {
            key: "gateway.address-request-rate",
            field: Field::Other {
                kind: Kind::Count,
                default: None,
                set: |entry, draft| {
                    draft.gateway().address_request_rate = Some(rate(entry)?);
                    Ok(())
                },
            },
            example: "5000",
            effect: Effect::Restart,
            meaning: "How many requests a second the sessions of one address may send. Without it, there is no such limit.",
        },
        Setting {
            key: "gateway.application-timeout",
            field: Field::Time(|draft| &mut draft.gateway().application_timeout),
            example: "\"5s\"",
            effect: Effect::Restart,
            meaning: "How long a verifier, a session manager or a session of the application may take to answer.",
        },
        Setting {
            key: "gateway.connection-context",
            field: choice!(CONNECTION_CONTEXTS, Some("\"off\""), |draft, context| {
                draft.gateway().connection_context = context;
            }),
            example: "\"application\"",
            effect: Effect::Restart,
            meaning: "Which requests get `_con.*` entries about the client's connection: none, those to verifiers and session managers, or \
                      all.",
        },
        Setting {
            key: "gateway.routing-table",
            field: Field::Count(|draft| &mut draft.gateway().routing_table_max),
            example: "100",
            effect: Effect::Restart,
            meaning: "How many objects a session can register. Beyond that, the least recently used one is removed.",
        },
        Setting {
            key: "gateway.routing-table-bytes",
            field: Field::Bytes(|draft| &mut draft.gateway().routing_table_bytes),
            example: "\"256 KiB\"",
            effect: Effect::Restart,
            meaning: "How many bytes the routing table of a session may take. Beyond that, the least recently used objects are removed.",
        },
        Setting {
            key: "gateway.admin.listen",
            field: Field::Other {
                kind: Kind::Texts("endpoint"),
                default: None,
                set: |entry, draft| {
                    admin(draft.gateway()).listen = entry.endpoints()?;
                    Ok(())
                },
            },
            example: "\"tcp -h 127.0.0.1 -p 4066\"",
            effect: Effect::Restart,
            meaning: "Where the administrative object of the gateway listens. Without a table `[gateway.admin]`, there is none.",
        },
        Setting {
            key: "gateway.admin.instance",
            field: Field::Other {
                kind: Kind::Text("a name"),
                default: None,
                set: |entry, draft| {
                    admin(draft.gateway()).instance_name = entry.text("a name")?;
                    Ok(())
                },
            },
            example: "\"edge\"",
            effect: Effect::Restart,
            meaning: "The category of its identity.",
        },
    ],
};

pub(super) const FILTER: Table = Table {
    rows: &[
        Setting {
            key: "gateway.filter.accept-addresses",
            field: Field::Other {
                kind: Kind::Texts("rule, such as \"db*.example.com:[1000-2000]\""),
                default: None,
                set: |entry, draft| {
                    draft.gateway().filter.accept_addresses = rules(entry)?;
                    Ok(())
                },
            },
            example: "\"10.0.0.[0-255]:[10000-10100]\"",
            effect: Effect::Restart,
            meaning: "Hosts and ports that clients may reach. Without it, all.",
        },
        Setting {
            key: "gateway.filter.reject-addresses",
            field: Field::Other {
                kind: Kind::Texts("rule, such as \"db*.example.com:[1000-2000]\""),
                default: None,
                set: |entry, draft| {
                    draft.gateway().filter.reject_addresses = rules(entry)?;
                    Ok(())
                },
            },
            example: "\"10.0.0.1\"",
            effect: Effect::Restart,
            meaning: "Hosts and ports that clients may not reach.",
        },
        Setting {
            key: "gateway.filter.proxy-bytes",
            field: Field::OptionalBytes(|draft| &mut draft.gateway().filter.proxy_len_max),
            example: "500",
            effect: Effect::Restart,
            meaning: "How long the text of a proxy may be that a client registers. Without it, there is no such limit.",
        },
        Setting {
            key: "gateway.filter.accept-categories",
            field: Field::Texts("a category", |draft| {
                &mut draft.gateway().filter.accept_categories
            }),
            example: "[\"orders\"]",
            effect: Effect::Restart,
            meaning: "Categories that clients may reach. A request passes if one of the sets of categories, identities and adapter ids \
                      has its object, or if none is set.",
        },
        Setting {
            key: "gateway.filter.accept-user",
            field: choice!(USER_CATEGORIES, Some("\"no\""), |draft, category| {
                draft.gateway().filter.accept_user_category = category;
            }),
            example: "\"name\"",
            effect: Effect::Restart,
            meaning: "Whether the user's name is one of these categories: no, as it is, or with an underscore in front.",
        },
        Setting {
            key: "gateway.filter.accept-identities",
            field: Field::Other {
                kind: Kind::Texts("identity, such as category/name"),
                default: None,
                set: |entry, draft| {
                    draft.gateway().filter.accept_identities = identities(entry)?;
                    Ok(())
                },
            },
            example: "\"orders/desk\"",
            effect: Effect::Restart,
            meaning: "Identities that clients may reach.",
        },
        Setting {
            key: "gateway.filter.accept-adapter-ids",
            field: Field::Texts("the id of an adapter", |draft| {
                &mut draft.gateway().filter.accept_adapter_ids
            }),
            example: "[\"Orders\"]",
            effect: Effect::Restart,
            meaning: "Adapter ids that clients may reach. Proxies without an adapter id are subject to the other two lists alone.",
        },
    ],
};

/// The settings of the queues of one direction.
macro_rules! forwarding {
    ($table:literal, $field:ident) => {
        &[
            Setting {
                key: concat!("gateway.", $table, ".forward-context"),
                field: Field::Bool(|draft| &mut draft.gateway().$field.forward_context),
                example: "true",
                effect: Effect::Restart,
                meaning: "Whether the context of a request is forwarded with it.",
            },
            Setting {
                key: concat!("gateway.", $table, ".buffered"),
                field: Field::Bool(|draft| &mut draft.gateway().$field.buffered),
                example: "false",
                effect: Effect::Restart,
                meaning: "Whether requests wait in a queue.",
            },
            Setting {
                key: concat!("gateway.", $table, ".sleep-time"),
                field: Field::TimeOr("none", Duration::ZERO, |draft| {
                    &mut draft.gateway().$field.sleep_time
                }),
                example: "\"20ms\"",
                effect: Effect::Restart,
                meaning: "How long a queue pauses after it has sent requests.",
            },
            Setting {
                key: concat!("gateway.", $table, ".batching"),
                field: choice!(BATCHINGS, Some("\"adaptive\""), |draft, batching| {
                    draft.gateway().$field.batching = batching;
                }),
                example: "\"always\"",
                effect: Effect::Restart,
                meaning: "Which oneway requests are sent in batches.",
            },
            Setting {
                key: concat!("gateway.", $table, ".batch-bytes"),
                field: Field::Bytes(|draft| &mut draft.gateway().$field.batch_len_max),
                example: "\"16 KiB\"",
                effect: Effect::Restart,
                meaning: "The largest length of a batch.",
            },
            Setting {
                key: concat!("gateway.", $table, ".compressions"),
                field: Field::Other {
                    kind: Kind::Texts("compression: zstd-batch, zstd-stream, zstd, brotli or bzip2"),
                    default: Some("[\"zstd-batch\", \"zstd-stream\", \"zstd\", \"brotli\"]"),
                    set: |entry, draft| {
                        draft.gateway().$field.compressions = compressions(entry)?;
                        Ok(())
                    },
                },
                example: "[\"zstd\", \"brotli\"]",
                effect: Effect::Restart,
                meaning: "Compressions towards Floe peers, the preferred one first, for requests with `z` in `_fwd`. All others get bzip2.",
            },
            Setting {
                key: concat!("gateway.", $table, ".queue-requests"),
                field: Field::Count(|draft| &mut draft.gateway().$field.queue_requests),
                example: "100",
                effect: Effect::Restart,
                meaning: "How many requests a queue holds.",
            },
            Setting {
                key: concat!("gateway.", $table, ".queue-bytes"),
                field: Field::Bytes(|draft| &mut draft.gateway().$field.queue_bytes),
                example: "\"1 MiB\"",
                effect: Effect::Restart,
                meaning: "How long the requests of a queue may be together.",
            },
        ]
    };
}

/// Each session has a queue for each server.
pub(super) const TO_SERVERS: Table = Table {
    rows: forwarding!("to-servers", to_servers),
};

/// Each session has a queue for its client.
pub(super) const TO_CLIENTS: Table = Table {
    rows: forwarding!("to-clients", to_clients),
};

const PASSWORDS: &str = "the name of a file with users and hashes of passwords";

const CONNECTION_CONTEXTS: [(&str, ConnectionContext); 3] = [
    ("off", ConnectionContext::Off),
    ("all", ConnectionContext::All),
    ("application", ConnectionContext::Application),
];

const USER_CATEGORIES: [(&str, UserCategory); 3] = [
    ("no", UserCategory::Not),
    ("name", UserCategory::Name),
    ("underscored", UserCategory::Underscored),
];

const BATCHINGS: [(&str, Batching); 3] = [
    ("off", Batching::Off),
    ("adaptive", Batching::Adaptive),
    ("always", Batching::Always),
];
