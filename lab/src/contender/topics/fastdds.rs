//! Fast DDS in C++: writers and readers of two topics, with nothing between them.

use super::{Clients, TOPICS_HPP, TOPICS_IDL, TopicsContender};
use crate::contender::events::Service;
use crate::contender::{Contender, FASTDDS_DOMAIN_HPP, Origin, Program, gxx, peer};

pub(crate) const FASTDDS: Contender = Contender {
    name: "fastdds",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Nobody,
        clients: Clients::Built(&Program {
            peer: &peer::FASTDDS,
            folder: "fastdds-topics",
            sources: &[
                TOPICS_HPP,
                TOPICS_IDL,
                FASTDDS_DOMAIN_HPP,
                (
                    "topics.cpp",
                    include_str!("../../../contenders/fastdds/topics.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["fastddsgen", "-cs", "-replace", "topics.idl"],
                gxx![
                    "topics.cpp",
                    "topics.cxx",
                    "topicsPubSubTypes.cxx",
                    "-lfastrtps",
                    "-lfastcdr",
                ],
            ],
        }),
    }),
};
