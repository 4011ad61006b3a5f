//! Qualities of service as parameters of discovery.

use std::time::Duration;

use crate::codec::{DecodeError, DecodeErrorKind, Decoder, Encoder};
use crate::message::{ParameterId, ParameterList, ParameterWriter};
use crate::timestamp::{decode_span, encode_span};

use super::{
    AccessScope, DestinationOrder, Durability, History, Liveliness, LivelinessKind, Ownership,
    Presentation, Qos, Reliability,
};

/// The most partitions of an endpoint; peers have a handful.
pub(crate) const PARTITIONS_MAX: usize = 64;
/// The longest name of a partition in bytes. Cyclone takes 256.
pub(crate) const PARTITION_LEN_MAX: usize = 256;
/// The most representations of an endpoint; the standard has three.
const REPRESENTATIONS_MAX: usize = 8;

/// Reads what a list says; what it does not say is as in `defaults`.
pub(crate) fn decode(list: &ParameterList<'_>, defaults: Qos) -> Result<Qos, DecodeError> {
    let mut qos = defaults;
    for parameter in list.iter() {
        let mut value = parameter.value;
        let from = &mut value;
        match parameter.id {
            ParameterId::RELIABILITY => {
                qos.reliability = match from.u32("reliability")? {
                    1 => Reliability::BestEffort,
                    2 => Reliability::Reliable,
                    other => return Err(from.invalid("reliability", other)),
                }
            }
            ParameterId::DURABILITY => {
                qos.durability = match from.u32("durability")? {
                    0 => Durability::Volatile,
                    1 => Durability::TransientLocal,
                    2 => Durability::Transient,
                    3 => Durability::Persistent,
                    other => return Err(from.invalid("durability", other)),
                }
            }
            ParameterId::DEADLINE => qos.deadline = decode_span(from, "deadline")?,
            ParameterId::LATENCY_BUDGET => {
                qos.latency_budget = decode_span(from, "latency budget")?.unwrap_or(Duration::MAX);
            }
            ParameterId::OWNERSHIP => {
                qos.ownership = match from.u32("ownership")? {
                    0 => Ownership::Shared,
                    1 => Ownership::Exclusive,
                    other => return Err(from.invalid("ownership", other)),
                }
            }
            ParameterId::OWNERSHIP_STRENGTH => {
                qos.ownership_strength = from.i32("ownership strength")?;
            }
            ParameterId::LIVELINESS => qos.liveliness = decode_liveliness(from)?,
            ParameterId::HISTORY => qos.history = decode_history(from)?,
            ParameterId::PRESENTATION => qos.presentation = decode_presentation(from)?,
            ParameterId::DESTINATION_ORDER => {
                qos.destination_order = match from.u32("destination order")? {
                    0 => DestinationOrder::ByReception,
                    1 => DestinationOrder::BySource,
                    other => return Err(from.invalid("destination order", other)),
                }
            }
            ParameterId::PARTITION => qos.partitions = decode_partitions(from)?,
            ParameterId::DATA_REPRESENTATION => {
                qos.representations = decode_representations(from)?;
            }
            _ => {}
        }
    }
    Ok(qos)
}

fn decode_liveliness(from: &mut Decoder<'_>) -> Result<Liveliness, DecodeError> {
    let kind = match from.u32("liveliness")? {
        0 => LivelinessKind::Automatic,
        1 => LivelinessKind::ManualByParticipant,
        2 => LivelinessKind::ManualByTopic,
        other => return Err(from.invalid("liveliness", other)),
    };
    let lease = decode_span(from, "lease of liveliness")?;
    Ok(Liveliness { kind, lease })
}

fn decode_history(from: &mut Decoder<'_>) -> Result<History, DecodeError> {
    let kind = from.u32("history")?;
    let depth = from.i32("depth of history")?;
    match (kind, u32::try_from(depth)) {
        (0, Ok(depth)) if depth > 0 => Ok(History::KeepLast(depth)),
        (0, _) => Err(from.invalid("depth of history", depth)),
        (1, _) => Ok(History::KeepAll),
        _ => Err(from.invalid("history", kind)),
    }
}

