//! `floe lab report`: shows results next to published figures.

use std::path::{Path, PathBuf};

use clap::Args;
use floe_lab::Page;

use super::default_results;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Makes a page and a summary of results, beside published figures
///
/// The page is one file that needs no network, with tables to sort and filter, and plots. Without `--html`, `--markdown`
/// and `--pictures` the summary is written on standard output. Both begin with where Floe is behind.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Files with what `floe lab run -o json` has written, one report or several; a folder stands for all its `.json` files
    /// [default: floe-lab-results]
    #[arg(value_name = "RESULTS")]
    results: Vec<PathBuf>,

    /// Writes the page into this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Writes the summary into this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Writes plots of `rpc` and `pubsub-rtt` into this folder, each as a file of SVG
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let mut reports = Vec::new();
        let mut results = self.results;
        if results.is_empty() {
            results.push(default_results());
        }
        for path in &results {
            reports.extend(read(path)?);
        }
        let page = Page::new(reports);
        if let Some(path) = &self.html {
            write(path, &page.to_html())?;
        }
        if let Some(path) = &self.markdown {
            write(path, &page.to_markdown())?;
        }
        if let Some(folder) = &self.pictures {
            let pictures = page.to_pictures();
            if pictures.is_empty() {
                return Err(Failure::usage(
                    "expected reports of rpc or pubsub-rtt for --pictures, got none",
                ));
            }
            for (name, picture) in pictures {
                write(&folder.join(name), &picture)?;
            }
        }
        let writes = [&self.html, &self.markdown, &self.pictures];
        if writes.into_iter().all(Option::is_none) {
            output.text(page.to_markdown())?;
        }
        Ok(Exit::Success)
    }
}

/// The file itself, or the reports in a folder by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable =
        |error| Failure::usage(format_args!("cannot read {}: {error}", path.display()));
    let entries = std::fs::read_dir(path).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::usage(format_args!(
            "expected reports, files that end with .json, in {}, got none",
            path.display()
        )));
    }
    Ok(paths)
}

/// The reports in a file, or in the files of a folder.
pub(super) fn read(path: &Path) -> Result<Vec<floe_lab::Report>, Failure> {
    let mut reports = Vec::new();
    for file in files(path)? {
        reports.extend(read_file(&file)?);
    }
    Ok(reports)
}

fn read_file(path: &Path) -> Result<Vec<floe_lab::Report>, Failure> {
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
