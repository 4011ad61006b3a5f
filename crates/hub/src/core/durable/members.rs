//! The members of a shared subscription: which of them can be reached, and which are forgotten.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::Member;

/// The subscribers that share a durable subscription.
#[derive(Debug, Default)]
pub(crate) struct Members {
    last: u64,
    /// Since when each cannot be reached; `None` for one that can, or that was not tried yet.
    absent: BTreeMap<Member, Option<Instant>>,
}

impl Members {
    /// A member that cannot be reached for this long is forgotten if there is another one. It is longer than a program takes
    /// to start again, and than most breaks of a network.
    pub(crate) const ABSENCE_MAX: Duration = Duration::from_secs(60);

    pub(crate) fn join(&mut self) -> Member {
        self.last += 1;
        let member = Member(self.last);
        self.absent.insert(member, None);
        member
    }

    pub(crate) fn leave(&mut self, member: Member) {
        self.absent.remove(&member);
    }

    /// A member can be reached.
    pub(crate) fn handle_presence(&mut self, member: Member) {
        self.absent.insert(member, None);
    }

    /// A member cannot be reached. Returns true if it is forgotten: it then counts no more. If its program has certainly
    /// ended, this does not wait.
    ///
    /// The one that was there last always stays: perhaps the network is broken, and the programs believe that they are
    /// subscribed. So somebody gets the events when it works again.
    pub(crate) fn handle_absence(&mut self, member: Member, has_ended: bool, now: Instant) -> bool {
        let since = self.absent.entry(member).or_default();
        let since = *since.get_or_insert(now);
        let is_over = has_ended || now.saturating_duration_since(since) >= Self::ABSENCE_MAX;
        let was_there_later = |(other, it): (&Member, &Option<Instant>)| {
            *other != member && it.is_none_or(|other| other >= since)
        };
        let is_forgotten = is_over && self.absent.iter().any(was_there_later);
        if is_forgotten {
            self.leave(member);
        }
        is_forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_cannot_be_reached_are_forgotten_but_for_the_last() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut members = Members::default();
        let all: Vec<Member> = (0..4).map(|_| members.join()).collect();
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
        members.leave(all[3]);
        assert!(members.handle_absence(all[2], false, after(62)));
        assert!(
            !members.handle_absence(all[1], false, after(1000)),
            "it was there last"
        );
    }

    #[test]
    fn a_member_whose_program_has_ended_is_forgotten_at_once_but_for_the_last() {
        let now = Instant::now();
        let mut members = Members::default();
        let (one, other) = (members.join(), members.join());
        assert!(members.handle_absence(one, true, now));
        assert!(!members.handle_absence(other, true, now));
    }
}
