//! The rows of the tables: figures of results and published ones, with their places.

use super::behind::judged;
use super::figure::Figure;
use super::published::{Counterpart, Quantity, Record};
use crate::contender::is_floe;
use crate::report::{CaseResult, Report};
use crate::scenario::Unit;

/// The figures of a result.
#[derive(Debug)]
pub(crate) struct ResultRow<'a> {
    pub(crate) result: &'a CaseResult,
    /// The figure by which the case is known: the median of all calls, or the mean over the subscribers.
    pub(crate) figure: Figure,
    pub(crate) interval: Option<[Figure; 2]>,
    pub(crate) mean: Figure,
    pub(crate) deviation: Figure,
    pub(crate) min: Figure,
    pub(crate) p99: Figure,
    pub(crate) max: Figure,
    pub(crate) encoded_len: Option<Figure>,
    /// Time of the service's processor for a delivery, and its memory.
    pub(crate) service: Option<[Figure; 2]>,
    /// Memory of the service for each subscriber.
    pub(crate) subscriber: Option<Figure>,
    /// Bytes for each call over a slow line: in messages, and at the device.
    pub(crate) carried: Option<[Figure; 2]>,
    /// Shares of the calls in percent, and what they did not exceed.
    pub(crate) percentiles: Vec<(f64, Figure)>,
    /// How it compares with others: with whom, the quotient, and its interval.
    pub(crate) ratios: Vec<(&'a str, Figure, Option<[Figure; 2]>)>,
}

/// The rows of a report.
pub(crate) fn rows(index: usize, report: &Report) -> Vec<ResultRow<'_>> {
    let results = report.results.iter().enumerate();
    results
        .map(|(number, result)| ResultRow::new(index, number, report, result))
        .collect()
}

impl<'a> ResultRow<'a> {
    fn new(index: usize, number: usize, report: &'a Report, result: &'a CaseResult) -> Self {
        let place = format!("{index}/results/{number}");
        let figure = |value: f64, member: &str| Figure::new(value, format!("{place}/{member}"));
        let is_rate = Unit::named(result.unit).is_some_and(Unit::is_rate);
        let ends = |(low, high)| [figure(low, "interval/0"), figure(high, "interval/1")];
        let ratios = report.ratios.iter().enumerate();
        let ratios =
            ratios.filter(|(_, ratio)| ratio.case == result.case && ratio.of == result.contender);
        Self {
            figure: match is_rate {
                true => figure(result.mean, "mean"),
                false => figure(result.p50, "p50"),
            },
            interval: result.interval.map(ends),
            mean: figure(result.mean, "mean"),
            deviation: figure(result.deviation, "deviation"),
            min: figure(result.min, "min"),
            p99: figure(result.p99, "p99"),
            max: figure(result.max, "max"),
            encoded_len: result
                .encoded_len
                .map(|len| figure(len as f64, "encoded_len")),
            service: result.service.map(|service| {
                [
                    figure(service.cpu_per_delivery, "service/cpu_us_per_delivery"),
                    figure(service.resident, "service/resident_mb"),
                ]
            }),
            subscriber: result
                .service
                .and_then(|service| service.subscriber)
                .map(|one| figure(one, "service/subscriber_kb")),
            carried: result.carried.map(|carried| {
                [
                    figure(carried.messages, "carried/message_bytes"),
                    figure(carried.line, "carried/line_bytes"),
                ]
            }),
            percentiles: result
                .percentiles
                .iter()
                .enumerate()
                .map(|(number, (percent, value))| {
                    (*percent, figure(*value, &format!("percentiles/{number}/1")))
                })
                .collect(),
            ratios: ratios
                .map(|(number, ratio)| {
                    let (_, quotient, interval) = judged(index, number, report, ratio);
                    (ratio.to.as_str(), quotient, interval)
                })
                .collect(),
            result,
        }
    }
}

/// A published figure with what the lab has beside it.
#[derive(Debug)]
pub(crate) struct PublishedRow<'a> {
    pub(crate) record: &'a Record,
    pub(crate) today: Today<'a>,
}

