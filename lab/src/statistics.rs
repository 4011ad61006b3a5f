//! The few statistics that reports need.

/// The middle and the ends of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// Of at least one value; `None` if there is none.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(*sorted.get(middle.wrapping_sub(1))?, sorted[middle])
        };
        Some(Self {
            median,
            low: *sorted.first()?,
            high: *sorted.last()?,
        })
    }
}

/// The quotients of two contenders, round by round.
pub(crate) fn paired_ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_odd_count_is_the_middle_one() {
        let spread = Spread::of(&[9.0, 1.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.low, spread.high), (2.0, 1.0, 9.0));
    }

    #[test]
    fn the_median_of_an_even_count_is_between_the_middle_ones() {
        assert_eq!(Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap().median, 2.5);
    }

    #[test]
    fn nothing_has_no_spread() {
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The second round was twice as slow for both: that is the machine and no difference.
        assert_eq!(paired_ratios(&[12.0, 24.0], &[10.0, 20.0]), [1.2, 1.2]);
    }
}
