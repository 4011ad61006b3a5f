//! Plots of results, as SVG inside of the page.
//!
//! - `scale.rs`: from a value to a place, and the marks of an axis
//! - `curve.rs`: curves on logarithmic axes: time against size, and time against the share of calls
//! - `bars.rs`: a bar for each contender, with its interval
//! - `picture.rs`: a plot as a file of its own

mod bars;
mod curve;
mod picture;
mod scale;

use super::behind::FLOOR;
use super::figure::Figure;
use super::html::escaped;
use super::results::{ResultRow, rank};
use crate::scenario::Unit;
use curve::{Curve, Point};

pub(super) use picture::pictures;

/// A plot.
struct Plot<'a> {
    title: String,
    svg: String,
    height: f64,
    /// The contenders of its key, in the order of their colours.
    names: Vec<&'a str>,
}

/// The plots of a scenario: time against size where a family of cases has sizes, percentiles of the other cases in time,
/// and bars of the cases that are rates.
pub(super) fn plots(rows: &[ResultRow<'_>]) -> String {
    let cases = distinct(rows.iter().map(|row| row.result.case.as_str()));
    let families = families(&cases);
    let mut figures = Vec::new();
    for (family, members) in families {
        let of_members =
            |row: &&ResultRow<'_>| members.iter().any(|(_, case)| *case == row.result.case);
        let of_family: Vec<_> = rows.iter().filter(of_members).collect();
        let is_rate = of_family.iter().any(|row| is_rate(row));
        if !is_rate && members.len() >= SIZES_MIN {
            figures.push(against_size(&family, &members, &of_family).to_html());
            continue;
        }
        for (_, case) in members {
            let of_case: Vec<_> = rows.iter().filter(|row| row.result.case == case).collect();
            figures.push(bars::bars(case, &of_case).to_html());
            if !is_rate {
                figures.push(percentiles(case, &of_case).to_html());
            }
        }
    }
    let (first, rest) = figures.split_at(figures.len().min(FIRST));
    if rest.is_empty() {
        return format!("<div class=\"plots\">\n{}</div>\n", first.concat());
    }
    format!(
        "<div class=\"plots\">\n{}</div>\n<details><summary>More plots</summary><div class=\"plots\">\n{}</div></details>\n",
        first.concat(),
        rest.concat()
    )
}

/// Cases of a family that make a curve.
const SIZES_MIN: usize = 3;

/// Plots that are shown without being asked for.
const FIRST: usize = 6;

/// Cases by family: what is left of a name when its last number is taken out, with that number.
fn families<'a>(cases: &[&'a str]) -> Vec<(String, Vec<(f64, &'a str)>)> {
    let mut families: Vec<(String, Vec<(f64, &str)>)> = Vec::new();
    for case in cases {
        let (family, number) = without_number(case);
        match families.iter_mut().find(|(other, _)| *other == family) {
            Some((_, members)) => members.push((number, case)),
            None => families.push((family, vec![(number, case)])),
        }
    }
    families
}

/// `echo-1000-unix` is `echo-N-unix` with 1000; a name without a number is itself, with 1.
fn without_number(case: &str) -> (String, f64) {
    let mut words: Vec<&str> = case.split_inclusive(['-', '/']).collect();
    let number = |word: &str| word.trim_end_matches(['-', '/']).parse::<u32>().ok();
    let last = words.iter().rposition(|word| number(word).is_some());
    let Some(last) = last else {
        return (case.to_owned(), 1.0);
    };
    let value = number(words[last]).map_or(1.0, f64::from);
    words[last] = match words[last].chars().last() {
        Some('-') => "N-",
        Some('/') => "N/",
        _ => "N",
    };
    (words.concat(), value)
}

pub(super) fn is_rate(row: &ResultRow<'_>) -> bool {
    Unit::named(row.result.unit).is_some_and(Unit::is_rate)
}

fn against_size<'a>(family: &str, members: &[(f64, &str)], rows: &'a [&ResultRow<'_>]) -> Plot<'a> {
    let curves = of_contenders(rows).into_iter().map(|(name, of_it)| {
        let mut points: Vec<_> = of_it
            .iter()
            .filter_map(|row| {
                let (size, _) = members.iter().find(|(_, case)| *case == row.result.case)?;
                Some(Point {
                    across: *size,
                    figure: row.figure.clone(),
                    ends: Some([row.min.clone(), row.max.clone()]),
                })
            })
            .collect();
        points.sort_by(|one, other| one.across.total_cmp(&other.across));
        Curve { name, points }
    });
    let curves: Vec<_> = curves.collect();
    Plot {
        title: format!("{family}: median with minimum and maximum"),
        svg: curve::against_size(&curves),
        height: curve::HEIGHT,
        names: names(&curves),
    }
}

fn percentiles<'a>(case: &str, rows: &'a [&ResultRow<'_>]) -> Plot<'a> {
    let curves = of_contenders(rows).into_iter().map(|(name, of_it)| {
        let points = of_it.iter().flat_map(|row| row.percentiles.iter());
        let points = points.filter(|(percent, _)| *percent < 100.0);
        let points = points.map(|(percent, figure)| Point {
            across: *percent,
            figure: figure.clone(),
            ends: None,
        });
        Curve {
            name,
            points: points.collect(),
        }
    });
    let curves: Vec<_> = curves.collect();
    Plot {
        title: format!("{case}: what this share of the calls did not exceed"),
        svg: curve::percentiles(&curves),
        height: curve::HEIGHT,
        names: names(&curves),
    }
}

/// The rows of each contender, Floe and the floor first.
fn of_contenders<'a, 'b>(rows: &'b [&'b ResultRow<'a>]) -> Vec<(&'b str, Vec<&'b ResultRow<'a>>)> {
    let mut names = distinct(rows.iter().map(|row| row.result.contender.as_str()));
    names.sort_by_key(|name| rank(name));
    let of_name = |name: &'b str| {
        let of_it = rows.iter().filter(|row| row.result.contender == name);
        (name, of_it.copied().collect())
    };
    names.into_iter().map(of_name).collect()
}

fn names<'a>(curves: &[Curve<'a>]) -> Vec<&'a str> {
    curves.iter().map(|curve| curve.name).collect()
}

