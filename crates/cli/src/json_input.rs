//! Parameters and other values as JSON: from the argument, or from standard input.

use std::io::{self, BufRead, IsTerminal};

use floe_dynamic::{JsonError, Operation, parse_json};
use serde_json::{Value as Json, json};

use crate::exit::Failure;
use crate::input::{self, Lines, excerpt};

/// Reads one JSON value: the argument, standard input for `-`, no parameters if there is no argument.
///
/// # Errors
/// Text that is no JSON.
pub(crate) fn one(argument: Option<&str>) -> Result<Json, Failure> {
    match argument {
        None => Ok(json!({})),
        Some(argument) => text(Some(argument))?.parse(PARAMETERS_HELP),
    }
}

/// Reads one JSON value of any kind: the argument, or standard input for `-` and without argument.
///
/// # Errors
/// Text that is no JSON.
pub(crate) fn value(argument: Option<&str>) -> Result<Json, Failure> {
    text(argument)?.parse(VALUE_HELP)
}

/// Text that should be JSON.
struct Text {
    text: String,
    /// Where it stood.
    place: &'static str,
}

impl Text {
    fn parse(&self, help: &str) -> Result<Json, Failure> {
        parse(&self.text, self.place, help)
    }
}

/// The argument, or standard input.
fn text(argument: Option<&str>) -> Result<Text, Failure> {
    if let Some(text) = argument.filter(|argument| *argument != "-") {
        let (text, place) = (text.to_owned(), "argument JSON");
        return Ok(Text { text, place });
    }
    let place = "standard input";
    let text = input::text(io::stdin().lock(), place)?;
    Ok(Text { text, place })
}

const PARAMETERS_HELP: &str =
    "parameters are a JSON object by name, such as '{\"name\": \"Ada\"}'; texts need double quotes";

const VALUE_HELP: &str =
    "a string needs its double quotes, and the shell single ones around them: '\"Ada\"'";

/// Where the parameters of several requests come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// One value for all.
    One(Json),
    /// A line of standard input or of a file for each.
    Lines,
    /// Nobody said.
    Unsaid,
}

impl Source {
    /// Reads the argument: standard input for `-`.
    ///
    /// # Errors
    /// Text that is no JSON.
    pub(crate) fn of(argument: Option<&str>) -> Result<Self, Failure> {
        match argument {
            Some("-") => Ok(Self::Lines),
            Some(_) => one(argument).map(Self::One),
            None => Ok(Self::Unsaid),
        }
    }

    /// If nobody said, standard input where this operation has parameters and something is piped in,
    /// and no parameters otherwise.
    #[must_use]
    pub(crate) fn for_operation(self, operation: &Operation) -> Self {
        let has_input = || !io::stdin().is_terminal();
        match self {
            Self::Unsaid if needs_parameters(operation) && has_input() => Self::Lines,
            Self::Unsaid => Self::One(json!({})),
            said => said,
        }
    }
}

/// A JSON value of a text, and where it stood.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) json: Json,
    /// As in `line 3 of standard input`.
    pub(crate) place: String,
    /// Bytes of its text; 0 if it was none.
    pub(crate) len: usize,
}

/// The JSON values of a text, a line each; blank lines are passed over. `name` is that of the text.
pub(crate) fn lines(
    text: impl BufRead,
    name: String,
) -> impl Iterator<Item = Result<Line, Failure>> {
    Lines::new(text, name).filter_map(|line| match line {
        Ok((line, _)) if line.trim().is_empty() => None,
        Ok((line, place)) => {
            let json = parse(&line, &place, PARAMETERS_HELP);
            let len = line.len();
            Some(json.map(|json| Line { json, place, len }))
        }
        Err(failure) => Some(Err(failure)),
    })
}

/// JSON that does not fit the parameters of an operation.
pub(crate) fn misfit(error: &JsonError, operation: &Operation) -> Failure {
    Failure::usage(error).help(format_args!(
        "the operation is `{operation}`{}",
        example(operation)
    ))
}

/// Parameters that fit the operation, as an argument of a shell. Nothing if there are none, or if they are long.
fn example(operation: &Operation) -> String {
    let example = operation.example().to_string();
    match example.len() {
        0..=2 => String::new(),
        3..=EXAMPLE_LEN_MAX if !example.contains('\'') => {
            format!("; parameters that fit are '{example}'")
        }
        _ => String::new(),
    }
}

/// The longest example that is shown, in bytes.
const EXAMPLE_LEN_MAX: usize = 300;

fn parse(text: &str, place: &str, help: &str) -> Result<Json, Failure> {
    parse_json(text).map_err(|error| {
        let failure = match error.is_data() {
            true => Failure::usage(error),
            false => Failure::usage(format_args!(
                "expected JSON, got `{}`: {}",
                excerpt(text),
                error
                    .to_string()
                    .replace("EOF while parsing", "the text ends within")
            )),
        };
        failure.when(place).help(help)
    })
}

fn needs_parameters(operation: &Operation) -> bool {
    operation
        .encode_request(&json!({}), floe::EncodingVersion::V1_1)
        .is_err()
}
