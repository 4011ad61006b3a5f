//! `floe.toml`: the settings of a hub by Floe's names, and what it shares with a gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use floe::{ClientCertificates, Heartbeats, IdleCheck};
use floe_hub::{HubLimits, OverflowPolicy, QueueLimits, StoreSettings};
use toml::de::{DeTable, DeValue};

use super::admin::Admin;
use super::entry::{Entry, Problem, Value, nearest};
use super::{Configuration, LEVELS, gateway};
use crate::locator;

/// The settings, and all that is wrong with the text.
pub(super) fn read(text: &str, configuration: &mut Configuration) -> Vec<Problem> {
    let entries = match entries(text) {
        Ok(entries) => entries,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    let mut topics = BTreeMap::new();
    let mut admin = Admin::default();
    for entry in &entries {
        let applied = match entry.words()[..] {
            ["topic", name, "queue", key] => {
                let own: &mut Vec<_> = topics.entry(name.to_owned()).or_default();
                own.push((key.to_owned(), entry));
                Ok(())
            }
            ["admin", _] | ["metrics", _, _] => apply_admin(entry, &mut admin),
            ["gateway", ref path @ ..] if !path.is_empty() => {
                let gateway = configuration.gateway.get_or_insert_with(gateway::new);
                gateway::apply(path, entry, gateway)
            }
            _ => apply(entry, configuration),
        };
        problems.extend(applied.err());
    }
    // After all others: what a topic does not say is as for every topic.
    for (name, keys) in topics {
        let mut limits = configuration.hub.queue_limits;
        for (key, entry) in keys {
            problems.extend(queue(&key, entry, &mut limits).err());
        }
        configuration.hub.topic_queue_limits.insert(name, limits);
    }
    admin.service_name = Some(configuration.hub.instance_name.clone());
    admin
        .instance_name
        .get_or_insert_with(|| configuration.hub.instance_name.clone());
    configuration.hub.admin = admin.finish("admin.listen", &mut problems);
    problems.extend(super::access::read(text, configuration));
    if !configuration.has_hub && configuration.gateway.is_none() {
        let message =
            "expected a [gateway] where there is no hub, got none: nothing would be served";
        problems.push(Problem::new(0, message));
    }
    problems.sort_by_key(|problem| problem.line);
    problems
}

fn apply(entry: &Entry, configuration: &mut Configuration) -> Result<(), Problem> {
    let hub = &mut configuration.hub;
    let communicator = &mut configuration.communicator;
    let incoming = &mut communicator.incoming;
    match entry.words()[..] {
        ["listen"] => hub.listen = entry.endpoints()?,
        ["publish-listen"] => hub.publish_listen = Some(entry.endpoints()?),
        ["published-endpoints"] => hub.published_endpoints = Some(entry.published_endpoints()?),
        ["publish-published-endpoints"] => {
            hub.publish_published_endpoints = Some(entry.published_endpoints()?);
        }
        ["adapter-id"] => hub.adapter_id = Some(entry.text("an adapter id")?),
        ["replica-group-id"] => hub.replica_group_id = Some(entry.text("a replica group id")?),
        ["publish-adapter-id"] => hub.publish_adapter_id = Some(entry.text("an adapter id")?),
        ["publish-replica-group-id"] => {
            hub.publish_replica_group_id = Some(entry.text("a replica group id")?);
        }
        ["hub"] => configuration.has_hub = entry.boolean()?,
        ["instance"] => hub.instance_name = entry.text("a name")?,
        ["data"] => hub.store = StoreSettings::Disk(entry.text("a directory")?.into()),
        ["drain-timeout"] => hub.drain_timeout = entry.time()?,
        ["log"] => configuration.log = Some(entry.one_of(&LEVELS)?.to_owned()),
        ["delivery", "flush-interval"] => hub.flush_interval = entry.time()?,
        ["delivery", "flush-bytes"] => hub.flush_bytes = entry.bytes()?,
        ["delivery", "rest-max"] => hub.rest_max = entry.time_or("none")?.unwrap_or_default(),
        ["delivery", "polling"] => hub.polling = entry.time_within(POLLING_MAX, "none")?,
        ["delivery", "send-timeout"] => hub.send_timeout = entry.time_or("never")?,
        ["delivery", "discard-interval"] => {
            let interval = entry.time_or("for ever")?;
            hub.discard_interval = interval.unwrap_or(Duration::MAX);
        }
        ["queue", key] => return queue(key, entry, &mut hub.queue_limits),
        ["limits", key] => return limits(key, entry, &mut hub.limits),
        ["connections", "limit"] => communicator.connection_limit = entry.count()?,
        ["connections", "limit-per-address"] => {
            communicator.connection_limit_per_address = Some(entry.count()?);
        }
        ["connections", "handshakes"] => communicator.handshake_limit = entry.count()?,
        ["connections", "message-bytes"] => communicator.message_size_max = entry.bytes()?,
        ["connections", "message-timeout"] => {
            let timeout = entry.time_or("never")?;
            communicator.message_timeout = timeout.unwrap_or(Duration::MAX);
        }
        ["connections", "message-rate"] => communicator.message_rate_min = entry.bytes()?,
        ["connections", "unfinished-bytes"] => communicator.input_memory_max = entry.bytes()?,
        ["connections", "reply-bytes"] => communicator.reply_memory_max = entry.bytes()?,
        ["connections", "inflation-ratio"] => communicator.inflation_ratio_max = entry.count()?,
        ["connections", "turn-requests"] => communicator.turn_requests_max = entry.count()?,
        ["connections", "turn-inflated-bytes"] => communicator.turn_inflated_max = entry.bytes()?,
        ["connections", "turn-time"] => communicator.turn_time_max = entry.time()?,
        ["connections", "web-origins"] => {
            communicator.websocket_origins =
                entry.texts("an origin, such as https://example.org")?;
        }
        ["liveness", "heartbeats"] => incoming.heartbeats = entry.one_of(&HEARTBEATS)?,
        ["liveness", "heartbeat-interval"] => incoming.heartbeat_interval = entry.time()?,
        ["liveness", "idle-check"] => incoming.idle_check = entry.one_of(&IDLE_CHECKS)?,
        ["liveness", "idle-timeout"] => incoming.idle_timeout = entry.time()?,
        ["liveness", "inactivity-timeout"] => {
            incoming.inactivity_timeout = entry.time_or("never")?;
        }
        ["locator"] => {
            let named = entry.parsed(locator::WHAT, locator::parse)?;
            // That of the command line goes before it.
            communicator.locator.get_or_insert(named);
        }
        ["locator-cache-timeout"] => communicator.locator_cache_timeout = entry.time_or("never")?,
        ["tls", "ca"] => configuration.tls.set_ca(entry.texts(PEM)?),
        ["tls", "cert"] => configuration.tls.set_cert(entry.text(PEM)?),
        ["tls", "key"] => configuration.tls.set_key(entry.text(PEM)?),
        ["tls", "client-certificates"] => {
            let asked = entry.one_of(&CLIENT_CERTIFICATES)?;
            configuration.tls.set_client_certificates(asked);
        }
        ["tls", "any-host"] => configuration.tls.set_any_host(entry.boolean()?),
        _ => return Err(unknown(entry)),
    }
    Ok(())
}

fn apply_admin(entry: &Entry, admin: &mut Admin) -> Result<(), Problem> {
    const GROUP: &str = "attributes to group by, such as \"id\" or \"topic/state\"";
    let text = || Ok((entry.text(GROUP)?, entry.line));
    match entry.words()[..] {
        ["admin", "listen"] => admin.listen = Some(entry.endpoints()?),
        ["admin", "instance"] => admin.instance_name = Some(entry.text("a name")?),
        ["metrics", view, key] => {
            let view = admin.view(view, entry.line);
            match key {
                "group" => view.all.group_by = Some(text()?),
                "topics" => view.topics().group_by = Some(text()?),
                "subscribers" => view.subscribers().group_by = Some(text()?),
                "retained" => view.retained_max = Some(entry.count()?),
                "enabled" => view.is_disabled = !entry.boolean()?,
                _ => return Err(unknown(entry)),
            }
        }
        _ => return Err(unknown(entry)),
    }
    Ok(())
}

fn queue(key: &str, entry: &Entry, limits: &mut QueueLimits) -> Result<(), Problem> {
    match key {
        "events" => limits.events = entry.count()?,
        "bytes" => limits.bytes = entry.bytes()?,
        "overflow" => limits.overflow = entry.one_of(&OverflowPolicy::NAMES)?,
        _ => return Err(unknown(entry)),
    }
    Ok(())
}

fn limits(key: &str, entry: &Entry, limits: &mut HubLimits) -> Result<(), Problem> {
    match key {
        "topics" => limits.topics = entry.count()?,
        "subscriptions" => limits.subscriptions = entry.count()?,
        "links" => limits.links = entry.count()?,
        "queue-bytes" => limits.queue_bytes = entry.bytes()?,
        "qos-entries" => limits.qos_entries = entry.count()?,
        "qos-bytes" => limits.qos_bytes = entry.bytes()?,
        "proxy-bytes" => limits.proxy_bytes = entry.bytes()?,
        "proxy-endpoints" => limits.proxy_endpoints = entry.count()?,
        _ => return Err(unknown(entry)),
    }
    Ok(())
}

/// The longest that a hub looks for more events before it sleeps.
const POLLING_MAX: Duration = Duration::from_micros(100);
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

/// All settings, for those who mistype one.
const NAMES: [&str; 57] = [
    "listen",
    "publish-listen",
    "published-endpoints",
    "publish-published-endpoints",
    "adapter-id",
    "replica-group-id",
    "publish-adapter-id",
    "publish-replica-group-id",
    "hub",
    "instance",
    "data",
    "drain-timeout",
    "locator",
    "locator-cache-timeout",
    "log",
    "delivery.flush-interval",
    "delivery.flush-bytes",
    "delivery.rest-max",
    "delivery.polling",
    "delivery.send-timeout",
    "delivery.discard-interval",
    "queue.events",
    "queue.bytes",
    "queue.overflow",
    "limits.topics",
    "limits.subscriptions",
    "limits.links",
    "limits.queue-bytes",
    "limits.qos-entries",
    "limits.qos-bytes",
    "limits.proxy-bytes",
    "limits.proxy-endpoints",
    "connections.limit",
    "connections.limit-per-address",
    "connections.handshakes",
    "connections.message-bytes",
    "connections.message-timeout",
    "connections.message-rate",
    "connections.unfinished-bytes",
    "connections.reply-bytes",
    "connections.inflation-ratio",
    "connections.turn-requests",
    "connections.turn-inflated-bytes",
    "connections.turn-time",
    "connections.web-origins",
    "liveness.heartbeats",
    "liveness.heartbeat-interval",
    "liveness.idle-check",
    "liveness.idle-timeout",
    "liveness.inactivity-timeout",
    "tls.ca",
    "tls.cert",
    "tls.key",
    "tls.client-certificates",
    "tls.any-host",
    "admin.listen",
    "admin.instance",
];

/// What the command can be told and a file cannot.
const OPTIONS: [&str; 4] = ["metrics", "metrics-subscribers", "threads", "offer"];

/// Whether settings are in a table of this name.
fn is_table(name: &str) -> bool {
    NAMES.iter().any(|known| {
        let rest = known.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('.'))
    })
}