/// A figure of the lab beside a published one.
#[derive(Debug)]
pub(crate) enum Today<'a> {
    /// The figure of the contender that stands for the published one, then those of Floe and the floor.
    Figures {
        case: String,
        unit: &'a str,
        figures: Vec<(&'a str, Figure)>,
    },
    /// How the two compare that stand for the published ones.
    Ratio {
        case: String,
        of: &'a str,
        to: &'a str,
        quotient: Figure,
        interval: Option<[Figure; 2]>,
    },
    /// It is not measured, for this reason.
    NotMeasured(String),
}

impl<'a> PublishedRow<'a> {
    pub(crate) fn new(record: &'a Record, reports: &'a [Report]) -> Self {
        let today = match record.counterpart() {
            Counterpart::Nothing(reason) => Today::NotMeasured(reason.to_owned()),
            Counterpart::Figure {
                scenario,
                case,
                contender,
                quantity,
            } => figures(reports, scenario, case, contender, quantity),
            Counterpart::Ratio {
                scenario,
                case,
                of,
                to,
            } => ratio(reports, scenario, case, of, to),
        };
        Self { record, today }
    }
}

fn figures<'a>(
    reports: &'a [Report],
    scenario: &str,
    case: String,
    contender: &str,
    quantity: Quantity,
) -> Today<'a> {
    let of_scenario = of_scenario(reports, scenario);
    let results = of_scenario
        .clone()
        .flat_map(|(index, report)| rows(index, report));
    let of_case: Vec<_> = results.filter(|row| row.result.case == case).collect();
    let figure = |name: &str| {
        let row = of_case.iter().find(|row| row.result.contender == name)?;
        let figure = match quantity {
            Quantity::Mean => Some(row.mean.clone()),
            Quantity::Length => row.carried.as_ref().map(|[messages, _]| messages.clone()),
        };
        Some((row.result.contender.as_str(), figure?))
    };
    if figure(contender).is_none() {
        return Today::NotMeasured(reason(of_scenario, scenario, &case, contender));
    }
    let names = [contender, "floe", "floor"];
    Today::Figures {
        unit: match quantity {
            Quantity::Mean => of_case.first().map_or("", |row| row.result.unit),
            Quantity::Length => "bytes",
        },
        figures: names.into_iter().filter_map(figure).collect(),
        case,
    }
}

fn ratio<'a>(reports: &'a [Report], scenario: &str, case: String, of: &str, to: &str) -> Today<'a> {
    let of_scenario = of_scenario(reports, scenario);
    for (index, report) in of_scenario.clone() {
        let mut ratios = report.ratios.iter().enumerate();
        let found =
            ratios.find(|(_, ratio)| ratio.case == case && ratio.of == of && ratio.to == to);
        if let Some((number, ratio)) = found {
            let (_, quotient, interval) = judged(index, number, report, ratio);
            return Today::Ratio {
                case,
                of: &ratio.of,
                to: &ratio.to,
                quotient,
                interval,
            };
        }
    }
    let has = |name: &str| {
        let mut all = of_scenario.clone().flat_map(|(_, report)| &report.results);
        all.any(|result| result.case == case && result.contender == name)
    };
    let missing = if has(of) { to } else { of };
    Today::NotMeasured(reason(of_scenario, scenario, &case, missing))
}

fn of_scenario<'a, 'b>(
    reports: &'a [Report],
    scenario: &'b str,
) -> impl Iterator<Item = (usize, &'a Report)> + Clone + use<'a, 'b> {
    let all = reports.iter().enumerate();
    all.filter(move |(_, report)| report.scenario == scenario)
}

/// Why there is no figure of a contender in a case.
fn reason<'a>(
    reports: impl Iterator<Item = (usize, &'a Report)> + Clone,
    scenario: &str,
    case: &str,
    contender: &str,
) -> String {
    let mut left_out = reports.clone().flat_map(|(_, report)| &report.left_out);
    let found = left_out.find(|left_out| {
        left_out.contender == contender && left_out.cases.iter().any(|other| other == case)
    });
    match found {
        Some(left_out) => format!("{contender}: {}", left_out.reason),
        None if reports.count() == 0 => {
            format!("these results have no run of the scenario {scenario}")
        }
        None => format!("these results do not have {contender} in the case {case} of {scenario}"),
    }
}

/// In which order contenders are shown: Floe, the floor, then the others as they come.
pub(crate) fn rank(contender: &str) -> usize {
    match contender {
        "floe" => 0,
        name if is_floe(name) => 1,
        "floor" => 2,
        _ => 3,
    }
}
