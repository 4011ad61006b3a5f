//! NATS, without JetStream, with its C client.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use super::daemon::{Daemon, free_port, scratch};
use super::{Clients, EVENTS_HPP, EventsContender, Service};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const NATS: Contender = Contender {
    name: "nats",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve("nats-server", "")),
        clients: Clients::Built(&Program {
            peer: &peer::NATS,
            folder: "nats",
            sources: &[
                EVENTS_HPP,
                CONNECTION_HPP,
                (
                    "events.cpp",
                    include_str!("../../../contenders/nats/events.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["events.cpp", "-lnats"]],
        }),
    }),
};

/// The header that the contenders of NATS share.
pub(crate) const CONNECTION_HPP: (&str, &str) = (
    "connection.hpp",
    include_str!("../../../contenders/nats/connection.hpp"),
);

/// A server of this program, with further settings.
pub(super) fn serve(program: impl AsRef<OsStr>, further: &str) -> Result<(), Failure> {
    let port = free_port()?;
    let settings = scratch("nats.conf");
    std::fs::write(
        &settings,
        format!("listen: \"127.0.0.1:{port}\"\n{SETTINGS}{further}"),
    )?;
    let mut command = Command::new(program);
    command
        .arg("-c")
        .arg(settings)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut daemon = Daemon::start(&mut command)?;
    daemon.wait_for_port(port)?;
    daemon.serve(&port.to_string())
}

/// Else it drops a subscriber for which 64 MB wait, or that takes nothing for ten seconds.
const SETTINGS: &str = "max_pending: 8GB\nwrite_deadline: \"60s\"\n";
