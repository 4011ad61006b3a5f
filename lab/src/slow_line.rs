//! A slow line between a server and a client on this computer.
//!
//! - `slow_line/namespaces.rs`: two network namespaces, whose kernel limits the rate
//! - `slow_line/relay.rs`: relays of our own, where the system makes no such namespaces

mod namespaces;
mod relay;

use std::process::Command;
use std::time::Duration;

use crate::error::LabError;
use crate::sample::Carried;
use namespaces::Namespaces;
use relay::Relay;

/// The qualities of a line, the same in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineQuality {
    pub(crate) bits_per_second: u32,
    /// Of everything, from one end to the other.
    pub(crate) delay: Duration,
    /// How much of what is sent is lost on the way.
    pub(crate) loss_percent: u32,
}

/// A modem of the published test.
pub(crate) const MODEM: LineQuality = LineQuality {
    bits_per_second: 56_000,
    delay: Duration::ZERO,
    loss_percent: 0,
};

/// A radio link.
pub(crate) const RADIO: LineQuality = LineQuality {
    bits_per_second: 1_000_000,
    delay: Duration::from_millis(100),
    loss_percent: 1,
};

impl LineQuality {
    /// Returns true if it does more than to limit the rate.
    fn has_faults(self) -> bool {
        !self.delay.is_zero() || self.loss_percent > 0
    }
}

/// An end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Server,
    Client,
}

/// A line. Dropping it removes it.
#[derive(Debug)]
pub(crate) enum SlowLine {
    Namespaces(Namespaces),
    Relay(Relay),
}

impl SlowLine {
    /// Lays a line of this quality: between namespaces if the system makes such a line, or else with a relay.
    ///
    /// # Errors
    /// [`LabError::System`] if the system makes such lines, but not this one.
    pub(crate) fn new(quality: LineQuality) -> Result<Self, LabError> {
        match namespaces::refusal(quality) {
            None => Namespaces::new(quality).map(Self::Namespaces),
            Some(_) => Ok(Self::Relay(Relay::new(quality))),
        }
    }

    /// The command, run at an end of the line.
    pub(crate) fn at(&self, end: End, command: &Command) -> Command {
        match self {
            Self::Namespaces(namespaces) => namespaces.at(end, command),
            Self::Relay(relay) => relay.at(end, command),
        }
    }

    /// Where a client reaches the server that has said this address.
    ///
    /// # Errors
    /// [`LabError::System`] if the system does not let a relay listen there.
    pub(crate) fn through(&mut self, address: &str) -> Result<String, LabError> {
        match self {
            Self::Namespaces(_) => Ok(address.to_owned()),
            Self::Relay(relay) => relay.through(address),
        }
    }

    /// Returns the bytes that the line has carried until now, of connections that still exist.
    ///
    /// # Errors
    /// [`LabError::System`] if the system does not say.
    pub(crate) fn carried(&self) -> Result<Carried, LabError> {
        match self {
            Self::Namespaces(namespaces) => namespaces.carried(),
            Self::Relay(relay) => Ok(relay.carried()),
        }
    }
}

/// A note on figures over a relay.
pub(crate) const RELAY_NOTE: &str = "this system makes no such line between network namespaces, which takes root, iproute2 and for delay and loss netem in the \
     kernel: relays of the lab limit the rate instead. They count the bytes of messages; those at the device are estimated, and \
     a lost segment is one that comes a round trip later";

/// The host at which a server of this process shall listen.
pub(crate) fn own_host() -> String {
    std::env::var(HOST_VARIABLE).unwrap_or_else(|_| "127.0.0.1".to_owned())
}

/// Tells a server where to listen.
const HOST_VARIABLE: &str = "FLOE_LAB_HOST";

/// Bytes that pass without waiting after a pause: little more than a frame, so that short messages are slow, too.
const BURST: u32 = 1600;
