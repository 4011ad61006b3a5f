//! NATS with JetStream: a stream in files, synced before each answer, with its C client.

use super::case::refuse_replay;
use super::{DURABLE_HPP, DurableContender, Publisher};
use crate::contender::events::daemon::scratch;
use crate::contender::events::{NATS_SERVER, Service};
use crate::contender::{Contender, Failure, Origin, Program, gxx, peer};

pub(crate) const NATS_JETSTREAM: Contender = Contender {
    name: "nats-jetstream",
    refusal: refuse_replay,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(|_| serve()),
        publisher: Publisher::Built(&PUBLISHER),
    }),
};

/// The publisher, with the server beside it in the same folder.
const PUBLISHER: Program = Program {
    peer: &peer::NATS_FROM_SOURCE,
    folder: "nats-jetstream-durable",
    sources: &[
        DURABLE_HPP,
        (
            "durable.cpp",
            include_str!("../../../contenders/nats-jetstream/durable.cpp"),
        ),
    ],
    data: None,
    build: &[
        // The setting `sync_interval: always` came with version 2.10. Older servers sync every two minutes.
        &[
            "sh",
            "-c",
            "GOBIN=$PWD go install github.com/nats-io/nats-server/v2@v2.14.9",
        ],
        gxx!["durable.cpp", "-lnats"],
    ],
};

fn serve() -> Result<(), Failure> {
    let server = PUBLISHER.build()?.program.with_file_name("nats-server");
    let folder = scratch("jetstream");
    let settings = format!(
        "jetstream {{ store_dir: \"{}\", max_file_store: 8GB, sync_interval: always }}\n",
        folder.display()
    );
    NATS_SERVER(&server, &settings)
}
