//! `floe echo`, and what the other tests ask of it.

use std::path::Path;

use crate::command::run;
use crate::hub::Running;

/// A running `floe echo`.
#[derive(Debug)]
pub(crate) struct Echo {
    pub(crate) process: Running,
    /// The proxy of its object.
    pub(crate) proxy: String,
}

impl Echo {
    /// On a free port of loopback.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::on("tcp -h 127.0.0.1 -p 0", arguments)
    }

    pub(crate) fn on(endpoint: &str, arguments: &[&str]) -> Self {
        let echo = ["echo", "--listen", endpoint];
        let process = Running::start(&[&echo, arguments].concat());
        let line = process.line();
        let proxy = line.strip_prefix("ready ").expect("it says ready first");
        let proxy = proxy.to_owned();
        Self { process, proxy }
    }

    /// The port of its first endpoint.
    pub(crate) fn port(&self) -> u16 {
        let behind = self.proxy.split(" -p ").nth(1);
        let port = behind.and_then(|rest| rest.split([' ', ':']).next());
        port.and_then(|port| port.parse().ok()).expect("a port")
    }
}

/// The contract of its object.
pub(crate) const CONTRACT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/Floe/Echo.ice");

#[test]
fn it_says_where_it_listens_and_ends_cleanly_at_a_signal() {
    for signal in ["TERM", "INT"] {
        let echo = Echo::start(&[]);
        let start = "Floe/Echo -t -e 1.1:tcp -h 127.0.0.1 -p ";
        assert!(echo.proxy.starts_with(start), "{}", echo.proxy);
        echo.process.signal(signal);
        echo.process.end().ended(0);
    }
}

#[test]
fn what_is_no_endpoint_and_what_is_no_size_are_refused() {
    for endpoint in ["", "tcp -p x", "ssl -h 127.0.0.1 -p 0", "non sense"] {
        run(&["echo", "--listen", endpoint])
            .ended(2)
            .said("endpoint");
    }
    run(&["echo", "--max-size", "lots"])
        .ended(2)
        .said("expected a size such as 16, 64k or 8M");
}

#[test]
fn the_contract_of_the_example_is_that_of_the_command() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/echo/Echo.ice");
    let read = |path: &Path| std::fs::read_to_string(path).expect("it is committed");
    assert_eq!(read(&example), read(Path::new(CONTRACT)));
}
