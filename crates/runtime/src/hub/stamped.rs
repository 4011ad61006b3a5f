//! Events of a log, with the stamps that the hub has put into their contexts.

use std::time::{Duration, SystemTime};

use floe_wire::message::{Context, SystemException};

use super::TypedEvent;
use crate::dispatch::Request;

/// An event of a durable topic, and where it is in the log of the topic: `topic.subscribe::<Stamped<TickerEvent>>()`.
///
/// A program that stores the sequence together with the result of the event, in one transaction, processes each event
/// exactly once: an event comes again after a failure, but with the same sequence. The subscription must be durable
/// ([`Qos::durable`](super::Qos::durable)) or begin in the log ([`Qos::begin_at`](super::Qos::begin_at)).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamped<E> {
    /// The event.
    pub event: E,
    /// The number of the event in the log of its topic. Later events have higher numbers.
    pub sequence: u64,
    /// When the hub got the event.
    pub time: SystemTime,
    /// Which attempt to deliver the event this is, from 1.
    pub attempt: u32,
}

impl<E: TypedEvent> TypedEvent for Stamped<E> {
    const TYPE_ID: &'static str = E::TYPE_ID;
    const TYPE_IDS: &'static [&'static str] = E::TYPE_IDS;
    const WANTS_STAMPS: bool = true;

    fn decode(request: &Request) -> Option<Result<Self, SystemException>> {
        let event = match E::decode(request)? {
            Ok(event) => event,
            Err(exception) => return Some(Err(exception)),
        };
        Some(stamp(event, &request.current().context()))
    }
}

fn stamp<E>(event: E, context: &Context) -> Result<Stamped<E>, SystemException> {
    let micros = Duration::from_micros(number(context, "floe.time")?);
    Ok(Stamped {
        event,
        sequence: number(context, "floe.sequence")?,
        time: SystemTime::UNIX_EPOCH + micros,
        attempt: u32::try_from(number(context, "floe.attempt")?).unwrap_or(u32::MAX),
    })
}

fn number(context: &Context, key: &str) -> Result<u64, SystemException> {
    let text = context.get(key);
    text.and_then(|text| text.parse().ok()).ok_or_else(|| {
        SystemException::UnknownLocalException(format!(
            "expected a number as {key} in the context of the event, got {text:?}; a Floe hub stamps the events of a \
             subscription with floe.durable or floe.from"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_a_stamp_is_refused_by_the_name_of_the_key() {
        let entries = [
            ("floe.sequence", "42"),
            ("floe.time", "1000001"),
            ("floe.attempt", "2"),
        ];
        let mut context: Context = entries
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let stamped = stamp("e", &context).unwrap();
        let expected = Stamped {
            event: "e",
            sequence: 42,
            time: SystemTime::UNIX_EPOCH + Duration::from_micros(1_000_001),
            attempt: 2,
        };
        assert_eq!(stamped, expected);
        for (value, shown) in [(Some("-1"), "Some(\"-1\")"), (None, "None")] {
            match value {
                Some(value) => context.insert("floe.sequence".to_owned(), value.to_owned()),
                None => context.remove("floe.sequence"),
            };
            let error = stamp("e", &context).unwrap_err().to_string();
            let expected = "expected a number as floe.sequence in the context of the event, got ";
            assert!(error.contains(&format!("{expected}{shown}")), "{error}");
        }
    }
}
