//! Contenders: pairs of a server and a client that can do some of the cases.
//!
//! What they agree on, in whatever language they are written:
//!
//! ```text
//! PROGRAM [..] server CASE                   prints one line: where it is reached; lives until its stdin ends
//! PROGRAM [..] client CASE MILLIS ADDRESS    warms up a quarter of MILLIS, measures MILLIS, prints one line:
//!                                            {"calls": [[nanoseconds, count], ..]}
//! ```

mod floe;
mod floor;
mod ice;

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::error::LabError;
use crate::measure::Effort;
use crate::sample::Sample;

/// All contenders of all scenarios.
pub(crate) const CONTENDERS: [&Contender; 4] =
    [&floor::FLOOR, &floe::FLOE, &floe::FLOE_THREADS, &ice::ICE];

/// A server and a client that can be measured.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// The cases that it can do.
    pub(crate) cases: &'static [&'static str],
    pub(crate) origin: Origin,
}

/// Where a contender's processes come from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// This very program, started again.
    Own {
        serve: fn(case: &str) -> Result<(), Failure>,
        call: fn(case: &str, address: &str, effort: Effort) -> Result<Sample, Failure>,
    },
    /// A program that is built when it is first needed; the error says what is missing.
    Built(fn() -> Result<Built, String>),
}

/// What the two roles of a contender may fail with.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A contender's program, ready to start.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) program: std::path::PathBuf,
    /// Of the middleware.
    pub(crate) version: String,
}

/// A contender of which it is known how to start it.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) name: &'static str,
    pub(crate) cases: &'static [&'static str],
    pub(crate) version: String,
    program: std::path::PathBuf,
    leading_arguments: Vec<String>,
}

impl Contender {
    /// Finds the contender of this name.
    ///
    /// # Errors
    /// [`LabError::Unknown`].
    pub(crate) fn named(name: &str) -> Result<&'static Self, LabError> {
        let found = CONTENDERS.iter().find(|contender| contender.name == name);
        found.copied().ok_or_else(|| LabError::Unknown {
            kind: "contender",
            name: name.to_owned(),
            known: CONTENDERS
                .map(|contender| contender.name.to_owned())
                .to_vec(),
        })
    }

    /// Builds what there is to build. `own` is the program that takes `lab contender`.
    ///
    /// # Errors
    /// Why it cannot run on this machine, and what to do about it.
    pub(crate) fn prepare(&self, own: &Path) -> Result<Ready, String> {
        let (program, version, leading_arguments) = match &self.origin {
            Origin::Own { .. } => {
                let arguments = ["lab", "contender", self.name].map(str::to_owned);
                let version = env!("CARGO_PKG_VERSION").to_owned();
                (own.to_owned(), version, arguments.to_vec())
            }
            Origin::Built(build) => {
                let built = build()?;
                (built.program, built.version, Vec::new())
            }
        };
        Ok(Ready {
            name: self.name,
            cases: self.cases,
            version,
            program,
            leading_arguments,
        })
    }
}

impl Ready {
    pub(crate) fn server(&self, case: &str) -> Command {
        self.command(&["server", case])
    }

    pub(crate) fn client(&self, case: &str, address: &str, effort: Effort) -> Command {
        let millis = effort.round_time.as_millis().to_string();
        self.command(&["client", case, &millis, address])
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
    let [name, role, case, rest @ ..] = arguments.as_slice() else {
        return Err(usage(&arguments));
    };
    let contender = Contender::named(name)?;
    let Origin::Own { serve, call } = contender.origin else {
        return Err(LabError::contender(name, "it has a program of its own"));
    };
    let result = match (*role, rest) {
        ("server", []) => {
            end_with_stdin();
            serve(case)
        }
        ("client", [millis, address]) => {
            let round_time = millis.parse().map(Duration::from_millis);
            let round_time = round_time.map_err(|_| usage(&arguments))?;
            call(case, address, Effort { round_time })
                .and_then(|sample| announce(&sample.to_line()))
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
            "NAME server CASE".to_owned(),
            "NAME client CASE MILLIS ADDRESS".to_owned(),
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
    fn no_two_contenders_have_the_same_name() {
        let mut names = CONTENDERS.map(|contender| contender.name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CONTENDERS.len());
    }

    #[test]
    fn a_wrong_command_line_is_answered_with_the_right_ones() {
        let error = contender_main(&["floe".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("NAME server CASE"), "{error}");
        let unknown = ["flow", "server", "twoway"].map(str::to_owned);
        let error = contender_main(&unknown).unwrap_err();
        assert!(error.to_string().contains("floor, floe"), "{error}");
    }
}
