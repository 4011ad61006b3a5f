//! mosquitto, an MQTT broker, with its own library.

use std::process::{Command, Stdio};

use super::daemon::{Daemon, free_port, scratch};
use super::{Clients, EVENTS_HPP, EventsContender, Service};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const MOSQUITTO: Contender = Contender {
    name: "mosquitto",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve()),
        clients: Clients::Built(&Program {
            peer: &peer::MOSQUITTO,
            folder: "mosquitto",
            sources: &[
                EVENTS_HPP,
                (
                    "events.cpp",
                    include_str!("../../../contenders/mosquitto/events.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["events.cpp", "-lmosquitto"]],
        }),
    }),
};

pub(super) fn serve() -> Result<(), Failure> {
    let port = free_port()?;
    let settings = scratch("mosquitto.conf");
    std::fs::write(&settings, format!("listener {port} 127.0.0.1\n{SETTINGS}"))?;
    let mut command = Command::new("mosquitto");
    command
        .env("PATH", with_sbin())
        .arg("-c")
        .arg(settings)
        .stdout(Stdio::null());
    let mut daemon = Daemon::start(&mut command)?;
    daemon.wait_for_port(port)?;
    daemon.serve(&port.to_string())
}

/// Where Debian puts services, which are not in every user's path.
fn with_sbin() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin")
}

/// Nothing is lost: it would drop what is more than a thousand messages for a subscriber, and as little as those of
/// QoS 0 that a socket does not take at once.
const SETTINGS: &str = "\
allow_anonymous true
persistence false
set_tcp_nodelay true
max_queued_messages 0
max_queued_bytes 0
max_inflight_messages 0
queue_qos0_messages true
log_type error
";
