//! The database of an IceStorm, as `icestormdb --export` writes it: topics, subscribers and links.
//!
//! ```text
//! "IceStorm" | version (int) | dictionary of updates | dictionary of records
//! record     topic, recipient (identities) -> name of the topic | identity | is a link (bool) | proxy | quality of
//!            service | cost (int) | proxy of the topic that a link leads to
//! ```
//!
//! All is in encoding 1.1. A topic itself has a record whose recipient has no name. Source: files that icestormdb 3.7.8 wrote,
//! recorded in `tests/vectors/icestorm-export/`.

use std::collections::HashMap;

use floe::codegen::Nilable;
use floe::contracts::ice_storm::QoS;
use floe::encoding::Decoder;
use floe::{DecodeError, EncodingVersion, Identity, Reference};

/// The contents of the database of an IceStorm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IceStormExport {
    /// Its topics, in the order of their names.
    pub(crate) topics: Vec<ExportedTopic>,
}

/// A topic of an IceStorm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExportedTopic {
    /// Its name.
    pub(crate) name: String,
    /// Its identity.
    pub(crate) identity: Identity,
    /// Its subscribers, with what they asked for.
    pub(crate) subscribers: Vec<(Reference, QoS)>,
    /// The topics that it is linked to, with the cost.
    pub(crate) links: Vec<(Reference, i32)>,
}

/// Why a file is no export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExportError {
    /// It begins in another way.
    NotAnExport,
    /// Another version of Ice has written it.
    Version(i32),
    /// It is damaged or was cut off.
    Invalid(DecodeError),
    /// A record says something that no IceStorm says.
    Record(String),
}

const MAGIC: &str = "IceStorm";
/// Ice 3.7 and 3.8, as 10,000 times the first number, 100 times the second, and the third.
const VERSIONS: std::ops::Range<i32> = 30_700..30_900;
/// The prefix of a topic's name in its identity.
const TOPIC_PREFIX: &str = "topic.";

impl IceStormExport {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`ExportError`] if it is no export.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ExportError> {
        let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
        if decoder.str("kind of the file") != Ok(MAGIC) {
            return Err(ExportError::NotAnExport);
        }
        let version = decoder.int("version of Ice")?;
        if !VERSIONS.contains(&version) {
            return Err(ExportError::Version(version));
        }
        // They tell replicas who has the newest records.
        for _ in 0..decoder.count(1 + 16, "updates")? {
            decoder.str("name of an update")?;
            decoder.bytes(16, "an update")?;
        }
        let (mut topics, mut places) = (Vec::new(), HashMap::new());
        for _ in 0..decoder.count(RECORD_LEN_MIN, "records")? {
            read_record(&mut decoder, &mut topics, &mut places)?;
        }
        decoder.finish_exact("export of an IceStorm")?;
        topics.sort_by(|a: &ExportedTopic, b| a.name.cmp(&b.name));
        Ok(Self { topics })
    }

    /// The names of its topics by their identities.
    pub(crate) fn names(&self) -> HashMap<&Identity, &str> {
        let topics = self.topics.iter();
        topics
            .map(|topic| (&topic.identity, &topic.name[..]))
            .collect()
    }
}

/// A record of a topic with no names at all.
const RECORD_LEN_MIN: usize = 20;

fn read_record(
    decoder: &mut Decoder<'_>,
    topics: &mut Vec<ExportedTopic>,
    places: &mut HashMap<Identity, usize>,
) -> Result<(), ExportError> {
    let topic: Identity = decoder.get()?;
    let recipient: Identity = decoder.get()?;
    decoder.str("name of a topic")?;
    decoder.get::<Identity>()?;
    let is_link: bool = decoder.get()?;
    let proxy = Reference::decode_nilable(decoder)?;
    let qos: QoS = decoder.get()?;
    let cost = decoder.int("cost of a link")?;
    let linked = Reference::decode_nilable(decoder)?;
    let at = match places.get(&topic) {
        Some(at) => *at,
        None => {
            let name = topic.name.strip_prefix(TOPIC_PREFIX).ok_or_else(|| {
                ExportError::Record(format!(
                    "expected the identity of a topic, which begins with `{TOPIC_PREFIX}`, got `{topic}`"
                ))
            })?;
            places.insert(topic.clone(), topics.len());
            topics.push(ExportedTopic {
                name: name.to_owned(),
                identity: topic,
                subscribers: Vec::new(),
                links: Vec::new(),
            });
            topics.len() - 1
        }
    };
    let topic = &mut topics[at];
    let missing = |what: &str| {
        ExportError::Record(format!(
            "expected the proxy of {what} in the record of `{recipient}` at topic `{}`, got none",
            topic.name
        ))
    };
    match (is_link, proxy, linked) {
        _ if recipient.name.is_empty() => {}
        (true, _, Some(linked)) => topic.links.push((linked, cost)),
        (true, _, None) => return Err(missing("the topic that a link leads to")),
        (false, Some(proxy), _) => topic.subscribers.push((proxy, qos)),
        (false, None, _) => return Err(missing("a subscriber")),
    }
    Ok(())
}

