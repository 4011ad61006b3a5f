//! Cyclone DDS in C++: writers and readers of two topics, with nothing between them.

use super::{Clients, TOPICS_HPP, TOPICS_IDL, TopicsContender};
use crate::contender::events::Service;
use crate::contender::{CYCLONEDDS_DOMAIN_HPP, Contender, Origin, Program, gxx, peer};

pub(crate) const CYCLONEDDS: Contender = Contender {
    name: "cyclonedds",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Nobody,
        clients: Clients::Built(&Program {
            peer: &peer::CYCLONEDDS,
            folder: "cyclonedds-topics",
            sources: &[
                TOPICS_HPP,
                TOPICS_IDL,
                CYCLONEDDS_DOMAIN_HPP,
                (
                    "topics.cpp",
                    include_str!("../../../contenders/cyclonedds/topics.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["idlc", "topics.idl"],
                &["gcc", "-O2", "-I.", "-c", "topics.c"],
                gxx!["topics.cpp", "topics.o", "-lddsc"],
            ],
        }),
    }),
};
