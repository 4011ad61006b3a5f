//! The picture of the demo on a terminal. It is redrawn in place, and is never wider than the terminal,
//! whose size may change at any time.

use std::io;
use std::time::Duration;

use terminal_size::{Height, Width, terminal_size_of};

use super::row::{Row, grouped, time};
use super::telemetry::Sample;

/// The lines that are on the screen now, which the next picture replaces.
#[derive(Debug, Default)]
pub(super) struct Picture {
    /// The width of each line that was drawn.
    drawn: Vec<usize>,
}

impl Picture {
    /// The text and escape codes that replace the former lines by these.
    pub(super) fn redraw(&mut self, lines: &[String], size: Size) -> String {
        let mut text = match self.rows_now(size) {
            0 => String::new(),
            rows => format!("\r\x1b[{rows}A\x1b[J"),
        };
        self.drawn.clear();
        // The last row of the terminal stays free for the cursor.
        for line in lines.iter().take(size.rows.saturating_sub(1).max(1)) {
            let line = cut(line, size.columns);
            self.drawn.push(width(line));
            text += line;
            // The code that ends bold text may have been cut off.
            text += if line.contains(BOLD) {
                "\x1b[0m\x1b[K\n"
            } else {
                "\x1b[K\n"
            };
        }
        text
    }

    /// The number of rows that the lines take now. A terminal that has become narrower has wrapped them.
    fn rows_now(&self, size: Size) -> usize {
        let rows = self.drawn.iter();
        let rows = rows.map(|width| width.div_ceil(size.columns).max(1)).sum();
        size.rows.saturating_sub(1).min(rows)
    }
}

/// The size of a terminal, in characters; neither is 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// The current size of the terminal. If it is unknown, the size of the oldest terminals.
    pub(super) fn now() -> Self {
        let size = terminal_size_of(io::stdout());
        let (Width(columns), Height(rows)) = size.unwrap_or((Width(80), Height(24)));
        Self {
            columns: usize::from(columns).max(1),
            rows: usize::from(rows).max(1),
        }
    }
}

/// The table of the subscribers: headings, then a line for each. Columns that do not fit are left out,
/// because a figure that is cut would be wrong.
pub(super) fn table(rows: &[Row], columns: usize, has_colour: bool) -> Vec<String> {
    let head = ["SUBSCRIBER", "EVENTS/S", "DELIVERED", "LOST", "P50", "P99"].map(str::to_owned);
    let cells: Vec<_> = rows.iter().map(cells).collect();
    let width_of = |column: usize| {
        let least = if columns < TIGHT { 0 } else { LEAST[column] };
        let all = cells.iter().chain([&head]);
        all.map(|cells| cells[column].len()).fold(least, usize::max)
    };
    let widths: [usize; 6] = std::array::from_fn(width_of);
    let count = (1..=6)
        .rev()
        .find(|&count| widths[..count].iter().map(|width| width + 2).sum::<usize>() <= columns)
        .unwrap_or(1);
    let aligned = |cells: &[String; 6]| {
        let numbers = cells.iter().zip(widths).take(count).skip(1);
        let numbers: String = numbers
            .map(|(cell, width)| format!("  {cell:>width$}"))
            .collect();
        format!("  {:<1$}{numbers}", cells[0], widths[0])
    };
    let mut lines = vec![match has_colour {
        true => format!("{BOLD}{}", aligned(&head)),
        false => aligned(&head),
    }];
    lines.extend(
        cells
            .iter()
            .zip(rows)
            .map(|(cells, row)| match columns < WIDE {
                true => aligned(cells),
                false => format!("{}  {}", aligned(cells), row.about),
            }),
    );
    lines
}

/// Terminals below this width have no room for the description of each subscriber.
const WIDE: usize = 100;

/// Terminals below this width have no room to spare between columns.
const TIGHT: usize = 70;

/// Columns are at least this wide, so that they do not move with each picture.
const LEAST: [usize; 6] = [10, 9, 11, 6, 9, 9];

const BOLD: &str = "\x1b[1m";

fn cells(row: &Row) -> [String; 6] {
    [
        row.mode.to_owned(),
        row.rate
            .map_or_else(String::new, |rate| grouped(rate.round() as u64)),
        grouped(row.delivered),
        grouped(row.lost),
        time(row.p50),
        time(row.p99),
    ]
}

