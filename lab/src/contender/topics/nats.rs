//! NATS, without JetStream, with its C client.

use super::{Clients, TOPICS_HPP, TopicsContender, bytes_only};
use crate::contender::events::{NATS_CONNECTION_HPP, NATS_SERVICE, Service};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const NATS: Contender = Contender {
    name: "nats",
    refusal: bytes_only,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(NATS_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::NATS,
            folder: "nats-topics",
            sources: &[
                TOPICS_HPP,
                NATS_CONNECTION_HPP,
                (
                    "topics.cpp",
                    include_str!("../../../contenders/nats/topics.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["topics.cpp", "-lnats"]],
        }),
    }),
};
