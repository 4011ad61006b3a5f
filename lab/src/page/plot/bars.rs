//! A bar for each contender of a case, with its interval.

use super::super::html::{escaped, push};
use super::super::results::{ResultRow, rank};
use super::{Plot, WIDTH, colour, is_rate, marked};

/// The figures of a case, the best first.
pub(super) fn bars<'a>(case: &str, rows: &[&ResultRow<'_>]) -> Plot<'a> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| rank(&row.result.contender));
    let mut bars = rows;
    let is_rate = bars.first().is_some_and(|row| is_rate(row));
    bars.sort_by(|one, other| {
        let order = one.figure.value.total_cmp(&other.figure.value);
        if is_rate { order.reverse() } else { order }
    });
    let high = |row: &ResultRow<'_>| {
        let end = row.interval.as_ref().map_or(0.0, |[_, high]| high.value);
        row.figure.value.max(end)
    };
    let longest = bars.iter().map(|row| high(row)).fold(0.0, f64::max);
    let place = |value: f64| LEFT + (RIGHT - LEFT) * value / longest.max(f64::MIN_POSITIVE);
    let height = bars.len() as f64 * STEP + 6.0;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n");
    for (line, row) in bars.iter().enumerate() {
        let name = row.result.contender.as_str();
        let y = line as f64 * STEP + 4.0;
        let end = place(row.figure.value);
        let colour = colour(name);
        push(
            &mut svg,
            format_args!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 5.0,
                y + 11.0,
                escaped(name)
            ),
        );
        let bar = format!(
            "rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"",
            end - LEFT,
            STEP - 5.0
        );
        svg.push_str(&marked(&bar, name, case, row.result.unit, &row.figure));
        let mut text_from = end;
        if let Some([low, high]) = &row.interval {
            let (low, high) = (place(low.value), place(high.value));
            let middle = y + (STEP - 5.0) / 2.0;
            text_from = text_from.max(high);
            push(
                &mut svg,
                format_args!(
                    "<line x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle}\" y2=\"{middle}\" stroke=\"var(--text)\"/>\n"
                ),
            );
        }
        push(
            &mut svg,
            format_args!(
                "<text x=\"{:.1}\" y=\"{}\">{}</text>\n",
                text_from + 4.0,
                y + 11.0,
                row.figure.text()
            ),
        );
    }
    svg.push_str("</svg>\n");
    let unit = bars.first().map_or("", |row| row.result.unit);
    let better = if is_rate {
        "more is better"
    } else {
        "less is better"
    };
    Plot {
        title: format!("{case}: {unit}, {better}, with 95 %"),
        svg,
        height,
        names: Vec::new(),
    }
}

const LEFT: f64 = 100.0;
const RIGHT: f64 = 350.0;
/// From one bar to the next.
const STEP: f64 = 20.0;
