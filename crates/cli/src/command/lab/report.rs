//! `floe lab report`: shows results beside published figures.

use std::path::{Path, PathBuf};

use clap::Args;
use floe_lab::Page;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Makes a page and a summary of results, beside published figures
///
/// The page is one file that needs no network, with tables to sort and filter, and plots. Without `--html` and `--markdown`
/// the summary is written on standard output. Both begin with where Floe is behind.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Files with what `floe lab run -o json` has written, one report or several
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<PathBuf>,

    /// Writes the page into this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Writes the summary into this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let mut reports = Vec::new();
        for path in &self.results {
            reports.extend(read(path)?);
        }
        let page = Page::new(reports);
        if let Some(path) = &self.html {
            write(path, &page.to_html())?;
        }
        if let Some(path) = &self.markdown {
            write(path, &page.to_markdown())?;
        }
        if self.html.is_none() && self.markdown.is_none() {
            output.text(page.to_markdown())?;
        }
        Ok(Exit::Success)
    }
}

/// The reports in a file.
pub(super) fn read(path: &Path) -> Result<Vec<floe_lab::Report>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format_args!("{}: {error}", path.display()))
            .help("`floe lab run SCENARIO -o json > FILE` writes such a file")
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    floe_lab::Report::read_all(&text).map_err(|error| wrong(&error))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        Failure::new(
            Exit::Failure,
            format_args!("cannot write {}: {error}", path.display()),
        )
    })
}
