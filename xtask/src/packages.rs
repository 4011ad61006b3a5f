//! Debian packages, for the interop tests and for the lab: which are missing, and installing them where that is
//! allowed.

use std::process::Command;

use crate::command::{command, first_line, succeeds, succeeds_silently};

/// Ice 3.7 with its C++ and Python mappings, its services and tools, and a C++ compiler; Prometheus, whose `promtool` checks our
/// alert rules; of other worlds an event service of CORBA and a compiler of its contracts, Cyclone DDS, Proton for Python, what
/// Qpid JMS is fetched and run with, gSOAP, and tshark, which takes messages apart.
const INTEROP: &[&str] = &[
    "zeroc-ice-all-dev",
    "python3-zeroc-ice",
    "zeroc-icebox",
    "libzeroc-icestorm3.7",
    "zeroc-glacier2",
    "zeroc-ice-utils",
    "zeroc-icegrid",
    "zeroc-ice-compilers",
    "g++",
    "prometheus",
    "omnievents",
    "omniidl",
    "cyclonedds-dev",
    "cyclonedds-tools",
    "python3-qpid-proton",
    "default-jdk-headless",
    "maven",
    "gsoap",
    "libgsoap-dev",
    "tshark",
];

/// The peers of the lab beside those: omniORB, Fast CDR, Protocol Buffers, Cap'n Proto,
/// gRPC, ZeroMQ, what omniEvents is compiled with, mosquitto, NATS and Redis; and what ActiveMQ Artemis needs for its journal.
const LAB: &[&str] = &[
    "libomniorb4-dev",
    "libfastcdr-dev",
    "libprotobuf-dev",
    "protobuf-compiler",
    "libcapnp-dev",
    "capnproto",
    "libfastrtps-dev",
    "fastddsgen",
    "libgrpc++-dev",
    "protobuf-compiler-grpc",
    "libzmq3-dev",
    "libomnievents-dev",
    "mosquitto",
    "libmosquitto-dev",
    "nats-server",
    "libnats-dev",
    "redis-server",
    "libhiredis-dev",
    "libaio1",
];

/// The browser in which a test opens the page of `floe lab report`.
const BROWSER: &[&str] = &["chromium"];

/// Makes all packages be there that the interop tests need; says what to type and gives false when it may not
/// install them. Without the browser, one test is reported as skipped.
pub(crate) fn install() -> bool {
    make_present(BROWSER);
    make_present(INTEROP)
}

/// Installs the packages of [`install`], and those that only the lab uses.
pub(crate) fn install_with_lab() -> bool {
    make_present(&[INTEROP, LAB, BROWSER].concat())
}

fn make_present(wanted: &[&'static str]) -> bool {
    let missing = missing(wanted);
    if missing.is_empty() {
        return true;
    }
    eprintln!("missing packages: {}", missing.join(" "));
    match privilege() {
        Some(prefix) => install_with(prefix, &missing),
        None => explain(
            &missing,
            "neither root nor sudo without a password is available here",
        ),
    }
}

fn install_with(prefix: &[&str], packages: &[&'static str]) -> bool {
    let update = ["apt-get", "update", "--quiet"];
    let install = [
        "apt-get",
        "install",
        "--yes",
        "--quiet",
        "--no-install-recommends",
    ];
    let noninteractive = ["env", "DEBIAN_FRONTEND=noninteractive"];
    succeeds(&mut joined(&[prefix, &update]));
    succeeds(&mut joined(&[prefix, &noninteractive, &install, packages]));
    let still_missing = missing(packages);
    still_missing.is_empty() || explain(&still_missing, "apt-get did not install them")
}

/// Says what is missing and what to type; always false.
fn explain(packages: &[&str], reason: &str) -> bool {
    eprintln!("error: packages are needed that are not installed, and {reason}; type:");
    eprintln!(
        "  sudo apt-get update && sudo apt-get install --yes {}",
        packages.join(" ")
    );
    eprintln!("(Debian 12 has them all; elsewhere see CONTRIBUTING.md)");
    false
}

/// Those that dpkg does not know as installed.
fn missing(wanted: &[&'static str]) -> Vec<&'static str> {
    let wanted = wanted.iter().copied();
    wanted.filter(|package| !is_installed(package)).collect()
}

fn is_installed(package: &str) -> bool {
    let query = ["--show", "--showformat=${Status}", package];
    let status = first_line(&mut command("dpkg-query", &query));
    status.is_some_and(|status| status == "install ok installed")
}

/// Returns the words to put before a command that needs root: none, `sudo`, or `None` if root cannot be had without a
/// prompt.
fn privilege() -> Option<&'static [&'static str]> {
    let root = first_line(&mut command("id", &["-u"])).is_some_and(|id| id == "0");
    let sudo = || succeeds_silently(&mut command("sudo", &["-n", "true"]));
    match root {
        true => Some(&[]),
        false => sudo().then_some(&["sudo", "-n"]),
    }
}

fn joined(parts: &[&[&str]]) -> Command {
    let words = parts.concat();
    command(words[0], &words[1..])
}
