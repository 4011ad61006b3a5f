//! The members of a durable subscription: which of them can be reached, since when nobody is there, and which are forgotten.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Member;

/// The subscribers that share a durable subscription, and the programs that pull from it now.
#[derive(Debug)]
pub(crate) struct Members {
    last: u64,
    subscribers: BTreeMap<Member, MemberState>,
    pulling: usize,
    /// Since when nobody is there. It means something only then.
    away_since: Instant,
    /// True if somebody has surely been there: it subscribed to this run of the hub, was reached, or pulled.
    was_there: bool,
}

#[derive(Debug)]
struct MemberState {
    identity: String,
    /// Since when it cannot be reached; `None` if it can, or was not tried yet.
    absent_since: Option<Instant>,
}

/// The members, for observers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MembersReport {
    /// The subscribers, with the time for which they cannot be reached; the first ones if there are many.
    pub(crate) subscribers: Vec<(String, Option<Duration>)>,
    /// For how long nobody has been there.
    pub(crate) away: Option<Duration>,
    /// Somebody was there since the hub started.
    pub(crate) was_there: bool,
}

/// An observer reads a few names.
const REPORTED_MAX: usize = 100;

impl Members {
    /// A member that cannot be reached for this long is forgotten if there is another one. It is longer than a program takes
    /// to start again, and than most breaks of a network.
    pub(crate) const ABSENCE_MAX: Duration = Duration::from_secs(60);

    pub(crate) fn new(now: Instant) -> Self {
        Self {
            last: 0,
            subscribers: BTreeMap::new(),
            pulling: 0,
            away_since: now,
            was_there: false,
        }
    }

    /// A subscriber has come, or was there when the hub ended: then it may be gone.
    pub(crate) fn join(&mut self, identity: String, is_restored: bool) -> Member {
        self.last += 1;
        let member = Member(self.last);
        let absent_since = None;
        self.was_there |= !is_restored;
        self.subscribers.insert(
            member,
            MemberState {
                identity,
                absent_since,
            },
        );
        member
    }

    /// A subscriber has left.
    pub(crate) fn leave(&mut self, member: Member, now: Instant) {
        self.change(now, |members| {
            members.subscribers.remove(&member);
        });
    }

    /// A member can be reached.
    pub(crate) fn handle_presence(&mut self, member: Member) {
        self.was_there = true;
        if let Some(own) = self.subscribers.get_mut(&member) {
            own.absent_since = None;
        }
    }

    /// A member cannot be reached. Returns true if it is forgotten: it then counts no more. If its program has certainly
    /// ended, this does not wait.
    ///
    /// The one that was there last always stays: perhaps the network is broken, and the programs believe that they are
    /// subscribed. So somebody gets the events when it works again.
    pub(crate) fn handle_absence(&mut self, member: Member, has_ended: bool, now: Instant) -> bool {
        let mut since = now;
        self.change(now, |members| {
            if let Some(own) = members.subscribers.get_mut(&member) {
                since = *own.absent_since.get_or_insert(now);
            }
        });
        let is_over = has_ended || now.saturating_duration_since(since) >= Self::ABSENCE_MAX;
        let was_there_later = |(other, it): (&Member, &MemberState)| {
            *other != member && it.absent_since.is_none_or(|other| other >= since)
        };
        let is_forgotten = is_over && self.subscribers.iter().any(was_there_later);
        if is_forgotten {
            self.leave(member, now);
        }
        is_forgotten
    }

    /// A program begins to pull.
    pub(crate) fn begin_pull(&mut self) {
        (self.pulling, self.was_there) = (self.pulling + 1, true);
    }

    /// A program pulls no more.
    pub(crate) fn end_pull(&mut self, now: Instant) {
        self.change(now, |members| members.pulling -= 1);
    }

    pub(crate) fn report(&self, now: Instant) -> MembersReport {
        let passed = |since: Instant| now.saturating_duration_since(since);
        let subscribers = self.subscribers.values().take(REPORTED_MAX);
        MembersReport {
            subscribers: subscribers
                .map(|own| (own.identity.clone(), own.absent_since.map(passed)))
                .collect(),
            away: (!self.is_anybody_there()).then(|| passed(self.away_since)),
            was_there: self.was_there,
        }
    }

    fn is_anybody_there(&self) -> bool {
        let mut subscribers = self.subscribers.values();
        self.pulling > 0 || subscribers.any(|it| it.absent_since.is_none())
    }

    /// Notes the time if nobody is there any more.
    fn change(&mut self, now: Instant, change: impl FnOnce(&mut Self)) {
        let was_there = self.is_anybody_there();
        change(self);
        if was_there && !self.is_anybody_there() {
            self.away_since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(members: &mut Members) -> Member {
        members.join("s".to_owned(), true)
    }

    #[test]
    fn members_that_cannot_be_reached_are_forgotten_but_for_the_last() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut members = Members::new(start);
        let all: Vec<Member> = (0..4).map(|_| join(&mut members)).collect();
        for (at, member) in all[..3].iter().enumerate() {
            assert!(!members.handle_absence(*member, false, after(at as u64)));
        }
        assert!(!members.handle_absence(all[0], false, after(59)));
        assert!(members.handle_absence(all[0], false, after(60)));
        members.handle_presence(all[1]);
        assert!(
            !members.handle_absence(all[1], false, after(62)),
            "it was there again"
        );
        members.leave(all[3], after(62));
        assert!(members.handle_absence(all[2], false, after(62)));
        assert!(
            !members.handle_absence(all[1], false, after(1000)),
            "it was there last"
        );
    }

    #[test]
    fn a_member_whose_program_has_ended_is_forgotten_at_once_but_for_the_last() {
        let now = Instant::now();
        let mut members = Members::new(now);
        let (one, other) = (join(&mut members), join(&mut members));
        assert!(members.handle_absence(one, true, now));
        assert!(!members.handle_absence(other, true, now));
    }

    #[test]
    fn nobody_is_there_when_the_last_one_has_left_or_cannot_be_reached() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut members = Members::new(start);
        let away = |members: &Members, seconds| members.report(after(seconds)).away;
        assert_eq!(away(&members, 3), Some(Duration::from_secs(3)));
        let (one, other) = (join(&mut members), join(&mut members));
        members.leave(one, after(4));
        assert_eq!(away(&members, 5), None);
        members.handle_absence(other, false, after(6));
        let report = members.report(after(8));
        let expected = Some(Duration::from_secs(2));
        assert_eq!(report.subscribers, [("s".to_owned(), expected)]);
        assert_eq!((report.away, report.was_there), (expected, false));
        members.handle_presence(other);
        assert_eq!(away(&members, 9), None);
        assert!(members.report(after(9)).was_there);
    }

    #[test]
    fn who_subscribes_to_this_run_of_the_hub_was_there_and_so_was_a_program_that_pulls() {
        let now = Instant::now();
        let later = now + Duration::from_secs(5);
        let mut members = Members::new(now);
        members.begin_pull();
        assert_eq!(members.report(later).away, None);
        members.end_pull(now);
        assert_eq!(members.report(later).away, Some(Duration::from_secs(5)));
        assert!(members.report(later).was_there);
        let mut members = Members::new(now);
        let member = members.join("s".to_owned(), false);
        members.leave(member, now);
        assert!(members.report(now).was_there);
    }
}
