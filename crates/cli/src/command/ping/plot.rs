//! The plots of `floe ping`: the mean time over the size, with bars from the shortest to the longest, both axes
//! logarithmic; as SVG and as text.

use plotters::prelude::*;

use super::tally::{Summary, Tally};
use super::ticks::{ticks, time_text};
use crate::size::Size;

/// The plot for a proxy as the text of an SVG file; `None` if there is nothing to show.
pub(super) fn svg(proxy: &str, tallies: &[Tally]) -> Option<String> {
    let mut points: Vec<Point> = tallies.iter().filter_map(Point::of).collect();
    points.sort_by(|one, other| one.bytes.total_cmp(&other.bytes));
    if points.is_empty() {
        return None;
    }
    let mut text = String::new();
    draw(&title(proxy), &points, &mut text).expect("a string takes all that is drawn on it");
    Some(text)
}

/// A size in bytes, and the times in microseconds.
struct Point {
    bytes: f64,
    times: Summary,
}

impl Point {
    fn of(tally: &Tally) -> Option<Self> {
        let times = tally.summary()?;
        // The clock may have seen no time pass; a logarithm must.
        let above_zero = |micros: f64| micros.max(MICROS_MIN);
        Some(Self {
            bytes: tally.size.bytes().max(1) as f64,
            times: Summary {
                min: above_zero(times.min),
                mean: above_zero(times.mean),
                max: above_zero(times.max),
                ..times
            },
        })
    }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(title: &str, points: &[Point], text: &mut String) -> Drawn {
    let area = SVGBackend::with_string(text, (WIDTH, HEIGHT)).into_drawing_area();
    area.fill(&WHITE)?;
    let least = points.iter().map(|it| it.bytes).fold(f64::MAX, f64::min);
    let most = points.iter().map(|it| it.bytes).fold(0.0, f64::max);
    let shortest = points.iter().map(|it| it.times.min);
    let shortest = shortest.fold(f64::MAX, f64::min);
    let longest = points.iter().map(|it| it.times.max).fold(0.0, f64::max);
    let sizes = (least / 1.5..most * 1.5).log_scale().base(2.0);
    let sizes = sizes.with_key_points(labelled_sizes(points));
    let (low, high) = (shortest / 2.0, longest * 2.0);
    let times = (low..high).log_scale().with_key_points(ticks(low, high));
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(56)
        .y_label_area_size(88)
        .build_cartesian_2d(sizes, times)?;
    chart
        .configure_mesh()
        .x_desc("payload, in each direction")
        .y_desc("time there and back: mean, shortest and longest")
        .label_style(("sans-serif", 15))
        .x_label_formatter(&|bytes| Size::of(bytes.round() as usize).to_string())
        .y_label_formatter(&|micros| time_text(*micros))
        .draw()?;
    let means = points.iter().map(|it| (it.bytes, it.times.mean));
    chart.draw_series(LineSeries::new(means, BLUE.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|it| {
        let Summary { min, mean, max, .. } = it.times;
        ErrorBar::new_vertical(it.bytes, min, mean, max, BLUE.filled(), 8)
    }))?;
    area.present()?;
    Ok(())
}

/// A title that fits above the plot.
fn title(proxy: &str) -> String {
    let shown: String = proxy.chars().take(TITLE_CHARS_MAX).collect();
    let dots = if shown.len() < proxy.len() { "..." } else { "" };
    format!("floe ping {shown}{dots}")
}

/// The sizes that have room for a label below the axis.
fn labelled_sizes(points: &[Point]) -> Vec<f64> {
    let step = points.len().div_ceil(LABELS_MAX).max(1);
    points.iter().step_by(step).map(|it| it.bytes).collect()
}

const LABELS_MAX: usize = 10;

/// The plot as text with this many characters a line; `None` if there is nothing to show.
pub(super) fn text(tallies: &[Tally], width: usize) -> Option<String> {
    let mut points: Vec<Point> = tallies.iter().filter_map(Point::of).collect();
    points.sort_by(|one, other| one.bytes.total_cmp(&other.bytes));
    let (first, last) = (points.first()?, points.last()?);
    let low = points
        .iter()
        .map(|it| it.times.min)
        .fold(f64::MAX, f64::min)
        / 1.2;
    let high = points.iter().map(|it| it.times.max).fold(0.0, f64::max) * 1.2;
    let columns = width.saturating_sub(LABEL_WIDTH + 3).clamp(20, 120);
    let part = |value: f64, least: f64, most: f64| match most > least {
        true => (value / least).ln() / (most / least).ln(),
        false => 0.5,
    };
    let column =
        |bytes| (part(bytes, first.bytes, last.bytes) * (columns - 1) as f64).round() as usize;
    let line = |time| (part(time, low, high) * (TEXT_LINES - 1) as f64).round() as usize;
    let mut grid = vec![vec![' '; columns]; TEXT_LINES];
    for point in &points {
        let at = column(point.bytes);
        let (from, to) = (line(point.times.min), line(point.times.max));
        grid[from..=to].iter_mut().for_each(|line| line[at] = '|');
        grid[line(point.times.mean)][at] = '*';
    }
    let mut labels = vec![String::new(); TEXT_LINES];
    for tick in ticks(low, high) {
        labels[line(tick)] = time_text(tick);
    }
    let mut text = String::from("time there and back: * mean, | shortest to longest\n");
    for (label, line) in labels.iter().zip(&grid).rev() {
        let line: String = line.iter().collect();
        let edge = if label.is_empty() { '|' } else { '+' };
        text.push_str(format!("{label:>LABEL_WIDTH$} {edge} {line}").trim_end());
        text.push('\n');
    }
    let mut below = String::new();
    for bytes in labelled_sizes(&points) {
        let label = Size::of(bytes as usize).to_string();
        let at = column(bytes).min(columns.saturating_sub(label.len()));
        if below.is_empty() || below.len() < at {
            below.push_str(&" ".repeat(at - below.len()));
            below.push_str(&label);
        }
    }
    text.push_str(&format!(
        "{:LABEL_WIDTH$} +{}\n",
        "",
        "-".repeat(columns + 1)
    ));
    text.push_str(&format!("{:LABEL_WIDTH$}   {below}\n", ""));
    Some(text)
}

/// The lines of a plot of text, axis and title not counted: it fits a screen of 24 with them.
const TEXT_LINES: usize = 16;

/// Room for a time and its unit.
const LABEL_WIDTH: usize = 8;

const TITLE_CHARS_MAX: usize = 90;

/// Pixels.
const WIDTH: u32 = 960;
const HEIGHT: u32 = 600;

/// The shortest time that is shown.
const MICROS_MIN: f64 = 0.001;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tally(bytes: usize, micros: &[u64]) -> Tally {
        let mut tally = Tally::new(Size::of(bytes));
        let times = micros.iter().map(|it| Duration::from_micros(*it));
        times.for_each(|time| tally.add(time));
        tally
    }

