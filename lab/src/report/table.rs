//! Reports as tables, for people.

use std::fmt::Write;

use super::Report;

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
        for note in &self.notes {
            // Writing to a string cannot fail.
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
            "p99",
            "calls",
            "rounds",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for result in &self.results {
            let rounds: Vec<_> = result
                .rounds
                .iter()
                .map(|mean| format!("{mean:.1}"))
                .collect();
            rows.push(vec![
                result.case.clone(),
                result.contender.clone(),
                result.unit.to_owned(),
                format!("{:.2}", result.mean),
                format!("{:.2}", result.p50),
                format!("{:.2}", result.p99),
                result.count.to_string(),
                rounds.join(" "),
            ]);
        }
        rows
    }

    fn ratio_rows(&self) -> Vec<Vec<String>> {
        let head = ["case", "ratio", "median", "low", "high"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for ratio in &self.ratios {
            rows.push(vec![
                ratio.case.clone(),
                format!("{}/{}", ratio.of, ratio.to),
                format!("{:.2}", ratio.median),
                format!("{:.2}", ratio.low),
                format!("{:.2}", ratio.high),
            ]);
        }
        rows
    }
}

/// Rows with each column as wide as its widest cell.
fn aligned(rows: &[Vec<String>]) -> String {
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
            has("twoway  floor      us    15.00  10.00  40.00  1000"),
            "{table}"
        );
        assert!(has("twoway  floe       us    17.50"), "{table}");
        assert!(has("twoway  floe/floor  1.17    1.16  1.19"), "{table}");
        assert!(has("note: twoway: two speeds seen"), "{table}");
    }
}
