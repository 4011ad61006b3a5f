//! What a publisher says in the context of its events, if their topic is durable.

use std::sync::Arc;

use floe::EncodingVersion;
use floe::encoding::Decoder;
use floe::forwarding::{EventParts, Events};

use crate::core::log::{Level, Origin};
use crate::core::{LIFESPAN_KEY, lifespan_of};

/// Events of one publisher that came together, and for which it wants the same.
#[derive(Debug, Clone)]
pub(crate) struct LogPublication {
    /// The events.
    pub(crate) events: Events,
    /// How safe they are to be before the publisher gets its answer; `None` if it leaves that to the topic.
    pub(crate) level: Option<Level>,
    /// Their publisher and the number of the first one, if it numbers its events. The others follow it.
    pub(crate) origin: Option<Origin>,
}

/// The context key with which a publisher chooses an acknowledgement level.
pub(crate) const LEVEL_KEY: &str = "floe.acknowledge";

/// The context key for the name of a publisher that numbers its events.
pub(crate) const PUBLISHER_KEY: &str = "floe.publisher";

/// The context key for the number of an event.
pub(crate) const NUMBER_KEY: &str = "floe.publisherSequence";

/// Divides events by what their contexts say. Events without such entries stay together.
///
/// # Errors
/// What is wrong with an entry, for the publisher.
pub(crate) fn publications(mut events: Events) -> Result<Vec<LogPublication>, String> {
    let mut said = Vec::new();
    if events.iter().any(has_context) {
        for event in events.iter() {
            said.push(Said::of(event)?);
        }
    }
    let mut publications = Vec::new();
    while let Some(first) = said.first().cloned() {
        let is_other = |(at, said): (usize, &Said)| !said.follows(&first, at as u64);
        let Some(count) = said.iter().enumerate().position(is_other) else {
            return Ok(finish(publications, events, first));
        };
        said.drain(..count);
        publications.push(first.publication(events.split_to(count)));
    }
    Ok(finish(publications, events, Said::default()))
}

fn finish(
    mut publications: Vec<LogPublication>,
    events: Events,
    said: Said,
) -> Vec<LogPublication> {
    publications.push(said.publication(events));
    publications
}

/// What the context of an event says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Said {
    level: Option<Level>,
    origin: Option<Origin>,
}

impl Said {
    fn of(event: &[u8]) -> Result<Self, String> {
        let mut level = None;
        let (mut publisher, mut number) = (None, None);
        for (key, value) in entries(event) {
            match key {
                LEVEL_KEY => {
                    let parsed = value.parse::<Level>();
                    level = Some(parsed.map_err(|error| format!("invalid {LEVEL_KEY}: {error}"))?);
                }
                LIFESPAN_KEY => drop(lifespan_of(event)?),
                PUBLISHER_KEY if value.len() > Origin::NAME_LEN_MAX => {
                    return Err(format!(
                        "invalid {PUBLISHER_KEY}: expected at most {} bytes, got {}",
                        Origin::NAME_LEN_MAX,
                        value.len()
                    ));
                }
                PUBLISHER_KEY => publisher = Some(Arc::from(value)),
                NUMBER_KEY => {
                    let parsed = value.parse::<u64>();
                    number = Some(parsed.map_err(|_| {
                        let shown: String = value.chars().take(SHOWN_MAX).collect();
                        format!("invalid {NUMBER_KEY}: expected a number, got {shown:?}")
                    })?);
                }
                _ => {}
            }
        }
        let origin = match (publisher, number) {
            (Some(publisher), Some(sequence)) => Some(Origin {
                publisher,
                sequence,
            }),
            (None, None) => None,
            _ => {
                return Err(format!(
                    "expected both {PUBLISHER_KEY} and {NUMBER_KEY} in the context, or none of them, got one"
                ));
            }
        };
        Ok(Self { level, origin })
    }

    /// Whether this can be the event at this place of the events that begin with `first`.
    fn follows(&self, first: &Self, at: u64) -> bool {
        let origin = first.origin.as_ref().map(|origin| Origin {
            publisher: origin.publisher.clone(),
            sequence: origin.sequence.wrapping_add(at),
        });
        self.level == first.level && self.origin == origin
    }

    fn publication(self, events: Events) -> LogPublication {
        LogPublication {
            events,
            level: self.level,
            origin: self.origin,
        }
    }
}

/// A longer value is cut in an error.
const SHOWN_MAX: usize = 64;

/// Whether the context of an event has entries. It is cheap, because most events have none.
fn has_context(event: &[u8]) -> bool {
    EventParts::parse(event).is_ok_and(|parts| parts.context.first() != Some(&0))
}

/// The entries of the context; none if the bytes are no event.
fn entries(event: &[u8]) -> Vec<(&str, &str)> {
    let context = EventParts::parse(event).map_or(&[][..], |parts| parts.context);
    let mut decoder = Decoder::new(context, EncodingVersion::V1_0);
    let count = decoder.count(2, "context").unwrap_or(0);
    let entry = |_| {
        let key = decoder.str("context key").ok()?;
        Some((key, decoder.str("context value").ok()?))
    };
    (0..count).map_while(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::events_with_contexts;

    fn events(contexts: &[&[(&str, &str)]]) -> Events {
        events_with_contexts("tick", contexts)
    }

    #[test]
    fn events_are_divided_only_where_their_publisher_says_something_else() {
        let publisher = (PUBLISHER_KEY, "p");
        let all = events(&[
            &[],
            &[("colour", "blue")],
            &[(LEVEL_KEY, "written")],
            &[publisher, (NUMBER_KEY, "7")],
            &[publisher, (NUMBER_KEY, "8")],
            &[publisher, (NUMBER_KEY, "10")],
        ]);
        let parts = publications(all).unwrap();
        let shown: Vec<_> = parts
            .iter()
            .map(|part| {
                let number = part.origin.as_ref().map(|origin| origin.sequence);
                (part.events.len(), part.level, number)
            })
            .collect();
        let expected = [
            (2, None, None),
            (1, Some(Level::Written), None),
            (2, None, Some(7)),
            (1, None, Some(10)),
        ];
        assert_eq!(shown, expected);
        assert_eq!(publications(events(&[&[], &[], &[]])).unwrap().len(), 1);
    }

    #[test]
    fn wrong_entries_are_refused_with_what_was_expected() {
        let long_name = "p".repeat(Origin::NAME_LEN_MAX + 1);
        for (context, expected) in [
            (&[(LEVEL_KEY, "sure")][..], "invalid floe.acknowledge: "),
            (&[(PUBLISHER_KEY, "p")], "expected both floe.publisher and "),
            (
                &[(LIFESPAN_KEY, "0")],
                "invalid floe.lifespan: expected milliseconds, at least 1, got \"0\"",
            ),
            (&[(NUMBER_KEY, "1")], "expected both floe.publisher and "),
            (
                &[(PUBLISHER_KEY, &long_name), (NUMBER_KEY, "1")],
                "invalid floe.publisher: expected at most 255 bytes, got 256",
            ),
            (
                &[(PUBLISHER_KEY, "p"), (NUMBER_KEY, "-1")],
                "invalid floe.publisherSequence: expected a number, got \"-1\"",
            ),
        ] {
            let error = publications(events(&[&[], context])).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
