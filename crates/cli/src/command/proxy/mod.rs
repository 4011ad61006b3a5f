//! `floe proxy`: the parts of a proxy, and information about its object.

#[cfg(feature = "tls")]
mod certificate;
mod describe;
mod parse;
mod show;

#[cfg(feature = "tls")]
pub(crate) use certificate::{days_left, time};

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Shows the parts of proxies, and the objects that they lead to
#[derive(Debug, Subcommand)]
pub(crate) enum Proxy {
    Parse(parse::Parse),
    Show(show::Show),
}

impl Proxy {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::Parse(parse) => parse.run(output),
            Self::Show(show) => show.run(output),
        }
    }
}
