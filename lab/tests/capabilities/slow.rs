//! Documents over a line, as the processes of the scenario `slow` send them. These use loopback, which is not slow.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A process of a contender. Its stdin ends with it, and ends the process.
struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl Process {
    fn start(contender: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_floe-lab-contender"));
        command.args(["lab", "contender", "slow", contender]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.args(arguments).spawn().expect("it starts");
        Self {
            stdin: child.stdin.take().expect("it is piped"),
            lines: BufReader::new(child.stdout.take().expect("it is piped")),
            child,
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it speaks");
        line.trim_end().to_owned()
    }

    fn go(&mut self) {
        writeln!(self.stdin, "go").expect("it listens");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended by now, or ends so.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many transfers a client has measured.
fn measured(contender: &str, case: &str) -> usize {
    let mut server = Process::start(contender, &["server", case]);
    let address = server.line();
    let mut client = Process::start(contender, &["client", case, "1", &address]);
    assert_eq!(client.line(), "ready");
    client.go();
    assert_eq!(client.line(), "sent");
    client.go();
    let line: Value = serde_json::from_str(&client.line()).expect("a line of JSON");
    let calls = line["calls"].as_array().expect("the calls");
    let counts = calls.iter().map(|call| call[1].as_u64().expect("a count"));
    counts.sum::<u64>() as usize
}

#[test]
fn each_compression_carries_each_document() {
    for contender in [
        "floe",
        "floe-bzip2",
        "floe-zstd",
        "floe-brotli",
        "floe-stream",
    ] {
        for (case, count) in [
            ("text/56k", 1),
            ("text-again/1m", 4),
            ("bibliography/56k", 1),
            ("bibliography-edited/56k", 4),
        ] {
            assert_eq!(measured(contender, case), count, "{contender} {case}");
        }
    }
}
