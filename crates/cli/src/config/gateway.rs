//! `[gateway]` of a `floe.toml`: the settings of a gateway by Floe's names.

use std::fs;

use floe::{Identity, Reference};
use floe_access::Users;
use floe_gateway::{
    AddressRule, AdminSettings, Batching, CertificateVerifier, ConnectionContext, FilterSettings,
    ForwardingSettings, GatewaySettings, PasswordVerifier, UserCategory,
};

use super::entry::{Entry, Problem, nearest};

/// Where a gateway listens that does not say it: the port that is registered for routers of Ice.
const LISTEN: &str = "tcp -h 127.0.0.1 -p 4063";

/// Where its administrative object listens that has a name alone.
const ADMIN_LISTEN: &str = "tcp -h 127.0.0.1 -p 4066";

/// A gateway of which nothing is said yet.
pub(super) fn new() -> GatewaySettings {
    GatewaySettings::new(LISTEN)
}

/// Applies a setting; `path` is its name within the table.
pub(super) fn apply(
    path: &[&str],
    entry: &Entry,
    gateway: &mut GatewaySettings,
) -> Result<(), Problem> {
    match path {
        ["listen"] => gateway.client_listen = entry.endpoints()?,
        ["published-endpoints"] => {
            gateway.client_published_endpoints = Some(entry.published_endpoints()?);
        }
        ["server-listen"] => gateway.server_listen = Some(entry.endpoints()?),
        ["server-published-endpoints"] => {
            gateway.server_published_endpoints = Some(entry.published_endpoints()?);
        }
        ["instance"] => gateway.instance_name = entry.text("a name")?,
        ["verifier"] => {
            let verifier = verifier(entry, "the proxy of a Glacier2::PermissionsVerifier")?;
            set_password_verifier(
                match verifier {
                    Some(proxy) => PasswordVerifier::Proxy(proxy),
                    None => PasswordVerifier::AcceptAll,
                },
                entry,
                gateway,
            )?;
        }
        ["passwords"] => {
            let file = entry.text("the name of a file with users and hashes of passwords")?;
            let users = users(&file).map_err(|wrong| problem(entry, &wrong))?;
            set_password_verifier(PasswordVerifier::Users(users), entry, gateway)?;
        }
        ["certificate-verifier"] => {
            let verifier = verifier(entry, "the proxy of a Glacier2::SSLPermissionsVerifier")?;
            gateway.certificate_verifier = Some(match verifier {
                Some(proxy) => CertificateVerifier::Proxy(proxy),
                None => CertificateVerifier::AcceptAll,
            });
        }
        ["session-manager"] => gateway.session_manager = Some(proxy(entry)?),
        ["certificate-session-manager"] => {
            gateway.certificate_session_manager = Some(proxy(entry)?);
        }
        ["session-timeout"] => gateway.session_timeout = entry.time_or("never")?,
        ["idle-timeout"] => gateway.idle_timeout = entry.time_or("never")?,
        ["resume-grace"] => gateway.resume_grace = entry.time_or("none")?,
        ["session-limit"] => gateway.session_limit = entry.count()?,
        ["user-session-limit"] => gateway.user_session_limit = Some(entry.count()?),
        ["address-session-limit"] => gateway.address_session_limit = Some(entry.count()?),
        ["user-request-rate"] => gateway.user_request_rate = Some(rate(entry)?),
        ["address-request-rate"] => gateway.address_request_rate = Some(rate(entry)?),
        ["application-timeout"] => gateway.application_timeout = entry.time()?,
        ["connection-context"] => {
            gateway.connection_context = entry.one_of(&CONNECTION_CONTEXTS)?
        }
        ["routing-table"] => gateway.routing_table_max = entry.count()?,
        ["routing-table-bytes"] => gateway.routing_table_bytes = entry.bytes()?,
        ["admin", "listen"] => {
            let listen = entry.endpoints()?;
            match &mut gateway.admin {
                Some(admin) => admin.listen = listen,
                None => gateway.admin = Some(AdminSettings::new(listen)),
            }
        }
        ["admin", "instance"] => {
            let admin = gateway
                .admin
                .get_or_insert_with(|| AdminSettings::new(ADMIN_LISTEN));
            admin.instance_name = entry.text("a name")?;
        }
        ["filter", key] => return apply_filter(key, entry, &mut gateway.filter),
        ["to-servers", key] => return apply_forwarding(key, entry, &mut gateway.to_servers),
        ["to-clients", key] => return apply_forwarding(key, entry, &mut gateway.to_clients),
        _ => return Err(unknown(entry)),
    }
    Ok(())
}

fn apply_filter(key: &str, entry: &Entry, filter: &mut FilterSettings) -> Result<(), Problem> {
    match key {
        "accept-addresses" => filter.accept_addresses = rules(entry)?,
        "reject-addresses" => filter.reject_addresses = rules(entry)?,
        "proxy-bytes" => filter.proxy_len_max = Some(entry.bytes()?),
        "accept-categories" => filter.accept_categories = entry.texts("a category")?,
        "accept-user" => filter.accept_user_category = entry.one_of(&USER_CATEGORIES)?,
        "accept-identities" => {
            let texts = entry.texts("an identity, such as category/name")?;
            let parsed = texts.iter().map(|text| {
                let parsed: Result<Identity, _> = text.parse();
                parsed.map_err(|error| problem(entry, &format!("`{text}` is no identity: {error}")))
            });
            filter.accept_identities = parsed.collect::<Result<_, _>>()?;
        }
        "accept-adapter-ids" => filter.accept_adapter_ids = entry.texts("the id of an adapter")?,
        _ => return Err(unknown(entry)),
    }
    Ok(())
}