fn decode_presentation(from: &mut Decoder<'_>) -> Result<Presentation, DecodeError> {
    let scope = match from.u32("presentation")? {
        0 => AccessScope::Instance,
        1 => AccessScope::Topic,
        2 => AccessScope::Group,
        other => return Err(from.invalid("presentation", other)),
    };
    Ok(Presentation {
        scope,
        is_coherent: from.u8("coherent access")? != 0,
        is_ordered: from.u8("ordered access")? != 0,
    })
}

fn decode_partitions(from: &mut Decoder<'_>) -> Result<Vec<String>, DecodeError> {
    let count = count(from, "partitions", PARTITIONS_MAX)?;
    (0..count)
        .map(|_| Ok(from.string("partition", PARTITION_LEN_MAX)?.to_owned()))
        .collect()
}

fn decode_representations(from: &mut Decoder<'_>) -> Result<Vec<i16>, DecodeError> {
    let count = count(from, "data representations", REPRESENTATIONS_MAX)?;
    (0..count)
        .map(|_| Ok(from.u16("data representation")?.cast_signed()))
        .collect()
}

fn count(from: &mut Decoder<'_>, what: &'static str, limit: usize) -> Result<usize, DecodeError> {
    let got = from.u32(what)? as usize;
    if got > limit {
        return Err(from.error(what, DecodeErrorKind::TooLong { limit, got }));
    }
    Ok(got)
}

/// Writes all of them, so that peers with other defaults understand the same.
pub(crate) fn encode(qos: &Qos, is_writer: bool, list: &mut ParameterWriter<'_>) {
    list.parameter(ParameterId::RELIABILITY, |into| {
        into.u32(match qos.reliability {
            Reliability::BestEffort => 1,
            Reliability::Reliable => 2,
        });
        encode_span(Some(MAX_BLOCKING_TIME), into);
    });
    list.parameter(ParameterId::DURABILITY, |into| {
        into.u32(qos.durability as u32);
    });
    list.parameter(ParameterId::DEADLINE, |into| {
        encode_span(qos.deadline, into)
    });
    list.parameter(ParameterId::LATENCY_BUDGET, |into| {
        encode_span(Some(qos.latency_budget), into);
    });
    list.parameter(ParameterId::OWNERSHIP, |into| {
        into.u32(qos.ownership as u32)
    });
    if is_writer && qos.ownership == Ownership::Exclusive {
        list.parameter(ParameterId::OWNERSHIP_STRENGTH, |into| {
            into.i32(qos.ownership_strength);
        });
    }
    list.parameter(ParameterId::LIVELINESS, |into| {
        into.u32(qos.liveliness.kind as u32);
        encode_span(qos.liveliness.lease, into);
    });
    list.parameter(ParameterId::HISTORY, |into| {
        encode_history(qos.history, into)
    });
    list.parameter(ParameterId::PRESENTATION, |into| {
        into.u32(qos.presentation.scope as u32);
        into.u8(u8::from(qos.presentation.is_coherent));
        into.u8(u8::from(qos.presentation.is_ordered));
    });
    list.parameter(ParameterId::DESTINATION_ORDER, |into| {
        into.u32(qos.destination_order as u32);
    });
    if !qos.partitions.is_empty() {
        list.parameter(ParameterId::PARTITION, |into| {
            into.u32(short_len(qos.partitions.len()));
            qos.partitions.iter().for_each(|name| into.string(name));
        });
    }
    list.parameter(ParameterId::DATA_REPRESENTATION, |into| {
        into.u32(short_len(qos.representations.len()));
        for representation in &qos.representations {
            into.u16(representation.cast_unsigned());
        }
    });
}

fn encode_history(history: History, into: &mut Encoder<'_>) {
    match history {
        History::KeepLast(depth) => {
            into.u32(0);
            into.u32(depth);
        }
        History::KeepAll => {
            into.u32(1);
            // The depth that other implementations write here.
            into.i32(1);
        }
    }
}

fn short_len(len: usize) -> u32 {
    u32::try_from(len).expect("the lists of an endpoint are short")
}

/// How long a writer blocks if a reader is slow. Ours never block: they refuse, see
/// [`WriteError::Full`](crate::endpoint::WriteError::Full). This is the standard's default.
const MAX_BLOCKING_TIME: Duration = Duration::from_millis(100);
