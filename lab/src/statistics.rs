//! The few statistics that reports need.

/// The middle of some values, and the ends of their middle half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    /// A quarter of the values is below.
    pub(crate) low: f64,
    /// A quarter of the values is above.
    pub(crate) high: f64,
}

impl Spread {
    /// `None` if there is no value.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            low: quantile(&sorted, 0.25)?,
            high: quantile(&sorted, 0.75)?,
        })
    }
}

/// The value that this share of the sorted values does not exceed, between two of them if need be.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * (sorted.len().checked_sub(1)? as f64);
    let index = position.floor() as usize;
    let below = *sorted.get(index)?;
    let above = *sorted.get(index + 1).unwrap_or(&below);
    Some(below + (above - below) * position.fract())
}

/// The ends of the middle four fifths: a tenth of the values is below, a tenth above.
pub(crate) fn inner_range(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some((quantile(&sorted, 0.1)?, quantile(&sorted, 0.9)?))
}

/// The quotients of two contenders, round by round.
pub(crate) fn paired_ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_middle_half() {
        let spread = Spread::of(&[9.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (2.0, 3.0, 4.0));
    }

    #[test]
    fn what_falls_between_two_values_is_between_them() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (1.75, 2.5, 3.25));
    }

    #[test]
    fn one_value_has_no_spread() {
        let spread = Spread::of(&[5.0]).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (5.0, 5.0, 5.0));
    }

    #[test]
    fn one_odd_round_of_many_moves_nothing() {
        let odd = Spread::of(&[1.2, 1.2, 1.2, 0.5, 1.2, 1.2]).unwrap();
        assert_eq!((odd.low, odd.median, odd.high), (1.2, 1.2, 1.2));
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