impl Plot<'_> {
    /// As a part of the page.
    fn to_html(&self) -> String {
        let keys = self.names.iter().map(|name| {
            let colour = colour(name);
            format!(
                "<span><i style=\"background:{colour}\"></i>{}</span>",
                escaped(name)
            )
        });
        let keys: String = keys.collect();
        format!(
            "<figure><figcaption>{}</figcaption>\n{}<div class=\"key\">{keys}</div></figure>\n",
            escaped(&self.title),
            self.svg
        )
    }
}

/// Units of a plot across.
const WIDTH: f64 = 420.0;

/// The colour of a contender, which is the same wherever it is. Two that no scenario has together may share one.
pub(super) fn colour(name: &str) -> String {
    let number = match name {
        "floe" => 0,
        FLOOR => 2,
        name if rank(name) == 1 => 1,
        "ice" | "icestorm" => 3,
        "omniorb" | "omnievents" => 4,
        "cyclonedds" => 5,
        "zeromq" => 6,
        "nats" | "grpc-cpp" => 7,
        "nats-jetstream" | "grpc-cpp-gzip" | "jacorb" => 8,
        "mosquitto" | "tonic" | "protobuf" => 9,
        "redis" | "capnp" => 10,
        "artemis" | "glacier2" => 11,
        "qpid" | "glacier2-plain" | "gsoap" => 12,
        "zenoh" | "wsn" | "ice-bzip2" => 13,
        "fastdds" | "fastcdr" => 14,
        "iceoryx2" => 15,
        _ => 16,
    };
    format!("var(--c{number})")
}

/// A mark with its figure, for who points at it and for who checks the page.
fn marked(element: &str, name: &str, what: &str, unit: &str, figure: &Figure) -> String {
    let Figure { value, place } = figure;
    let text = figure.text();
    format!(
        "<{element} data-value=\"{value}\" data-at=\"/{place}\"><title>{}, {}: {text} {unit}</title></{}>\n",
        escaped(name),
        escaped(what),
        element.split(' ').next().unwrap_or_default()
    )
}

/// The names in the order in which they first come.
pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_of_a_scenario_have_colours_of_their_own() {
        for scenario in crate::scenario::scenarios() {
            let names = scenario.contender_names().into_iter();
            let peers: Vec<_> = names.filter(|name| rank(name) == 3).collect();
            let colours = distinct_count(peers.iter().map(|name| colour(name)));
            assert_eq!(colours, peers.len(), "{}: {peers:?}", scenario.name);
        }
    }

    fn distinct_count(texts: impl Iterator<Item = String>) -> usize {
        texts.collect::<std::collections::BTreeSet<_>>().len()
    }

    #[test]
    fn cases_that_differ_by_a_number_are_a_family() {
        assert_eq!(
            without_number("echo-1000-unix"),
            ("echo-N-unix".to_owned(), 1000.0)
        );
        assert_eq!(
            without_number("bytes-64/encode"),
            ("bytes-N/encode".to_owned(), 64.0)
        );
        assert_eq!(
            without_number("latency-1-20"),
            ("latency-1-N".to_owned(), 20.0)
        );
        assert_eq!(without_number("twoway"), ("twoway".to_owned(), 1.0));
        let families = families(&["echo-1", "ami", "echo-10"]);
        let names = families
            .iter()
            .map(|(name, members)| (name.as_str(), members.len()));
        let names: Vec<_> = names.collect();
        assert_eq!(names, [("echo-N", 2), ("ami", 1)]);
    }
}
