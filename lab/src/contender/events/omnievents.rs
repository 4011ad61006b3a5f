//! omniEvents, an event service of CORBA, with omniORB.

use std::process::{Command, Stdio};

use super::case::Work;
use super::daemon::{Daemon, free_port, scratch};
use super::{Clients, EVENTS_HPP, EventsContender, Service, refusal};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const OMNIEVENTS: Contender = Contender {
    name: "omnievents",
    refusal: |case| {
        refusal(case, |case| match case.work {
            Work::Batched => Some("CORBA's event service has no batches"),
            Work::Latency | Work::Load | Work::Twoway => None,
        })
    },
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve(&["tick"], "tick")),
        clients: Clients::Built(&Program {
            peer: &peer::OMNIEVENTS,
            folder: "omnievents",
            sources: &[
                EVENTS_HPP,
                (
                    "events.cpp",
                    include_str!("../../../contenders/omnievents/events.cpp"),
                ),
            ],
            data: None,
            build: &[gxx![
                "-I/usr/include/omniEvents",
                "events.cpp",
                "-lomniEvents",
                "-lomniDynamic4",
                "-lomniORB4",
                "-lomnithread",
            ]],
        }),
    }),
};

/// A fresh service with channels that clients find without a naming service; its address ends with `end`.
pub(super) fn serve(channels: &[&str], end: &str) -> Result<(), Failure> {
    let port = free_port()?;
    let folder = scratch("omnievents");
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new("/usr/sbin/omniEvents");
    command
        .args(["-f", "-p", &port.to_string(), "-l"])
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut daemon = Daemon::start(&mut command)?;
    daemon.wait_for_port(port)?;
    let object = |name: &str| format!("corbaloc::127.0.0.1:{port}/{name}");
    for channel in channels {
        let mut make = Command::new("eventc");
        make.args(["-i", channel])
            .args(SETTINGS)
            .arg(object("omniEvents"));
        let made = make.output()?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            return Err(format!("expected {make:?} to make a channel, got: {said}").into());
        }
    }
    daemon.serve(&object(end))
}

/// A queue in which a million events of a publisher that is faster may wait, since what is more is dropped; and a
/// microsecond between two looks for events, which are 68 ms by default.
const SETTINGS: [&str; 4] = ["-q", "1000000", "-c", "1000"];
