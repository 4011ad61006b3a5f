//! The wishes of a publisher, in the context of its events, if their topic is durable.

use std::sync::Arc;

use floe::forwarding::Events;

use crate::core::context::{entries_of, may_have_context};
use crate::core::log::{Level, Origin};
use crate::core::wishes::shown;
use crate::core::{LIFESPAN_KEY, lifespan_of};

/// Events of one publisher that came together, with the same wishes.
#[derive(Debug, Clone)]
pub(crate) struct LogPublication {
    /// The events.
    pub(crate) events: Events,
    /// How safe they must be before the publisher gets its reply; `None` leaves that to the topic.
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

/// Divides events by the entries of their contexts. Events without such entries stay together. `user` is the user whose
/// names the publishers have, if the hub knows it.
///
/// # Errors
/// What is wrong with an entry, for the publisher.
pub(crate) fn publications(
    mut events: Events,
    user: Option<&str>,
) -> Result<Vec<LogPublication>, String> {
    let mut said = Vec::new();
    if events.iter().any(may_have_context) {
        for event in events.iter() {
            said.push(Said::of(event, user)?);
        }
    }
    let mut publications = Vec::new();
    let mut said = said.into_iter();
    while let Some(first) = said.as_slice().first().cloned() {
        let is_other = |(at, said): (usize, &Said)| !said.follows(&first, at as u64);
        let Some(count) = said.as_slice().iter().enumerate().position(is_other) else {
            return Ok(finish(publications, events, first));
        };
        said.nth(count - 1);
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

/// The wishes in the context of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Said {
    level: Option<Level>,
    origin: Option<Origin>,
}

impl Said {
    fn of(event: &[u8], user: Option<&str>) -> Result<Self, String> {
        let mut level = None;
        let (mut publisher, mut number) = (None, None);
        for (key, value) in entries_of(event) {
            match key {
                LEVEL_KEY => {
                    let parsed = value.parse::<Level>();
                    level = Some(parsed.map_err(|error| format!("invalid {LEVEL_KEY}: {error}"))?);
                }
                LIFESPAN_KEY => drop(lifespan_of(event)?),
                PUBLISHER_KEY => publisher = Some(publisher_name(value, user)?),
                NUMBER_KEY => {
                    let parsed = value.parse::<u64>();
                    number = Some(parsed.map_err(|_| {
                        format!(
                            "invalid {NUMBER_KEY}: expected a number, got {:?}",
                            shown(value)
                        )
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

    /// Returns true if this can be the event at this offset behind `first`.
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

/// The name by which a log knows a publisher. It begins with the user, if there is one, so that no other user can take
/// the name and pass off its own events as repeated ones. A name contains no NUL, which therefore ends the user.
fn publisher_name(name: &str, user: Option<&str>) -> Result<Arc<str>, String> {
    if name.contains('\0') {
        return Err(format!(
            "invalid {PUBLISHER_KEY}: expected no NUL character, got {:?}",
            shown(name)
        ));
    }
    let own = user.map_or(0, |user| user.len() + 1);
    let len_max = Origin::NAME_LEN_MAX.saturating_sub(own);
    if name.len() > len_max {
        let behind = match user {
            Some(_) => " behind the name of the user",
            None => "",
        };
        return Err(format!(
            "invalid {PUBLISHER_KEY}: expected at most {len_max} bytes{behind}, got {}",
            name.len()
        ));
    }
    Ok(match user {
        Some(user) => format!("{user}\0{name}").into(),
        None => name.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::{Duration, Instant};

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
        let parts = publications(all, None).unwrap();
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
        assert_eq!(
            publications(events(&[&[], &[], &[]]), None).unwrap().len(),
            1
        );
    }

    #[test]
    fn events_that_differ_one_by_one_are_divided_without_a_move_of_those_behind() {
        let contexts = [&[][..], &[(LEVEL_KEY, "written")]].repeat(100_000);
        let events = events(&contexts);
        // Moving all remaining events for each of them takes more than ten seconds.
        let begin = Instant::now();
        let parts = publications(events, None).unwrap();
        assert_eq!(parts.len(), contexts.len());
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(5), "it took {took:?}");
    }

    #[test]
    fn a_publisher_of_one_user_is_not_one_of_another() {
        let origin = |name: &str, user: Option<&str>| {
            let all = events(&[&[(PUBLISHER_KEY, name), (NUMBER_KEY, "1")]]);
            let parts = publications(all, user)?;
            Ok::<_, String>(parts[0].origin.clone().expect("both entries").publisher)
        };
        let names = [
            origin("p", None),
            origin("p", Some("ann")),
            origin("p", Some("bob")),
            origin("annp", None),
        ];
        let names: BTreeSet<_> = names.into_iter().map(Result::unwrap).collect();
        assert_eq!(names.len(), 4);
        let longest = "p".repeat(Origin::NAME_LEN_MAX);
        assert!(origin(&longest, None).is_ok());
        let error = origin(&longest, Some("ann")).unwrap_err();
        let expected = "invalid floe.publisher: expected at most 251 bytes behind the name of the user, got 255";
        assert_eq!(error, expected);
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
                &[(PUBLISHER_KEY, "ann\0p"), (NUMBER_KEY, "1")],
                "invalid floe.publisher: expected no NUL character, got \"ann\\0p\"",
            ),
            (
                &[(PUBLISHER_KEY, &long_name), (NUMBER_KEY, "1")],
                "invalid floe.publisher: expected at most 255 bytes, got 256",
            ),
            (
                &[(PUBLISHER_KEY, "p"), (NUMBER_KEY, "-1")],
                "invalid floe.publisherSequence: expected a number, got \"-1\"",
            ),
        ] {
            let error = publications(events(&[&[], context]), None).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
