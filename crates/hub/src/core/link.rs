//! Links between topics: which events pass, and how one call forwards them.

use floe::encoding::{Decoder, Encoder};
use floe::forwarding::{EventParts, Events, EventsBuilder};
use floe::{DecodeError, EncodeError, EncodingVersion, OperationMode};

use super::context::entries;

/// The cost of a link, which decides which events pass.
///
/// Source: Ice manual, "IceStorm Federation"; observed: IceStorm 3.7.8, negative costs included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost(pub(crate) i32);

impl Cost {
    /// The events of a batch that pass, in order, as one batch or several. A batch stays whole if all its events pass.
    /// Otherwise the events that pass do not keep the memory of the others.
    pub(crate) fn passing(self, events: &Events) -> impl Iterator<Item = Events> + use<> {
        let mut rest = Some(events.clone());
        std::iter::from_fn(move || self.next_passing(&mut rest))
    }

    /// How many of the events pass.
    pub(crate) fn passing_count(self, events: &Events) -> usize {
        match self.0 {
            0 => events.len(),
            _ => events.iter().filter(|event| self.lets_pass(event)).count(),
        }
    }

    fn next_passing(self, rest: &mut Option<Events>) -> Option<Events> {
        let mut events = rest.take()?;
        if self.0 == 0 {
            return Some(events);
        }
        let first = events.iter().position(|event| self.lets_pass(event))?;
        if first > 0 {
            let _too_costly = events.split_to(first);
        }
        let count = events.iter().take_while(|event| self.lets_pass(event));
        match count.count() {
            all if all == events.len() => Some(events.detached()),
            count => {
                let passing = events.split_to(count);
                *rest = Some(events);
                Some(passing.detached())
            }
        }
    }

    /// A link of cost 0 lets every event pass. Any other link lets events pass that cost no more than the link.
    fn lets_pass(self, event: &[u8]) -> bool {
        EventParts::parse(event).is_ok_and(|parts| cost_of(parts.context) <= self.0)
    }
}

/// The cost that the context of an event gives; 0 if it gives none.
fn cost_of(context: &[u8]) -> i32 {
    let known = entries(context).map_while(Result::ok);
    let costs = known.filter(|(key, _)| *key == "cost");
    costs.last().map_or(0, |(_, value)| leading_number(value))
}

/// The number at the beginning of a text, as C's `atoi` reads it: 0 if there is none.
fn leading_number(text: &str) -> i32 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.chars().map_while(|character| character.to_digit(10));
    digits.fold(0_i32, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(sign * digit as i32)
    })
}

/// Encodes the parameters of a `forward` call for events, as a whole encapsulation.
///
/// ```text
/// | count | operation | mode | length | parameters | context | operation ...
///         |------ head ------|
/// ```
///
/// The parts of each event are copied unopened, in another order.
///
/// # Errors
/// [`EncodeError`] if they are too long for a message.
pub(crate) fn encode_forward(batches: &[Events]) -> Result<Vec<u8>, EncodeError> {
    let byte_len: usize = batches.iter().map(Events::byte_len).sum();
    let mut bytes = Vec::with_capacity(byte_len + 64);
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
        encoder.size(batches.iter().map(Events::len).sum());
        for event in batches.iter().flat_map(Events::iter) {
            // Queued events were checked when they came.
            if let Ok(parts) = EventParts::parse(event) {
                encoder.bytes(parts.head);
                encoder.size(parts.parameters.len());
                encoder.bytes(parts.parameters);
                encoder.bytes(parts.context);
            }
        }
    });
    encoder.finish()?;
    Ok(bytes)
}

/// Decodes the events of a `forward` call; `None` if there are none.
///
/// # Errors
/// [`DecodeError`] if the parameters are malformed, or contain something that is not an event.
pub(crate) fn decode_forward(decoder: &mut Decoder<'_>) -> Result<Option<Events>, DecodeError> {
    let mut events = EventsBuilder::default();
    // Operation, mode, length and context take at least one byte each, an encapsulation six.
    let count = decoder.count(10, "events")?;
    for _ in 0..count {
        events.push_with(|buffer| decode_event(decoder, buffer))?;
    }
    Ok(events.finish())
}

