//! This machine's telemetry, read from `/proc`. What cannot be read is 0.

use std::fs;

floe::include_contract!("Telemetry");

pub(super) use telemetry::*;

/// The machine now.
pub(super) fn sample() -> Sample {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Sample {
        load: load(&fs::read_to_string("/proc/loadavg").unwrap_or_default()),
        memory_total: memory_bytes(&memory, "MemTotal:"),
        memory_available: memory_bytes(&memory, "MemAvailable:"),
        interfaces: interfaces(&fs::read_to_string("/proc/net/dev").unwrap_or_default()),
        ..Sample::default()
    }
}

fn load(text: &str) -> f64 {
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// A line `MemTotal:  24000000 kB`.
fn memory_bytes(text: &str, name: &str) -> i64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|rest| rest.split_whitespace().next());
    kibibytes.map_or(0, |word| word.parse().unwrap_or(0) * 1024)
}

/// Two lines of headings, then `eth0: RECEIVED and 7 more, SENT and 7 more`.
fn interfaces(text: &str) -> NetworkInterfaceSeq {
    text.lines().skip(2).filter_map(interface).collect()
}

fn interface(line: &str) -> Option<NetworkInterface> {
    let (name, counters) = line.split_once(':')?;
    let mut counters = counters.split_whitespace();
    Some(NetworkInterface {
        name: name.trim().to_owned(),
        received: counters.next()?.parse().ok()?,
        sent: counters.nth(7)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_proc_are_understood() {
        assert_eq!(load("0.52 0.58 0.59 1/467 12345\n"), 0.52);
        let memory = "MemTotal:       24000000 kB\nMemFree: 1 kB\nMemAvailable:    1000 kB\n";
        assert_eq!(memory_bytes(memory, "MemAvailable:"), 1_024_000);
        let network =
            "Inter-| Receive\n face |bytes\n    lo:  10 1 0 0 0 0 0 0  20 2 0 0 0 0 0 0\n";
        let expected = NetworkInterface {
            name: "lo".to_owned(),
            received: 10,
            sent: 20,
        };
        assert_eq!(interfaces(network), [expected]);
    }

    #[test]
    fn what_is_not_there_is_zero() {
        assert_eq!(load(""), 0.0);
        assert_eq!(memory_bytes("MemTotal: x kB", "MemTotal:"), 0);
        assert_eq!(interfaces("a\nb\nno colon\nc: 1 2"), []);
    }
}
