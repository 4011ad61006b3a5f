//! The plot of `floe ping --svg`: the mean time over the size, with bars from the shortest to the
//! longest, both axes logarithmic.

use plotters::prelude::*;

use super::tally::{Summary, Tally};
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
    let times = (shortest / 2.0..longest * 2.0).log_scale();
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

fn time_text(micros: f64) -> String {
    match micros {
        _ if micros >= 1e6 => format!("{} s", micros / 1e6),
        _ if micros >= 1e3 => format!("{} ms", micros / 1e3),
        _ => format!("{micros} us"),
    }
}

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
    fn a_single_size_has_a_plot_and_none_has_not() {
        assert!(svg("one", &[tally(16, &[5])]).is_some());
        assert!(svg("none", &[tally(16, &[])]).is_none());
    }
}
