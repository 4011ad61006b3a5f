//! The `floe` command: reads its arguments, runs one subcommand, and ends with its exit code.
//!
//! - `command/`: a file per subcommand, thin: what it does belongs to the crates below
//! - `help.rs`: what `--help` says of the options that all subcommands have
//! - `output.rs`: how data is written, as text, tables, JSON or bare values
//! - `exit.rs`: exit codes, and failures that lead to them
//! - `event.rs`: what `floe sub` prints
//! - `context.rs`: names for hubs, kept in a file of the user
//! - `pem_file.rs`: certificates and keys that are written
//! - `near.rs`: what was meant by the name of an object
//! - `log.rs`: log lines, as many as were asked for
//! - `reconnect.rs`: coming back to a hub that was lost
//! - `progress.rs`: what long work is doing
//! - `contracts.rs`: what the command itself speaks, generated
//! - `compression.rs`, `contract.rs`, `hub.rs`, `json_input.rs`, `locator.rs`, `payload.rs`, `peer.rs`, `router.rs`, `tls.rs`,
//!   `token.rs`, `topic_names.rs`: arguments that several subcommands share

mod backup_folder;
mod command;
mod compression;
mod context;
mod contract;
mod contracts;
mod count;
mod event;
mod exit;
mod help;
mod hub;
mod icestorm_export;
mod input;
mod json_input;
mod locator;
mod log;
mod near;
mod output;
mod payload;
mod peer;
#[cfg(feature = "tls")]
mod pem_file;
mod progress;
mod reconnect;
#[cfg(feature = "recordings")]
mod recording;
mod router;
mod tls;
mod token;
mod topic_names;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use floe_server::Notices;
use floe_server::values::{endpoint, size};

use crate::command::Command;
use crate::context::ContextArgument;
use crate::exit::{EXIT_CODES, Exit, Failure};
use crate::locator::LocatorArgument;
use crate::log::LogFormat;
use crate::output::{Format, Output};
use crate::tls::TlsArguments;

/// Calls, events and Slice contracts over the Ice protocol.
///
/// Floe calls Ice servers, serves Ice clients, and its hub replaces IceStorm. `floe demo` shows it in ten
/// seconds, and `floe cheat` lists the daily commands.
#[derive(Debug, Parser)]
#[command(name = "floe", version, after_long_help = EXIT_CODES, max_term_width = 100)]
struct Arguments {
    /// The format of standard output [default: table on a terminal, jsonl in a pipe; demo and slice check:
    /// table]
    #[arg(short, long, global = true, value_name = "FORMAT", value_enum, help_heading = COMMON, hide_short_help = true, hide_long_help = true)]
    output: Option<Format>,

    /// Logs more on standard error; give it twice for everything. FLOE_LOG or RUST_LOG select modules
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = COMMON, hide_short_help = true, hide_long_help = true)]
    verbose: u8,

    /// The format of log lines on standard error [default: text without time]
    #[arg(long, global = true, value_name = "FORMAT", value_enum, help_heading = COMMON, hide_short_help = true, hide_long_help = true)]
    log_format: Option<LogFormat>,

    #[command(flatten)]
    context: ContextArgument,

    #[command(flatten)]
    locator: LocatorArgument,

    #[command(flatten)]
    tls: TlsArguments,

    #[command(subcommand)]
    command: Command,
}

/// The heading of what every subcommand takes.
const COMMON: &str = "Common options";

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return answer(&with_better_tip(error)).into(),
    };
    log::start(arguments.verbose, arguments.log_format);
    floe_server::set_notices(Notices {
        note: |text| log::note(text),
        warn: |text| log::say(text),
        set_level: log::set_level,
    });
    let output = Output::new(arguments.output);
    let exit = match arguments.run(&output) {
        Ok(exit) => exit,
        Err(failure) => {
            failure.report();
            failure.exit()
        }
    };
    log::finish();
    exit.into()
}

impl Arguments {
    fn run(self, output: &Output) -> Result<Exit, Failure> {
        self.locator.set();
        if self.command.asks_others() {
            self.context.choose()?;
        } else if self.context.is_given() {
            return Err(Failure::usage(
                "--context: this command talks to no hub or server",
            ));
        }
        let tls = context::chosen().map(|chosen| chosen.context.tls());
        tls::load(tls.unwrap_or_default().behind(self.tls.into()))?;
        command::run(self.command, output)
    }
}

/// Whoever writes `--out` to `floe slice rust` means a folder, and not the similar `--output`.
fn with_better_tip(mut error: clap::Error) -> clap::Error {
    let text_of = |kind| error.get(kind).map(ToString::to_string);
    let usage = text_of(ContextKind::Usage).unwrap_or_default();
    let argument = text_of(ContextKind::InvalidArg).unwrap_or_default();
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    if is_unknown && argument.starts_with("--out") && usage.contains("slice rust") {
        let tip = ContextValue::String("--output-dir".to_owned());
        error.insert(ContextKind::SuggestedArg, tip);
        // It is made for the argument that seemed similar.
        error.remove(ContextKind::Usage);
    }
    error
}

/// Prints the help or version that was asked for, or what is wrong with the arguments.
fn answer(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp => {
            if let Some(word) = split_endpoint(std::env::args()) {
                Failure::usage(format_args!(
                    "`{word} -h` are two arguments: -h asks for help"
                ))
                .help("put quotes around a proxy or endpoint: 'greeter:tcp -h localhost -p 4061'")
                .report();
                return Exit::Usage;
            }
            help::print(error);
            Exit::Success
        }
        ErrorKind::DisplayVersion => {
            // Nobody may be reading any more.
            let _ = error.print();
            Exit::Success
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            help::print(error);
            Exit::Usage
        }
        _ => {
            output::talk(format_args!("floe: {}", error.to_string().trim_end()));
            Exit::Usage
        }
    }
}

/// The word in front of `-h` if both were meant as one: an endpoint without quotes around it.
fn split_endpoint(arguments: impl Iterator<Item = String>) -> Option<String> {
    let words: Vec<String> = arguments.collect();
    let mut pairs = words.windows(2);
    let found = pairs.find(|pair| pair[1] == "-h" && endpoint::ends_with_protocol(&pair[0]))?;
    Some(found[0].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_without_quotes_asks_for_no_help() {
        let split = |line: &str| split_endpoint(line.split(' ').map(str::to_owned));
        let found = split("floe call greeter:tcp -h localhost -p 4061 greet");
        assert_eq!(found.as_deref(), Some("greeter:tcp"));
        assert_eq!(
            split("floe serve --listen tcp -h a").as_deref(),
            Some("tcp")
        );
        for line in [
            "floe -h",
            "floe call -h",
            "floe call greeter:localhost:1 -h",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
    }
}
