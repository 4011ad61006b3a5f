//! iceoryx2 in Rust: memory that publishers and subscribers share, in a package that is built with cargo.

use super::case::Work;
use super::{Clients, EventsContender, Service, refusal, rust_sources};
use crate::contender::{CARGO_BUILD, Contender, Origin, Program, peer};

pub(crate) const ICEORYX2: Contender = Contender {
    name: "iceoryx2",
    refusal: |case| {
        refusal(case, |case| match case.work {
            Work::Twoway | Work::Load => Some("iceoryx2 acknowledges nothing: see batched"),
            Work::Latency | Work::Batched => None,
        })
    },
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Nobody,
        clients: Clients::Built(&Program {
            peer: &peer::ICEORYX2,
            folder: "iceoryx2",
            sources: rust_sources!("iceoryx2"),
            data: None,
            build: CARGO_BUILD,
        }),
    }),
};
