//! How often something is tried that was in vain before.

/// Counts the occasions to let pass after a try in vain: twice as many each time, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    /// Occasions that passed after the last try in vain, halved by each success since.
    last: u32,
    /// Occasions that are still to pass.
    left: u32,
}

impl BackOff {
    const PASSED_MIN: u32 = 4;
    const PASSED_MAX: u32 = 4096;

    /// An occasion comes; whether it is to be tried.
    pub(crate) fn is_due(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_none()
    }

    /// A try was in vain.
    pub(crate) fn handle_failure(&mut self) {
        self.last = (self.last * 2).clamp(Self::PASSED_MIN, Self::PASSED_MAX);
        self.left = self.last;
    }

    /// A try was worth it.
    pub(crate) fn handle_success(&mut self) {
        self.last >>= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many occasions are tried, in vain.
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
    fn tries_in_vain_get_rare_and_successes_bring_them_back() {
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
