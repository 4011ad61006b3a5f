//! A slow line between two network namespaces of this computer.
//!
//! Two namespaces are joined by a pair of virtual Ethernet devices, and the kernel limits the rate at either end with a
//! token bucket. Processes are started in one or the other. Bytes are counted at the device of the server's side, and in the
//! TCP connections of the client's side.

use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::{BURST, End, HOST_VARIABLE, LineQuality, RADIO};
use crate::error::LabError;
use crate::sample::Carried;

/// Two namespaces and the line between them. Dropping it removes them.
#[derive(Debug)]
pub(crate) struct Namespaces {
    /// Part of the names of its namespaces.
    name: String,
}

impl Namespaces {
    /// Lays a line of this quality.
    ///
    /// # Errors
    /// [`LabError::System`] if the system does not allow it, or cannot make such a line.
    pub(super) fn new(quality: LineQuality) -> Result<Self, LabError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let line = Self {
            name: format!("floe-lab-{}-{count}", std::process::id()),
        };
        // Made one by one, so that dropping the line removes those that exist if a later command fails.
        let (server, client) = (line.namespace(End::Server), line.namespace(End::Client));
        for namespace in [&server, &client] {
            run("ip", &["netns", "add", namespace])?;
        }
        let pair = ["type", "veth", "peer", "name", DEVICE, "netns", &client];
        let add = ["link", "add", DEVICE, "netns", &server];
        run("ip", &[&add[..], &pair].concat())?;
        for (namespace, host) in [(&server, SERVER_HOST), (&client, CLIENT_HOST)] {
            let address = format!("{host}/24");
            run(
                "ip",
                &["-n", namespace, "addr", "add", &address, "dev", DEVICE],
            )?;
            for device in ["lo", DEVICE] {
                run("ip", &["-n", namespace, "link", "set", device, "up"])?;
            }
            let rate = format!("{}bit", quality.bits_per_second);
            let burst = BURST.to_string();
            let bucket = ["tbf", "rate", &rate, "burst", &burst, "limit", QUEUE];
            let root = ["-n", namespace, "qdisc", "add", "dev", DEVICE];
            run(
                "tc",
                &[&root[..], &["root", "handle", "1:"], &bucket].concat(),
            )?;
            if quality.has_faults() {
                let (delay, loss) = (
                    format!("{}ms", quality.delay.as_millis()),
                    format!("{}%", quality.loss_percent),
                );
                let netem = ["parent", "1:1", "handle", "10:", "netem"];
                let faults = ["delay", &delay, "loss", &loss, "limit", "10000"];
                run("tc", &[&root[..], &netem, &faults].concat())?;
            }
        }
        Ok(line)
    }

    /// The command, run at an end of the line.
    pub(super) fn at(&self, end: End, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.namespace(end)]);
        inside.arg(command.get_program()).args(command.get_args());
        inside.env(HOST_VARIABLE, SERVER_HOST);
        inside
    }

    /// Returns the bytes that the line has carried until now, of connections that still exist.
    ///
    /// # Errors
    /// [`LabError::System`] if the system does not say.
    pub(super) fn carried(&self) -> Result<Carried, LabError> {
        let server = self.namespace(End::Server);
        let device = ["-n", &server, "-s", "-j", "link", "show", "dev", DEVICE];
        let device = run("ip", &device)?;
        let line = frames(&device).ok_or_else(|| unreadable("ip", &device))?;
        let client = self.namespace(End::Client);
        let sockets = ["-N", &client, "-tinH", "state", "established"];
        let sockets = run("ss", &sockets)?;
        let messages = payload(&sockets).ok_or_else(|| unreadable("ss", &sockets))?;
        Ok(Carried {
            messages,
            line,
            is_relayed: false,
        })
    }

    fn namespace(&self, end: End) -> String {
        let end = match end {
            End::Server => "server",
            End::Client => "client",
        };
        format!("{}-{end}", self.name)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // The devices go with their namespaces. One that could not be made cannot be removed.
        for end in [End::Server, End::Client] {
            let _ = run("ip", &["netns", "delete", &self.namespace(end)]);
        }
    }
}

/// Why this computer makes no such line, if it makes none.
pub(super) fn refusal(quality: LineQuality) -> Option<String> {
    static PLAIN: OnceLock<Option<String>> = OnceLock::new();
    static FAULTY: OnceLock<Option<String>> = OnceLock::new();
    let tried = |quality| {
        Namespaces::new(quality)
            .err()
            .map(|error| error.to_string())
    };
    match quality.has_faults() {
        false => PLAIN.get_or_init(|| tried(quality)),
        true => FAULTY.get_or_init(|| tried(RADIO)),
    }
    .clone()
}

/// Bytes that a device has sent and received, in the words of `ip -s -j link show`.
fn frames(text: &str) -> Option<u64> {
    let json: Value = serde_json::from_str(text).ok()?;
    let counters = json.get(0)?.get("stats64")?;
    let bytes = |direction: &str| counters.get(direction)?.get("bytes")?.as_u64();
    Some(bytes("rx")? + bytes("tx")?)
}

/// Bytes that connections have carried in both directions, in the words of `ss -ti`: what the peer has acknowledged, and what
/// came.
fn payload(text: &str) -> Option<u64> {
    let counters = text.split_whitespace().filter_map(|word| {
        let (name, value) = word.split_once(':')?;
        matches!(name, "bytes_acked" | "bytes_received").then_some(value)
    });
    counters.map(|value| value.parse::<u64>().ok()).sum()
}

fn run(program: &str, arguments: &[&str]) -> Result<String, LabError> {
    let action = || {
        let words = arguments.join(" ");
        format!("make or read a slow line with `{program} {words}` (it takes root and iproute2)")
    };
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|source| LabError::system(action(), source))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(LabError::system(action(), std::io::Error::other(said)))
        }
    }
}

fn unreadable(program: &str, text: &str) -> LabError {
    let action = format!("read what `{program}` says of a slow line");
    LabError::system(action, std::io::Error::other(text.to_owned()))
}

/// The device at each end.
const DEVICE: &str = "line";

const SERVER_HOST: &str = "10.77.0.1";
const CLIENT_HOST: &str = "10.77.0.2";

/// Bytes that wait for their turn. TCP itself decides how many are on their way.
const QUEUE: &str = "1000000";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_both_directions_are_counted() {
        let text = r#"[{"ifname":"line","stats64":{"rx":{"bytes":100},"tx":{"bytes":23}}}]"#;
        assert_eq!(frames(text), Some(123));
        assert_eq!(frames("[]"), None);
        let text = "0 0 10.77.0.2:5 10.77.0.1:6\n\t cubic bytes_sent:900 bytes_acked:800 bytes_received:50 rtt:1\n\
                    0 0 10.77.0.2:7 10.77.0.1:6\n\t cubic bytes_received:3";
        assert_eq!(payload(text), Some(853));
        assert_eq!(payload(""), Some(0));
        assert_eq!(payload("bytes_acked:x"), None);
    }
}
