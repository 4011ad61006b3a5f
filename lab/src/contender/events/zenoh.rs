//! zenoh in Rust: a router of its own, in a package that is built with cargo.

use super::case::Work;
use super::{Clients, EventsContender, Service, refusal, rust_sources};
use crate::contender::{CARGO_BUILD, Contender, Origin, Program, peer};

pub(crate) const ZENOH: Contender = Contender {
    name: "zenoh",
    refusal: |case| {
        refusal(case, |case| match case.work {
            Work::Twoway | Work::Load => Some("zenoh acknowledges nothing: see batched"),
            Work::Latency | Work::Batched => None,
        })
    },
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Built,
        clients: Clients::Built(&Program {
            peer: &peer::ZENOH,
            folder: "zenoh",
            sources: rust_sources!("zenoh"),
            data: None,
            build: CARGO_BUILD,
        }),
    }),
};