/// The machine, as the subscriber sees it. If one line is too narrow, it takes several.
pub(super) fn machine(
    sample: &Sample,
    before: Option<(&Sample, Duration)>,
    columns: usize,
) -> Vec<String> {
    let gib = |bytes: i64| bytes as f64 / f64::from(1 << 30);
    let used = sample.memory_total - sample.memory_available;
    let mut parts = vec![
        format!("load {:.2}", sample.load),
        format!(
            "memory {:.1} of {:.1} GiB used",
            gib(used),
            gib(sample.memory_total)
        ),
    ];
    if let Some((before, span)) = before {
        let (received, sent) = traffic(sample);
        let (received_before, sent_before) = traffic(before);
        let per_second = |bytes: i64| bytes as f64 / span.as_secs_f64() / 1e6;
        parts.push(format!(
            "network {:.1} MB/s in, {:.1} MB/s out",
            per_second(received - received_before),
            per_second(sent - sent_before),
        ));
    }
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.len() + 4 + part.len() <= columns => *line += &format!("    {part}"),
            _ => lines.push(format!("  {part}")),
        }
    }
    lines
}

/// Bytes in and out over all interfaces. Loopback is included, so that the demo's own traffic is visible.
fn traffic(sample: &Sample) -> (i64, i64) {
    let received = sample.interfaces.iter().map(|interface| interface.received);
    let sent = sample.interfaces.iter().map(|interface| interface.sent);
    (received.sum(), sent.sum())
}

/// As much of the line as fits. Escape codes take no room.
fn cut(line: &str, columns: usize) -> &str {
    let mut room = columns;
    let mut is_code = false;
    for (index, c) in line.char_indices() {
        match (is_code, c) {
            (_, '\x1b') => is_code = true,
            (true, 'm') => is_code = false,
            (true, _) => {}
            (false, _) if room == 0 => return &line[..index],
            (false, _) => room -= 1,
        }
    }
    line
}

/// The number of visible characters.
fn width(line: &str) -> usize {
    line.chars().count() - line.matches(BOLD).count() * BOLD.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(columns: usize, rows: usize) -> Size {
        Size { columns, rows }
    }

    fn row() -> Row {
        Row {
            mode: "twoway",
            about: "answers each event",
            rate: Some(123_456.0),
            delivered: 1_234_567,
            lost: 0,
            p50: 85_400,
            p99: 27_400_000,
        }
    }

    #[test]
    fn a_table_fits_the_terminals_that_people_have() {
        for (columns, is_explained) in [
            (120, true),
            (100, true),
            (80, false),
            (60, false),
            (40, false),
        ] {
            let lines = table(&[row()], columns, true);
            assert!(lines.iter().all(|line| width(line) <= columns), "{lines:?}");
            assert!(lines[1].contains("1,234,567"), "{lines:?}");
            assert_eq!(lines[0].contains("P99"), columns >= 60, "{lines:?}");
            assert_eq!(lines[1].contains("answers"), is_explained, "{lines:?}");
        }
    }

    #[test]
    fn lines_are_cut_to_the_terminal_and_codes_take_no_room() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("äbcd", 3), "äbc");
        assert_eq!(cut("\x1b[1mabcd", 3), "\x1b[1mabc");
        assert_eq!(width("\x1b[1mabc"), 3);
    }

    #[test]
    fn a_picture_is_drawn_over_also_after_the_terminal_became_narrower() {
        let mut picture = Picture::default();
        let lines = ["x".repeat(50), String::new()];
        let first = picture.redraw(&lines, size(80, 24));
        assert!(
            !first.contains("\x1b[J"),
            "there is nothing to draw over: {first:?}"
        );
        let same = picture.redraw(&lines, size(80, 24));
        assert!(same.starts_with("\r\x1b[2A\x1b[J"), "{same:?}");
        let narrow = picture.redraw(&lines, size(20, 24));
        assert!(
            narrow.starts_with("\r\x1b[4A\x1b[J"),
            "50 became 3 rows of 20: {narrow:?}"
        );
        let again = picture.redraw(&lines, size(20, 24));
        assert!(
            again.starts_with("\r\x1b[2A\x1b[J"),
            "now they are cut: {again:?}"
        );
    }

    #[test]
    fn a_picture_is_never_higher_than_the_terminal() {
        let mut picture = Picture::default();
        let lines = vec!["x".to_owned(); 9];
        let text = picture.redraw(&lines, size(80, 4));
        assert_eq!(text.matches('\n').count(), 3);
    }

    #[test]
    fn the_machine_takes_more_lines_where_there_is_less_room() {
        let sample = Sample::default();
        let before = Some((&sample, Duration::from_secs(1)));
        assert_eq!(machine(&sample, before, 100).len(), 1);
        let lines = machine(&sample, before, 60);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.len() <= 60), "{lines:?}");
    }
}
