//! Settings of connections: their limits, how their peers prove to be alive, their encryption, and the locator.

use std::time::Duration;

use floe::settings::{Heartbeats, IdleCheck};
use floe::tls::ClientCertificates;

use crate::settings::setting::{Effect, Field, Kind, Setting, Table, choice};
use crate::values::locator;

pub(super) const LIMITS: Table = Table {
    rows: &[
        Setting {
            key: "connections.limit",
            field: Field::Count(|draft| &mut draft.communicator().connection_limit),
            example: "100",
            effect: Effect::Restart,
            meaning: "How many connections of peers may be open. The hub closes further ones.",
        },
        Setting {
            key: "connections.limit-per-address",
            field: Field::OptionalCount(|draft| {
                &mut draft.communicator().connection_limit_per_address
            }),
            example: "1000",
            effect: Effect::Restart,
            meaning: "How many connections from one address may be open; of IPv6 addresses, the first 64 bits count. All Unix sockets together count as one address.",
        },
        Setting {
            key: "connections.handshakes",
            field: Field::Count(|draft| &mut draft.communicator().handshake_limit),
            example: "20",
            effect: Effect::Restart,
            meaning: "How many connections of an endpoint may be in a TLS handshake or open a WebSocket. If one more arrives, the oldest \
                      of them is dropped.",
        },
        Setting {
            key: "connections.message-bytes",
            field: Field::Bytes(|draft| &mut draft.communicator().message_size_max),
            example: "\"4 MiB\"",
            effect: Effect::Restart,
            meaning: "The largest message that a peer may send.",
        },
        Setting {
            key: "connections.receive-buffer",
            field: Field::OptionalBytes(|draft| &mut draft.communicator().tcp_receive_buffer),
            example: "\"1 MiB\"",
            effect: Effect::Restart,
            meaning: "The receive buffer of each TCP socket in the system, which by default grows by itself. If the system gives less, the log says so.",
        },
        Setting {
            key: "connections.send-buffer",
            field: Field::OptionalBytes(|draft| &mut draft.communicator().tcp_send_buffer),
            example: "\"1 MiB\"",
            effect: Effect::Restart,
            meaning: "The send buffer of each TCP socket, with the same rules.",
        },
        Setting {
            key: "connections.message-timeout",
            field: Field::TimeOr("never", Duration::MAX, |draft| {
                &mut draft.communicator().message_timeout
            }),
            example: "\"5s\"",
            effect: Effect::Restart,
            meaning: "How long the rest of a message may take after its first bytes, apart from the time that `message-rate` gives it.",
        },
        Setting {
            key: "connections.message-rate",
            field: Field::Bytes(|draft| &mut draft.communicator().message_rate_min),
            example: "\"1 KiB\"",
            effect: Effect::Restart,
            meaning: "The least rate at which a message must arrive, in bytes a second.",
        },
        Setting {
            key: "connections.unfinished-bytes",
            field: Field::Bytes(|draft| &mut draft.communicator().input_memory_max),
            example: "\"64 MiB\"",
            effect: Effect::Restart,
            meaning: "How many bytes of unfinished messages all connections together may hold.",
        },
        Setting {
            key: "connections.reply-bytes",
            field: Field::Bytes(|draft| &mut draft.communicator().reply_memory_max),
            example: "\"64 MiB\"",
            effect: Effect::Restart,
            meaning: "How many bytes of replies that peers do not read all connections together may hold. A connection that needs more is \
                      closed.",
        },
        Setting {
            key: "connections.compressed-streams",
            field: Field::Count(|draft| &mut draft.communicator().compression_streams_max),
            example: "500",
            effect: Effect::Restart,
            meaning: "How many streams of the compression zstd-stream all connections together may have, one for each direction. Each holds 1.2 \
                      MiB to receive or 3 MiB to send. A peer that begins one more loses its connection.",
        },
        Setting {
            key: "connections.inflation-ratio",
            field: Field::Count(|draft| &mut draft.communicator().inflation_ratio_max),
            example: "200",
            effect: Effect::Restart,
            meaning: "How many times as long as it arrived a compressed message may become.",
        },
        Setting {
            key: "connections.turn-requests",
            field: Field::Count(|draft| &mut draft.communicator().turn_requests_max),
            example: "100",
            effect: Effect::Restart,
            meaning: "How many requests of one connection are dispatched before other connections have their turn.",
        },
        Setting {
            key: "connections.turn-inflated-bytes",
            field: Field::Bytes(|draft| &mut draft.communicator().turn_inflated_max),
            example: "\"1 MiB\"",
            effect: Effect::Restart,
            meaning: "How many bytes compressed messages of one connection may become before other connections have their turn.",
        },
        Setting {
            key: "connections.turn-time",
            field: Field::Time(|draft| &mut draft.communicator().turn_time_max),
            example: "\"2ms\"",
            effect: Effect::Restart,
            meaning: "How long requests of one connection are dispatched before other connections have their turn.",
        },
        Setting {
            key: "connections.web-origins",
            field: Field::Texts("an origin, such as https://example.org", |draft| {
                &mut draft.communicator().websocket_origins
            }),
            example: "[\"https://example.org\"]",
            effect: Effect::Restart,
            meaning: "The web pages that may open a WebSocket, by their origins; `*` is any. Without it, none may. Programs need no \
                      origin.",
        },
    ],
};

