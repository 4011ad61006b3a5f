//! The help on the options that all subcommands have: in full at `floe --help`, and in one line everywhere else.

use clap::{Arg, Command, CommandFactory};

use crate::Arguments;
use crate::output;

/// Writes the help that was asked for, where its reader expects it.
pub(crate) fn print(error: &clap::Error) {
    let text = error.render();
    // Nobody may be reading any more.
    let _ = error.print();
    let common = match is_of_the_whole(&text.to_string()) {
        true => common_options().render_long_help().to_string(),
        false => LINE.to_owned(),
    };
    match error.use_stderr() {
        true => output::talk(format_args!("\n{}", common.trim_end())),
        false => {
            use std::io::Write;
            let _ = write!(std::io::stdout().lock(), "\n{common}");
        }
    }
}

/// For the help of a subcommand.
const LINE: &str =
    "Common options (output, logging, contexts, locator, certificates): floe --help\n";

fn is_of_the_whole(help: &str) -> bool {
    help.contains("Usage: floe [OPTIONS] <COMMAND>")
}

/// A command with nothing but the options that all subcommands have.
fn common_options() -> Command {
    let arguments = Arguments::command();
    let shown = |argument: &Arg| {
        let argument = argument.clone().global(false);
        argument.hide_short_help(false).hide_long_help(false)
    };
    let common = arguments.get_arguments().filter(|it| it.is_global_set());
    Command::new("floe")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .max_term_width(100)
        .help_template("{all-args}\n")
        .args(common.map(shown).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_the_whole_has_every_common_option() {
        let text = common_options().render_long_help().to_string();
        for option in [
            "--output",
            "--verbose",
            "--log-format",
            "--context",
            "--locator",
            "--tls-ca",
            "--tls-key",
        ] {
            assert!(text.contains(option), "{option} in {text}");
        }
    }

    #[test]
    fn the_help_of_the_whole_is_told_from_that_of_a_subcommand() {
        let whole = Arguments::command().render_long_help().to_string();
        assert!(is_of_the_whole(&whole), "{whole}");
        assert!(!is_of_the_whole("Usage: floe topic [OPTIONS] <COMMAND>"));
    }
}
