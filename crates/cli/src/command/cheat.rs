//! `floe cheat`: the daily commands on one page.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Shows the daily commands on one page
#[derive(Debug, Args)]
pub(crate) struct Cheat {}

impl Cheat {
    pub(crate) fn run(&self, output: &Output) -> Result<Exit, Failure> {
        output.text(PAGE)?;
        Ok(Exit::Success)
    }
}

/// It fits a terminal of 80 by 24.
const PAGE: &str = "\
A hub            floe serve                          on this computer
                 floe serve --listen '*' --data DIR  for all, on disk
                 floe status, floe doctor            is all well?
Its name         floe context add lab --hub HOST     once, for all below
Topics           floe topic create news sports       list, remove
                 floe topic info news                queues and losses
                 floe topic watch --sort rate        live
Events           floe sub news --slice News.ice      or several, 'news.*'
                 floe pub news headline '[\"Hello\"]' --slice News.ice
                 floe pub news headline - --slice News.ice < lines.json
Calls            floe call greeter:HOST:PORT greet '[\"Ada\"]' --slice G.ice
                 floe call greeter:HOST:PORT ice_ids
                 floe proxy show greeter:HOST:PORT   what is behind it?
Times            floe echo --listen '*'
                 floe ping Floe/Echo:HOST:10007 --sizes 16..1M --plot
Contracts        floe slice check *.ice              fmt, breaking, doc, rust
Bytes            floe decode --slice G.ice --type ::M::T < bytes.hex
Trust            floe cert ca; floe cert server HOST  client, floe token sign
Scripts          -o json|jsonl|raw; exit codes: floe --help
More             floe COMMAND --help; floe demo; docs/guides/floe-command.md
";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Arguments;

    #[test]
    fn the_page_fits_a_terminal_and_names_commands_that_exist() {
        assert!(PAGE.lines().count() < 24);
        assert!(PAGE.lines().all(|line| line.chars().count() <= 80));
        let command = Arguments::command();
        let mut count = 0;
        for words in PAGE.split("floe ").skip(1) {
            let name = words
                .split([' ', ',', '\n', ';'])
                .next()
                .unwrap_or_default();
            if name.chars().all(|c| c.is_ascii_lowercase()) {
                count += 1;
                assert!(command.find_subcommand(name).is_some(), "{name}");
            }
        }
        assert!(count > 12, "{count}");
    }
}
