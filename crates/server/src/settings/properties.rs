//! A property file of IceStorm: the settings of a hub by IceStorm's names, with the service's name
//! in front of each, as in `IceStorm.Flush.Timeout=1000`.
//!
//! Source: Ice manual, "IceStorm Properties", "Ice Configuration Files".

use std::time::Duration;

use floe_hub::{OverflowPolicy, StoreSettings};
use floe_wire::reference::{parse_endpoints, parse_published_endpoints};

use super::admin::Admin;
use super::entry::{Problem, endpoints};
use super::ice::Ice;
use super::known_properties::is_known;
use super::views::{METRICS, Views};
use super::{Configuration, glacier2, known_properties, nearest, views};

/// A line of the file.
#[derive(Clone)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) line: usize,
}

/// The settings, and all that is wrong with the text. What means nothing to Floe is a warning.
pub(super) fn read(text: &str, configuration: &mut Configuration) -> Vec<Problem> {
    let (properties, mut problems) = properties(text);
    if properties
        .iter()
        .any(|property| property.name == glacier2::LISTEN)
    {
        problems.extend(glacier2::read(&properties, configuration));
        return problems;
    }
    let Some(prefix) = prefix(&properties) else {
        problems.push(without_service(&properties));
        return problems;
    };
    let mut storm = Storm::new(&prefix);
    let mut ice = Ice::default();
    let (mut admin, mut views) = (Admin::default(), Views::default());
    let mut is_admin_off = false;
    let is_read = views::are_read(&properties);
    for property in &properties {
        let own = property.name.strip_prefix(&format!("{prefix}."));
        let applied = match own {
            Some(name) => storm.apply(name, property, configuration),
            None if property.name == "Ice.Admin.Enabled" => {
                property.flag().map(|is_on| is_admin_off = !is_on)
            }
            None if is_of_admin(&property.name) => {
                apply_admin(property, &mut admin, &mut views, is_read, configuration)
            }
            None => ice.apply(property, configuration),
        };
        problems.extend(applied.err());
    }
    storm.finish(configuration);
    if !is_admin_off {
        let hub = &mut configuration.hub;
        admin.service_name = Some(prefix);
        admin
            .instance_name
            .get_or_insert_with(|| hub.instance_name.clone());
        hub.admin = admin.finish();
        match &mut hub.admin {
            Some(admin) => admin.views = views.finish(&views::HUB, &mut problems),
            None => views::ignore_unread(&properties, configuration),
        }
    }
    ice.finish(configuration);
    problems
}

/// That a file has no service, and where else it may be.
fn without_service(properties: &[Property]) -> Problem {
    let is_storm = |property: &&Property| {
        property.name.starts_with("IceBox.Service.") && property.value.contains("IceStorm")
    };
    let Some(service) = properties.iter().find(is_storm) else {
        return Problem::new(
            0,
            "expected the property IceStorm.TopicManager.Endpoints of an event service or Glacier2.Client.Endpoints of a \
             router, got neither; it says where to listen, such as tcp -h 127.0.0.1 -p 10000",
        );
    };
    let mut words = service.value.split_whitespace();
    let help = match words.find_map(|word| word.strip_prefix("--Ice.Config=")) {
        Some(file) => format!("the settings of its IceStorm are in {file}: use that"),
        None => "write the properties of its IceStorm into a file of their own, a line each and without the two dashes \
                 in front, and use that"
            .to_owned(),
    };
    service.note(format_args!("this is the file of an IceBox: {help}"))
}

/// As IceStorm takes a wait that is negative.
fn at_least_none(wait: i64) -> u64 {
    u64::try_from(wait).unwrap_or(0)
}

/// The properties that only make sense together.
struct Storm {
    is_transient: bool,
    path: String,
    has_queue_limit: bool,
    policy: Option<OverflowPolicy>,
}

impl Storm {
    fn new(prefix: &str) -> Self {
        Self {
            is_transient: false,
            // As in IceStorm: a database in a directory of the service's name.
            path: prefix.to_owned(),
            has_queue_limit: false,
            policy: None,
        }
    }

