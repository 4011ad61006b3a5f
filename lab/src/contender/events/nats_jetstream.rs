//! NATS with JetStream, its acknowledged streams, in memory, with its C client.

use super::case::Work;
use super::daemon::scratch;
use super::nats::{CONNECTION_HPP, serve};
use super::{Clients, EVENTS_HPP, EventsContender, Service, refusal};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const NATS_JETSTREAM: Contender = Contender {
    name: "nats-jetstream",
    refusal: |case| {
        refusal(case, |case| match case.work {
            Work::Batched => Some("JetStream acknowledges each event: see nats"),
            Work::Latency | Work::Load | Work::Twoway => None,
        })
    },
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Own(|_| serve("nats-server", &settings())),
        clients: Clients::Built(&Program {
            peer: &peer::NATS,
            folder: "nats-jetstream",
            sources: &[
                EVENTS_HPP,
                CONNECTION_HPP,
                (
                    "events.cpp",
                    include_str!("../../../contenders/nats-jetstream/events.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["events.cpp", "-lnats"]],
        }),
    }),
};

/// Streams are in memory; what it keeps of its own is not.
fn settings() -> String {
    let folder = scratch("jetstream");
    format!(
        "jetstream {{ store_dir: \"{}\", max_memory_store: 8GB }}\n",
        folder.display()
    )
}
