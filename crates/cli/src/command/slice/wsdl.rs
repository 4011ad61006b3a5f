//! `floe slice wsdl`: a contract in WSDL, for programs that speak SOAP.

use std::path::PathBuf;

use clap::Args;
use floe_codegen::{WsdlOptions, generate_wsdl};

use super::{Sources, count, write};
use crate::contract::talk_findings;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Generates WSDL 1.1 of Slice files, with XML schema types and bindings to SOAP 1.1 and 1.2
///
/// The file holds what the Slice files define and what they use of others, without constants. The guide "Bridges" has the
/// table of names and types. Exit code 100: a definition has no form in XML, and the message says what to do.
#[derive(Debug, Args)]
pub(crate) struct Wsdl {
    #[command(flatten)]
    sources: Sources,

    /// Adds a service for each interface, at this URL
    #[arg(long, value_name = "URL")]
    address: Option<String>,

    /// The beginning of all namespaces: module ::Demo is URI:Demo
    #[arg(long, value_name = "URI", default_value = "urn:floe:slice")]
    namespace: String,

    /// Writes DIR/NAME.wsdl instead of standard output, named like the first file
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

impl Wsdl {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        if self.namespace.is_empty() {
            return Err(Failure::usage(
                "expected a URI behind --namespace, got nothing",
            ));
        }
        let compilation = self.sources.compile_for_text()?;
        let mut options = WsdlOptions::new().namespace(self.namespace);
        if let Some(address) = self.address {
            options = options.address(address);
        }
        let text = generate_wsdl(&compilation.model, &options).map_err(|findings| {
            talk_findings(&findings, &compilation.sources);
            let places = count(findings.len(), "place");
            Failure::new(Exit::Findings, format_args!("{places} cannot become WSDL"))
        })?;
        match &self.output_dir {
            Some(dir) => write(&self.sources.files, dir, "wsdl", &text)?,
            None => output.text(text)?,
        }
        Ok(Exit::Success)
    }
}
