//! `floe cert` and `floe token` in a build without the cargo feature `tls`: they say how to get them.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::tls::FULL_BUILD;

/// In the place of `cert/`.
pub(super) mod cert {
    pub(crate) use super::Refused as Cert;
}

/// In the place of `token/`.
pub(super) mod token {
    pub(crate) use super::Refused as Token;
}

/// Makes certificates or tokens
///
/// This build has no encryption and no tokens. `cargo install floe-cli` without `--no-default-features` includes them.
// Without a group, which would have the name of that of the command that holds it.
#[derive(Debug, Args)]
#[group(skip)]
#[command(disable_help_flag = true)]
pub(crate) struct Refused {
    /// Words for the command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _words: Vec<String>,
}

impl Refused {
    pub(crate) fn run(self, _output: &Output) -> Result<Exit, Failure> {
        let failure = Failure::usage("this build has no encryption and no tokens");
        Err(failure.help(FULL_BUILD))
    }
}
