//! Curves on logarithmic axes.

use super::super::behind::FLOOR;
use super::super::figure::Figure;
use super::super::html::push;
use super::scale::Scale;
use super::{WIDTH, colour, marked};

/// The results of a contender.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    pub(super) points: Vec<Point>,
}

/// A figure of a curve.
pub(super) struct Point {
    /// A size, or a percentage of the calls.
    pub(super) across: f64,
    pub(super) figure: Figure,
    /// The ends of its bar.
    pub(super) ends: Option<[Figure; 2]>,
}

/// Time against size, both logarithmic.
pub(super) fn against_size(curves: &[Curve<'_>]) -> String {
    let sizes = points(curves).map(|point| point.across);
    let across = Scale::holding(sizes, LEFT, RIGHT);
    let marks = across.marks();
    plot(curves, &|size| across.place(size), &marks, |size| {
        format!("{size}")
    })
}

/// Time against the share of the calls: the axis is logarithmic in the share that is slower, so that each mark is ten
/// times as rare as the one before.
pub(super) fn percentiles(curves: &[Curve<'_>]) -> String {
    let slower = |percent: f64| 1.0 - percent / 100.0;
    let across = Scale::holding([1.0, 0.0001].into_iter(), RIGHT, LEFT);
    let marks = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99];
    let marks: Vec<_> = marks.map(|percent| (percent, format!("{percent}"))).into();
    plot(
        curves,
        &|percent| across.place(slower(percent)),
        &marks,
        |percent| format!("{percent} %"),
    )
}

fn plot(
    curves: &[Curve<'_>],
    across: &dyn Fn(f64) -> f64,
    marks: &[(f64, String)],
    what: impl Fn(f64) -> String,
) -> String {
    let values = points(curves).flat_map(|point| {
        let ends = point.ends.iter().flatten().map(|end| end.value);
        ends.chain([point.figure.value])
    });
    let up = Scale::holding(values, BOTTOM, TOP);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
    for (value, text) in up.marks() {
        let y = up.place(value);
        push(
            &mut svg,
            format_args!(
                "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>\n",
                LEFT - 5.0,
                y + 4.0
            ),
        );
    }
    for (value, text) in marks {
        let x = across(*value);
        push(
            &mut svg,
            format_args!(
                "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>\n",
                BOTTOM + 15.0
            ),
        );
    }
    push(&mut svg, format_args!("<text x=\"2\" y=\"10\">us</text>\n"));
    for (index, curve) in curves.iter().enumerate() {
        push(&mut svg, curve.drawn(index, across, &up, &what));
    }
    svg.push_str("</svg>\n");
    svg
}

impl Curve<'_> {
    fn drawn(
        &self,
        index: usize,
        across: &dyn Fn(f64) -> f64,
        up: &Scale,
        what: impl Fn(f64) -> String,
    ) -> String {
        let colour = colour(self.name);
        let class = if self.name == FLOOR {
            " class=\"floor\""
        } else {
            ""
        };
        let (mut path, mut marks) = (String::new(), String::new());
        for (number, point) in self.points.iter().enumerate() {
            let (x, y) = (across(point.across), up.place(point.figure.value));
            let step = if number == 0 { "M" } else { "L" };
            push(&mut path, format_args!("{step}{x:.1} {y:.1}"));
            if let Some([low, high]) = &point.ends {
                // Beside one another, so that they can be told apart.
                let x = x + index as f64 * 1.5;
                let (low, high) = (up.place(low.value), up.place(high.value));
                push(
                    &mut marks,
                    format_args!(
                        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\" stroke=\"{colour}\" \
                         opacity=\".4\"/>\n"
                    ),
                );
            }
            let circle = format!("circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"");
            marks.push_str(&marked(
                &circle,
                self.name,
                &what(point.across),
                "us",
                &point.figure,
            ));
        }
        format!("<path{class} d=\"{path}\" stroke=\"{colour}\"/>\n{marks}")
    }
}

fn points<'a>(curves: &'a [Curve<'_>]) -> impl Iterator<Item = &'a Point> {
    curves.iter().flat_map(|curve| &curve.points)
}

/// Units of the picture.
pub(super) const HEIGHT: f64 = 260.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = 405.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 235.0;
