//! Cyclone DDS in C++: writers and readers of a topic, with nothing between them.

use super::{Clients, EVENTS_HPP, EVENTS_IDL, EventsContender, Service};
use crate::contender::{CYCLONEDDS_DOMAIN_HPP, Contender, Origin, Program, gxx, peer};

pub(crate) const CYCLONEDDS: Contender = Contender {
    name: "cyclonedds",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Nobody,
        clients: Clients::Built(&Program {
            peer: &peer::CYCLONEDDS,
            folder: "cyclonedds-events",
            sources: &[
                EVENTS_HPP,
                CYCLONEDDS_DOMAIN_HPP,
                EVENTS_IDL,
                (
                    "events.cpp",
                    include_str!("../../../contenders/cyclonedds/events.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["idlc", "events.idl"],
                &["gcc", "-O2", "-I.", "-c", "events.c"],
                gxx!["events.cpp", "events.o", "-lddsc"],
            ],
        }),
    }),
};
