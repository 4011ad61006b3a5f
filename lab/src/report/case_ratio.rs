//! How two contenders compare in a case.

use super::CaseResult;
use crate::statistics::{Spread, interval_of_median, paired_ratios};

/// How two contenders compare in a case: quotients of their figures of the same round.
///
/// What slows the machine down for a while slows both, so that the quotient moves less than either.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CaseRatio {
    /// The case.
    pub case: String,
    /// The contender above the line.
    pub of: String,
    /// The contender below the line.
    pub to: String,
    /// Of the medians.
    pub median: Quotients,
    /// Of the means.
    pub mean: Quotients,
    /// Of what 99 of 100 calls did not exceed.
    pub p99: Quotients,
}

/// The quotients of two contenders' figures, round by round.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Quotients {
    /// The middle one of all rounds.
    pub middle: f64,
    /// A quarter of the rounds was below.
    pub low: f64,
    /// A quarter of the rounds was above.
    pub high: f64,
    /// Where the middle one lies with a confidence of 95 %; `None` if there were fewer than three rounds.
    pub interval: Option<(f64, f64)>,
}

impl CaseRatio {
    /// `None` if one of the two did not run.
    pub(super) fn new(case: &str, of: &str, to: &str, results: &[CaseResult]) -> Option<Self> {
        let result = |name: &str| {
            let mut all = results.iter();
            all.find(|result| result.case == case && result.contender == name)
        };
        let (of, to) = (result(of)?, result(to)?);
        Some(Self {
            case: case.to_owned(),
            of: of.contender.clone(),
            to: to.contender.clone(),
            median: Quotients::of(&of.rounds, &to.rounds)?,
            mean: Quotients::of(&of.mean_rounds, &to.mean_rounds)?,
            p99: Quotients::of(&of.p99_rounds, &to.p99_rounds)?,
        })
    }
}

impl Quotients {
    /// `None` if there was no round.
    fn of(of: &[f64], to: &[f64]) -> Option<Self> {
        let quotients = paired_ratios(of, to);
        let Spread { median, low, high } = Spread::of(&quotients)?;
        Some(Self {
            middle: median,
            low,
            high,
            interval: interval_of_median(&quotients),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn a_ratio_pairs_the_rounds() {
        let ratio = &example().ratios[0];
        for quotients in [ratio.median, ratio.mean, ratio.p99] {
            assert!((quotients.middle - 1.175).abs() < 1e-9);
            assert!((quotients.low - 1.1625).abs() < 1e-9);
            assert!((quotients.high - 1.1875).abs() < 1e-9);
        }
    }

    #[test]
    fn one_round_with_slow_calls_does_not_move_the_ratio_of_the_slow_calls() {
        let mut results = example().results;
        for result in &mut results {
            result.rounds = vec![10.0; 5];
            result.p99_rounds = vec![30.0; 5];
        }
        results[1].p99_rounds[2] = 5_000.0;
        let ratio = CaseRatio::new("twoway", "floe", "floor", &results).unwrap();
        assert_eq!((ratio.p99.middle, ratio.p99.high), (1.0, 1.0));
    }

    #[test]
    fn there_is_no_ratio_to_a_contender_that_did_not_run() {
        assert_eq!(
            CaseRatio::new("twoway", "ice", "floe", &example().results),
            None
        );
    }
}
