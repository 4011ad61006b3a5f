//! Settings of access. `floe-access` reads them from lists of tables; this file documents them for the reference.

use crate::settings::setting::{Effect, Field, Kind, Setting, Table};

/// A row that `floe-access` reads.
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
        effect: Effect::Immediate,
        meaning,
    }
}

pub(super) const TABLE: Table = Table {
    rows: &[
        setting(
            "access.users",
            Kind::Text("a file"),
            None,
            "\"users.txt\"",
            "The users' file: a name and a hash of a password in each line.",
        ),
        setting(
            "access.audit",
            Kind::Text("a file"),
            None,
            "\"audit.jsonl\"",
            "The file that gets a line of JSON for each refusal. Without it, refusals are in the log.",
        ),
        setting(
            "access.tokens.keys",
            Kind::Text("a file"),
            None,
            "\"keys.pem\"",
            "The public keys that signed tokens are checked with. The other settings of tokens need it.",
        ),
        setting(
            "access.tokens.issuer",
            Kind::Text("a text"),
            None,
            "\"https://issuer.example\"",
            "The issuer that a token must name.",
        ),
        setting(
            "access.tokens.audience",
            Kind::Text("a text"),
            None,
            "\"floe\"",
            "The audience that a token must name.",
        ),
        setting(
            "access.networks.NAME",
            Kind::Texts("address or network, such as 10.1.0.0/16"),
            None,
            "\"10.1.0.0/16\"",
            "A network by the name `NAME`, for rules.",
        ),
        setting(
            "access.groups.NAME",
            Kind::Texts("user"),
            None,
            "[\"ann\", \"bob\"]",
            "A group of users by the name `NAME`, for rules.",
        ),
        setting(
            "access.rule[].allow",
            Kind::Texts("action"),
            None,
            "[\"publish\", \"subscribe\"]",
            "The actions that the rule allows, or `\"*\"` for all. A rule has either this or `deny`. The first rule that matches decides; without rules, everyone may do \
             everything.",
        ),
        setting(
            "access.rule[].deny",
            Kind::Texts("action"),
            None,
            "\"*\"",
            "The actions that the rule denies.",
        ),
        setting(
            "access.rule[].topics",
            Kind::Texts("pattern of names of topics"),
            None,
            "\"telemetry.*\"",
            "The topics that the rule is about: `*` stands for any characters, `?` for one. Without it, all topics and the hub itself.",
        ),
        setting(
            "access.rule[].identities",
            Kind::Texts("pattern of identities"),
            None,
            "\"orders/*\"",
            "The objects that clients of a gateway `call`, by their identities. Without this and the next three, all objects.",
        ),
        setting(
            "access.rule[].categories",
            Kind::Texts("pattern of categories"),
            None,
            "\"orders\"",
            "The objects that clients of a gateway `call`, by the category of their identities.",
        ),
        setting(
            "access.rule[].adapters",
            Kind::Texts("pattern of adapter ids"),
            None,
            "\"Orders\"",
            "The objects that clients of a gateway `call`, by the id of the adapter where the locator finds them.",
        ),
        setting(
            "access.rule[].operations",
            Kind::Texts("pattern of operations"),
            None,
            "\"get*\"",
            "The operations that clients of a gateway call.",
        ),
        setting(
            "access.rule[].anyone",
            Kind::Bool,
            Some("false"),
            "true",
            "Whether the rule is about every caller. Otherwise it has one or more of `users`, `groups`, `certificate` and `networks`, and all of them must hold.",
        ),
        setting(
            "access.rule[].users",
            Kind::Texts("user"),
            None,
            "\"ann\"",
            "The users that the rule is about, by the names that tokens prove; `\"*\"` is everyone with a name.",
        ),
        setting(
            "access.rule[].groups",
            Kind::Texts("group"),
            None,
            "\"operators\"",
            "The groups that the rule is about, of `[access.groups]` or of the claim `groups` of a token.",
        ),
        setting(
            "access.rule[].certificate",
            Kind::Text("a distinguished name, or parts of it"),
            None,
            "\"O=Example\"",
            "What the subject of the caller's certificate must contain, in the syntax of `IceSSL.TrustOnly`.",
        ),
        setting(
            "access.rule[].networks",
            Kind::Texts("network"),
            None,
            "\"loopback\"",
            "The networks that the caller must connect from, of `[access.networks]`; `loopback` and `any` are always there.",
        ),
        setting(
            "access.rule[].callbacks",
            Kind::Texts("network"),
            None,
            "\"loopback\"",
            "The networks in which the hub may call subscribers and linked topics, besides the host of the caller.",
        ),
    ],
};
