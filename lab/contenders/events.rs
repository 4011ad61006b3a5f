//! The command line that the contenders of the scenario `events` in Rust packages of their own share.
//!
//! It is the `src/main.rs` of each. What publishers publish, and what subscribers check, are the lab's own files, laid
//! where they find one another as in the lab: see `lab/src/contender/events/mod.rs`. The rest is `peer.rs`, with
//! `serve`, `publish` and `subscribe`.

/// As in the lab.
mod contender {
    pub(crate) mod events {
        #![allow(
            dead_code,
            reason = "the lab's own files; what of them a package needs is its own affair"
        )]
        pub(crate) mod case;
        pub(crate) mod number;
        pub(crate) mod publishing;
        pub(crate) mod tally;
    }

    use std::io::Write;

    /// The error with which a role fails.
    pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

    /// Prints a line that the lab waits for.
    pub(crate) fn announce(line: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{line}")?;
        Ok(stdout.flush()?)
    }
}

#[allow(dead_code, reason = "the lab's own file, of which a package needs a part")]
mod measure;
mod peer;
#[allow(dead_code, reason = "the lab's own file, of which a package needs a part")]
mod sample;

use std::process::ExitCode;

use contender::Failure;
use contender::events::case::Case;
use measure::Effort;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let usage = "expected: service CASE, or publisher or subscriber, CASE MILLIS ADDRESS INDEX";
    let (role, case, millis, address, index) = match arguments.as_slice() {
        ["service", _] => return peer::serve(),
        [role, case, millis, address, index] => (*role, *case, *millis, *address, *index),
        _ => return Err(usage.into()),
    };
    let case = Case::parse(case)?;
    let effort = Effort::from_millis(millis).ok_or(usage)?;
    let index = index.parse()?;
    match role {
        "publisher" => peer::publish(case, effort, address, index),
        "subscriber" => peer::subscribe(case, effort, address),
        _ => Err(usage.into()),
    }
}
