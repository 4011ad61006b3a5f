//! Why a locator rejected the registration of an adapter.

use std::fmt;

use super::InvokeError;

/// Why a locator rejected the registration of an adapter.
#[derive(Clone)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The locator knows no adapter with this id, and accepts no new one.
    #[doc(alias = "NotRegisteredException")]
    UnknownAdapter,
    /// The adapter is not a member of this replica group.
    UnknownReplicaGroup {
        /// The id of the group.
        id: String,
    },
    /// The adapter is active elsewhere.
    #[doc(alias = "ObjectAdapterIdInUseException")]
    AlreadyActive,
    /// The call to the locator failed.
    Invoke(InvokeError),
}

impl RegistrationError {
    /// Returns true if the locator may have accepted the registration anyway.
    pub(crate) fn may_be_registered(&self) -> bool {
        matches!(self, Self::Invoke(error) if !error.is_surely_not_dispatched())
    }
}

/// The text of `Display`: `main` prints the error that it returns in this form.
impl fmt::Debug for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAdapter => f.write_str(
                "the locator knows no such adapter, and accepts no new one: define the adapter there, or let an IceGrid \
                 registry accept new adapters (IceGrid.Registry.DynamicRegistration=1)",
            ),
            Self::UnknownReplicaGroup { id } => write!(
                f,
                "the adapter is not a member of the replica group \"{id}\": expected the one that the locator has for it"
            ),
            Self::AlreadyActive => f.write_str(
                "the adapter is active elsewhere: end that server, or give this one another id",
            ),
            Self::Invoke(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RegistrationError {}
