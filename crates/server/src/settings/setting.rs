//! A setting of `floe.toml`: its key, its value, what it means, when it takes effect. The parser, the reference page,
//! and the JSON schema follow from it; `settings/` holds them all.

use std::collections::BTreeMap;
use std::time::Duration;

use floe::settings::Liveness;
use floe_gateway::GatewaySettings;
use floe_hub::{HubSettings, QueueLimits};

use super::admin::Admin;
use super::durable::{DurableTable, DurableTables};
use super::entry::{Entry, Problem};
use super::views::{ViewText, Views};
use super::{Configuration, gateway};
use crate::certificates::Certificates;

/// The settings of one part of a server.
pub(super) struct Table {
    /// In the order of the reference.
    pub(super) rows: &'static [Setting],
}

/// A setting of `floe.toml`.
pub struct Setting {
    /// The name with its tables, from the outermost inwards. A segment in capitals, such as `NAME`, stands for any name; one that
    /// ends in `[]` is a list of tables.
    pub key: &'static str,
    /// The field that it sets, with the kind of its value.
    pub(super) field: Field,
    /// Another value than the default, in TOML.
    pub example: &'static str,
    /// When a change takes effect.
    pub effect: Effect,
    /// The effect, in a sentence or two.
    pub meaning: &'static str,
}

/// When a running hub heeds a setting that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// As soon as it is read.
    Immediate,
    /// For the next batch of a batch subscriber.
    NextBatch,
    /// For subscriptions that begin.
    NewSubscribers,
    /// When the hub starts again.
    Restart,
}

impl Effect {
    /// As the reference says it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Immediate => "yes",
            Self::NextBatch => "yes, with the next batch",
            Self::NewSubscribers => "yes, for new subscribers",
            Self::Restart => "no",
        }
    }
}

/// Leads to a part of what is being configured.
pub(super) type Lens<T> = for<'a, 'b> fn(&'a mut Draft<'b>) -> &'a mut T;

