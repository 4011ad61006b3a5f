//! `floe record` and `floe replay` in a build without the cargo feature `recordings`: they say how to get them.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::tls::FULL_BUILD;

/// In the place of `record.rs`.
pub(super) mod record {
    pub(crate) use super::Refused as Record;
}

/// In the place of `replay.rs`.
pub(super) mod replay {
    pub(crate) use super::Refused as Replay;
}

/// Records or replays the events of topics
///
/// This build has no recordings. `cargo install floe-cli` without `--no-default-features` includes them.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Refused {
    /// Words for the recording
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _words: Vec<String>,
}

impl Refused {
    pub(crate) fn run(self, _output: &Output) -> Result<Exit, Failure> {
        let failure = Failure::usage("this build has no recordings");
        Err(failure.help(FULL_BUILD))
    }
}
