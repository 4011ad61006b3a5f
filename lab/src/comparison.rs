//! Compares two runs, and separates changes from noise.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::report::{CaseResult, Report, aligned, duration};
use crate::scenario::Unit;
use crate::statistics::{Spread, interval_of_quotient, paired_ratios};

/// The changes from one run to another.
///
/// `docs/adr/0066-how-the-lab-judges.md` says how a change is told from noise.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The figures of both runs, in the order of the first.
    pub changes: Vec<Change>,
    /// The figures that only one of them has, or that cannot be compared, in words.
    pub unmatched: Vec<String>,
}

/// A figure of both runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The scenario.
    pub scenario: String,
    /// The case.
    pub case: String,
    /// The contender.
    pub contender: String,
    /// Of `before` and `after`.
    pub unit: &'static str,
    /// The middle of the rounds of the first run.
    pub before: f64,
    /// The figure of the second run.
    pub after: f64,
    /// The second in parts of the first; if `is_beside_floor`, after each round was divided by the floor's.
    pub quotient: f64,
    /// Where the quotient lies with a confidence of 99 %; `None` if a run has fewer than three rounds.
    pub interval: Option<(f64, f64)>,
    /// True if both runs measured the floor in this case, so that a machine that was slower is no change.
    pub is_beside_floor: bool,
    /// The verdict.
    pub verdict: Verdict,
}

/// The verdict of a comparison on a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The interval holds 1, or the change is below the threshold.
    Same,
    /// It takes longer, or fewer come.
    Worse,
    /// It takes less time, or more come.
    Better,
    /// There are too few rounds to tell.
    Unknown,
}

impl Verdict {
    /// Its word in a table and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Unknown => "unknown",
        }
    }
}

impl Comparison {
    /// Compares the figures of the same scenario, case and contender. A change below `threshold`, such as 0.05 for 5 %, is
    /// none.
    pub fn new(before: &[Report], after: &[Report], threshold: f64) -> Self {
        let mut changes = Vec::new();
        let mut unmatched = Vec::new();
        for (report, result) in all(before) {
            match found(after, report, result) {
                Some((_, other)) if other.unit != result.unit => unmatched.push(format!(
                    "{}: the first has {}, and the second {}",
                    named(report, result),
                    result.unit,
                    other.unit
                )),
                Some((other_report, other)) => {
                    let change = Change::new((report, result), (other_report, other), threshold);
                    match change {
                        Some(change) => changes.push(change),
                        None => {
                            unmatched.push(format!("{}: one has no rounds", named(report, result)))
                        }
                    }
                }
                None => unmatched.push(only(report, result, "first")),
            }
        }
        let new = all(after).filter(|(report, result)| found(before, report, result).is_none());
        unmatched.extend(new.map(|(report, result)| only(report, result, "second")));
        Self { changes, unmatched }
    }

    /// The figures of Floe that are worse. Those of others are no regressions: they may be of another version.
    pub fn regressions(&self) -> impl Iterator<Item = &Change> {
        let all = self.changes.iter();
        all.filter(|change| {
            change.verdict == Verdict::Worse && crate::contender::is_floe(&change.contender)
        })
    }

    /// The comparison as one JSON object.
    ///
    /// ```text
    /// {"regressions": count,
    ///  "changes": [{"scenario", "case", "contender", "unit", "before", "after", "quotient", "interval": [low, high],
    ///               "beside_floor": bool, "verdict": "same" | "worse" | "better" | "unknown"}, ..],
    ///  "unmatched": [text, ..]}
    /// ```
    pub fn to_json(&self) -> Value {
        let changes = self.changes.iter().map(Change::to_json);
        json!({
            "regressions": self.regressions().count(),
            "changes": changes.collect::<Vec<_>>(),
            "unmatched": self.unmatched,
        })
    }

    /// The comparison as text for a terminal, with an end of line.
    pub fn to_table(&self) -> String {
        let head = [
            "verdict",
            "scenario",
            "case",
            "contender",
            "unit",
            "before",
            "after",
            "quotient",
            "low",
            "high",
            "beside",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.changes.iter().map(Change::to_row));
        let mut text = aligned(&rows);
        for line in &self.unmatched {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "{line}");
        }
        let count = |verdict| {
            self.changes
                .iter()
                .filter(|one| one.verdict == verdict)
                .count()
        };
        let _ = writeln!(
            text,
            "\n{} same, {} better, {} worse, {} unknown; {} regressions of Floe",
            count(Verdict::Same),
            count(Verdict::Better),
            count(Verdict::Worse),
            count(Verdict::Unknown),
            self.regressions().count()
        );
        text
    }
}

