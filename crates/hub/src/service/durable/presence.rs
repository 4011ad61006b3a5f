//! The presence of subscribers of a durable subscription: which are there to receive events, and since when none is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::core::durable::Member;
use crate::lock::Mutex;

/// The subscribers of a durable subscription, and the programs that pull from it now.
#[derive(Debug)]
pub(crate) struct Presence(Mutex<PresentMembers>);

#[derive(Debug)]
struct PresentMembers {
    subscribers: BTreeMap<u64, PresentMember>,
    pulling: usize,
    /// Since when nobody is there. It means something only then.
    away_since: Instant,
    /// True if somebody has surely been there: it subscribed to this run of the hub, pulled, or could be reached after it could not.
    was_there: bool,
}

#[derive(Debug)]
struct PresentMember {
    identity: String,
    away_since: Option<Instant>,
}

/// The members that are there, for observers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PresenceReport {
    /// The subscribers, with the time since when they cannot be reached; the first ones if there are many.
    pub(crate) members: Vec<(String, Option<Duration>)>,
    /// For how long nobody has been there.
    pub(crate) away: Option<Duration>,
    /// Somebody was there since the hub started.
    pub(crate) was_there: bool,
}

/// An observer reads a few names.
const REPORTED_MAX: usize = 100;

/// A program pulls as long as this exists.
pub(crate) struct Pulling(Arc<Presence>);

impl Presence {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(PresentMembers {
            subscribers: BTreeMap::new(),
            pulling: 0,
            away_since: Instant::now(),
            was_there: false,
        })))
    }

    /// A subscriber has come, or was there when the hub ended: then it may be gone.
    pub(crate) fn join(&self, member: Member, identity: String, is_restored: bool) {
        let joined = PresentMember {
            identity,
            away_since: None,
        };
        let mut present = self.0.lock();
        present.was_there |= !is_restored;
        present.subscribers.insert(member.0, joined);
    }

    /// A subscriber cannot be reached.
    pub(crate) fn handle_absence(&self, member: Member) {
        self.0.lock().change(|present| {
            if let Some(own) = present.subscribers.get_mut(&member.0) {
                own.away_since.get_or_insert_with(Instant::now);
            }
        });
    }

    /// A subscriber that could not be reached is back.
    pub(crate) fn handle_return(&self, member: Member) {
        let mut present = self.0.lock();
        present.was_there = true;
        if let Some(own) = present.subscribers.get_mut(&member.0) {
            own.away_since = None;
        }
    }

    /// A subscriber has left.
    pub(crate) fn leave(&self, member: Member) {
        self.0.lock().change(|present| {
            present.subscribers.remove(&member.0);
        });
    }

    /// A program pulls, until the result is dropped.
    pub(crate) fn begin_pull(self: &Arc<Self>) -> Pulling {
        let mut present = self.0.lock();
        (present.pulling, present.was_there) = (present.pulling + 1, true);
        drop(present);
        Pulling(self.clone())
    }

    pub(crate) fn report(&self, now: Instant) -> PresenceReport {
        let present = self.0.lock();
        let passed = |since: Instant| now.saturating_duration_since(since);
        let members = present.subscribers.values().take(REPORTED_MAX);
        PresenceReport {
            members: members
                .map(|own| (own.identity.clone(), own.away_since.map(passed)))
                .collect(),
            away: (!present.is_anybody_there()).then(|| passed(present.away_since)),
            was_there: present.was_there,
        }
    }
}

impl PresentMembers {
    fn is_anybody_there(&self) -> bool {
        self.pulling > 0 || self.subscribers.values().any(|it| it.away_since.is_none())
    }

    /// Notes the time if nobody is there any more.
    fn change(&mut self, change: impl FnOnce(&mut Self)) {
        let was_there = self.is_anybody_there();
        change(self);
        if was_there && !self.is_anybody_there() {
            self.away_since = Instant::now();
        }
    }
}

impl Drop for Pulling {
    fn drop(&mut self) {
        self.0.0.lock().change(|present| present.pulling -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_there_when_the_last_one_has_left_or_cannot_be_reached() {
        let presence = Presence::new();
        let away = || presence.report(Instant::now()).away.is_some();
        assert!(away());
        presence.join(Member(1), "a".to_owned(), true);
        presence.join(Member(2), "b".to_owned(), true);
        presence.leave(Member(1));
        assert!(!away());
        presence.handle_absence(Member(2));
        let report = presence.report(Instant::now());
        assert!(
            matches!(&report.members[..], [(name, Some(_))] if name == "b"),
            "{report:?}"
        );
        assert!(away() && !report.was_there);
        presence.handle_return(Member(2));
        assert!(!away() && presence.report(Instant::now()).was_there);
    }

    #[test]
    fn who_subscribes_to_this_run_of_the_hub_was_there() {
        let presence = Presence::new();
        presence.join(Member(1), "a".to_owned(), false);
        presence.leave(Member(1));
        assert!(presence.report(Instant::now()).was_there);
    }

    #[test]
    fn a_program_is_there_while_it_pulls() {
        let presence = Presence::new();
        let pulling = presence.begin_pull();
        assert_eq!(presence.report(Instant::now()).away, None);
        drop(pulling);
        let later = Instant::now() + Duration::from_secs(5);
        assert!(presence.report(later).away >= Some(Duration::from_secs(5)));
    }
}
