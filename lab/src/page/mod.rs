//! A page about the results of runs: what was measured beside what others have published, for people.
//!
//! - `figure.rs`: a figure, and where the results have it
//! - `published.rs`: figures of others, and which of the lab's stands for each
//! - `behind.rs`: where Floe is behind
//! - `matrix.rs`: all cases and contenders at a glance; `phrase.rs`: the names of cases in words
//! - `results.rs`: what stands in the rows of the tables
//! - `html.rs` with `page.css` and `page.js`, `plot/`: the page, in one file that needs no network
//! - `markdown.rs`: a summary

mod behind;
mod figure;
mod html;
mod markdown;
mod matrix;
mod phrase;
mod plot;
mod published;
mod results;

use crate::report::Report;

/// A page about some reports.
#[derive(Debug, Clone)]
pub struct Page {
    reports: Vec<Report>,
}

impl Page {
    /// A page about these reports, in their order.
    pub fn new(reports: Vec<Report>) -> Self {
        Self { reports }
    }

    /// The page, as one file of HTML that needs nothing else. Each figure of a result or of a ratio stands in an element
    /// `data` (in a plot in `circle` or `rect`) whose attribute `value` (`data-value`) has all its digits, and whose
    /// attribute `data-at` is a JSON pointer into the list of the reports.
    pub fn to_html(&self) -> String {
        html::page(&self.reports)
    }

    /// Plots as files of their own, in SVG: the names of the files, and what is in them. There is one for calls of `rpc` and one
    /// for the messages of `pubsub-rtt`, where these are among the reports.
    pub fn to_pictures(&self) -> Vec<(&'static str, String)> {
        plot::pictures(&self.reports)
    }

    /// A summary, as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::summary(&self.reports)
    }
}