    fn apply(
        &mut self,
        name: &str,
        property: &Property,
        configuration: &mut Configuration,
    ) -> Result<(), Problem> {
        if is_replication(name) && property.value.trim() != "-1" {
            return Err(property.note(
                "a Floe hub has no replicas: remove the line, and run one hub with its data \
                 on a disk that survives",
            ));
        }
        if !is_known(known_properties::OF_ICESTORM, name) {
            return ignored(name, property, configuration);
        }
        let hub = &mut configuration.hub;
        match name {
            "TopicManager.Endpoints" => hub.listen = property.endpoints()?,
            "Publish.Endpoints" => hub.publish_listen = Some(property.endpoints()?),
            "TopicManager.PublishedEndpoints" => {
                hub.published_endpoints = Some(property.published_endpoints()?);
            }
            "Publish.PublishedEndpoints" => {
                hub.publish_published_endpoints = Some(property.published_endpoints()?);
            }
            "TopicManager.AdapterId" => hub.adapter_id = Some(property.value.clone()),
            "TopicManager.ReplicaGroupId" => hub.replica_group_id = Some(property.value.clone()),
            "Publish.AdapterId" => hub.publish_adapter_id = Some(property.value.clone()),
            "Publish.ReplicaGroupId" => hub.publish_replica_group_id = Some(property.value.clone()),
            "InstanceName" => hub.instance_name.clone_from(&property.value),
            "Transient" => self.is_transient = property.flag()?,
            "Flush.Timeout" => {
                let milliseconds = property.number(i64::MIN, "milliseconds")?;
                hub.flush_interval = Duration::from_millis(at_least_none(milliseconds));
            }
            "Send.Timeout" => {
                hub.send_timeout = match property.number(-1, "milliseconds, or -1 for none")? {
                    ..=0 => None,
                    milliseconds => Some(Duration::from_millis(milliseconds.unsigned_abs())),
                }
            }
            "Send.QueueSizeMax" => match property.number(-1, "a count of events, or -1")? {
                ..=0 => configuration.warnings.push(property.note(format_args!(
                    "Floe's queues always have limits: {} events and {} bytes for each subscriber; \
                     to choose others, give a count from 1",
                    hub.queue_limits.events, hub.queue_limits.bytes
                ))),
                events => {
                    self.has_queue_limit = true;
                    hub.queue_limits.events = usize::try_from(events).unwrap_or(usize::MAX);
                }
            },
            "Send.QueueSizeMaxPolicy" => self.policy = Some(property.policy()?),
            "Discard.Interval" => {
                let seconds = property.number(i64::MIN, "seconds")?;
                hub.discard_interval = Duration::from_secs(at_least_none(seconds));
            }
            "LMDB.Path" => self.path.clone_from(&property.value),
            // It says that there are no replicas.
            "NodeId" => {}
            _ => return ignored(name, property, configuration),
        }
        Ok(())
    }

    fn finish(self, configuration: &mut Configuration) {
        let hub = &mut configuration.hub;
        hub.store = match self.is_transient {
            true => StoreSettings::Memory,
            false => StoreSettings::Disk(self.path.into()),
        };
        // In IceStorm, a limit without a policy removes the subscriber.
        let default = self.has_queue_limit.then_some(OverflowPolicy::Disconnect);
        if let Some(policy) = self.policy.or(default) {
            hub.queue_limits.overflow = policy;
        }
    }
}

/// Notes a property of IceStorm that Floe does not need as ignored.
fn ignored(
    name: &str,
    property: &Property,
    configuration: &mut Configuration,
) -> Result<(), Problem> {
    let reason = match name {
        "LMDB.MapSize" => "the file grows as it must",
        _ if name.starts_with("Trace.") => "use --verbose, or FLOE_LOG=floe_hub=debug",
        _ if name.contains(".ThreadPool.") => "there are no thread pools",
        _ if name.contains(".ACM") => "a floe.toml has [liveness] for that",
        _ if name.ends_with(".MessageSizeMax") => "Ice.MessageSizeMax holds for all adapters",
        _ if name.ends_with(".Locator") => {
            return Err(property.note(
                "a Floe hub has one locator: name it in Ice.Default.Locator, and remove the line",
            ));
        }
        _ => {
            let names = known_properties::names(known_properties::OF_ICESTORM);
            let help = match nearest(name, &names) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => format!("expected one of {}", names.join(", ")),
            };
            return Err(property.note(format_args!("unknown property: {help}")));
        }
    };
    property.ignore(reason, configuration);
    Ok(())
}

