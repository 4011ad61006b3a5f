//! Fast DDS in C++: writers and readers of a topic, with nothing between them.

use super::{Clients, EVENTS_HPP, EVENTS_IDL, EventsContender, Service};
use crate::contender::{Contender, FASTDDS_DOMAIN_HPP, Origin, Program, gxx, peer};

pub(crate) const FASTDDS: Contender = Contender {
    name: "fastdds",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Nobody,
        clients: Clients::Built(&Program {
            peer: &peer::FASTDDS,
            folder: "fastdds-events",
            sources: &[
                EVENTS_HPP,
                EVENTS_IDL,
                FASTDDS_DOMAIN_HPP,
                (
                    "events.cpp",
                    include_str!("../../../contenders/fastdds/events.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["fastddsgen", "-cs", "-replace", "events.idl"],
                gxx![
                    "events.cpp",
                    "events.cxx",
                    "eventsPubSubTypes.cxx",
                    "-lfastrtps",
                    "-lfastcdr",
                ],
            ],
        }),
    }),
};