fn apply_forwarding(
    key: &str,
    entry: &Entry,
    forwarding: &mut ForwardingSettings,
) -> Result<(), Problem> {
    match key {
        "forward-context" => forwarding.forward_context = entry.boolean()?,
        "buffered" => forwarding.buffered = entry.boolean()?,
        "sleep-time" => forwarding.sleep_time = entry.time_or("none")?.unwrap_or_default(),
        "batching" => forwarding.batching = entry.one_of(&BATCHINGS)?,
        "batch-bytes" => forwarding.batch_len_max = entry.bytes()?,
        "queue-requests" => forwarding.queue_requests = entry.count()?,
        "queue-bytes" => forwarding.queue_bytes = entry.bytes()?,
        _ => return Err(unknown(entry)),
    }
    Ok(())
}

/// Requests a second.
fn rate(entry: &Entry) -> Result<u32, Problem> {
    let count = entry.count()?;
    u32::try_from(count).map_err(|_| {
        problem(
            entry,
            &format!("expected at most {} a second, got {count}", u32::MAX),
        )
    })
}

/// There is one verifier of passwords.
pub(super) fn set_password_verifier(
    verifier: PasswordVerifier,
    entry: &Entry,
    gateway: &mut GatewaySettings,
) -> Result<(), Problem> {
    if gateway.password_verifier.is_some() {
        let wrong =
            "expected one verifier of passwords, got a second one: keep `passwords` or `verifier`";
        return Err(problem(entry, wrong));
    }
    gateway.password_verifier = Some(verifier);
    Ok(())
}

/// The users of a file of passwords.
///
/// # Errors
/// What is wrong with the file or its text.
pub(super) fn users(file: &str) -> Result<Users, String> {
    let text = fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))?;
    Users::parse(&text).map_err(|problems| format!("{file}: {problems}"))
}

/// A proxy, or none for `accept-all`.
fn verifier(entry: &Entry, what: &str) -> Result<Option<Reference>, Problem> {
    match entry.text(&format!("{what}, or \"accept-all\""))?.as_str() {
        "accept-all" => Ok(None),
        _ => proxy(entry).map(Some),
    }
}

fn proxy(entry: &Entry) -> Result<Reference, Problem> {
    entry.parsed("a proxy", |text| {
        let parsed: Result<Reference, _> = text.parse();
        parsed.map_err(|error| format!("`{text}` is no proxy: {error}"))
    })
}

fn rules(entry: &Entry) -> Result<Vec<AddressRule>, Problem> {
    let texts = entry.texts("a rule, such as \"db*.example.com:[1000-2000]\"")?;
    let parsed = texts.iter().map(|text| {
        let parsed: Result<AddressRule, _> = text.parse();
        parsed.map_err(|error| problem(entry, &error.to_string()))
    });
    parsed.collect()
}

fn problem(entry: &Entry, wrong: &str) -> Problem {
    Problem::new(entry.line, format_args!("{}: {wrong}", entry.name()))
}

fn unknown(entry: &Entry) -> Problem {
    let name = entry.name();
    let within = name.strip_prefix("gateway.").unwrap_or(&name);
    let help = match nearest(within, &NAMES) {
        Some(nearest) => format!("did you mean gateway.{nearest}?"),
        None => format!("expected in [gateway] one of {}", NAMES.join(", ")),
    };
    Problem::new(entry.line, format_args!("unknown setting {name}: {help}"))
}

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

/// All settings of a gateway, for those who mistype one.
const NAMES: [&str; 45] = [
    "resume-grace",
    "user-session-limit",
    "address-session-limit",
    "user-request-rate",
    "address-request-rate",
    "routing-table-bytes",
    "admin.instance",
    "admin.listen",
    "listen",
    "published-endpoints",
    "server-listen",
    "server-published-endpoints",
    "instance",
    "verifier",
    "passwords",
    "certificate-verifier",
    "session-manager",
    "certificate-session-manager",
    "session-timeout",
    "idle-timeout",
    "session-limit",
    "application-timeout",
    "connection-context",
    "routing-table",
    "filter.accept-addresses",
    "filter.reject-addresses",
    "filter.proxy-bytes",
    "filter.accept-categories",
    "filter.accept-user",
    "filter.accept-identities",
    "filter.accept-adapter-ids",
    "to-servers.forward-context",
    "to-servers.buffered",
    "to-servers.sleep-time",
    "to-servers.batching",
    "to-servers.batch-bytes",
    "to-servers.queue-requests",
    "to-servers.queue-bytes",
    "to-clients.forward-context",
    "to-clients.buffered",
    "to-clients.sleep-time",
    "to-clients.batching",
    "to-clients.batch-bytes",
    "to-clients.queue-requests",
    "to-clients.queue-bytes",
];
