//! Redis: PUBLISH and SUBSCRIBE, with hiredis.

use std::process::{Command, Stdio};

use super::daemon::{Daemon, free_port, scratch};
use super::{Clients, EVENTS_HPP, EventsContender, Service};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const REDIS: Contender = Contender {
    name: "redis",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve()),
        clients: Clients::Built(&Program {
            peer: &peer::REDIS,
            folder: "redis",
            sources: &[
                EVENTS_HPP,
                (
                    "events.cpp",
                    include_str!("../../../contenders/redis/events.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["events.cpp", "-lhiredis"]],
        }),
    }),
};

pub(super) fn serve() -> Result<(), Failure> {
    let port = free_port()?;
    let folder = scratch("redis");
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
        // Else it drops a subscriber for which 32 MB wait.
        .args(["--client-output-buffer-limit", "pubsub 0 0 0"])
        .arg("--dir")
        .arg(folder)
        .stdout(Stdio::null());
    let mut daemon = Daemon::start(&mut command)?;
    daemon.wait_for_port(port)?;
    daemon.serve(&port.to_string())
}
