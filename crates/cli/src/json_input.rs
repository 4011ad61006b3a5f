//! Parameters as JSON: from the argument, or from standard input.

use std::io::{self, BufRead, IsTerminal, Read};

use floe_dynamic::{JsonError, Operation, parse_json};
use serde_json::{Value as Json, json};

use crate::exit::Failure;

/// Reads one JSON value: the argument, standard input for `-`, no parameters if there is no argument.
///
/// # Errors
/// Text that is no JSON.
pub(crate) fn one(argument: Option<&str>) -> Result<Json, Failure> {
    match argument {
        None => Ok(json!({})),
        Some("-") => {
            let mut text = String::new();
            io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(unreadable)?;
            parse(&text, "standard input")
        }
        Some(text) => parse(text, "argument JSON"),
    }
}

/// Where the parameters of several requests come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The same for all.
    One(Json),
    /// A line of standard input for each.
    Lines,
}

impl Source {
    /// Standard input for `-`, and where parameters are missing and something is piped in.
    ///
    /// # Errors
    /// Text that is no JSON.
    pub(crate) fn new(argument: Option<&str>, operation: &Operation) -> Result<Self, Failure> {
        let has_input = || !io::stdin().is_terminal();
        match argument {
            Some("-") => Ok(Self::Lines),
            None if needs_parameters(operation) && has_input() => Ok(Self::Lines),
            argument => one(argument).map(Self::One),
        }
    }
}

/// The JSON values of standard input, a line each; blank lines are passed over.
pub(crate) fn lines() -> impl Iterator<Item = Result<Json, Failure>> {
    let lines = io::stdin().lock().lines().enumerate();
    lines.filter_map(|(index, line)| match line {
        Ok(line) if line.trim().is_empty() => None,
        Ok(line) => Some(parse(
            &line,
            &format!("line {} of standard input", index + 1),
        )),
        Err(error) => Some(Err(unreadable(error))),
    })
}

/// JSON that does not fit the parameters of an operation.
pub(crate) fn misfit(error: &JsonError, operation: &Operation) -> Failure {
    Failure::usage(error).help(format_args!("the operation is `{operation}`"))
}

fn parse(text: &str, place: &str) -> Result<Json, Failure> {
    parse_json(text).map_err(|error| {
        Failure::usage(format_args!("{place}: {error}"))
            .help("parameters are a JSON object by name, such as '{\"name\": \"Ada\"}'; texts need double quotes")
    })
}

fn needs_parameters(operation: &Operation) -> bool {
    operation
        .encode_request(&json!({}), floe::EncodingVersion::V1_1)
        .is_err()
}

fn unreadable(error: io::Error) -> Failure {
    Failure::usage(format_args!("cannot read standard input: {error}"))
}
