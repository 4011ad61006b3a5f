//! `floe lab` in a build without the cargo feature `lab`: says how to get it.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Measures Floe beside its peers and beside the machine's own limit
///
/// This build has no lab. `cargo run --release --features lab -- lab` in the repository builds it and runs it.
// Without a group, which would have the name of that of the command that holds it.
#[derive(Debug, Args)]
#[group(skip)]
#[command(disable_help_flag = true)]
pub(crate) struct Lab {
    /// Words for the lab
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

impl Lab {
    pub(crate) fn run(self, _output: &Output) -> Result<Exit, Failure> {
        let command = ["lab".to_owned()].into_iter().chain(self.words);
        let command = command.collect::<Vec<_>>().join(" ");
        Err(Failure::usage("this build has no lab").help(format_args!(
            "in the repository: cargo run --release --features lab -- {command}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_lab_says_how_to_get_it() {
        let words = ["run", "rpc", "--quick"].map(str::to_owned).into();
        let refused = Lab { words }.run(&Output::new(None));
        assert_eq!(
            refused.expect_err("there is no lab").to_string(),
            "this build has no lab; in the repository: cargo run --release --features lab -- lab run rpc --quick"
        );
    }
}
