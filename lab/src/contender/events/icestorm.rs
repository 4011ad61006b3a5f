//! IceStorm in an IceBox, with publishers and subscribers in C++ as the published test has them.

use std::process::{Command, Stdio};

use super::daemon::{Daemon, scratch};
use super::{Clients, EVENTS_HPP, EventsContender, Service};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const ICESTORM: Contender = Contender {
    name: "icestorm",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve()),
        clients: Clients::Built(&Program {
            peer: &peer::ICESTORM,
            folder: "icestorm",
            sources: &[
                EVENTS_HPP,
                ("Events.ice", include_str!("../../../contracts/Events.ice")),
                (
                    "events.cpp",
                    include_str!("../../../contenders/icestorm/events.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["slice2cpp", "Events.ice"],
                gxx![
                    "-DICE_CPP11_MAPPING",
                    "events.cpp",
                    "Events.cpp",
                    "-lIceStorm++11",
                    "-lIce++11",
                ],
            ],
        }),
    }),
};

pub(super) fn serve() -> Result<(), Failure> {
    let database = scratch("icestorm");
    std::fs::create_dir_all(&database)?;
    let mut command = Command::new("icebox");
    command
        .args(SETTINGS)
        .arg(format!("--IceStorm.LMDB.Path={}", database.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut daemon = Daemon::start(&mut command)?;
    // The network trace names the adapters; below the name stands the endpoint.
    let mut is_next = false;
    let mut endpoint = None;
    let find = |line: &str| {
        if std::mem::take(&mut is_next) && endpoint.is_none() {
            endpoint = Some(line.trim().to_owned());
        }
        is_next = line.ends_with("published endpoints for object adapter `IceStorm.TopicManager':");
        // It accepts only when it has said where; the adapter for publishers is the last.
        line.contains("accepting tcp connections")
            .then(|| endpoint.clone())
            .flatten()
    };
    let endpoint = Daemon::hear(daemon.stderr()?, find)?;
    daemon.serve(&format!("IceStorm/TopicManager:{endpoint}"))
}

/// A single worker thread, as in the published test; persistent, as it is by default. Batches are flushed
/// often: the default of a second is longer than a round.
const SETTINGS: &[&str] = &[
    "--IceBox.Service.IceStorm=IceStormService,37:createIceStorm",
    "--IceBox.InheritProperties=1",
    "--IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0",
    "--IceStorm.Publish.Endpoints=tcp -h 127.0.0.1 -p 0",
    "--IceStorm.Flush.Timeout=10",
    "--Ice.ThreadPool.Server.Size=1",
    "--Ice.Admin.Enabled=0",
    "--Ice.Trace.Network=2",
];