fn is_replication(name: &str) -> bool {
    name == "NodeId"
        || ["Nodes.", "Node.", "Election.", "Replicated"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

fn is_of_admin(name: &str) -> bool {
    ["Ice.Admin.Endpoints", "Ice.Admin.InstanceName"].contains(&name) || name.starts_with(METRICS)
}

/// The administrative object, and the views of metrics that it gives.
fn apply_admin(
    property: &Property,
    admin: &mut Admin,
    views: &mut Views,
    is_read: bool,
    configuration: &mut Configuration,
) -> Result<(), Problem> {
    if let Some(name) = property.name.strip_prefix(METRICS) {
        return match is_read {
            true => views.apply(name, property, &views::HUB, configuration),
            // Wrong or not, it has no effect.
            false => Ok(()),
        };
    }
    match property.name.as_str() {
        "Ice.Admin.InstanceName" => admin.instance_name = Some(property.value.clone()),
        _ => admin.listen = Some(property.endpoints()?),
    }
    Ok(())
}

impl Property {
    /// Something to say of it.
    pub(super) fn note(&self, what: impl std::fmt::Display) -> Problem {
        Problem::new(self.line, format_args!("{}: {what}", self.name))
    }

    /// Says that it has no effect, and why.
    pub(super) fn ignore(&self, reason: &str, configuration: &mut Configuration) {
        let warning = self.note(format_args!("ignored: {reason}"));
        configuration.warnings.push(warning);
    }

    pub(super) fn expected(&self, what: &str) -> Problem {
        self.note(format_args!("expected {what}, got {:?}", self.value))
    }

    pub(super) fn endpoints(&self) -> Result<String, Problem> {
        endpoints(&self.value, parse_endpoints).map_err(|wrong| self.note(wrong))
    }

    pub(super) fn published_endpoints(&self) -> Result<String, Problem> {
        let read = endpoints(&self.value, parse_published_endpoints);
        read.map_err(|wrong| self.note(wrong))
    }

    pub(super) fn number(&self, least: i64, what: &str) -> Result<i64, Problem> {
        let number = self.value.parse().ok().filter(|number| *number >= least);
        number.ok_or_else(|| self.expected(what))
    }

    pub(super) fn flag(&self) -> Result<bool, Problem> {
        self.number(0, "0 or 1").map(|number| number > 0)
    }

    fn policy(&self) -> Result<OverflowPolicy, Problem> {
        match self.value.as_str() {
            "RemoveSubscriber" => Ok(OverflowPolicy::Disconnect),
            "DropEvents" => Ok(OverflowPolicy::DropOldest),
            _ => Err(self.expected("RemoveSubscriber or DropEvents")),
        }
    }
}

/// A file without those comments that are not UTF-8: Ice does not look at them.
pub(super) fn without_foreign_comments(bytes: Vec<u8>) -> Vec<u8> {
    if std::str::from_utf8(&bytes).is_ok() {
        return bytes;
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let without = lines.flat_map(|line| {
        let comment = match std::str::from_utf8(line) {
            Ok(_) => None,
            Err(_) => comment_start(line),
        };
        let end = if line.ends_with(b"\n") {
            &b"\n"[..]
        } else {
            b""
        };
        match comment {
            Some(start) => [&line[..start], end].concat(),
            None => line.to_vec(),
        }
    });
    without.collect()
}

/// Where the comment of a line begins: at the first `#` without a backslash in front.
fn comment_start(line: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    line.iter().position(|byte| {
        let is_comment = *byte == b'#' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_comment
    })
}

/// The name of the service, which stands in front of its properties.
fn prefix(properties: &[Property]) -> Option<String> {
    let prefix_of = |property: &Property| {
        let prefix = property.name.strip_suffix(".TopicManager.Endpoints");
        prefix.map(str::to_owned)
    };
    properties.iter().find_map(prefix_of)
}

/// The properties of a text that have a value, and the lines that are none.
///
/// Source: observed, Ice 3.7.8 and IceStorm 3.7.8.
fn properties(text: &str) -> (Vec<Property>, Vec<Problem>) {
    let (mut properties, mut problems) = (Vec::new(), Vec::new());
    for (at, text) in text.lines().enumerate() {
        let line = at + 1;
        let (name, value) = split(text);
        match (name.as_str(), value) {
            ("", None) => {}
            // As in Ice, a property that is empty is none, and one before it is none any more.
            (_, Some(value)) if !name.is_empty() && value.is_empty() => {
                properties.retain(|property: &Property| property.name != name);
            }
            (_, Some(value)) if !name.is_empty() => {
                properties.push(Property { name, value, line });
            }
            ("", Some(_)) => problems.push(Problem::new(
                line,
                "expected NAME=VALUE, got no name in front of `=`",
            )),
            // What follows may be a password.
            _ => {
                let word = text.split_whitespace().next().unwrap_or_default();
                let message = format_args!("expected NAME=VALUE, got {word:?} and no `=`");
                problems.push(Problem::new(line, message));
            }
        }
    }
    (properties, problems)
}

/// Name and value of a line, without its comment. A backslash takes the meaning from `#`, `=`, a
/// blank and itself.
fn split(line: &str) -> (String, Option<String>) {
    let mut parts = vec![String::new()];
    // Blanks count once something that is none follows, unless they were meant.
    let mut blanks = String::new();
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        let escaped = match char {
            '\\' => chars.next_if(|next| ['#', '=', '\\', ' '].contains(next)),
            _ => None,
        };
        let is_name = parts.len() == 1;
        let part = parts.last_mut().expect("there is always one");
        match escaped {
            None if char == '#' => break,
            None if char == '=' && is_name => {
                blanks.clear();
                parts.push(String::new());
            }
            None if char.is_whitespace() => blanks.push(char),
            _ => {
                if !part.is_empty() {
                    part.push_str(&blanks);
                }
                blanks.clear();
                part.push(escaped.unwrap_or(char));
            }
        }
    }
    let mut parts = parts.into_iter();
    (parts.next().unwrap_or_default(), parts.next())
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_line_is_split_as_ice_splits_it() {
        let of = |line| {
            let (name, value) = split(line);
            (name, value.unwrap_or_else(|| "none".to_owned()))
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of(" A.B = tcp -p 1 # why"), pair("A.B", "tcp -p 1"));
        assert_eq!(of("A=x\\#y\\=z=w\\\\"), pair("A", "x#y=z=w\\"));
        assert_eq!(of("A=C:\\data"), pair("A", "C:\\data"));
        assert_eq!(of("A="), pair("A", ""));
        assert_eq!(of("# all of it"), pair("", "none"));
        assert_eq!(of("word"), pair("word", "none"));
    }
}
