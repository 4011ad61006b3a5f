//! tonic: gRPC in Rust, in a package of its own that is built with cargo.

use super::case::{Case, Work};
use super::{CALLS_PROTO, refusal};
use crate::contender::{CARGO_BUILD, CODEC_PROTO, Contender, Origin, Program, peer};

pub(crate) const TONIC: Contender = Contender {
    name: "tonic",
    refusal: |case| {
        refusal(case, |case| match case {
            Case {
                is_polling: true, ..
            } => Some("tokio sleeps, and has no setting to poll"),
            Case {
                work: Work::TwowayBlocking,
                ..
            } => Some("tonic has no face that blocks"),
            Case {
                work: Work::Batch, ..
            } => Some("gRPC has no batches: see oneway, which is a stream"),
            _ => None,
        })
    },
    encoding: None,
    origin: Origin::Built(&Program {
        peer: &peer::TONIC,
        folder: "tonic",
        sources: &[
            (
                "Cargo.toml",
                include_str!("../../../packed/tonic.manifest.toml"),
            ),
            (
                "Cargo.lock",
                include_str!("../../../packed/tonic.lock.toml"),
            ),
            ("build.rs", include_str!("../../../packed/tonic.build.txt")),
            (
                "src/main.rs",
                include_str!("../../../packed/tonic.main.txt"),
            ),
            (
                "src/task.rs",
                include_str!("../../../packed/tonic.task.txt"),
            ),
            (
                "src/server.rs",
                include_str!("../../../packed/tonic.server.txt"),
            ),
            (
                "src/client.rs",
                include_str!("../../../packed/tonic.client.txt"),
            ),
            CODEC_PROTO,
            CALLS_PROTO,
        ],
        data: None,
        build: CARGO_BUILD,
    }),
};
