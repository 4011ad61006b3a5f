//! Warns before the retention of a log overtakes a subscription that is behind.

/// News for an operator about a subscription that is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OvertakingNotice {
    /// Its next events are soon dropped unread. So much of what the log keeps lies before it, in percent.
    Near(u64),
    /// It is no longer so far behind.
    Relieved,
}

/// Says once when a subscription comes near its end of the log, and once when it has left it.
#[derive(Debug, Default)]
pub(crate) struct Overtaking {
    is_near: bool,
}

impl Overtaking {
    /// It warns if this much of what the log keeps lies before the subscription, in percent: so a fifth of the time that the
    /// retention allows is left to put things right.
    pub(crate) const NEAR: u64 = 80;
    /// It is over below this: a subscription that stays about as far behind is not named again and again.
    const RELIEVED: u64 = 70;

    /// So much of what the log keeps lies before the subscription, in percent.
    pub(crate) fn handle_share(&mut self, percent: u64) -> Option<OvertakingNotice> {
        let was_near = self.is_near;
        self.is_near = match was_near {
            true => percent >= Self::RELIEVED,
            false => percent >= Self::NEAR,
        };
        match (was_near, self.is_near) {
            (false, true) => Some(OvertakingNotice::Near(percent)),
            (true, false) => Some(OvertakingNotice::Relieved),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_named_once_each_time_it_comes_near() {
        let mut overtaking = Overtaking::default();
        let mut notices = Vec::new();
        for percent in [0, 79, 80, 100, 75, 81, 70, 69, 0, 75, 100, 100] {
            notices.extend(overtaking.handle_share(percent));
        }
        let near = OvertakingNotice::Near;
        assert_eq!(notices, [near(80), OvertakingNotice::Relieved, near(100)]);
    }
}
