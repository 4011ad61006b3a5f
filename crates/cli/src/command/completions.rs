//! `floe completions`: shell completions.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Prints completions for a shell
///
/// For bash: floe completions bash > ~/.local/share/bash-completion/completions/floe
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let mut text = Vec::new();
        let mut command = crate::Arguments::command();
        clap_complete::generate(self.shell, &mut command, "floe", &mut text);
        output.text(String::from_utf8_lossy(&text))?;
        Ok(Exit::Success)
    }
}
