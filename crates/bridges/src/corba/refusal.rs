//! Why a request of a program is refused: the system exceptions of this world.

use std::fmt;

use floe::hub::HubError;
use floe_giop::cos::Raised;
use floe_giop::system_exception::{Completion, SystemException, SystemExceptionKind as Kind};

use crate::hub::PublishError;

/// A reason, and its exception: the table in `docs/guides/bridges.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The hub refused the event or the subscription: an access rule, a limit, or the topic is gone.
    ByHub,
    /// The hub is away, and does not have the event.
    HubAway,
    /// The connection to the hub broke, and it may have the event.
    HubUnknown,
    /// The `any` is of another type than the topic's events.
    OtherType,
    /// The value is no value of its type, or nothing of the contract.
    Malformed,
    /// The consumer's reference leads where the bridge may not connect.
    ConsumerNotAllowed,
    /// The consumer's reference has no address that can be found.
    ConsumerNotFound,
    /// The topic does not go this way.
    Direction,
    /// Programs do not change names, and do not destroy channels.
    ReadOnly,
    /// Too many proxies or consumers.
    TooMany,
    /// The bridge ends.
    Ending,
}

/// The minor codes of Floe are this and a number. It is not registered with the OMG.
pub const MINOR: u32 = 0x464c_6000;

impl Refusal {
    /// The exception.
    pub(super) fn exception(self) -> SystemException {
        let (kind, minor) = match self {
            Self::ByHub => (Kind::NoPermission, 1),
            Self::HubAway => (Kind::Transient, 2),
            Self::HubUnknown => (Kind::CommFailure, 3),
            Self::OtherType => (Kind::BadParam, 4),
            Self::Malformed => (Kind::Marshal, 5),
            Self::ConsumerNotAllowed => (Kind::NoPermission, 6),
            Self::ConsumerNotFound => (Kind::InvObjref, 7),
            Self::Direction => (Kind::NoPermission, 8),
            Self::ReadOnly => (Kind::NoPermission, 9),
            Self::TooMany => (Kind::ImpLimit, 10),
            Self::Ending => (Kind::Transient, 11),
        };
        let completed = match self {
            Self::HubUnknown => Completion::Maybe,
            _ => Completion::No,
        };
        SystemException {
            kind,
            minor: MINOR | minor,
            completed,
        }
    }

    /// The reason why the hub could not be asked, or said no.
    pub(super) fn of_hub(error: &HubError) -> Self {
        match error {
            HubError::Hub { .. } => Self::HubAway,
            _ => Self::ByHub,
        }
    }

    /// The reason why an event was not published.
    pub(super) fn of_publishing(error: &PublishError) -> Self {
        match error {
            PublishError::Refused(_) => Self::ByHub,
            PublishError::Away(_) => Self::HubAway,
            PublishError::Unknown(_) => Self::HubUnknown,
        }
    }
}

impl From<Refusal> for Raised {
    fn from(refusal: Refusal) -> Self {
        Self::System(refusal.exception())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.exception().fmt(f)
    }
}
