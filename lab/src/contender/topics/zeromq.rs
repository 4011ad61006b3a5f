//! ZeroMQ: PUB to XSUB, a proxy, XPUB to SUB, with a prefix for each topic.

use super::{Clients, TOPICS_HPP, TopicsContender, bytes_only};
use crate::contender::events::Service;
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const ZEROMQ: Contender = Contender {
    name: "zeromq",
    refusal: bytes_only,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Built,
        clients: Clients::Built(&Program {
            peer: &peer::ZEROMQ,
            folder: "zeromq-topics",
            sources: &[
                TOPICS_HPP,
                (
                    "topics.cpp",
                    include_str!("../../../contenders/zeromq/topics.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["topics.cpp", "-lzmq"]],
        }),
    }),
};
