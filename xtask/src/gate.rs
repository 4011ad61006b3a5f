//! The gate: the steps of `cargo xtask test`, each of which is also a task of its own.

use std::time::{Duration, Instant};

use crate::build;
use crate::command::{cargo, output_if_succeeds, succeeds, succeeds_within};
use crate::packages;
use crate::portability;
use crate::soak;
use crate::tally::Tally;
use crate::test_programs;
use crate::tools::{CARGO_DENY, MDBOOK};
use crate::workspace;

/// Runs everything that must hold, and ends with one line that counts tests and steps.
///
/// A step that fails does not keep the others from running; only without the packages nothing runs, because the
/// interop tests would then say little about the code.
pub(crate) fn test() -> bool {
    let mut tally = Tally::default();
    tally.count(packages::install());
    if tally.failed == 0 {
        STEPS.iter().for_each(|step| tally.add(step.run()));
    }
    // The packages are there, so a peer that cannot be used is a fault of the machine or of ours.
    finish(tally, true)
}

/// Runs the step named `name`, if there is one.
pub(crate) fn single(name: &str) -> Option<bool> {
    let step = STEPS
        .iter()
        .chain([&EXAMPLES])
        .find(|step| step.name == name)?;
    let needs_all_peers = std::env::var("CI").is_ok_and(|ci| ci == "true");
    Some(finish(step.run(), needs_all_peers))
}

fn finish(mut tally: Tally, needs_all_peers: bool) -> bool {
    for skip in &tally.skips {
        eprintln!("skipped: {skip}");
    }
    if !tally.skips.is_empty() && needs_all_peers {
        eprintln!("error: every peer is needed here, so a skip is a failure");
        tally.refuse_skips();
    }
    println!("{tally}");
    tally.failed == 0
}

/// One step of the gate.
struct Step {
    name: &'static str,
    kind: Kind,
}

enum Kind {
    /// Passes or fails as a whole.
    Check(fn() -> bool),
    /// Runs the tests that these arguments to `cargo test` select, all if there are none, each counted by itself.
    Tests(&'static [&'static str]),
}

impl Step {
    fn run(&self) -> Tally {
        eprintln!("\n== {}", self.name);
        let begin = Instant::now();
        let tally = match self.kind {
            Kind::Check(check) => checked(check()),
            Kind::Tests(arguments) => tested(arguments),
        };
        eprintln!("== {}: {} s", self.name, begin.elapsed().as_secs());
        if tally.failed > 0 {
            eprintln!(
                "error: step `{0}` failed; alone: cargo xtask {0}",
                self.name
            );
        }
        tally
    }
}

fn checked(passed: bool) -> Tally {
    let mut tally = Tally::default();
    tally.count(passed);
    tally
}

/// Builds the workspace before it runs the tests, so that no test has to build the programs that it starts.
fn tested(selection: &[&str]) -> Tally {
    let mut tally = Tally::default();
    if !build::workspace() {
        tally.count(false);
        return tally;
    }
    tally.add(test_programs::run(selection));
    if selection.is_empty() {
        tally.add(test_programs::run_documented());
    }
    tally
}

fn format_is_settled() -> bool {
    succeeds(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy_is_silent() -> bool {
    let workspace = ["clippy", "--workspace", "--all-targets"];
    let words = [&workspace[..], &build::FEATURES, &["--", "-D", "warnings"]].concat();
    succeeds(&mut cargo(&words))
}

fn docs_build_without_warning() -> bool {
    let mut docs = cargo(&[&["doc", "--workspace", "--no-deps"][..], &build::FEATURES].concat());
    succeeds(docs.env("RUSTDOCFLAGS", "-D warnings"))
}

/// mdbook succeeds in spite of its warnings, each of which is a fault of a guide.
fn book_builds_without_warning() -> bool {
    let book = MDBOOK.command(&["build", "docs"]);
    let said = book.and_then(|mut book| output_if_succeeds(&mut book));
    said.is_some_and(|said| !said.contains("WARN") && !said.contains("ERROR"))
}

/// Licences, bans and sources must hold, in the workspace and in the packages that the lab builds by themselves.
/// Advisories are shown and do not fail the gate: they come from a database that may be out of reach, and they change
/// without a change of ours (see `docs/adr/0004-advisories-are-noted.md`).
fn dependencies_are_allowed() -> bool {
    let manifests = workspace::manifests();
    // All are checked, also when the first one fails.
    let allowed = manifests.iter().filter(|manifest| {
        let manifest = manifest.display().to_string();
        let options = ["--config", "deny.toml", "--locked", "--manifest-path"];
        let checks = ["check", "licenses", "bans", "sources"];
        let words = [&options[..], &[manifest.as_str()], &checks].concat();
        let passes = CARGO_DENY
            .command(&words)
            .is_some_and(|mut check| succeeds(&mut check));
        if !passes {
            eprintln!("error: dependencies of {manifest} are not allowed, see above");
        }
        passes
    });
    let allowed = allowed.count() == manifests.len();
    let advisories = CARGO_DENY.command(&["check", "advisories"]);
    if !advisories.is_some_and(|mut check| succeeds_within(ADVISORIES_LIMIT, &mut check)) {
        eprintln!(
            "note: advisories were not checked or found something, see above; this fails nothing"
        );
    }
    allowed
}

const STEPS: [Step; 12] = [
    Step {
        name: "fmt",
        kind: Kind::Check(format_is_settled),
    },
    Step {
        name: "lint",
        kind: Kind::Check(clippy_is_silent),
    },
    Step {
        name: "docs",
        kind: Kind::Check(docs_build_without_warning),
    },
    Step {
        name: "book",
        kind: Kind::Check(book_builds_without_warning),
    },
    Step {
        name: "deny",
        kind: Kind::Check(dependencies_are_allowed),
    },
    Step {
        name: "build",
        kind: Kind::Check(build::workspace),
    },
    Step {
        name: "tests",
        kind: Kind::Tests(&[]),
    },
    Step {
        name: "plain-build",
        kind: Kind::Check(portability::plain_build),
    },
    Step {
        name: "systems",
        kind: Kind::Check(portability::other_systems),
    },
    Step {
        name: "minimum-rust",
        kind: Kind::Check(portability::minimum_rust),
    },
    Step {
        name: "interface",
        kind: Kind::Check(portability::interface),
    },
    Step {
        name: "soak-smoke",
        kind: Kind::Check(soak::smoke),
    },
];

/// Not among [`STEPS`] because `tests` runs it too.
const EXAMPLES: Step = Step {
    name: "examples",
    kind: Kind::Tests(&["--test", "examples"]),
};

/// Enough to fetch the database of advisories over a slow line.
const ADVISORIES_LIMIT: Duration = Duration::from_secs(60);
