//! `floe bridge` in a build without a world: it says how to get one.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Lets programs of DDS, CORBA, JMS and SOAP publish and subscribe at a hub
///
/// This build has no bridges. `cargo build --release --features full` includes them.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Bridge {
    /// Words for the bridge
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _words: Vec<String>,
}

impl Bridge {
    pub(crate) fn run(self, _output: &Output) -> Result<Exit, Failure> {
        let failure = Failure::usage("this build has no bridges");
        Err(failure.help("`cargo build --release --features full` includes them"))
    }

    /// It asks nobody.
    pub(crate) fn asks_others(&self) -> bool {
        false
    }
}