    #[test]
    fn each_size_has_a_mark_and_a_bar_and_a_title_cannot_end_its_element() {
        let tallies = [
            tally(16, &[10, 30]),
            tally(1 << 10, &[20]),
            tally(1 << 20, &[0, 900]),
        ];
        let svg = svg("<peer> & co", &tallies).expect("there are points");
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        for text in [
            "&lt;peer&gt; &amp; co",
            "16 B",
            "1 kB",
            "1 MB",
            "10 us",
            "payload",
        ] {
            assert!(svg.contains(text), "expected {text} in {svg}");
        }
    }

    #[test]
    fn a_range_without_a_power_of_ten_has_marks_with_units() {
        let tallies = [tally(16, &[21, 30]), tally(32, &[25])];
        let svg = svg("narrow", &tallies).expect("there are points");
        assert!(svg.contains(" us"), "{svg}");
        let text = text(&tallies, 80).expect("there are points");
        assert!(text.contains(" us + "), "{text}");
    }

    #[test]
    fn a_plot_of_text_fits_its_screen() {
        let tallies: Vec<Tally> = (4..24)
            .map(|log| tally(1 << log, &[10 + (1 << log) / 100, 9]))
            .collect();
        for width in [60, 80, 200] {
            let text = text(&tallies, width).expect("there are points");
            assert!(text.lines().count() < 24, "{text}");
            let is_short = |line: &str| line.chars().count() <= width;
            assert!(text.lines().all(is_short), "{text}");
            // One of them explains the marks.
            assert_eq!(text.matches('*').count(), 21, "{text}");
        }
        assert!(text(&[tally(16, &[5])], 80).is_some());
        assert!(text(&[], 80).is_none());
    }

    #[test]
    fn a_single_size_has_a_plot_and_none_has_not() {
        assert!(svg("one", &[tally(16, &[5])]).is_some());
        assert!(svg("none", &[tally(16, &[])]).is_none());
    }
}
