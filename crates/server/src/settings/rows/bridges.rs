//! Settings of bridges. `floe-bridges` reads them from lists of tables; this file documents them for the reference.

use crate::settings::setting::{Effect, Field, Kind, Setting, Table};

/// A row that `floe-bridges` reads.
const fn setting(
    key: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    example: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting {
        key,
        field: Field::Other {
            kind,
            default,
            set: |_, _| Ok(()),
        },
        example,
        effect: Effect::Restart,
        meaning,
    }
}

const DIRECTIONS: &[&str] = &["in", "out", "both"];

/// The rows of the topics of a world, which are alike, behind its own rows.
macro_rules! world {
    ($world:literal, $($own:expr),* $(,)?) => {
        Table {
            rows: &[
                $($own,)*
                setting(
                    concat!("bridge.", $world, ".topic[].topic"),
                    Kind::Text("a topic"),
                    None,
                    "\"ticks\"",
                    "The topic of the hub. It is created if it does not exist.",
                ),
                setting(
                    concat!("bridge.", $world, ".topic[].interface"),
                    Kind::Text("the type id of an interface"),
                    None,
                    "\"::Demo::Ticker\"",
                    "The interface of its events, of `contracts.files`: each operation is a kind of event.",
                ),
                setting(
                    concat!("bridge.", $world, ".topic[].name"),
                    Kind::Text("a name"),
                    None,
                    "\"Ticks\"",
                    "The name of the topic over there; by default the one of the hub.",
                ),
                setting(
                    concat!("bridge.", $world, ".topic[].direction"),
                    Kind::OneOf(DIRECTIONS),
                    Some("\"both\""),
                    "\"in\"",
                    "Which way events go: `in` to the hub, `out` of it, or `both`.",
                ),
            ],
        }
    };
}

pub(super) const CONTRACTS: Table = Table {
    rows: &[
        setting(
            "contracts.files",
            Kind::Texts("a Slice file"),
            None,
            "[\"Ticker.ice\"]",
            "The Slice files of which bridges take the interfaces of their topics. Relative names start at the folder of this file.",
        ),
        setting(
            "contracts.include-dirs",
            Kind::Texts("a folder"),
            None,
            "[\"slice\"]",
            "Folders to search for included files.",
        ),
    ],
};

pub(super) const AMQP: Table = world!(
    "amqp",
    setting(
        "bridge.amqp.listen",
        Kind::Text("an address with a port"),
        Some("\"127.0.0.1:5672\""),
        "\"127.0.0.1:5673\"",
        "Where programs that speak AMQP 1.0 connect, JMS programs among them: an address of loopback.",
    ),
    setting(
        "bridge.amqp.passwords",
        Kind::Text("a file"),
        None,
        "\"users.txt\"",
        "The users' file: a name and a hash of a password in each line. With it, programs must show a password; without it, none is asked. A relative name starts at the folder of this file.",
    ),
    setting(
        "bridge.amqp.topic[].body",
        Kind::OneOf(&["text", "map"]),
        Some("\"text\""),
        "\"map\"",
        "The messages that programs get: TextMessages with JSON, or MapMessages. They may send both.",
    ),
);

pub(super) const CORBA: Table = world!(
    "corba",
    setting(
        "bridge.corba.listen",
        Kind::Text("an address with a port"),
        Some("\"127.0.0.1:2809\""),
        "\"127.0.0.1:2810\"",
        "Where CORBA programs connect by IIOP: an address of loopback.",
    ),
    setting(
        "bridge.corba.consumer-networks",
        Kind::Texts("an address or network"),
        None,
        "[\"10.1.0.0/16\"]",
        "The networks to whose consumers the bridge connects; by default this computer.",
    ),
    setting(
        "bridge.corba.message-len-max",
        Kind::Count,
        Some("4194304"),
        "1048576",
        "The longest message of a program, in bytes.",
    ),
    setting(
        "bridge.corba.connections-max",
        Kind::Count,
        Some("256"),
        "1000",
        "The most connections of programs at a time. Further ones are closed at once.",
    ),
    setting(
        "bridge.corba.consumers-max",
        Kind::Count,
        Some("256"),
        "1000",
        "The most consumers of a channel.",
    ),
    setting(
        "bridge.corba.consumer-window",
        Kind::Count,
        Some("1"),
        "16",
        "How many pushes a consumer may have at a time before it answers. ORBs run requests of one connection side by side, and then events lose their order.",
    ),
    setting(
        "bridge.corba.consumer-patience",
        Kind::Count,
        Some("60"),
        "10",
        "The seconds for which a consumer that cannot be reached is tried, before it is disconnected.",
    ),
);

pub(super) const DDS: Table = world!(
    "dds",
    setting(
        "bridge.dds.domain",
        Kind::Number,
        Some("0"),
        "7",
        "The domain, 0 to 232.",
    ),
    setting(
        "bridge.dds.interfaces",
        Kind::Texts("an address"),
        Some("[\"127.0.0.1\"]"),
        "[\"10.1.0.5\"]",
        "The addresses of the interfaces that are used, and no others.",
    ),
    setting(
        "bridge.dds.peers",
        Kind::Texts("an address"),
        Some("[\"127.0.0.1\"]"),
        "[\"10.1.0.6\"]",
        "Hosts that may take part, and to which the bridge announces itself, at the standard ports of their first ten participants.",
    ),
    setting(
        "bridge.dds.multicast",
        Kind::Bool,
        Some("false"),
        "true",
        "Also announces itself to the standard's multicast group, hears those who do, and lets all hosts of the networks of the interfaces take part.",
    ),
);

pub(super) const SOAP: Table = world!(
    "soap",
    setting(
        "bridge.soap.listen",
        Kind::Text("an address with a port"),
        Some("\"127.0.0.1:8070\""),
        "\"127.0.0.1:8071\"",
        "Where SOAP programs connect by HTTP. `?wsdl` gives the contract.",
    ),
    setting(
        "bridge.soap.clients",
        Kind::Texts("a network"),
        None,
        "[\"10.1.0.0/16\"]",
        "The networks whose programs may call; by default this computer. To listen elsewhere, it must be set.",
    ),
    setting(
        "bridge.soap.consumers",
        Kind::Texts("a network"),
        None,
        "[\"10.1.0.0/16\"]",
        "The networks to which events are pushed; by default this computer if `listen` is on loopback, and none otherwise.",
    ),
    setting(
        "bridge.soap.hosts",
        Kind::Texts("a host"),
        None,
        "[\"hub.example.com\"]",
        "Names of this computer that programs may use in URLs, beside IP addresses and `localhost`.",
    ),
    setting(
        "bridge.soap.namespace",
        Kind::Text("a URI"),
        Some("\"urn:floe:slice\""),
        "\"urn:example:events\"",
        "The beginning of the XML namespaces of the contract.",
    ),
    setting(
        "bridge.soap.lease-seconds",
        Kind::Count,
        Some("86400"),
        "3600",
        "The longest lease of a subscription, and the one of those that ask for none, in seconds.",
    ),
    setting(
        "bridge.soap.idle-seconds",
        Kind::Count,
        Some("600"),
        "60",
        "How long a pull point may be without a request before it ends, in seconds.",
    ),
    setting(
        "bridge.soap.away-seconds",
        Kind::Count,
        Some("60"),
        "600",
        "How long a consumer may be away before its subscription ends, in seconds.",
    ),
);
