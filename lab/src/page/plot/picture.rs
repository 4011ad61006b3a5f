//! A plot as a file of its own: a picture of SVG for pages that have no style for it, light or dark as the reader has it.

use super::super::html::{CSS, escaped, push};
use super::super::results::{ResultRow, rows};
use super::bars::bars;
use super::{Plot, WIDTH, against_size, colour, families};
use crate::report::Report;

/// The pictures that the README shows, with the names of their files: calls beside one another, and messages through topics
/// against their size. One whose scenario is not among the reports is missing.
pub(in crate::page) fn pictures(reports: &[Report]) -> Vec<(&'static str, String)> {
    let of = |scenario: &str, plot: fn(&[ResultRow<'_>]) -> Option<String>| {
        let index = reports.iter().position(|one| one.scenario == scenario)?;
        plot(&rows(index, &reports[index]))
    };
    let all = [
        ("lab-calls.svg", of("rpc", calls)),
        ("lab-topics.svg", of("pubsub-rtt", topics)),
    ];
    let made = all.into_iter();
    made.filter_map(|(name, picture)| Some((name, picture?)))
        .collect()
}

/// The time of a call.
fn calls(rows: &[ResultRow<'_>]) -> Option<String> {
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.result.case == "twoway")
        .collect();
    (!rows.is_empty()).then(|| bars("twoway", &rows).to_svg())
}

/// The time of a message of bytes, and of its answer.
fn topics(rows: &[ResultRow<'_>]) -> Option<String> {
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.result.case.starts_with("bytes-"))
        .collect();
    let mut cases: Vec<_> = rows.iter().map(|row| row.result.case.as_str()).collect();
    cases.sort_unstable();
    cases.dedup();
    let families = families(&cases);
    let (family, members) = families.first()?;
    Some(against_size(family, members, &rows).to_svg())
}

impl Plot<'_> {
    /// As a file.
    fn to_svg(&self) -> String {
        let lines = self.names.len().div_ceil(NAMES_A_LINE);
        let keys_from = TITLE_HEIGHT + self.height;
        let height = keys_from + lines as f64 * KEY_HEIGHT + 8.0;
        // The colours of the page.
        let colours = CSS.split("body {").next().unwrap_or_default();
        let colours = colours.replace(":root", "svg");
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-label=\"{title}\">\n<style>\n{colours}{STYLE}</style>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"6\" fill=\"var(--ground)\"/>\n\
             <text class=\"title\" x=\"8\" y=\"18\">{title}</text>\n"
        );
        let plot = format!(
            "<svg y=\"{TITLE_HEIGHT}\" width=\"{WIDTH}\" height=\"{}\" ",
            self.height
        );
        svg.push_str(&self.svg.replacen("<svg ", &plot, 1));
        for (index, name) in self.names.iter().enumerate() {
            let x = 10.0 + (index % NAMES_A_LINE) as f64 * (WIDTH - 10.0) / NAMES_A_LINE as f64;
            let y = keys_from + (index / NAMES_A_LINE) as f64 * KEY_HEIGHT;
            push(
                &mut svg,
                format_args!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"9\" height=\"9\" fill=\"{}\"/>\
                     <text x=\"{}\" y=\"{}\">{}</text>\n",
                    colour(name),
                    x + 13.0,
                    y + 9.0,
                    escaped(name)
                ),
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

const TITLE_HEIGHT: f64 = 28.0;
const KEY_HEIGHT: f64 = 16.0;
const NAMES_A_LINE: usize = 5;

/// The style sheet of plots, for a picture in a file of its own.
const STYLE: &str = "text { fill: var(--faint); font: 11px system-ui, sans-serif; }\n\
                     .title { fill: var(--text); font-size: 13px; }\n\
                     .axis { stroke: var(--line); }\n\
                     path { fill: none; stroke-width: 1.8; }\n\
                     .floor { stroke-dasharray: 4 3; }\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;

    #[test]
    fn a_picture_has_every_figure_of_its_case_and_its_own_colours() {
        let mut report = example();
        report.scenario = "rpc".to_owned();
        for result in &mut report.results {
            result.case = "twoway".to_owned();
        }
        let count = report.results.len();
        let pictures = pictures(&[report]);
        let [(name, svg)] = pictures.as_slice() else {
            panic!("expected one picture, got {}", pictures.len());
        };
        assert_eq!(*name, "lab-calls.svg");
        assert_eq!(svg.matches(" data-value=").count(), count);
        assert!(svg.starts_with("<svg xmlns="), "{svg}");
        assert!(
            svg.contains("--c0:") && svg.contains("prefers-color-scheme: dark"),
            "{svg}"
        );
        assert_eq!(svg.matches("<svg ").count(), svg.matches("</svg>").count());
    }

    #[test]
    fn a_scenario_that_was_not_measured_has_no_picture() {
        let mut report = example();
        report.scenario = "codec".to_owned();
        assert!(pictures(&[report]).is_empty());
    }
}
