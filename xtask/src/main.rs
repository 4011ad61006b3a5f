//! `cargo xtask`: the tasks of this repository, the same for a developer and for `.ci/run`.
//!
//! This file reads the command line and names the tasks; each task lives in a file of its own. Only the standard
//! library is used, so that the first `cargo xtask` of a fresh machine compiles in a second.

mod build;
mod command;
mod crates;
mod dist;
mod fuzz;
mod gate;
mod interop38;
mod interop_amqp;
mod packages;
mod portability;
mod python_package;
mod soak;
mod tally;
mod tarball;
mod test_programs;
mod tools;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(usage) => {
            eprintln!("error: {usage}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

/// Runs the task that `words` name; `Ok(false)` if it ran and failed, `Err` if the words make no sense.
fn run(words: &[&str]) -> Result<bool, String> {
    match words {
        [] | ["help" | "-h" | "--help"] => {
            println!("{HELP}");
            Ok(true)
        }
        ["test"] => Ok(gate::test()),
        ["interop-38"] => Ok(interop38::run()),
        ["interop-amqp"] => Ok(interop_amqp::run()),
        ["interop-mcap"] => Ok(python_package::MCAP.run_tests()),
        ["interop-corba"] => Ok(python_package::OMNIORB.run_tests()),
        ["interop-dds"] => Ok(python_package::CYCLONE_DDS.run_tests()),
        ["interop-zeep"] => Ok(python_package::ZEEP.run_tests()),
        ["install"] => Ok(packages::install()),
        ["install", "--lab"] => Ok(packages::install_with_lab()),
        ["soak", options @ ..] => Ok(soak::run(options)),
        ["memory", options @ ..] => Ok(soak::memory(options)),
        ["dist"] => Ok(dist::build()),
        ["dist-test"] => Ok(dist::test()),
        ["crates"] => Ok(crates::pack()),
        ["crates-test"] => Ok(crates::test()),
        ["fuzz-smoke", options @ ..] => fuzz::Options::parse(options).map(|o| fuzz::smoke(&o)),
        [name] => gate::single(name).ok_or_else(|| format!("no task is named `{name}`")),
        [name, rest @ ..] => Err(format!(
            "task `{name}` takes no arguments, got `{}`",
            rest.join(" ")
        )),
    }
}

const HELP: &str = "\
cargo xtask TASK

  test         everything that must hold: install, fmt, lint, docs, book, deny, build, tests, and what
               compiles elsewhere
  fuzz-smoke   runs each fuzz target for two minutes (--seconds N for another time)
  soak         ten minutes of mixed load with random kills, and an audit (--seconds N, --seed N, -o FILE for JSON,
               --mistake KIND to see it fail); a minute of it is a step of `test`
  soak hub     ten minutes of full load on a hub, with subscribers that come and go (--seconds N, --seed N, -o FILE)
  soak isolation
               what subscribers of a hub see of others that are stopped, slow and killed (--rounds N, -o FILE)
  soak stalled what three subscribers of a hub get in each second while a fourth one is stopped (--rate N, --seconds N,
               -o FILE)
  soak attack  how long clients of a hub wait while others attack it (--target gateway, --seconds N of each attack,
               --only TEXT in its name, --worst MS, --memory MIB, -o FILE)
  soak flood   ten minutes of batched publishers at full speed, with subscribers that stop, crawl and return (--seconds N,
               --seed N, --patience MILLISECONDS, -o FILE)
  soak backlog a log of more than 10 GB: how fast it opens, and what a subscriber that is 10 million events behind costs the
               live ones (--events N)
  soak kills   500 kills of a hub while events are published to a durable topic, with torn writes (--rounds N)
  soak inputs  a hundred million messages and as many values with random damages (--count N)
  soak contracts
               a thousand random contracts, with names that are long and hostile, and the Rust of each compiled (--count N,
               --seed N)
  memory       what a server takes of memory: idle, with 10,000 idle connections, called by 1,000 at once; and a hub
  dist         what is shipped, in target/dist: floe, stripped; floe.deb with manual pages, completions and a systemd unit; static
               programs for x86-64 and aarch64 as tarballs; floe.cdx.json, a bill of materials; SHA256SUMS
  dist-test    installs the Debian package, starts its service, publishes an event and removes all again; needs root
  crates       packs each crate for crates.io, and builds it from what is packed; uploads nothing
  crates-test  installs the command from the packed crates, and builds a project that depends on their versions
  interop-38   tests with Ice 3.8 for Python, and notes the result in tests/interop/ice38.txt
  interop-corba
               floe-giop with omniORB for Python
  interop-dds  runs our participant of DDS with Cyclone DDS, in C and in Python
  interop-amqp serves Qpid JMS and Proton for Python by our AMQP
  interop-mcap reads a recording of `floe record` with the mcap package of Python
  interop-zeep loads the WSDL of random contracts with the zeep package of Python

Single steps of `test`:
  install      installs the Debian packages that the interop tests need, or says what is missing
               (--lab: also those of the peers that only the lab measures)
  fmt          rustfmt finds nothing to change
  lint         clippy without a warning
  docs         rustdoc without a warning
  book         mdbook makes docs/book/ from the guides without a warning
  deny         licences and sources of the dependencies; notes advisories
  build        builds the workspace in the profile that the tests use
  tests        all tests of the workspace, examples among them
  plain-build  the tests of what the command lacks without features
  systems      compiles the crates without features for this system, Windows and macOS
  minimum-rust compiles with the oldest Rust that the crates name
  interface    compares the libraries with the last release (cargo-semver-checks); nothing before there is a tag
  soak-smoke   a minute of the soak
  examples     only the examples, each pair of programs";
