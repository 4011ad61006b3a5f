//! `floe man`: manual pages, a file for each subcommand.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};

use crate::exit::{Exit, Failure};

/// Writes the manual pages of the command and its subcommands
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The directory for floe.1, floe-serve.1 and so on; it is created if need be
    directory: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut command = crate::Arguments::command();
        // Clap builds the arguments of a subcommand only when they are needed.
        command.build();
        let directory = &self.directory;
        let written = std::fs::create_dir_all(directory).and_then(|()| write(&command, directory));
        written.map(|()| Exit::Success).map_err(|error| {
            let directory = directory.display();
            Failure::usage(format_args!(
                "cannot write manual pages to {directory}: {error}"
            ))
        })
    }
}

/// Writes the page of this command, and those of its subcommands but `help`.
fn write(command: &Command, directory: &Path) -> io::Result<()> {
    let is_told = |it: &&Command| !it.is_hide_set() && it.get_name() != "help";
    for subcommand in command.get_subcommands().filter(is_told) {
        write(subcommand, directory)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    page.render(&mut File::create(directory.join(page.get_filename()))?)
}
