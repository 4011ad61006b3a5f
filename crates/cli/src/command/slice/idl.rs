//! `floe slice idl`: a contract in IDL, for programs that speak DDS or CORBA.

use std::path::PathBuf;

use clap::Args;
use floe_codegen::generate_idl;

use super::{Sources, count, write};
use crate::contract::talk_findings;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Generates IDL of Slice files: data types for DDS (IDL 4), or with --corba also interfaces (IDL 2)
///
/// The file holds what the Slice files define and what they use of others. The guide "Bridges" has the table of names
/// and types. Exit code 100: a definition has no form in IDL, and the message says what to do.
#[derive(Debug, Args)]
pub(crate) struct Idl {
    #[command(flatten)]
    sources: Sources,

    /// Writes IDL 2 as CORBA 2.6 has it, with interfaces and exceptions
    #[arg(long)]
    corba: bool,

    /// Writes DIR/NAME.idl instead of standard output, named like the first file
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

impl Idl {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let compilation = self.sources.compile_for_text()?;
        let kind = match self.corba {
            true => floe_codegen::Idl::Corba,
            false => floe_codegen::Idl::Dds,
        };
        let (text, left_out) = generate_idl(&compilation.model, kind).map_err(|findings| {
            talk_findings(&findings, &compilation.sources);
            let places = count(findings.len(), "place");
            Failure::new(Exit::Findings, format_args!("{places} cannot become IDL"))
        })?;
        talk_findings(&left_out, &compilation.sources);
        match &self.output_dir {
            Some(dir) => write(&self.sources.files, dir, "idl", &text)?,
            None => output.text(text)?,
        }
        Ok(Exit::Success)
    }
}