impl From<DecodeError> for ExportError {
    fn from(error: DecodeError) -> Self {
        Self::Invalid(error)
    }
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAnExport => f.write_str(
                "expected a file that `icestormdb --export` has written, got something else",
            ),
            Self::Version(version) => write!(
                f,
                "expected an export of Ice 3.7 or 3.8, got one of {}.{}.{}: export it with one of these",
                version / 10_000,
                version / 100 % 100,
                version % 100
            ),
            Self::Invalid(error) => write!(
                f,
                "the export is damaged or was cut off: {error}; export it again"
            ),
            Self::Record(text) => write!(f, "the export has an odd record: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An export of icestormdb 3.7.8: three topics, two links, four subscribers.
    const RECORDED: &[u8] = include_bytes!("../../../tests/vectors/icestorm-export/3.7.8.bin");

    #[test]
    fn an_export_of_icestorm_is_read_whole() {
        let export = IceStormExport::parse(RECORDED).expect("an export");
        let names: Vec<_> = export.topics.iter().map(|topic| &topic.name[..]).collect();
        assert_eq!(names, ["alpha", "beta", "gamma ü"]);
        let [alpha, beta, gamma] = &export.topics[..] else {
            panic!("three topics");
        };
        let links = alpha.links.iter();
        let links: Vec<_> = links
            .map(|(to, cost)| (&to.identity.name[..], *cost))
            .collect();
        assert_eq!(links, [("topic.beta", 3), ("topic.gamma ü", 0)]);
        let shown = |topic: &ExportedTopic| -> Vec<_> {
            let subscribers = topic.subscribers.iter();
            subscribers
                .map(|(proxy, qos)| (proxy.to_string(), qos.clone()))
                .collect()
        };
        let [(one, _), (two, _)] = &shown(alpha)[..] else {
            panic!("two subscribers");
        };
        assert_eq!(one, "cat/one -t -e 1.1:tcp -h 127.0.0.1 -p 20001 -t 60000");
        assert_eq!(two, "two -o -e 1.1:udp -h 127.0.0.1 -p 20002");
        let [(four, retries), (three, ordered)] = &shown(beta)[..] else {
            panic!("two subscribers");
        };
        assert_eq!(four, "four -t -e 1.1 @ SomeAdapter");
        assert_eq!(retries.get("retryCount").map(String::as_str), Some("5"));
        assert!(
            three.starts_with("three -f fac -t -e 1.0:tcp -h 127.0.0.1 -p 20003 -t 5000 -z"),
            "{three}"
        );
        assert_eq!(ordered.len(), 2);
        assert!(gamma.subscribers.is_empty() && gamma.links.is_empty());
        assert_eq!(export.names().get(&alpha.identity), Some(&"alpha"));
    }

    #[test]
    fn an_export_that_is_cut_off_anywhere_is_refused() {
        for len in 0..RECORDED.len() {
            let cut = IceStormExport::parse(&RECORDED[..len]);
            assert!(cut.is_err(), "{len} bytes");
        }
        let longer = [RECORDED, &[0]].concat();
        assert!(IceStormExport::parse(&longer).is_err());
    }

    #[test]
    fn no_byte_of_an_export_makes_the_reader_panic_or_allocate_much() {
        let mut bytes = RECORDED.to_vec();
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let kept = std::mem::replace(&mut bytes[at], value);
                let _ = IceStormExport::parse(&bytes);
                bytes[at] = kept;
            }
        }
    }

    #[test]
    fn an_export_of_another_version_is_named() {
        let mut bytes = RECORDED.to_vec();
        bytes[9..13].copy_from_slice(&30_603_i32.to_le_bytes());
        let error = IceStormExport::parse(&bytes).expect_err("too old");
        assert!(error.to_string().contains("3.6.3"), "{error}");
        let error = IceStormExport::parse(b"hello").expect_err("no export");
        assert!(error.to_string().contains("icestormdb --export"), "{error}");
    }
}