fn unknown(entry: &Entry) -> Problem {
    let name = entry.name();
    let is_of = |table: &str| entry.path.first().is_some_and(|first| first == table);
    let help = match nearest(&name, &NAMES) {
        _ if OPTIONS.contains(&name.as_str()) => {
            format!("it is an option of the command: floe serve --{name}")
        }
        _ if is_of("metrics") => {
            "expected metrics.VIEW.group, .topics, .subscribers, .retained or .enabled".to_owned()
        }
        _ if is_of("topic") => "expected topic.NAME.queue.events, .bytes or .overflow".to_owned(),
        _ if entry.path.len() == 1 && is_table(&name) => {
            format!("it is a table: write [{name}] in a line of its own, and its settings below")
        }
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("expected one of {}", NAMES.join(", ")),
    };
    Problem::new(entry.line, format_args!("unknown setting {name}: {help}"))
}

/// All settings of a text, with their lines.
fn entries(text: &str) -> Result<Vec<Entry>, Problem> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_of(span.start));
        let message = error.message().trim().replace('\n', ", ");
        Problem::new(line, format_args!("expected TOML: {message}"))
    })?;
    let mut table = table.into_inner();
    // It has lists of tables, and a reader of its own.
    table.remove("access");
    let mut entries = Vec::new();
    flatten(&table, &[], &line_of, &mut entries);
    Ok(entries)
}

fn flatten(
    table: &DeTable<'_>,
    path: &[String],
    line_of: &dyn Fn(usize) -> usize,
    entries: &mut Vec<Entry>,
) {
    for (key, value) in table {
        let mut path = path.to_vec();
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(table) => flatten(table, &path, line_of, entries),
            other => entries.push(Entry {
                path,
                value: value_of(other),
                line: line_of(key.span().start),
            }),
        }
    }
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Array(values) => Value::List(
            values
                .iter()
                .map(|value| value_of(value.get_ref()))
                .collect(),
        ),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number that is too large"), Value::Integer),
        DeValue::Float(_) => Value::Other("a number with a fraction"),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Table(_) => Value::Other("a table"),
    }
}
