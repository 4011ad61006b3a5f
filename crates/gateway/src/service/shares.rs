//! How many sessions each user and each address has, and may have.

use std::collections::HashMap;
use std::net::IpAddr;

use super::protection::{ShareKey, UserKey};
use super::sessions::NoSession;
use crate::settings::GatewaySettings;

/// The user of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub(super) user: UserKey,
    /// True if a verifier has proven the name. If none has, any client may use it.
    pub(super) is_proven: bool,
}

/// Counts sessions by user and by address.
#[derive(Debug, Default)]
pub(super) struct SessionShares(HashMap<ShareKey, usize>);

impl SessionShares {
    /// Checks that a user and an address may have one more session.
    pub(super) fn check(
        &self,
        owner: Owner,
        address: Option<IpAddr>,
        settings: &GatewaySettings,
    ) -> Result<(), NoSession> {
        let half = settings.session_limit.div_ceil(2);
        let of_user = settings.user_session_limit;
        let of_user = of_user.or(owner.is_proven.then_some(half));
        if of_user.is_some_and(|max| self.count(ShareKey::User(owner.user)) >= max) {
            return Err(NoSession::TooManyOfUser);
        }
        let of_address = settings.address_session_limit.unwrap_or(half);
        if address.is_some_and(|address| self.count(ShareKey::Address(address)) >= of_address) {
            return Err(NoSession::TooManyOfAddress);
        }
        Ok(())
    }

    pub(super) fn add(&mut self, owner: Owner, address: Option<IpAddr>) {
        for key in keys(owner, address) {
            *self.0.entry(key).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, owner: Owner, address: Option<IpAddr>) {
        for key in keys(owner, address) {
            if let Some(count) = self.0.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&key);
                }
            }
        }
    }

    fn count(&self, key: ShareKey) -> usize {
        self.0.get(&key).copied().unwrap_or_default()
    }
}

fn keys(owner: Owner, address: Option<IpAddr>) -> impl Iterator<Item = ShareKey> {
    let address = address.map(ShareKey::Address);
    [ShareKey::User(owner.user)].into_iter().chain(address)
}
