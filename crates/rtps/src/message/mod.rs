//! Messages: a header, and submessages one after the other.
//!
//! ```text
//! 0        4         6        8             20
//! | "RTPS" | version | vendor | guid prefix | submessages ...
//! ```
//!
//! A message is one datagram. Source: DDSI-RTPS 2.5, 8.3 and 9.4.

mod data;
mod header;
mod number_set;
mod parameter_list;
mod reliability;
mod submessage;
#[cfg(test)]
mod tests;

pub use data::{Data, DataFrag, InlineQos, PayloadKind};
pub use header::{HEADER_LEN, Header, ProtocolVersion};
pub use number_set::{FragmentNumberSet, SET_LEN_MAX, SequenceNumberSet};
pub use parameter_list::{
    PARAMETER_LEN_MAX, Parameter, ParameterId, ParameterList, ParameterWriter,
};
pub use reliability::{AckNack, Gap, Heartbeat, HeartbeatFrag, NackFrag};
pub use submessage::{SUBMESSAGE_HEADER_LEN, Submessage, Submessages};