pub(super) const LIVENESS: Table = Table {
    rows: &[
        Setting {
            key: "liveness.heartbeats",
            field: choice!(HEARTBEATS, Some("\"when-silent\""), |draft, heartbeats| {
                draft.incoming().heartbeats = heartbeats;
            }),
            example: "\"always\"",
            effect: Effect::Restart,
            meaning: "When the hub sends heartbeats to its peers.",
        },
        Setting {
            key: "liveness.heartbeat-interval",
            field: Field::Time(|draft| &mut draft.incoming().heartbeat_interval),
            example: "\"5s\"",
            effect: Effect::Restart,
            meaning: "The time between two heartbeats.",
        },
        Setting {
            key: "liveness.idle-check",
            field: choice!(IDLE_CHECKS, Some("\"while-reply-due\""), |draft, check| {
                draft.incoming().idle_check = check;
            }),
            example: "\"always\"",
            effect: Effect::Restart,
            meaning: "When the hub gives up a connection over which nothing arrives.",
        },
        Setting {
            key: "liveness.idle-timeout",
            field: Field::Time(|draft| &mut draft.incoming().idle_timeout),
            example: "\"30s\"",
            effect: Effect::Restart,
            meaning: "How long nothing may arrive before the hub gives a connection up.",
        },
        Setting {
            key: "liveness.inactivity-timeout",
            field: Field::OptionalTime("never", |draft| &mut draft.incoming().inactivity_timeout),
            example: "\"5m\"",
            effect: Effect::Restart,
            meaning: "How long a connection may be without requests before the hub closes it.",
        },
    ],
};

pub(super) const LOCATORS: Table = Table {
    rows: &[
        Setting {
            key: "locator",
            field: Field::Other {
                kind: Kind::Text(locator::WHAT),
                default: None,
                set: |entry, draft| {
                    let named = entry.parsed(locator::WHAT, locator::parse)?;
                    // That of the command line goes before it.
                    draft.communicator().locator.get_or_insert(named);
                    Ok(())
                },
            },
            example: "\"IceGrid/Locator:tcp -h grid.example -p 4061\"",
            effect: Effect::Restart,
            meaning: "The locator that finds subscribers whose proxies have no endpoints, and registers adapter ids.",
        },
        Setting {
            key: "locator-cache-timeout",
            field: Field::OptionalTime("never", |draft| {
                &mut draft.communicator().locator_cache_timeout
            }),
            example: "\"10s\"",
            effect: Effect::Restart,
            meaning: "How long an answer of the locator is valid, unless a connection fails.",
        },
    ],
};

pub(super) const TLS: Table = Table {
    rows: &[
        Setting {
            key: "tls.ca",
            field: Field::Other {
                kind: Kind::Texts(PEM),
                default: None,
                set: |entry, draft| {
                    let files = entry.texts(PEM)?;
                    draft.tls().set_ca(files);
                    Ok(())
                },
            },
            example: "\"ca.pem\"",
            effect: Effect::Restart,
            meaning: "The certificates of CAs that the hub trusts. Without it, clients need no certificate. The hub reads the file again \
                      with its settings.",
        },
        Setting {
            key: "tls.cert",
            field: Field::Other {
                kind: Kind::Text(PEM),
                default: None,
                set: |entry, draft| {
                    let file = entry.text(PEM)?;
                    draft.tls().set_cert(file);
                    Ok(())
                },
            },
            example: "\"own.pem\"",
            effect: Effect::Restart,
            meaning: "The certificate of the hub and those that sign it, or a `.p12` file with the key. The hub reads the file again \
                      with its settings.",
        },
        Setting {
            key: "tls.key",
            field: Field::Other {
                kind: Kind::Text(PEM),
                default: None,
                set: |entry, draft| {
                    let file = entry.text(PEM)?;
                    draft.tls().set_key(file);
                    Ok(())
                },
            },
            example: "\"own.key\"",
            effect: Effect::Restart,
            meaning: "The key of the certificate, if it is not in the same file. The hub reads the file again with its settings.",
        },
        Setting {
            key: "tls.client-certificates",
            field: choice!(CLIENT_CERTIFICATES, None, |draft, asked| draft
                .tls()
                .set_client_certificates(asked)),
            example: "\"verified\"",
            effect: Effect::Restart,
            meaning: "Whether clients must show a certificate, may show one, or are not asked. Without it, they must if `ca` is set.",
        },
        Setting {
            key: "tls.any-host",
            field: Field::Other {
                kind: Kind::Bool,
                default: Some("false"),
                set: |entry, draft| {
                    let any_host = entry.boolean()?;
                    draft.tls().set_any_host(any_host);
                    Ok(())
                },
            },
            example: "true",
            effect: Effect::Restart,
            meaning: "Whether the hub accepts the certificate of a server for any host, as Ice does, and not only for the host of the \
                      endpoint.",
        },
    ],
};

const PEM: &str = "the name of a PEM file";

const HEARTBEATS: [(&str, Heartbeats); 4] = [
    ("off", Heartbeats::Off),
    ("while-dispatching", Heartbeats::WhileDispatching),
    ("when-silent", Heartbeats::WhenSilent),
    ("always", Heartbeats::Always),
];

const IDLE_CHECKS: [(&str, IdleCheck); 3] = [
    ("off", IdleCheck::Off),
    ("while-reply-due", IdleCheck::WhileReplyDue),
    ("always", IdleCheck::Always),
];

const CLIENT_CERTIFICATES: [(&str, ClientCertificates); 3] = [
    ("required", ClientCertificates::Required),
    ("verified", ClientCertificates::Verified),
    ("not-asked", ClientCertificates::NotAsked),
];
