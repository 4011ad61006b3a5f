//! An exponential back-off for attempts that may not be worth their cost.

/// Counts the occasions to skip after a failed attempt: twice as many each time, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    /// The number of occasions to skip after the last failure. Each success since has halved it.
    last: u32,
    /// The number of occasions that are still to be skipped.
    left: u32,
}

impl BackOff {
    const PASSED_MIN: u32 = 4;
    const PASSED_MAX: u32 = 4096;

    /// Returns true if this occasion should be used for an attempt.
    pub(crate) fn is_due(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_none()
    }

    /// An attempt failed.
    pub(crate) fn handle_failure(&mut self) {
        self.last = (self.last * 2).clamp(Self::PASSED_MIN, Self::PASSED_MAX);
        self.left = self.last;
    }

    /// Notes that an attempt was worth its cost.
    pub(crate) fn handle_success(&mut self) {
        self.last >>= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the attempts on this many occasions, all of which fail.
    fn in_vain(back_off: &mut BackOff, count: usize) -> usize {
        let tried = (0..count).filter(|_| {
            let is_due = back_off.is_due();
            if is_due {
                back_off.handle_failure();
            }
            is_due
        });
        tried.count()
    }

    #[test]
    fn failures_make_attempts_rare_and_successes_bring_them_back() {
        let mut back_off = BackOff::default();
        let tried = in_vain(&mut back_off, 100_000);
        assert!((10..50).contains(&tried), "{tried}");
        let due: Vec<_> = (0..20_000)
            .map(|_| {
                let is_due = back_off.is_due();
                if is_due {
                    back_off.handle_success();
                }
                is_due
            })
            .collect();
        let first = due.iter().position(|&is_due| is_due).expect("a try");
        assert!(first <= 4096 && due[first..].iter().all(|&is_due| is_due));
        // The failures are forgotten by then.
        assert_eq!(in_vain(&mut back_off, 5), 1);
    }
}
