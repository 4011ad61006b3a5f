//! `floe token`: tokens for a hub or gateway whose operator is the issuer.

mod key;
mod show;
mod sign;

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Makes the key of an issuer, signs tokens with it, and shows what a token says
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    Key(key::Key),
    Sign(sign::Sign),
    Show(show::Show),
}

impl Token {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::Key(key) => key.run(output),
            Self::Sign(sign) => sign.run(output),
            Self::Show(show) => show.run(output),
        }
    }
}
