//! Reports as tables, for people.

use std::fmt::Write;

use super::{CaseResult, Quotients, Report, duration};
use crate::scenario::group;
use crate::statistics::Spread;

impl Report {
    /// The report as text for a terminal, with an end of line.
    pub fn to_table(&self) -> String {
        let mut text = self.environment.to_text();
        text.push('\n');
        text.push_str(&aligned(&self.result_rows()));
        if !self.ratios.is_empty() {
            text.push('\n');
            text.push_str(&aligned(&self.ratio_rows()));
        }
        let tables = [
            self.median_rows(),
            self.length_rows(),
            self.service_rows(),
            self.carried_rows(),
        ];
        for rows in tables.into_iter().flatten() {
            text.push('\n');
            text.push_str(&aligned(&rows));
        }
        for (index, left_out) in self.left_out.iter().enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(text, "{gap}{left_out}");
        }
        for note in &self.notes {
            let _ = write!(text, "\nnote: {note}\n");
        }
        text
    }

    fn result_rows(&self) -> Vec<Vec<String>> {
        let head = [
            "case",
            "contender",
            "unit",
            "mean",
            "p50",
            "p90",
            "p99",
            "p999",
            "calls",
            "rounds",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for result in &self.results {
            let rounds = result.rounds.iter();
            let rounds: Vec<_> = rounds.map(|median| duration(*median, 1)).collect();
            rows.push(vec![
                result.case.clone(),
                result.contender.clone(),
                result.unit.to_owned(),
                duration(result.mean, 2),
                duration(result.p50, 2),
                duration(result.p90, 2),
                duration(result.p99, 2),
                duration(result.p999, 2),
                result.count.to_string(),
                rounds.join(" "),
            ]);
        }
        rows
    }

    /// How many bytes each contender makes of each case that has an encoding: `None` if there is none.
    fn length_rows(&self) -> Option<Vec<Vec<String>>> {
        let is_encoded = self
            .results
            .iter()
            .any(|result| result.encoded_len.is_some());
        is_encoded.then(|| {
            self.cells("bytes", group, |result| {
                result
                    .encoded_len
                    .map(|len| len.to_string())
                    .unwrap_or_default()
            })
        })
    }

    /// The rows with the cost of the services: `None` if there is none.
    fn service_rows(&self) -> Option<Vec<Vec<String>>> {
        let has_service = self.results.iter().any(|result| result.service.is_some());
        let services = || self.results.iter().filter_map(|result| result.service);
        let head = match services().any(|service| service.subscriber.is_some()) {
            true => "service: us a delivery, MB, kB a subscriber",
            false => "service: us a delivery, MB",
        };
        has_service.then(|| {
            self.cells(
                head,
                |case| case,
                |result| {
                    let service = result.service;
                    service.map_or("-".to_owned(), |service| {
                        let cpu = duration(service.cpu_per_delivery, 2);
                        let subscriber = service.subscriber;
                        let subscriber = subscriber.map(|one| format!(", {one:.1}"));
                        let subscriber = subscriber.unwrap_or_default();
                        format!("{cpu}, {:.1}{subscriber}", service.resident)
                    })
                },
            )
        })
    }

    /// The rows with the bytes that slow lines have carried: `None` if there was none.
    fn carried_rows(&self) -> Option<Vec<Vec<String>>> {
        let has_line = self.results.iter().any(|result| result.carried.is_some());
        has_line.then(|| {
            self.cells(
                "bytes: messages, device",
                |case| case,
                |result| {
                    let carried = result.carried;
                    carried.map_or("-".to_owned(), |carried| {
                        format!("{:.0}, {:.0}", carried.messages, carried.line)
                    })
                },
            )
        })
    }

    /// The middle one of the rounds of each contender in each case: `None` if there is but one case.
    fn median_rows(&self) -> Option<Vec<Vec<String>>> {
        let first = &self.results.first()?.case;
        let has_many = self.results.iter().any(|result| result.case != *first);
        has_many.then(|| {
            self.cells(
                "median",
                |case| case,
                |result| {
                    let median = Spread::of(&result.rounds).map(|spread| spread.median);
                    median.map(|median| duration(median, 2)).unwrap_or_default()
                },
            )
        })
    }

    fn ratio_rows(&self) -> Vec<Vec<String>> {
        let head = [
            "case", "ratio", "median", "low", "high", "mean", "low", "high", "p99", "low", "high",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for ratio in &self.ratios {
            let mut row = vec![ratio.case.clone(), format!("{}/{}", ratio.of, ratio.to)];
            for quotients in [ratio.median, ratio.mean, ratio.p99] {
                let Quotients {
                    middle, low, high, ..
                } = quotients;
                row.extend([middle, low, high].map(|quotient| format!("{quotient:.2}")));
            }
            rows.push(row);
        }
        rows
    }

    /// A row for each case, or for those of one name, and a column for each contender.
    fn cells(
        &self,
        what: &str,
        name: fn(&str) -> &str,
        cell: impl Fn(&CaseResult) -> String,
    ) -> Vec<Vec<String>> {
        let results = self.results.iter();
        let mut contenders = distinct(results.clone().map(|result| result.contender.as_str()));
        // Whoever cannot do the first case would come last.
        contenders.sort_by_key(|contender| {
            let mut known = self.environment.contenders.iter();
            known.position(|(name, _)| name == contender)
        });
        let head = [&[what], contenders.as_slice()].concat();
        let mut rows = vec![head.into_iter().map(str::to_owned).collect()];
        for row in distinct(results.clone().map(|result| name(&result.case))) {
            let figures = contenders.iter().map(|contender| {
                let mut all = results.clone();
                let found =
                    all.find(|result| name(&result.case) == row && result.contender == *contender);
                found.map_or("-".to_owned(), &cell)
            });
            rows.push([row.to_owned()].into_iter().chain(figures).collect());
        }
        rows
    }
}

/// The names in the order in which they first come.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// Rows with each column as wide as its widest cell.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let column_count = rows.first().map_or(0, Vec::len);
    let widths: Vec<_> = (0..column_count)
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;

    #[test]
    fn a_table_shows_every_contender_and_every_ratio() {
        let table = example().to_table();
        let has = |start: &str| table.lines().any(|line| line.starts_with(start));
        assert!(
            has("twoway  floor      us    15.00  10.00  20.00  40.00  60.00  1000"),
            "{table}"
        );
        assert!(has("twoway  floe       us    17.50"), "{table}");
        assert!(
            has("twoway  floe/floor  1.17    1.16  1.19  1.17  1.16  1.19"),
            "{table}"
        );
        assert!(
            has("not offered by ice: twoway-poll: Ice cannot poll"),
            "{table}"
        );
        assert!(has("note: twoway: two speeds seen"), "{table}");
    }
    #[test]
    fn many_cases_are_also_shown_as_a_row_each() {
        let mut report = example();
        let mut other = report.results[0].clone();
        other.case = "text/encode".to_owned();
        other.encoded_len = Some(6_917);
        other.rounds = vec![0.0123, 0.0125];
        report.results.push(other);
        let table = report.to_table();
        let has = |line: &str| table.lines().any(|other| other == line);
        assert!(has("median       floor   floe"), "{table}");
        assert!(has("twoway       15.00   17.50"), "{table}");
        assert!(has("text/encode  0.0124  -"), "{table}");
        assert!(has("text    6917   -"), "{table}");
    }
}
