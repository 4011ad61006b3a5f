//! Two machines, joined by a cable that can be cut: two network namespaces of this one.
//!
//! Nothing is routed between them, and the loopback of one is not that of the other.

use std::ffi::OsStr;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::skip;

/// The address of the first machine.
pub const FIRST: &str = "10.99.0.1";
/// The address of the second machine.
pub const SECOND: &str = "10.99.0.2";

/// Two network namespaces, and a cable between them. Dropping them removes them.
#[derive(Debug)]
pub struct Machines {
    names: [String; 2],
}

impl Machines {
    /// Two of them; `None` after reporting a skip if this process may not make any.
    pub fn or_skip() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |end| format!("floe{}-{number}{end}", process::id());
        let machines = Self {
            names: [name("a"), name("b")],
        };
        match machines.connect() {
            Ok(()) => Some(machines),
            Err(reason) => {
                skip::report("two network namespaces", &reason);
                None
            }
        }
    }

    fn connect(&self) -> Result<(), String> {
        let [first, second] = &self.names;
        for name in &self.names {
            ip(&format!("netns add {name}"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        ip(&format!(
            "-n {first} link add cable type veth peer name cable netns {second}"
        ))?;
        for (name, address) in [(first, FIRST), (second, SECOND)] {
            ip(&format!("-n {name} address add {address}/24 dev cable"))?;
            ip(&format!("-n {name} link set cable up"))?;
        }
        Ok(())
    }

    /// A program on the first machine.
    pub fn on_first(&self, program: impl AsRef<OsStr>) -> Command {
        on(&self.names[0], program)
    }

    /// A program on the second machine.
    pub fn on_second(&self, program: impl AsRef<OsStr>) -> Command {
        on(&self.names[1], program)
    }

    /// Has the cable lose everything, both ways and without a word to either machine.
    ///
    /// # Panics
    /// If the system does not do it.
    pub fn cut(&self) {
        for name in &self.names {
            // A bucket that is too small for any packet drops each.
            let bucket = "root tbf rate 8bit burst 1 limit 1";
            let cut = run("tc", &format!("-n {name} qdisc add dev cable {bucket}"));
            cut.expect("who makes the cable can cut it");
        }
    }

    /// Has the cable carry everything again.
    ///
    /// # Panics
    /// If the cable is not cut.
    pub fn mend(&self) {
        for name in &self.names {
            let mended = run("tc", &format!("-n {name} qdisc del dev cable root"));
            mended.expect("it is cut");
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for name in &self.names {
            // The cable goes with its ends.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

/// A program in a namespace.
fn on(namespace: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

fn ip(arguments: &str) -> Result<(), String> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &str) -> Result<(), String> {
    let output = Command::new(program).args(arguments.split(' ')).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "`{program} {arguments}` failed: {}; run as root",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("`{program}` does not run: {error}")),
    }
}
