//! Where Floe is behind: the cases in which another contender was better.

use super::figure::Figure;
use crate::contender::is_floe;
use crate::report::{CaseRatio, Quotients, Report};
use crate::scenario::{Unit, is_judged_by_means};

/// A case in which another contender was better than Floe.
#[derive(Debug)]
pub(crate) struct Behind<'a> {
    pub(crate) report: &'a Report,
    pub(crate) ratio: &'a CaseRatio,
    /// The figure of the ratio's first contender in parts of the second one's: one of them is Floe.
    pub(crate) quotient: Figure,
    /// Where it lies with a confidence of 95 %.
    pub(crate) interval: Option<[Figure; 2]>,
    pub(crate) unit: Unit,
    /// True if the interval leaves no doubt.
    pub(crate) is_sure: bool,
}

/// All cases in which Floe is behind, those that are sure first, and the farthest behind first among these.
pub(crate) fn behind(reports: &[Report]) -> Vec<Behind<'_>> {
    let numbers = |index: usize| 0..reports[index].ratios.len();
    let all = (0..reports.len()).flat_map(|index| {
        numbers(index).filter_map(move |number| Behind::new(reports, index, number))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by(|one, other| {
        let far = |behind: &Behind<'_>| behind.quotient.value.ln().abs();
        let by_sureness = other.is_sure.cmp(&one.is_sure);
        by_sureness.then(far(other).total_cmp(&far(one)))
    });
    all
}

impl<'a> Behind<'a> {
    /// `None` if the quotient is not one of Floe and a peer, or Floe is not behind.
    fn new(reports: &'a [Report], index: usize, number: usize) -> Option<Self> {
        let report = &reports[index];
        let ratio = &report.ratios[number];
        let is_peer = |name: &String| !is_floe(name) && name != FLOOR;
        let floe_is_first = match (is_floe(&ratio.of), is_floe(&ratio.to)) {
            (false, true) if is_peer(&ratio.of) => false,
            (true, false) if is_peer(&ratio.to) => true,
            _ => return None,
        };
        let result = report
            .results
            .iter()
            .find(|result| result.case == ratio.case)?;
        let unit = Unit::named(result.unit)?;
        let (quotients, quotient, interval) = judged(index, number, report, ratio);
        // More of the time is worse, and more events a second are better.
        let is_behind_below_one = unit.is_rate() == floe_is_first;
        let (is_behind, is_sure) = match (is_behind_below_one, quotients.interval) {
            (true, interval) => (
                quotients.middle < 1.0,
                interval.is_some_and(|(_, high)| high < 1.0),
            ),
            (false, interval) => (
                quotients.middle > 1.0,
                interval.is_some_and(|(low, _)| low > 1.0),
            ),
        };
        let is_fair = are_alike(&report.scenario, ratio);
        (is_behind && is_fair).then_some(Self {
            report,
            ratio,
            quotient,
            interval,
            unit,
            is_sure,
        })
    }
}

/// Returns true if the two contenders of a ratio do the same work. One that only reads in place what it was sent is not
/// compared with one that makes a value of its own.
fn are_alike(scenario: &str, ratio: &CaseRatio) -> bool {
    const READ_IN_PLACE: [&str; 2] = ["floe-view", "capnp"];
    let is_decoding = scenario == "codec" && ratio.case.ends_with("/decode");
    let reads_in_place = |name: &String| READ_IN_PLACE.contains(&name.as_str());
    !is_decoding || reads_in_place(&ratio.of) == reads_in_place(&ratio.to)
}

/// The quotients by which a case is judged, and where they stand.
pub(crate) fn judged<'a>(
    index: usize,
    number: usize,
    report: &Report,
    ratio: &'a CaseRatio,
) -> (&'a Quotients, Figure, Option<[Figure; 2]>) {
    let (quotients, middle, interval) = match is_judged_by_means(&report.scenario) {
        true => (&ratio.mean, "mean", "mean_interval"),
        false => (&ratio.median, "median", "interval"),
    };
    let place = format!("{index}/ratios/{number}");
    let ends = quotients.interval.map(|(low, high)| {
        [
            Figure::new(low, format!("{place}/{interval}/0")),
            Figure::new(high, format!("{place}/{interval}/1")),
        ]
    });
    let middle = Figure::new(quotients.middle, format!("{place}/{middle}"));
    (quotients, middle, ends)
}

/// The contender that is the machine's own limit.
pub(crate) const FLOOR: &str = "floor";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{with_ratio, with_turned_ratio};

    #[test]
    fn a_contender_that_reads_in_place_is_compared_with_its_like() {
        let mut report = with_ratio("capnp", &[1.0, 1.0, 1.0], &[10.0, 10.0, 10.0]);
        assert_eq!(behind(std::slice::from_ref(&report)).len(), 1);
        report.scenario = "codec".to_owned();
        let decoding = "text/decode".to_owned();
        report.ratios[0].case.clone_from(&decoding);
        report
            .results
            .iter_mut()
            .for_each(|result| result.case.clone_from(&decoding));
        assert!(behind(std::slice::from_ref(&report)).is_empty());
        report.ratios[0].to = "floe-view".to_owned();
        assert_eq!(behind(&[report]).len(), 1);
    }

    #[test]
    fn a_quotient_of_floe_to_its_peer_counts_like_one_of_the_peer_to_floe() {
        let slower = with_turned_ratio("redis", &[8.0, 8.1, 7.9], &[10.0, 10.0, 10.0]);
        let all = behind(std::slice::from_ref(&slower));
        assert!(matches!(&all[..], [behind] if behind.is_sure), "{all:?}");
        let may_be_noise = with_turned_ratio("redis", &[9.0, 9.9, 11.0], &[10.0, 10.0, 10.0]);
        let all = behind(std::slice::from_ref(&may_be_noise));
        assert!(matches!(&all[..], [behind] if !behind.is_sure), "{all:?}");
        for (peer, floes) in [("redis", 7.0), ("floor", 10.0), ("floe-fsync", 10.0)] {
            let report = with_turned_ratio(peer, &[8.0, 8.1, 7.9], &[floes, floes, floes]);
            assert!(behind(&[report]).is_empty(), "{peer}");
        }
    }
}