/// Appends an event in the order of a request.
fn decode_event(decoder: &mut Decoder<'_>, buffer: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
    encoder.string(decoder.str("operation")?);
    encoder.put(&decoder.get::<OperationMode>()?);
    let parameters_len = decoder.count(1, "parameters")?;
    let parameters = decoder.bytes(parameters_len, "parameters")?;
    let entries = decoder.count(2, "context")?;
    encoder.size(entries);
    for _ in 0..entries {
        encoder.string(decoder.str("context key")?);
        encoder.string(decoder.str("context value")?);
    }
    encoder.bytes(parameters);
    encoder
        .finish()
        .expect("texts that came in a message fit into one");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event with this context.
    fn event(context: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_0);
        encoder.string("tick");
        encoder.put(&OperationMode::Idempotent);
        encoder.size(context.len());
        for (key, value) in context {
            encoder.string(key);
            encoder.string(value);
        }
        encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.int(7));
        encoder.finish().unwrap();
        bytes
    }

    fn batch(events: &[Vec<u8>]) -> Events {
        let mut builder = EventsBuilder::default();
        for event in events {
            let write = |buffer: &mut Vec<u8>| {
                buffer.extend_from_slice(event);
                Ok(())
            };
            builder.push_with(write).unwrap();
        }
        builder.finish().unwrap()
    }

    fn passes(link: i32, context: &[(&str, &str)]) -> bool {
        Cost(link).passing(&batch(&[event(context)])).count() == 1
    }

    #[test]
    fn an_event_passes_a_link_that_is_free_or_costs_at_least_as_much() {
        for (cost, expected) in [
            ("5", true),
            ("6", false),
            ("x", true),
            ("", true),
            ("6x", false),
            (" 6", false),
            ("+6", false),
            ("-7", true),
            ("5.9", true),
            ("0x9", true),
            ("99999999999", false),
        ] {
            assert_eq!(passes(5, &[("z", "9"), ("cost", cost)]), expected, "{cost}");
            assert!(passes(0, &[("cost", cost)]));
        }
        assert!(passes(5, &[]) && passes(5, &[("costs", "9")]));
        assert!(!passes(-3, &[]), "0 is more than -3");
        assert!(passes(-3, &[("cost", "-3")]) && !passes(-3, &[("cost", "-2")]));
    }

    #[test]
    fn the_events_of_a_batch_that_pass_keep_their_order() {
        let cost = |cost: &'static str| event(&[("cost", cost)]);
        let (free, dear) = (cost("1"), cost("9"));
        let passing = |events: &[&Vec<u8>]| -> Vec<usize> {
            let events: Vec<_> = events.iter().map(|event| (*event).clone()).collect();
            let batch = batch(&events);
            let parts: Vec<_> = Cost(5).passing(&batch).map(|part| part.len()).collect();
            assert_eq!(Cost(5).passing_count(&batch), parts.iter().sum::<usize>());
            parts
        };
        assert_eq!(passing(&[&free, &free]), [2]);
        assert_eq!(passing(&[&dear, &dear]), [0; 0]);
        assert_eq!(passing(&[&dear, &free, &free, &dear, &free]), [2, 1]);
        assert_eq!(passing(&[&free, &dear]), [1]);
    }

    #[test]
    fn an_event_that_passes_does_not_hold_the_memory_of_many_that_do_not() {
        let cost = |cost: &'static str| event(&[("cost", cost)]);
        let mut events = vec![cost("9"); 100];
        let address = |events: &Events| events.iter().next().map(<[u8]>::as_ptr);
        for (at, expected) in [(0, 1), (50, 2), (99, 3)] {
            events[at] = cost("1");
            let whole = batch(&events);
            let passing: Vec<_> = Cost(5).passing(&whole).collect();
            assert_eq!(passing.len(), expected);
            let is_shared = |part: &Events| {
                let mut of_whole = whole.each();
                of_whole.any(|event| Some(event.as_bytes().as_ptr()) == address(part))
            };
            assert!(!passing.iter().any(is_shared));
        }
    }

    #[test]
    fn events_arrive_over_a_link_unchanged() {
        let long = event(&[("k", &"v".repeat(300)), ("cost", "3")]);
        let events = [event(&[]), long, event(&[("ä", "ö")])];
        let batches = [batch(&events[..2]), batch(&events[2..])];
        let bytes = encode_forward(&batches).unwrap();
        let mut decoder = Decoder::new(&bytes, EncodingVersion::V1_1);
        let mut inner = decoder.open_encapsulation().unwrap();
        let arrived = decode_forward(&mut inner).unwrap().unwrap();
        assert_eq!(arrived.iter().collect::<Vec<_>>(), events);
        inner.finish_exact("forward").unwrap();
    }

    #[test]
    fn an_empty_call_has_no_events_and_a_truncated_one_is_refused() {
        let decode = |bytes: &[u8]| decode_forward(&mut Decoder::new(bytes, EncodingVersion::V1_1));
        assert!(decode(b"\0").unwrap().is_none());
        let whole = &encode_forward(&[batch(&[event(&[("k", "v")])])]).unwrap()[6..];
        assert_eq!(decode(whole).unwrap().unwrap().len(), 1);
        for cut in 0..whole.len() {
            decode(&whole[..cut]).unwrap_err();
        }
    }
}
