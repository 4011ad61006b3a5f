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

/// Where the median of what was sampled lies with a confidence of 95 %: a percentile bootstrap of the rounds.
///
/// `None` if there are too few values to say so. The same values give the same interval.
pub(crate) fn interval_of_median(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < ROUNDS_MIN {
        return None;
    }
    let mut random = Random::new();
    interval(INTERVAL_95, || random.median_of_resample(values))
}

/// Where the quotient of the medians of two runs lies with a confidence of 99 %: each run is resampled by itself.
///
/// The confidence is higher than that of one figure, since a comparison of two runs looks at many figures.
pub(crate) fn interval_of_quotient(of: &[f64], to: &[f64]) -> Option<(f64, f64)> {
    if of.len().min(to.len()) < ROUNDS_MIN {
        return None;
    }
    let mut random = Random::new();
    interval(INTERVAL_99, || {
        Some(random.median_of_resample(of)? / random.median_of_resample(to)?)
    })
}

/// The ends of what lies between these shares of many resamples.
fn interval(
    (low, high): (f64, f64),
    mut resample: impl FnMut() -> Option<f64>,
) -> Option<(f64, f64)> {
    let mut medians: Vec<f64> = (0..RESAMPLES).map_while(|_| resample()).collect();
    medians.sort_by(f64::total_cmp);
    Some((quantile(&medians, low)?, quantile(&medians, high)?))
}

const INTERVAL_95: (f64, f64) = (0.025, 0.975);
const INTERVAL_99: (f64, f64) = (0.005, 0.995);

/// How often the rounds are resampled.
const RESAMPLES: usize = 2_000;

/// Fewer rounds say nothing about how much rounds differ.
const ROUNDS_MIN: usize = 3;

/// A small generator of random numbers with a fixed start, so that a report of the same rounds is the same.
///
/// Source: Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", SplitMix64.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x00f1_0e1a_b000)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The median of as many values, each drawn from all of them.
    fn median_of_resample(&mut self, values: &[f64]) -> Option<f64> {
        let count = values.len() as u64;
        let draw = |_| values[(self.next() % count) as usize];
        let mut drawn: Vec<f64> = (0..count).map(draw).collect();
        drawn.sort_by(f64::total_cmp);
        quantile(&drawn, 0.5)
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
    fn an_interval_holds_the_median_and_is_the_same_each_time() {
        let values = [10.0, 11.0, 12.0, 13.0, 40.0, 11.5, 12.5];
        let (low, high) = interval_of_median(&values).unwrap();
        assert!((10.0..=12.0).contains(&low) && (12.0..=40.0).contains(&high));
        assert_eq!(interval_of_median(&values), Some((low, high)));
        assert_eq!(interval_of_median(&[3.0; 5]), Some((3.0, 3.0)));
        assert_eq!(interval_of_median(&values[..2]), None);
    }

    #[test]
    fn a_quotient_of_two_runs_is_one_where_they_are_alike_and_not_where_one_is_slow() {
        let before = [10.0, 10.4, 9.8, 10.1, 10.2, 9.9, 10.3];
        let after = [10.2, 9.9, 10.0, 10.3, 9.8, 10.1, 10.4];
        let (low, high) = interval_of_quotient(&after, &before).unwrap();
        assert!(low <= 1.0 && 1.0 <= high, "{low} to {high}");
        let slow = after.map(|value| value * 1.3);
        let (low, high) = interval_of_quotient(&slow, &before).unwrap();
        assert!(1.2 < low && high < 1.4, "{low} to {high}");
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
