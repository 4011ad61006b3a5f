//! Contenders: what can do some of the cases of a scenario, beside the others.
//!
//! - `calls/`, `codec/`: the contenders of the scenarios, a file each
//! - `peer.rs`, `program.rs`: how to build those that are not this very program
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] server CASE                   prints one line: where it is reached; lives until its stdin ends
//! PROGRAM [..] client CASE MILLIS ADDRESS    warms up a quarter of MILLIS, measures MILLIS, prints one line
//! PROGRAM [..] alone CASE MILLIS             the same, where there is nobody to call
//! ```
//!
//! The line of the last two is `{"calls": [[nanoseconds, count], ..]}`; where bytes are encoded it also
//! has `"encoded": {"len": bytes, "digest": text}`, see [`crate::sample::Encoded`].

pub(crate) mod calls;
pub(crate) mod codec;
mod peer;
mod program;

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use crate::error::LabError;
use crate::measure::Effort;
use crate::sample::Sample;
use crate::scenario::ScenarioInfo;

pub(crate) use program::{Built, Program, gxx};

/// Somebody that can be measured.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// Why it does not offer a case; `None` if it does.
    pub(crate) refusal: fn(case: &str) -> Option<&'static str>,
    /// The name of the encoding that it makes, if that is to be compared: contenders with the same one
    /// must make the same bytes.
    pub(crate) encoding: Option<&'static str>,
    pub(crate) origin: Origin,
}

/// Where a contender's processes come from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// This very program, started again as a server and as a client.
    Pair {
        serve: fn(case: &str) -> Result<(), Failure>,
        call: fn(case: &str, address: &str, effort: Effort) -> Result<Sample, Failure>,
    },
    /// This very program, started again, with nobody to call.
    Alone(fn(case: &str, effort: Effort) -> Result<Sample, Failure>),
    /// A program that is built when it is first needed.
    Built(&'static Program),
}

/// The types of the values, for the contenders that share a language for them.
const CODEC_ICE: (&str, &str) = ("Codec.ice", include_str!("../../contracts/Codec.ice"));
const CODEC_IDL: (&str, &str) = ("codec.idl", include_str!("../../contenders/codec.idl"));
const CODEC_PROTO: (&str, &str) = (
    "codec.proto",
    include_str!("../../contenders/protobuf/codec.proto"),
);
const CODEC_CAPNP: (&str, &str) = (
    "codec.capnp",
    include_str!("../../contenders/capnp/codec.capnp"),
);

/// What the roles of a contender may fail with.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A contender of which it is known how to start it.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) name: &'static str,
    pub(crate) refusal: fn(case: &str) -> Option<&'static str>,
    pub(crate) encoding: Option<&'static str>,
    pub(crate) version: String,
    program: std::path::PathBuf,
    leading_arguments: Vec<String>,
}

impl Contender {
    /// Builds what there is to build. `own` is the program that takes `lab contender`.
    ///
    /// # Errors
    /// Why it cannot run on this machine, and what to do about it.
    pub(crate) fn prepare(&self, scenario: &str, own: &Path) -> Result<Ready, String> {
        let (program, version, leading_arguments) = match &self.origin {
            Origin::Pair { .. } | Origin::Alone(_) => {
                let arguments = ["lab", "contender", scenario, self.name].map(str::to_owned);
                let version = env!("CARGO_PKG_VERSION").to_owned();
                (own.to_owned(), version, arguments.to_vec())
            }
            Origin::Built(program) => {
                let Built { program, version } = program.build()?;
                (program, version, Vec::new())
            }
        };
        Ok(Ready {
            name: self.name,
            refusal: self.refusal,
            encoding: self.encoding,
            version,
            program,
            leading_arguments,
        })
    }
}

impl Ready {
    /// One that cannot be started.
    #[cfg(test)]
    pub(crate) fn for_tests(name: &'static str, encoding: Option<&'static str>) -> Self {
        Self {
            name,
            refusal: |_| None,
            encoding,
            version: String::new(),
            program: std::path::PathBuf::new(),
            leading_arguments: Vec::new(),
        }
    }

    pub(crate) fn server(&self, case: &str) -> Command {
        self.command(&["server", case])
    }

    pub(crate) fn client(&self, case: &str, address: &str, effort: Effort) -> Command {
        self.command(&["client", case, &effort.millis(), address])
    }

    pub(crate) fn alone(&self, case: &str, effort: Effort) -> Command {
        self.command(&["alone", case, &effort.millis()])
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading_arguments).args(arguments);
        command
    }
}

/// Runs one process of a contender: what follows `floe lab contender` on the command line. It blocks,
/// and must be called outside of any async runtime.
///
/// # Errors
/// [`LabError`] for wrong arguments, and for what the contender fails with.
pub fn contender_main(arguments: &[String]) -> Result<(), LabError> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [scenario, name, role, case, rest @ ..] = arguments.as_slice() else {
        return Err(usage(&arguments));
    };
    let contender = ScenarioInfo::named(scenario)?.contender(name)?;
    let result = match (&contender.origin, *role, rest) {
        (Origin::Pair { serve, .. }, "server", []) => {
            end_with_stdin();
            serve(case)
        }
        (Origin::Pair { call, .. }, "client", [millis, address]) => {
            let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
            call(case, address, effort).and_then(|sample| announce(&sample.to_line()))
        }
        (Origin::Alone(work), "alone", [millis]) => {
            let effort = Effort::from_millis(millis).ok_or_else(|| usage(&arguments))?;
            work(case, effort).and_then(|sample| announce(&sample.to_line()))
        }
        _ => return Err(usage(&arguments)),
    };
    result.map_err(|error| LabError::contender(name, error))
}

fn usage(arguments: &[&str]) -> LabError {
    LabError::Unknown {
        kind: "contender's command line",
        name: arguments.join(" "),
        known: vec![
            "SCENARIO NAME server CASE".to_owned(),
            "SCENARIO NAME client CASE MILLIS ADDRESS".to_owned(),
            "SCENARIO NAME alone CASE MILLIS".to_owned(),
        ],
    }
}

/// Prints the one line that the parent waits for.
fn announce(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()?;
    Ok(())
}

/// Ends this process when its stdin does: when the lab is done with it, or is gone.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut ignored = Vec::new();
        // A broken stdin is as good as an ended one.
        let _ = std::io::stdin().read_to_end(&mut ignored);
        std::process::exit(0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_answered_with_the_right_ones() {
        let error = contender_main(&["floe".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("NAME server CASE"), "{error}");
        let unknown = ["rpc", "flow", "server", "twoway"].map(str::to_owned);
        let error = contender_main(&unknown).unwrap_err();
        assert!(error.to_string().contains("floor, floe"), "{error}");
        let role_of_another = ["codec", "floe", "server", "text/encode"].map(str::to_owned);
        let error = contender_main(&role_of_another).unwrap_err();
        assert!(error.to_string().contains("NAME alone CASE"), "{error}");
    }
}
