//! `floe slice doc`: a contract as an HTML page.

use std::path::PathBuf;

use clap::Args;
use floe_codegen::generate_html;

use super::{Sources, write};
use crate::contract::{found_errors, talk_findings};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Generates a reference of Slice files as one HTML page, with an index and links
///
/// The page needs no script, no font and no network. It shows what the files define, without what they include.
#[derive(Debug, Args)]
pub(crate) struct Doc {
    #[command(flatten)]
    sources: Sources,

    /// Writes DIR/NAME.html instead of standard output, named like the first file
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// The title of the page [default: the names of the outermost modules]
    #[arg(long)]
    title: Option<String>,
}

impl Doc {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let compilation = self.sources.compile()?;
        if compilation.has_errors() {
            talk_findings(&compilation.diagnostics, &compilation.sources);
            return Err(found_errors(&compilation));
        }
        let title = self.title.unwrap_or_else(|| {
            let mut modules: Vec<&str> = Vec::new();
            for definition in &compilation.model.definitions {
                let module = definition.modules[0].as_str();
                let is_main = compilation.model.files[definition.file.0].is_main;
                if is_main && !modules.contains(&module) {
                    modules.push(module);
                }
            }
            modules.join(", ")
        });
        let page = generate_html(&compilation.model, &title);
        match &self.output_dir {
            Some(dir) => write(&self.sources.files, dir, "html", &page)?,
            None => output.text(page)?,
        }
        Ok(Exit::Success)
    }
}
