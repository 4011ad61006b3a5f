//! `floe man`: manual pages, a file for each subcommand.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::exit::{EXIT_CODES, Exit, Failure};

/// Writes the manual pages of the command and its subcommands
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory for floe.1, floe-serve.1 and so on; it is created if need be
    directory: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut command = crate::Arguments::command().after_long_help(EXIT_CODES);
        // What each subcommand takes is built when it is asked for.
        command.build();
        let written = std::fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(command, &self.directory));
        written.map(|()| Exit::Success).map_err(|error| {
            let directory = self.directory.display();
            Failure::usage(format_args!(
                "cannot write manual pages to {directory}: {error}"
            ))
        })
    }
}
