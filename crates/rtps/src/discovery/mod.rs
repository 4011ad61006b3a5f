//! Announcements of participants and endpoints, as parameter lists.
//!
//! - [`ParticipantData`]: where a participant is reached, and how long it lives (SPDP)
//! - [`EndpointData`]: topic, type and qualities of service of a writer or a reader (SEDP)
//! - [`LivelinessData`]: the writers of a participant live (WLP)
//!
//! Source: DDSI-RTPS 2.5, 8.5 and 9.6.3.

mod endpoint_data;
mod liveliness_data;
mod participant_data;
#[cfg(test)]
mod tests;

pub use endpoint_data::{EndpointData, NAME_LEN_MAX};
pub use liveliness_data::LivelinessData;
pub use participant_data::{BuiltinEndpoints, LOCATORS_MAX, ParticipantData};

use crate::codec::{ByteOrder, DecodeError, DecodeErrorKind, Decoder};
use crate::message::ParameterList;
use crate::payload::Representation;

/// The parameter list in a payload.
fn parameters<'a>(payload: &'a [u8], what: &'static str) -> Result<ParameterList<'a>, DecodeError> {
    let refused = |kind| Decoder::new(payload, ByteOrder::Big).error(what, kind);
    match Representation::split(payload) {
        Ok((Representation::ParameterList(order), value)) => {
            ParameterList::take(&mut Decoder::new(value, order))
        }
        _ => Err(refused(DecodeErrorKind::NotSupported(
            "a representation other than a parameter list, version 1,",
        ))),
    }
}

fn missing(what: &'static str) -> DecodeError {
    Decoder::new(&[], ByteOrder::Big).error(
        what,
        DecodeErrorKind::NotSupported("a list without this parameter"),
    )
}

/// The header of a parameter list, little-endian.
const PARAMETERS_LE: [u8; 4] = [0, 3, 0, 0];
