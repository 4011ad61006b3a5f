//! ZeroMQ: PUB to XSUB, a proxy, XPUB to SUB.

use super::case::Work;
use super::{Clients, EVENTS_HPP, EventsContender, Service, refusal};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const ZEROMQ: Contender = Contender {
    name: "zeromq",
    refusal: |case| {
        refusal(case, |case| match case.work {
            Work::Twoway | Work::Load => Some("ZeroMQ acknowledges nothing: see batched"),
            Work::Latency | Work::Batched => None,
        })
    },
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Built,
        clients: Clients::Built(&Program {
            peer: &peer::ZEROMQ,
            folder: "zeromq",
            sources: &[
                EVENTS_HPP,
                (
                    "events.cpp",
                    include_str!("../../../contenders/zeromq/events.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["events.cpp", "-lzmq"]],
        }),
    }),
};
