//! The client that began a subscription.

use std::net::IpAddr;

use super::user_accounts::UserName;

/// A client, as far as the hub can tell it from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// A user that the rules know.
    User(UserName),
    /// A caller without a name, by the address or network of its connection.
    Address(IpAddr),
    /// A caller without either. The store keeps no addresses, so clients of a store that had no name are of this kind.
    Unknown,
}

impl Client {
    /// The user of this name.
    pub(crate) fn of_user(user: Option<UserName>) -> Self {
        user.map_or(Self::Unknown, Self::User)
    }

    /// The name of the user, if the rules know it.
    pub(crate) fn user(&self) -> Option<&UserName> {
        match self {
            Self::User(user) => Some(user),
            Self::Address(_) | Self::Unknown => None,
        }
    }
}