/// The value of a setting: how it is read, and where it goes.
pub(super) enum Field {
    /// One or several endpoints to listen at.
    Endpoints(Lens<String>),
    /// The same, unset by default.
    OptionalEndpoints(Lens<Option<String>>),
    /// One or several endpoints to connect to.
    PublishedEndpoints(Lens<Option<String>>),
    /// A text that is not empty; what it is.
    Text(&'static str, Lens<String>),
    /// The same, unset by default.
    OptionalText(&'static str, Lens<Option<String>>),
    /// One text or several; what one is.
    Texts(&'static str, Lens<Vec<String>>),
    Bool(Lens<bool>),
    /// A whole number from 1.
    Count(Lens<usize>),
    OptionalCount(Lens<Option<usize>>),
    Bytes(Lens<usize>),
    OptionalBytes(Lens<Option<usize>>),
    Time(Lens<Duration>),
    /// A time, or a word for another one.
    TimeOr(&'static str, Duration, Lens<Duration>),
    /// A time, or a word for none.
    OptionalTime(&'static str, Lens<Option<Duration>>),
    /// A time of at most so much, or a word for zero.
    TimeWithin(Duration, &'static str, Lens<Duration>),
    /// Attributes to group metrics by, with their line.
    Grouping(Lens<Option<(String, usize)>>),
    /// Anything else.
    Other {
        kind: Kind,
        /// In TOML, unless it is unset or depends on others.
        default: Option<&'static str>,
        set: fn(&Entry, &mut Draft<'_>) -> Result<(), Problem>,
    },
}

/// The values that a setting can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A text of this kind.
    Text(&'static str),
    /// One text or several.
    Texts(&'static str),
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Bool,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    Number,
    /// A number of bytes, or a text with its unit.
    Bytes,
    /// With a word that may stand for none.
    Time(Option<&'static str>),
}

/// One of some names, each with its meaning.
macro_rules! choice {
    ($names:expr, $default:expr, $lens:expr) => {
        $crate::settings::setting::Field::Other {
            kind: $crate::settings::setting::Kind::OneOf(
                const { &$crate::settings::setting::names_of(&$names) },
            ),
            default: $default,
            set: |entry, draft| {
                let set: fn(&mut $crate::settings::setting::Draft<'_>, _) = $lens;
                set(draft, entry.one_of(&$names)?);
                Ok(())
            },
        }
    };
}
pub(super) use choice;

/// The names alone.
pub(super) const fn names_of<T, const N: usize>(
    pairs: &[(&'static str, T); N],
) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = pairs[at].0;
        at += 1;
    }
    names
}

/// The configuration while a file is read.
pub(super) struct Draft<'a> {
    pub(super) configuration: &'a mut Configuration,
    pub(super) admin: Admin,
    views: Views,
    /// The words of the file in the place of the capitals in the key of a setting, and the line.
    place: (String, usize),
    /// The limits of single topics, which are complete when all else is read.
    topics: BTreeMap<String, QueueLimits>,
    durable: DurableTables,
}

impl<'a> Draft<'a> {
    pub(super) fn new(configuration: &'a mut Configuration) -> Self {
        Self {
            configuration,
            admin: Admin::default(),
            views: Views::default(),
            place: (String::new(), 0),
            topics: BTreeMap::new(),
            durable: DurableTables::default(),
        }
    }

    pub(super) fn hub(&mut self) -> &mut HubSettings {
        &mut self.configuration.hub
    }

    pub(super) fn communicator(&mut self) -> &mut floe::Settings {
        &mut self.configuration.communicator
    }

    pub(super) fn incoming(&mut self) -> &mut Liveness {
        &mut self.configuration.communicator.incoming
    }

    pub(super) fn tls(&mut self) -> &mut Certificates {
        &mut self.configuration.tls
    }

    /// The gateway, which there is as soon as the file says something of it.
    pub(super) fn gateway(&mut self) -> &mut GatewaySettings {
        self.configuration.gateway.get_or_insert_with(gateway::new)
    }

    /// The view of metrics that the setting is about.
    pub(super) fn view(&mut self) -> &mut ViewText {
        self.views.view(&self.place.0, self.place.1)
    }

    /// The limits of the topic that the setting is about: where nothing is said of it, those of all topics.
    pub(super) fn topic_queue(&mut self) -> &mut QueueLimits {
        let limits = self.configuration.hub.queue_limits;
        self.topics.entry(self.place.0.clone()).or_insert(limits)
    }

    /// Sets the lifespan of the events of the topic that the setting is about.
    pub(super) fn set_topic_lifespan(&mut self, lifespan: Option<Duration>) {
        let lifespans = &mut self.configuration.hub.lifespans;
        lifespans.extend(lifespan.map(|lifespan| (self.place.0.clone(), lifespan)));
    }

    /// Returns the settings of the durability of the topic that the setting is about.
    pub(super) fn durable_topic(&mut self) -> &mut DurableTable {
        self.durable.table(&self.place.0)
    }

    /// Puts what was said of single topics into the settings, and gives what was said of the administrative object of
    /// the hub and of the views of metrics.
    pub(super) fn finish(self, problems: &mut Vec<Problem>) -> (Admin, Views) {
        self.durable.finish(&mut self.configuration.hub, problems);
        let topics = &mut self.configuration.hub.topic_queue_limits;
        topics.extend(self.topics);
        (self.admin, self.views)
    }
}

impl Setting {
    /// Returns true if this path is its key.
    pub(super) fn is_at(&self, path: &[String]) -> bool {
        let mut segments = self.key.split('.');
        let mut path = path.iter();
        loop {
            match (segments.next(), path.next()) {
                (None, None) => return true,
                (Some(segment), Some(name)) if is_placeholder(segment) || segment == name => {}
                _ => return false,
            }
        }
    }

    /// The key, with the names that an entry has in place of its capitals.
    pub(super) fn key_beside(&self, entry: &Entry) -> String {
        let named = |(at, segment): (usize, &'static str)| match entry.path.get(at) {
            Some(name) if is_placeholder(segment) => name.as_str(),
            _ => segment,
        };
        let segments = self.key.split('.').enumerate().map(named);
        segments.collect::<Vec<&str>>().join(".")
    }

    /// Returns true if it is about something that the file names.
    pub(super) fn has_placeholder(&self) -> bool {
        self.key.split('.').any(is_placeholder)
    }

    /// Sets it to what an entry of a file says.
    ///
    /// # Errors
    /// The entry says something else than such a setting can be.
    pub(super) fn apply(&self, entry: &Entry, draft: &mut Draft<'_>) -> Result<(), Problem> {
        let segments = self.key.split('.').zip(&entry.path);
        let mut names = segments.filter(|(segment, _)| is_placeholder(segment));
        draft.place = (
            names
                .next()
                .map_or_else(String::new, |(_, name)| name.clone()),
            entry.line,
        );
        match &self.field {
            Field::Endpoints(lens) => *lens(draft) = entry.endpoints()?,
            Field::OptionalEndpoints(lens) => *lens(draft) = Some(entry.endpoints()?),
            Field::PublishedEndpoints(lens) => *lens(draft) = Some(entry.published_endpoints()?),
            Field::Text(what, lens) => *lens(draft) = entry.text(what)?,
            Field::OptionalText(what, lens) => *lens(draft) = Some(entry.text(what)?),
            Field::Texts(what, lens) => *lens(draft) = entry.texts(what)?,
            Field::Bool(lens) => *lens(draft) = entry.boolean()?,
            Field::Count(lens) => *lens(draft) = entry.count()?,
            Field::OptionalCount(lens) => *lens(draft) = Some(entry.count()?),
            Field::Bytes(lens) => *lens(draft) = entry.bytes()?,
            Field::OptionalBytes(lens) => *lens(draft) = Some(entry.bytes()?),
            Field::Time(lens) => *lens(draft) = entry.time()?,
            Field::TimeOr(word, other, lens) => {
                *lens(draft) = entry.time_or(word)?.unwrap_or(*other);
            }
            Field::OptionalTime(word, lens) => *lens(draft) = entry.time_or(word)?,
            Field::TimeWithin(max, word, lens) => *lens(draft) = entry.time_within(*max, word)?,
            Field::Grouping(lens) => *lens(draft) = Some((entry.text(GROUPING)?, entry.line)),
            Field::Other { set, .. } => return set(entry, draft),
        }
        Ok(())
    }

    /// Returns the values that it can have.
    pub fn kind(&self) -> Kind {
        match &self.field {
            Field::Endpoints(_) | Field::OptionalEndpoints(_) | Field::PublishedEndpoints(_) => {
                Kind::Texts("endpoint")
            }
            Field::Text(what, _) | Field::OptionalText(what, _) => Kind::Text(what),
            Field::Texts(what, _) => Kind::Texts(what),
            Field::Bool(_) => Kind::Bool,
            Field::Count(_) | Field::OptionalCount(_) => Kind::Count,
            Field::Bytes(_) | Field::OptionalBytes(_) => Kind::Bytes,
            Field::Time(_) => Kind::Time(None),
            Field::TimeOr(word, ..)
            | Field::OptionalTime(word, _)
            | Field::TimeWithin(_, word, _) => Kind::Time(Some(word)),
            Field::Grouping(_) => Kind::Text(GROUPING),
            Field::Other { kind, .. } => *kind,
        }
    }

    /// The default in TOML, as the program has it; none if it is unset, or as another setting.
    pub fn default(&self) -> Option<String> {
        let mut configuration = Configuration::new(floe::Settings::default());
        let draft = &mut Draft::new(&mut configuration);
        if self.has_placeholder()
            && matches!(
                self.field,
                Field::Count(_) | Field::Bytes(_) | Field::TimeOr(..)
            )
        {
            return None;
        }
        match &self.field {
            Field::Endpoints(lens) | Field::Text(_, lens) => Some(quoted(lens(draft))),
            Field::OptionalEndpoints(lens)
            | Field::PublishedEndpoints(lens)
            | Field::OptionalText(_, lens) => lens(draft).as_deref().map(quoted),
            Field::Texts(_, lens) => match &lens(draft)[..] {
                [] => None,
                texts => Some(format!("{texts:?}")),
            },
            Field::Bool(lens) => Some(lens(draft).to_string()),
            Field::Count(lens) => Some(lens(draft).to_string()),
            Field::OptionalCount(lens) => lens(draft).map(|count| count.to_string()),
            Field::Bytes(lens) => Some(bytes(*lens(draft))),
            Field::OptionalBytes(lens) => lens(draft).map(bytes),
            Field::Time(lens) => Some(time(*lens(draft))),
            Field::TimeOr(word, other, lens) => {
                let own = *lens(draft);
                Some(if own == *other {
                    quoted(word)
                } else {
                    time(own)
                })
            }
            Field::OptionalTime(word, lens) => Some(lens(draft).map_or_else(|| quoted(word), time)),
            Field::TimeWithin(_, word, lens) => {
                let own = *lens(draft);
                Some(if own.is_zero() {
                    quoted(word)
                } else {
                    time(own)
                })
            }
            Field::Grouping(_) => None,
            Field::Other { default, .. } => default.map(str::to_owned),
        }
    }
}

const GROUPING: &str = "attributes to group by, such as \"id\" or \"topic/state\"";

/// Returns true if a segment of a key stands for any name.
pub(super) fn is_placeholder(segment: &str) -> bool {
    segment.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn quoted(text: impl AsRef<str>) -> String {
    format!("{:?}", text.as_ref())
}

/// A number of bytes with the largest unit that says it exactly.
fn bytes(bytes: usize) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = units
        .iter()
        .find(|(_, unit)| bytes != 0 && bytes.is_multiple_of(*unit));
    match unit {
        Some((name, unit)) => quoted(format!("{} {name}", bytes / unit)),
        None => bytes.to_string(),
    }
}

/// A time with the largest unit that says it exactly.
fn time(time: Duration) -> String {
    let micros = time.as_micros();
    let units = [
        ("h", 3_600_000_000),
        ("m", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1000),
    ];
    let is_exact = |unit: u128| micros >= 2 * unit && micros.is_multiple_of(unit);
    // A single minute reads better in seconds, a single second does not in milliseconds.
    let is_exact =
        |(_, unit): &&(&str, u128)| is_exact(*unit) || (*unit <= 1_000_000 && micros == *unit);
    match units.iter().find(is_exact) {
        Some((name, unit)) => quoted(format!("{}{name}", micros / unit)),
        None => quoted(format!("{micros}us")),
    }
}
