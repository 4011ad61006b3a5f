//! All cases and contenders at a glance: a table for each scenario, whose colours say who needs more than Floe.

use super::figure::Figure;
use super::html::{data, escaped, push};
use super::phrase::phrase;
use super::plot::{colour, distinct, is_rate};
use super::results::{ResultRow, rank, rows};
use crate::contender::is_floe;
use crate::report::Report;

/// The matrices of all reports.
pub(super) fn matrices(reports: &[Report]) -> String {
    let reports = reports.iter().enumerate();
    reports
        .map(|(index, report)| matrix(report, &rows(index, report)))
        .collect()
}

/// A row for each case, a column for each contender.
fn matrix(report: &Report, rows: &[ResultRow<'_>]) -> String {
    let cases = distinct(rows.iter().map(|row| row.result.case.as_str()));
    let mut names = distinct(rows.iter().map(|row| row.result.contender.as_str()));
    names.sort_by_key(|name| rank(name));
    let heads: String = names
        .iter()
        .map(|name| {
            format!(
                "<th scope=\"col\"><i style=\"background:{}\"></i>{}</th>",
                colour(name),
                escaped(name)
            )
        })
        .collect();
    let mut body = String::new();
    for case in cases {
        let of_case: Vec<_> = rows.iter().filter(|row| row.result.case == case).collect();
        let own = of_case.iter().find(|row| row.result.contender == "floe");
        let own = own.or_else(|| of_case.iter().find(|row| is_floe(&row.result.contender)));
        let cells: String = names
            .iter()
            .map(|name| {
                let row = of_case.iter().find(|row| row.result.contender == *name);
                row.map_or_else(|| "<td></td>".to_owned(), |row| cell(row, own.copied()))
            })
            .collect();
        let unit = of_case.first().map_or("", |row| row.result.unit);
        push(
            &mut body,
            format_args!(
                "<tr class=\"row\"><th scope=\"row\">{}<small>{}</small></th><td class=\"unit\">{unit}</td>{cells}</tr>\n",
                escaped(case),
                escaped(&phrase(&report.scenario, case)),
            ),
        );
    }
    let width = if names.len() > NARROW { " wide" } else { "" };
    format!(
        "<h3>{}</h3>\n<div class=\"table\"><table class=\"matrix{width}\">\n<thead><tr><th scope=\"col\">case</th><th scope=\"col\"></th>{heads}</tr></thead>\n\
         <tbody>\n{body}</tbody>\n</table></div>\n",
        escaped(&report.scenario)
    )
}

/// With more contenders than this, a table is set smaller, so that it fits 1,280 pixels.
const NARROW: usize = 12;

/// A figure, coloured by how many times as good Floe is.
fn cell(row: &ResultRow<'_>, own: Option<&ResultRow<'_>>) -> String {
    let shown = |class: &str, figure: &Figure, title: &str| {
        format!(
            "<td class=\"n {class}\" title=\"{}\">{}</td>",
            escaped(title),
            data(figure)
        )
    };
    let name = row.result.contender.as_str();
    let Some(own) = own.filter(|_| !is_floe(name)) else {
        return shown("own", &row.figure, name);
    };
    let quotient = match is_rate(row) {
        true => own.figure.value / row.figure.value,
        false => row.figure.value / own.figure.value,
    };
    let floe = own.result.contender.as_str();
    let title = match quotient >= 1.0 {
        true => format!("{floe} is {quotient:.2} times as good as {name}"),
        false => format!("{name} is {:.2} times as good as {floe}", 1.0 / quotient),
    };
    shown(class(quotient), &row.figure, &title)
}

/// The class of a cell for how many times as good Floe is as the contender.
fn class(quotient: f64) -> &'static str {
    match quotient {
        ..0.5 => "b3",
        ..0.8 => "b2",
        ..0.95 => "b1",
        ..1.05 => "even",
        ..1.25 => "a1",
        ..2.0 => "a2",
        _ => "a3",
    }
}

/// The meaning of the colours.
pub(super) const KEY: &str = "<p class=\"key\"><span><i class=\"b3\"></i>twice as good as Floe, and more</span> <span><i class=\"b2\"></i>better by a \
     quarter</span> <span><i class=\"b1\"></i>better</span> <span><i class=\"even\"></i>within 5 %</span> <span><i class=\"a1\"></i>Floe is better</span> \
     <span><i class=\"a2\"></i>Floe is better by a quarter</span> <span><i class=\"a3\"></i>Floe is twice as good, and more</span></p>\n\
     <p>Less time is better, and more events a second are. The colour at a contender's name is its colour in every plot.</p>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_by_its_colour_who_is_better() {
        for (quotient, expected) in [
            (0.1, "b3"),
            (0.79, "b2"),
            (0.9, "b1"),
            (1.0, "even"),
            (1.2, "a1"),
            (1.9, "a2"),
            (2.0, "a3"),
        ] {
            assert_eq!(class(quotient), expected, "{quotient}");
        }
    }
}
