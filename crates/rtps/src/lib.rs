//! The DDS interoperability protocol, DDSI-RTPS: datagrams to samples and back.
//!
//! Pure: datagrams and a time go in; datagrams, events and a deadline come out. No socket, no clock, no async, no
//! randomness. Whoever uses it moves the datagrams, and gives the GUID prefix.
//!
//! - [`codec`]: numbers and strings in either byte order
//! - [`message`]: the header, the submessages, and the parameter lists inside of them
//! - [`qos`]: qualities of service, and which of them fit each other
//! - [`discovery`]: what participants and endpoints tell about themselves
//! - [`endpoint`]: writers and readers, reliable and not
//! - [`participant`]: all of it as one state machine, where you start
//!
//! Samples are raw: this crate knows nothing of their types. It sends no type information, so that peers match by the
//! names of topic and type.
//!
//! Source: OMG DDSI-RTPS 2.2 (formal/14-09-01) to 2.5 (formal/22-04-01); OMG DDS 1.4 (formal/15-04-10).

pub mod codec;
pub mod discovery;
pub mod endpoint;
pub mod guid;
pub mod locator;
pub mod message;
pub mod participant;
pub mod payload;
pub mod qos;
pub mod sequence_number;
pub mod timestamp;
