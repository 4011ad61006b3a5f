//! `floe access`: evaluates the rules of a hub, without contacting it.

mod check;

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Shows what the access rules of a hub allow
#[derive(Debug, Subcommand)]
pub(crate) enum Access {
    Check(check::Check),
}

impl Access {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::Check(check) => check.run(output),
        }
    }
}
