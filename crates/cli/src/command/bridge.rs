//! `floe bridge`: programs of other worlds at the topics of a hub.
//!
//! - `bridge/run.rs`: bridges as a process of their own
//! - `bridge/check.rs`, `bridge/explain.rs`: how topics are said over there, without starting anything
//! - `bridge/list.rs`: the bridges of a server
//! - `bridge/file.rs`: the file of settings

mod check;
mod explain;
mod file;
mod list;
mod run;

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Lets programs of DDS, CORBA, JMS and SOAP publish and subscribe at a hub
#[derive(Debug, Subcommand)]
pub(crate) enum Bridge {
    List(list::List),
    Explain(explain::Explain),
    Check(check::Check),
    Run(run::Run),
}

impl Bridge {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(output),
            Self::Explain(explain) => explain.run(output),
            Self::Check(check) => check.run(output),
            Self::Run(run) => run.run(output),
        }
    }

    /// True if it asks a hub.
    pub(crate) fn asks_others(&self) -> bool {
        matches!(self, Self::List(_) | Self::Run(_))
    }
}
