//! The page about some reports as one file of HTML.

use std::fmt::{Display, Write};

use super::behind::{Behind, behind};
use super::figure::Figure;
use super::matrix::{KEY, matrices};
use super::plot::plots;
use super::published::{Kind, NOTES, records};
use super::results::{PublishedRow, ResultRow, Today, rows};
use crate::contender::is_floe;
use crate::report::Report;

/// The page.
pub(crate) fn page(reports: &[Report]) -> String {
    let sections = reports.iter().enumerate();
    let sections: String = sections
        .map(|(index, report)| scenario(index, report))
        .collect();
    let links = reports
        .iter()
        .enumerate()
        .map(|(index, report)| format!("<a href=\"#r{index}\">{}</a> ", escaped(&report.scenario)));
    let links: String = links.collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Floe beside its peers</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n\
         <header><h1>Floe beside its peers</h1>\n\
         <nav><a href=\"#glance\">At a glance</a> <a href=\"#behind\">Where Floe is behind</a> {links}<a href=\"#published\">Published figures</a></nav>\n\
         <label class=\"filter\">Rows with these words <input id=\"filter\" type=\"search\" \
         placeholder=\"twoway floe\" autocomplete=\"off\"></label></header>\n<main>\n\
         {}{}{sections}{}</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        glance_section(reports),
        behind_section(reports),
        published_section(reports),
    )
}

pub(super) const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// All cases and contenders, and who is not among them.
fn glance_section(reports: &[Report]) -> String {
    let left_out = reports.iter().flat_map(|report| &report.left_out);
    let mut missing: Vec<String> = left_out
        .map(|left_out| {
            format!(
                "<li><b>{}</b>: {}</li>\n",
                escaped(&left_out.contender),
                escaped(&left_out.reason)
            )
        })
        .collect();
    missing.sort();
    missing.dedup();
    let missing = missing.concat();
    format!(
        "<section id=\"glance\"><h2>At a glance</h2>\n{KEY}{}<details><summary>Who could not be had, and what was left out</summary><ul>\n\
         <li><b>TAO</b>: in no package of Debian; omniORB, omniEvents and JacORB stand for CORBA</li>\n{missing}</ul></details></section>\n",
        matrices(reports)
    )
}

fn behind_section(reports: &[Report]) -> String {
    let all = behind(reports);
    let list = match all.is_empty() {
        true => "<p>In none of the cases that were measured.</p>\n".to_owned(),
        false => {
            let items: String = all.iter().map(behind_item).collect();
            format!("<ul class=\"behind\">\n{items}</ul>\n")
        }
    };
    format!("<section id=\"behind\"><h2>Where Floe is behind</h2>\n{list}</section>\n")
}

fn behind_item(behind: &Behind<'_>) -> String {
    let (of, to) = (escaped(&behind.ratio.of), escaped(&behind.ratio.to));
    let what = match behind.unit.is_rate() {
        true => "of the events a second of",
        false => "of the time of",
    };
    let doubt = match behind.is_sure {
        true => "",
        false => " <span class=\"doubt\">(may be noise)</span>",
    };
    format!(
        "<li class=\"row\"><b>{} {}</b>: {of} has {}{} {what} {to}{doubt}</li>\n",
        escaped(&behind.report.scenario),
        escaped(&behind.ratio.case),
        data(&behind.quotient),
        interval(behind.interval.as_ref()),
    )
}

fn scenario(index: usize, report: &Report) -> String {
    let rows = rows(index, report);
    let mut text = format!(
        "<section id=\"r{index}\"><h2>{}</h2>\n{}",
        escaped(&report.scenario),
        environment(report)
    );
    for note in report.environment.warnings().iter().chain(&report.notes) {
        push(
            &mut text,
            format_args!("<p class=\"note\">{}</p>\n", escaped(note)),
        );
    }
    text.push_str(&plots(&rows));
    push(
        &mut text,
        format_args!(
            "<details><summary>All figures</summary>\n{}</details>\n",
            result_table(&rows)
        ),
    );
    if !report.left_out.is_empty() {
        let items = report.left_out.iter();
        let items = items.map(|left_out| format!("<li>{}</li>\n", escaped(&left_out.to_string())));
        let items: String = items.collect();
        push(
            &mut text,
            format_args!("<details><summary>Not measured</summary><ul>\n{items}</ul></details>\n"),
        );
    }
    text.push_str("</section>\n");
    text
}

