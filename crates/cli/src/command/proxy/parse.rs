//! `floe proxy parse`: shows the parts of a proxy, without contacting its object.

use clap::Args;
use floe_wire::reference::{ParseDefaults, Reference};

use super::describe;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};

/// Shows the parts of a proxy, and how Ice writes it, without asking a server
///
/// -o raw prints the text as Ice 3.7 writes it, with all defaults. text_38 is the text of Ice 3.8, which leaves
/// defaults out. As in Ice, endpoints of unknown protocols are left out; they are listed separately.
#[derive(Debug, Args)]
pub(crate) struct Parse {
    /// The proxy, such as 'greeter -f facet:tcp -h localhost -p 4061'
    proxy: String,
}

impl Parse {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let parsed = Reference::parse_with(&self.proxy, &ParseDefaults::default());
        let parsed = parsed.map_err(|error| {
            Failure::usage(format_args!("`{}` is no proxy: {error}", self.proxy))
                .help("a proxy is written `greeter:tcp -h localhost -p 4061`")
        })?;
        let mut described = describe::reference(&parsed);
        if output.format() != Format::Table {
            output.value(&described, &described["text"])?;
            return Ok(Exit::Success);
        }
        let endpoints = described["endpoints"].take();
        let members = described.as_object_mut();
        members.map(|members| members.remove("endpoints"));
        output.record(&described, "text")?;
        let rows = endpoints.as_array().map_or(&[][..], Vec::as_slice);
        if !rows.is_empty() {
            output.line("")?;
            output.rows(&describe::columns(rows), rows)?;
        }
        Ok(Exit::Success)
    }
}