impl Change {
    /// `None` if one of the two has no rounds.
    fn new(
        (report_before, before): (&Report, &CaseResult),
        (report_after, after): (&Report, &CaseResult),
        threshold: f64,
    ) -> Option<Self> {
        let (rounds_before, rounds_after) =
            (judged(report_before, before), judged(report_after, after));
        let beside = |report: &Report, result: &CaseResult| {
            let mut all = report.results.iter();
            let floor = all.find(|other| other.case == result.case && other.contender == "floor");
            let floor = floor.filter(|floor| floor.contender != result.contender)?;
            Some(paired_ratios(judged(report, result), judged(report, floor)))
        };
        let quotients = beside(report_before, before).zip(beside(report_after, after));
        let is_beside_floor = quotients.is_some();
        let (compared_before, compared_after) =
            quotients.unwrap_or_else(|| (rounds_before.to_vec(), rounds_after.to_vec()));
        let quotient = median(&compared_after)? / median(&compared_before)?;
        let interval = interval_of_quotient(&compared_after, &compared_before);
        Some(Self {
            scenario: report_before.scenario.clone(),
            case: before.case.clone(),
            contender: before.contender.clone(),
            unit: before.unit,
            before: median(rounds_before)?,
            after: median(rounds_after)?,
            quotient,
            interval,
            is_beside_floor,
            verdict: verdict(before.unit, quotient, interval, threshold),
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "scenario": self.scenario,
            "case": self.case,
            "contender": self.contender,
            "unit": self.unit,
            "before": self.before,
            "after": self.after,
            "quotient": self.quotient,
            "interval": self.interval.map(|(low, high)| [low, high]),
            "beside_floor": self.is_beside_floor,
            "verdict": self.verdict.name(),
        })
    }

    fn to_row(&self) -> Vec<String> {
        let end = |end: Option<f64>| end.map_or("-".to_owned(), |end| format!("{end:.3}"));
        vec![
            self.verdict.name().to_owned(),
            self.scenario.clone(),
            self.case.clone(),
            self.contender.clone(),
            self.unit.to_owned(),
            duration(self.before, 2),
            duration(self.after, 2),
            format!("{:.3}", self.quotient),
            end(self.interval.map(|(low, _)| low)),
            end(self.interval.map(|(_, high)| high)),
            if self.is_beside_floor { "floor" } else { "-" }.to_owned(),
        ]
    }
}

fn verdict(unit: &str, quotient: f64, interval: Option<(f64, f64)>, threshold: f64) -> Verdict {
    let Some((low, high)) = interval else {
        return Verdict::Unknown;
    };
    let is_more = low > 1.0 && quotient > 1.0 + threshold;
    let is_less = high < 1.0 && quotient < 1.0 / (1.0 + threshold);
    let is_rate = Unit::named(unit).is_some_and(Unit::is_rate);
    match (is_more, is_less) {
        (true, _) if is_rate => Verdict::Better,
        (true, _) => Verdict::Worse,
        (_, true) if is_rate => Verdict::Worse,
        (_, true) => Verdict::Better,
        _ => Verdict::Same,
    }
}

/// The figures of the rounds by which a scenario is judged.
fn judged<'a>(report: &Report, result: &'a CaseResult) -> &'a [f64] {
    match crate::scenario::is_judged_by_means(&report.scenario) {
        true => &result.mean_rounds,
        false => &result.rounds,
    }
}

fn median(values: &[f64]) -> Option<f64> {
    Spread::of(values).map(|spread| spread.median)
}

fn all(reports: &[Report]) -> impl Iterator<Item = (&Report, &CaseResult)> {
    reports
        .iter()
        .flat_map(|report| std::iter::repeat(report).zip(&report.results))
}

/// Finds the same figure in other reports.
fn found<'a>(
    reports: &'a [Report],
    report: &Report,
    result: &CaseResult,
) -> Option<(&'a Report, &'a CaseResult)> {
    all(reports).find(|(other_report, other)| {
        other_report.scenario == report.scenario
            && other.case == result.case
            && other.contender == result.contender
    })
}

fn only(report: &Report, result: &CaseResult, which: &str) -> String {
    format!("only in the {which} run: {}", named(report, result))
}