fn environment(report: &Report) -> String {
    let environment = &report.environment;
    let versions = environment.contenders.iter();
    let versions = versions.map(|(name, version)| format!("{name}: {version}"));
    let versions: Vec<_> = versions.collect();
    format!(
        "<p class=\"environment\">{}, {} cores ({}{}), Linux {}, load {}, {:.1} cores busy before the run; {} build, {}, \
         {}</p>\n<details><summary>Versions</summary><p>{}</p></details>\n",
        escaped(&environment.cpu),
        environment.cores,
        environment.placement.name(),
        if environment.is_awake {
            ", kept awake"
        } else {
            ""
        },
        escaped(&environment.kernel),
        escaped(&environment.load_average),
        environment.busy_cores,
        escaped(&environment.profile),
        escaped(&environment.rustc),
        escaped(&environment.date),
        escaped(&versions.join("; ")),
    )
}

fn result_table(rows: &[ResultRow<'_>]) -> String {
    let has_len = rows.iter().any(|row| row.encoded_len.is_some());
    let has_service = rows.iter().any(|row| row.service.is_some());
    let has_line = rows.iter().any(|row| row.carried.is_some());
    let mut head = vec![
        "case",
        "contender",
        "unit",
        "figure",
        "95 %",
        "mean",
        "deviation",
        "min",
        "p99",
        "max",
        "relative to (95 %)",
    ];
    if has_len {
        head.push("bytes");
    }
    if has_service {
        head.extend(["service: us a delivery", "service: MB"]);
    }
    if has_line {
        head.extend(["bytes: messages", "bytes: device"]);
    }
    let has_subscriber = rows.iter().any(|row| row.subscriber.is_some());
    if has_subscriber {
        head.push("service: kB a subscriber");
    }
    let body = rows.iter().map(|row| {
        let ratios = row.ratios.iter().map(|(to, quotient, ends)| {
            let ends = interval(ends.as_ref());
            format!("<span>{}{ends} of {}</span>", data(quotient), escaped(to))
        });
        let ratios: Vec<_> = ratios.collect();
        let mut cells = vec![
            format!("<th scope=\"row\">{}</th>", escaped(&row.result.case)),
            format!("<td>{}</td>", escaped(&row.result.contender)),
            format!("<td>{}</td>", row.result.unit),
            cell(&row.figure),
            format!("<td class=\"n\">{}</td>", bounds(row.interval.as_ref())),
            cell(&row.mean),
            cell(&row.deviation),
            cell(&row.min),
            cell(&row.p99),
            cell(&row.max),
            format!("<td class=\"n\">{}</td>", ratios.join("<br>")),
        ];
        if has_len {
            cells.push(row.encoded_len.as_ref().map_or_else(no_cell, cell));
        }
        if has_service {
            match &row.service {
                Some(figures) => cells.extend(figures.iter().map(cell)),
                None => cells.extend([no_cell(), no_cell()]),
            }
        }
        if has_line {
            match &row.carried {
                Some(figures) => cells.extend(figures.iter().map(cell)),
                None => cells.extend([no_cell(), no_cell()]),
            }
        }
        if has_subscriber {
            cells.push(row.subscriber.as_ref().map_or_else(no_cell, cell));
        }
        let is_own = if is_floe(&row.result.contender) {
            " own"
        } else {
            ""
        };
        format!("<tr class=\"row{is_own}\">{}</tr>\n", cells.concat())
    });
    table(&head, &body.collect::<String>())
}

fn published_section(reports: &[Report]) -> String {
    let notes = NOTES.iter().map(|note| format!("<li>{note}</li>\n"));
    let notes: String = notes.collect();
    let head = [
        "table",
        "row",
        "column",
        "published",
        "case",
        "today",
        "Floe",
        "floor",
    ];
    let body = |is_setting: bool| -> String {
        let records = records().iter();
        let records = records.filter(|record| (record.kind == Kind::Setting) == is_setting);
        records
            .map(|record| published_row(&PublishedRow::new(record, reports)))
            .collect()
    };
    format!(
        "<section id=\"published\"><h2>Published figures beside today's</h2>\n<ul>\n{notes}</ul>\n{}\
         <h3>Settings of the published tests</h3>\n{}</section>\n",
        table(&head, &body(false)),
        table(&head, &body(true)),
    )
}

fn published_row(row: &PublishedRow<'_>) -> String {
    let record = row.record;
    let today = match &row.today {
        Today::Figures {
            case,
            unit,
            figures,
        } => {
            let of = |index: usize| {
                let shown = figures.get(index).map(|(name, figure)| {
                    format!(
                        "<td class=\"n\">{} {unit} <small>{}</small></td>",
                        data(figure),
                        escaped(name)
                    )
                });
                shown.unwrap_or_else(no_cell)
            };
            format!("<td>{}</td>{}{}{}", escaped(case), of(0), of(1), of(2))
        }
        Today::Ratio {
            case,
            of,
            to,
            quotient,
            interval: ends,
        } => format!(
            "<td>{}</td><td class=\"n\">{}{} <small>{} / {}</small></td>{}{}",
            escaped(case),
            data(quotient),
            interval(ends.as_ref()),
            escaped(of),
            escaped(to),
            no_cell(),
            no_cell()
        ),
        Today::NotMeasured(reason) => {
            format!(
                "<td colspan=\"4\" class=\"not\">not measured: {}</td>",
                escaped(reason)
            )
        }
    };
    format!(
        "<tr class=\"row\"><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"n\">{}</td>{today}</tr>\n",
        escaped(&record.table),
        escaped(&record.row),
        escaped(&record.column),
        escaped(&record.published),
    )
}

fn table(head: &[&str], body: &str) -> String {
    let head = head
        .iter()
        .map(|name| format!("<th scope=\"col\"><button>{name}</button></th>"));
    let head: String = head.collect();
    format!(
        "<div class=\"table\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )
}

fn cell(figure: &Figure) -> String {
    format!("<td class=\"n\">{}</td>", data(figure))
}

fn no_cell() -> String {
    "<td class=\"n\">-</td>".to_owned()
}

/// A figure with all its digits, and where the results have it.
pub(super) fn data(figure: &Figure) -> String {
    let Figure { value, place } = figure;
    format!(
        "<data value=\"{value}\" data-at=\"/{place}\">{}</data>",
        figure.text()
    )
}

fn interval(ends: Option<&[Figure; 2]>) -> String {
    match ends {
        Some(_) => format!(" <small>({})</small>", bounds(ends)),
        None => String::new(),
    }
}

fn bounds(ends: Option<&[Figure; 2]>) -> String {
    match ends {
        Some([low, high]) => format!("{} to {}", data(low), data(high)),
        None => "-".to_owned(),
    }
}

/// Text as HTML: what others have written may hold anything.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

pub(super) fn push(text: &mut String, more: impl Display) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{more}");
}

#[cfg(test)]
mod tests {
    use crate::page::Page;
    use crate::report::tests::example;

    #[test]
    fn what_others_have_written_is_text_and_nothing_else() {
        let mut report = example();
        report.left_out[0].reason = "<script>alert(\"&\")</script>".to_owned();
        report.environment.cpu = "A<b>".to_owned();
        let html = Page::new(vec![report]).to_html();
        assert!(html.contains("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"));
        assert!(html.contains("A&lt;b&gt;,") && html.matches("<script>").count() == 1);
    }

    #[test]
    fn a_page_needs_no_network_and_shows_every_published_record() {
        let html = Page::new(vec![example()]).to_html();
        for word in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!html.contains(word), "{word}");
        }
        let (_, published) = html.split_once("id=\"published\"").unwrap();
        assert_eq!(published.matches("<tr class=\"row\">").count(), 188);
    }
}
