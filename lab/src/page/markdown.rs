//! The summary of some reports as Markdown.

use std::fmt::Write;

use super::behind::{Behind, behind};
use super::figure::Figure;
use super::published::{NOTES, records};
use super::results::{PublishedRow, Today, rows};
use crate::report::Report;

/// Writes the results as Markdown, with the cases in which Floe is behind at the top.
pub(crate) fn summary(reports: &[Report]) -> String {
    let mut text = String::from("# Floe beside its peers\n\n## Where Floe is behind\n\n");
    text.push_str(&behind_list(reports));
    for (index, report) in reports.iter().enumerate() {
        // Writing to a string cannot fail, here and below.
        let _ = write!(text, "\n## Scenario `{}`\n\n", report.scenario);
        text.push_str(&environment(report));
        text.push_str(&results(index, report));
        for note in report.environment.warnings().iter().chain(&report.notes) {
            let _ = write!(text, "\nNote: {note}.\n");
        }
        for left_out in &report.left_out {
            let _ = write!(text, "\n- {}", one_line(&left_out.to_string()));
        }
        text.push('\n');
    }
    text.push_str("\n## Published figures beside today's\n\n");
    for note in NOTES {
        let _ = writeln!(text, "- {note}");
    }
    text.push_str("\n| table | row | column | published | today |\n|---|---|---|---|---|\n");
    for record in records() {
        let row = PublishedRow::new(record, reports);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            record.table,
            record.row,
            record.column,
            record.published,
            today(&row.today)
        );
    }
    text
}

fn behind_list(reports: &[Report]) -> String {
    let all = behind(reports);
    if all.is_empty() {
        return "In none of the cases that were measured.\n".to_owned();
    }
    let lines = all.iter().map(|behind| format!("- {}\n", sentence(behind)));
    lines.collect()
}

/// Says who is ahead in which case, and how far.
fn sentence(behind: &Behind<'_>) -> String {
    let (of, to) = (&behind.ratio.of, &behind.ratio.to);
    let what = match behind.unit.is_rate() {
        true => "of the events a second of",
        false => "of the time of",
    };
    let doubt = if behind.is_sure {
        ""
    } else {
        "; the interval does not exclude that the two are equal"
    };
    format!(
        "`{}` `{}`: {of} has {}{} {what} {to}{doubt}",
        behind.report.scenario,
        behind.ratio.case,
        behind.quotient.text(),
        interval(behind.interval.as_ref()),
    )
}

fn environment(report: &Report) -> String {
    let environment = &report.environment;
    format!(
        "{}, {} cores ({}{}), Linux {}, load {}, {:.1} cores busy before the run; {} build, {}, {}.\n\n",
        environment.cpu,
        environment.cores,
        environment.placement.name(),
        if environment.is_awake {
            ", kept awake"
        } else {
            ""
        },
        environment.kernel,
        environment.load_average,
        environment.busy_cores,
        environment.profile,
        environment.rustc,
        environment.date,
    )
}

fn results(index: usize, report: &Report) -> String {
    let mut text = String::from(
        "| case | contender | unit | figure (95 %) | mean | p99 | relative to (95 %) |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows(index, report) {
        let ratios = row.ratios.iter().map(|(to, quotient, ends)| {
            format!("{}{} of {to}", quotient.text(), interval(ends.as_ref()))
        });
        let ratios: Vec<_> = ratios.collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {}{} | {} | {} | {} |",
            row.result.case,
            row.result.contender,
            row.result.unit,
            row.figure.text(),
            interval(row.interval.as_ref()),
            row.mean.text(),
            row.p99.text(),
            ratios.join(", ")
        );
    }
    text
}

fn today(today: &Today<'_>) -> String {
    match today {
        Today::Figures {
            case,
            unit,
            figures,
        } => {
            let figures = figures.iter();
            let figures = figures.map(|(name, figure)| format!("{name} {}", figure.text()));
            let figures: Vec<_> = figures.collect();
            format!("{} {unit} (`{case}`)", figures.join(", "))
        }
        Today::Ratio {
            case,
            of,
            to,
            quotient,
            interval: ends,
        } => format!(
            "{of} / {to}: {}{} (`{case}`)",
            quotient.text(),
            interval(ends.as_ref())
        ),
        Today::NotMeasured(reason) => format!("not measured: {}", one_line(reason)),
    }
}

/// Turns a text of others into one line that ends no cell of a table.
fn one_line(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    lines.join(" ").replace('|', "/")
}

fn interval(ends: Option<&[Figure; 2]>) -> String {
    match ends {
        Some([low, high]) => format!(" ({} to {})", low.text(), high.text()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::page::Page;
    use crate::report::tests::{example, with_ratio};

    #[test]
    fn where_floe_is_behind_stands_at_the_top() {
        let ahead = Page::new(vec![example()]).to_markdown();
        let none = "## Where Floe is behind\n\nIn none of the cases";
        assert!(ahead.contains(none), "{ahead}");
        let report = with_ratio("nats", &[8.0, 8.1, 7.9], &[10.0, 10.0, 10.0]);
        let text = Page::new(vec![report]).to_markdown();
        let line = "- `rpc` `twoway`: nats has 0.8000 (0.7900 to 0.8100) of the time of floe\n";
        let (head, _) = text.split_once("## Scenario").unwrap();
        assert!(head.ends_with(&format!("{line}\n")), "{text}");
    }

    #[test]
    fn a_difference_that_may_be_noise_is_called_so() {
        let report = with_ratio("nats", &[9.0, 9.9, 11.0], &[10.0, 10.0, 10.0]);
        let text = Page::new(vec![report]).to_markdown();
        assert!(
            text.contains("does not exclude that the two are equal"),
            "{text}"
        );
    }

    #[test]
    fn every_published_record_has_a_row() {
        let text = Page::new(vec![example()]).to_markdown();
        let (_, published) = text.split_once("## Published").unwrap();
        let rows = published.lines().filter(|line| line.starts_with("| "));
        // The head and 188 records.
        assert_eq!(rows.count(), 189);
        assert!(
            published.contains("not measured: these results have no run of the scenario events")
        );
    }
}