/// The scenario, the case and the contender of a figure.
fn named(report: &Report, result: &CaseResult) -> String {
    format!("{} {} {}", report.scenario, result.case, result.contender)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::of_rounds;

    const QUIET: [f64; 9] = [10.1, 10.0, 10.3, 9.9, 10.2, 10.0, 10.4, 9.8, 10.1];
    const LATER: [f64; 9] = [10.0, 10.2, 9.9, 10.3, 10.1, 10.0, 9.8, 10.4, 10.2];

    fn compared(before: &[Report], after: &[Report]) -> Comparison {
        Comparison::new(before, after, 0.03)
    }

    fn verdicts(comparison: &Comparison) -> Vec<(&str, Verdict)> {
        let all = comparison.changes.iter();
        all.map(|change| (change.contender.as_str(), change.verdict))
            .collect()
    }

    #[test]
    fn two_copies_of_the_same_come_out_equal() {
        let report = of_rounds("rpc", "us", &[("floor", &QUIET), ("floe", &LATER)]);
        let comparison = compared(std::slice::from_ref(&report), std::slice::from_ref(&report));
        assert_eq!(
            verdicts(&comparison),
            [("floor", Verdict::Same), ("floe", Verdict::Same)]
        );
        assert_eq!(comparison.regressions().count(), 0);
        assert_eq!(comparison.unmatched, [""; 0]);
        assert!(
            comparison
                .changes
                .iter()
                .all(|change| change.quotient == 1.0)
        );
    }

    #[test]
    fn two_runs_that_differ_by_noise_come_out_equal() {
        let before = of_rounds("rpc", "us", &[("floe", &QUIET)]);
        let after = of_rounds("rpc", "us", &[("floe", &LATER)]);
        assert_eq!(
            verdicts(&compared(&[before], &[after])),
            [("floe", Verdict::Same)]
        );
    }

    #[test]
    fn a_slowed_one_is_flagged_and_a_faster_one_is_no_regression() {
        let slow = LATER.map(|value| value * 1.1);
        let before = [of_rounds("rpc", "us", &[("floe", &QUIET), ("ice", &QUIET)])];
        let after = [of_rounds("rpc", "us", &[("floe", &slow), ("ice", &slow)])];
        let comparison = compared(&before, &after);
        assert_eq!(
            verdicts(&comparison),
            [("floe", Verdict::Worse), ("ice", Verdict::Worse)]
        );
        let regressions: Vec<_> = comparison
            .regressions()
            .map(|one| &*one.contender)
            .collect();
        assert_eq!(regressions, ["floe"]);
        let back = compared(&after, &before);
        assert_eq!(verdicts(&back)[0], ("floe", Verdict::Better));
        assert_eq!(back.regressions().count(), 0);
        assert_eq!(comparison.to_json()["regressions"], 1);
        assert!(
            comparison
                .to_table()
                .ends_with("2 worse, 0 unknown; 1 regressions of Floe\n")
        );
    }

    #[test]
    fn figures_that_cannot_be_compared_are_told() {
        let before = of_rounds("rpc", "us", &[("floe", &QUIET)]);
        let after = of_rounds("rpc", "events/s", &[("floe", &LATER)]);
        let comparison = compared(&[before], &[after]);
        assert!(comparison.changes.is_empty());
        let expected = "rpc twoway floe: the first has us, and the second events/s";
        assert_eq!(comparison.unmatched, [expected]);
    }

    #[test]
    fn fewer_events_a_second_are_worse() {
        let few = QUIET.map(|value| value * 0.8);
        let before = of_rounds("events", "events/s", &[("floe", &QUIET)]);
        let after = of_rounds("events", "events/s", &[("floe", &few)]);
        assert_eq!(
            verdicts(&compared(&[before], &[after])),
            [("floe", Verdict::Worse)]
        );
    }

    #[test]
    fn a_machine_that_was_slower_is_no_change() {
        let slow = QUIET.map(|value| value * 1.5);
        let slow_floe = QUIET.map(|value| value * 1.8);
        let floe = QUIET.map(|value| value * 1.2);
        let before = of_rounds("rpc", "us", &[("floor", &QUIET), ("floe", &floe)]);
        let after = of_rounds("rpc", "us", &[("floor", &slow), ("floe", &slow_floe)]);
        let comparison = compared(&[before], &[after]);
        // The floor itself is beside nothing: it says how the machine was.
        assert_eq!(
            verdicts(&comparison),
            [("floor", Verdict::Worse), ("floe", Verdict::Same)]
        );
        assert!(comparison.changes[1].is_beside_floor);
        assert_eq!(comparison.regressions().count(), 0);
    }

    #[test]
    fn a_change_below_the_threshold_is_none_and_few_rounds_tell_nothing() {
        let little = QUIET.map(|value| value * 1.02);
        let before = [of_rounds("rpc", "us", &[("floe", &[10.0; 9])])];
        let after = [of_rounds("rpc", "us", &[("floe", &[10.2; 9])])];
        assert_eq!(
            verdicts(&compared(&before, &after)),
            [("floe", Verdict::Same)]
        );
        let short = [of_rounds("rpc", "us", &[("floe", &little[..2])])];
        assert_eq!(
            verdicts(&compared(&before, &short)),
            [("floe", Verdict::Unknown)]
        );
    }

    #[test]
    fn what_only_one_run_has_is_said() {
        let before = of_rounds("rpc", "us", &[("floe", &QUIET), ("ice", &QUIET)]);
        let after = of_rounds("rpc", "us", &[("floe", &QUIET), ("zeromq", &QUIET)]);
        let comparison = compared(&[before], &[after]);
        assert_eq!(
            comparison.unmatched,
            [
                "only in the first run: rpc twoway ice",
                "only in the second run: rpc twoway zeromq"
            ]
        );
    }
}
