//! An event of a topic as one sample, and back.

use std::fmt;
use std::sync::Arc;

use floe_dynamic::{Cause, WalkError};
use floe_rtps::codec::ByteOrder;
use floe_rtps::payload::{PAYLOAD_HEADER_LEN, PayloadError, Representation};
use floe_rtps::qos::representation;
use floe_wire::encoding::EncodeError;

use super::{CdrError, CdrReader, CdrVersion, CdrWriter};
use crate::core::account::Reason;
use crate::core::mapping::{EventKind, EventTypes};

/// Events of a topic as samples of its one type.
///
/// ```text
/// one operation:       | representation: 2 | options: 2 | members of the struct, or parameters
/// several operations:  | representation: 2 | options: 2 | operation: i32, in order from 0 | as above
/// ```
#[derive(Debug, Clone)]
pub struct EventCodec {
    events: Arc<EventTypes>,
    version: CdrVersion,
    len_max: usize,
}

/// A sample that is no event, or an event that cannot be a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleError {
    /// The payload has no header that is known.
    Payload(PayloadError),
    /// An encoding that is not read.
    Representation(Representation),
    /// An operation that the interface does not have.
    NoSuchOperation {
        /// Its ordinal.
        ordinal: i32,
        /// How many there are.
        count: usize,
    },
    /// The bytes of the sample are no values of its type.
    Malformed(WalkError<CdrError, EncodeError>),
    /// There are too few or too many bytes.
    Length(CdrError),
    /// The event of the hub has other parameters than the contract says.
    NotOfContract(String),
    /// CDR cannot say a value of the event.
    CannotBeSaid(String),
}

impl EventCodec {
    /// A codec that writes samples of at most `len_max` bytes.
    ///
    /// Samples are written in XCDR1, which every DDS reads. A type with optional members is written in XCDR2: Cyclone DDS 0.10 has
    /// such members only there.
    pub fn new(events: Arc<EventTypes>, len_max: usize) -> Self {
        let mut inputs = events
            .kinds()
            .iter()
            .flat_map(|kind| kind.operation().inputs().members());
        let version = match inputs.any(|member| member.tag().is_some()) {
            true => CdrVersion::Two,
            false => CdrVersion::One,
        };
        Self {
            events,
            version,
            len_max,
        }
    }

    /// The events.
    pub fn events(&self) -> &Arc<EventTypes> {
        &self.events
    }

    /// The encoding in which samples are written, and then the others that are read, in numbers of the standard.
    pub fn representations(&self) -> Vec<i16> {
        match self.version {
            CdrVersion::One => vec![representation::XCDR1, representation::XCDR2],
            CdrVersion::Two => vec![representation::XCDR2, representation::XCDR1],
        }
    }

    /// The sample of an event: its kind, and its parameters as a whole encapsulation.
    ///
    /// # Errors
    /// [`SampleError::NotOfContract`] or [`SampleError::CannotBeSaid`].
    pub fn encode(&self, kind: usize, parameters: &[u8]) -> Result<Vec<u8>, SampleError> {
        let of_kind = &self.events.kinds()[kind];
        let header = match self.version {
            CdrVersion::One => Representation::Cdr(ByteOrder::Little),
            CdrVersion::Two => Representation::Cdr2(ByteOrder::Little),
        };
        let mut payload = header.join(&[]);
        let len_max = self.len_max - (self.len_max - PAYLOAD_HEADER_LEN) % 4;
        let mut writer = CdrWriter::new(&mut payload, self.version, len_max);
        if self.events.only().is_none() {
            let ordinal = i32::try_from(kind).unwrap_or(i32::MAX);
            let written = writer.ordinal(ordinal);
            written.map_err(|error| SampleError::CannotBeSaid(error.to_string()))?;
        }
        let walked = of_kind.write_to(parameters, &mut writer);
        walked.map_err(|error| match &error.cause {
            Cause::Read(_) => SampleError::NotOfContract(error.to_string()),
            Cause::Write(_) => SampleError::CannotBeSaid(error.to_string()),
        })?;
        pad(&mut payload);
        Ok(payload)
    }

    /// The event of a sample: its kind, and its parameters as a whole encapsulation.
    ///
    /// # Errors
    /// [`SampleError`]
    pub fn decode(&self, payload: &[u8]) -> Result<(&EventKind, Vec<u8>), SampleError> {
        let (representation, value) =
            Representation::split(payload).map_err(SampleError::Payload)?;
        let (order, version) = match representation {
            Representation::Cdr(order) => (order, CdrVersion::One),
            Representation::Cdr2(order) => (order, CdrVersion::Two),
            other => return Err(SampleError::Representation(other)),
        };
        let mut reader = CdrReader::new(value, order, version);
        let kind = match self.events.only() {
            Some(only) => only,
            None => self.kind(&mut reader)?,
        };
        let parameters = kind
            .read_from(&mut reader)
            .map_err(SampleError::Malformed)?;
        reader.finish().map_err(SampleError::Length)?;
        Ok((kind, parameters))
    }

    fn kind(&self, reader: &mut CdrReader<'_>) -> Result<&EventKind, SampleError> {
        let ordinal = reader
            .ordinal("an operation")
            .map_err(SampleError::Length)?;
        let kinds = self.events.kinds();
        let found = usize::try_from(ordinal).ok().and_then(|at| kinds.get(at));
        found.ok_or(SampleError::NoSuchOperation {
            ordinal,
            count: kinds.len(),
        })
    }
}

/// Pads a payload to a multiple of 4, as submessages are, and says in the options by how much.
fn pad(payload: &mut Vec<u8>) {
    let padding = payload.len().next_multiple_of(4) - payload.len();
    payload[3] = padding as u8;
    payload.resize(payload.len() + padding, 0);
}

impl SampleError {
    /// The reason in an account.
    pub fn reason(&self) -> Reason {
        match self {
            Self::CannotBeSaid(_) => Reason::CannotBeSaid,
            Self::NotOfContract(_) => Reason::NotOfContract,
            _ => Reason::Malformed,
        }
    }
}

impl fmt::Display for SampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Payload(error) => error.fmt(f),
            Self::Representation(representation) => write!(
                f,
                "expected a sample of a final type in plain CDR, version 1 or 2, got {}; declare the type `@final`, as \
                 `floe slice idl` does",
                name(*representation)
            ),
            Self::NoSuchOperation { ordinal, count } => write!(
                f,
                "expected an operation from 0 to {} as the discriminator, got {ordinal}",
                count.saturating_sub(1)
            ),
            Self::Malformed(error) => error.fmt(f),
            Self::Length(error) => error.fmt(f),
            Self::NotOfContract(reason) | Self::CannotBeSaid(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for SampleError {}

fn name(representation: Representation) -> &'static str {
    match representation {
        Representation::Cdr(_) => "plain CDR",
        Representation::ParameterList(_) => "a parameter list, as mutable types have it",
        Representation::Cdr2(_) => "plain CDR, version 2",
        Representation::DelimitedCdr2(_) => "delimited CDR, as appendable types have it",
        Representation::ParameterList2(_) => {
            "a parameter list of version 2, as mutable types have it"
        }
        Representation::Xml => "XML",
    }
}
