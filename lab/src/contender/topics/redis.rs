//! Redis: PUBLISH and SUBSCRIBE, with hiredis.

use super::{Clients, TOPICS_HPP, TopicsContender, bytes_only};
use crate::contender::events::{REDIS_SERVICE, Service};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const REDIS: Contender = Contender {
    name: "redis",
    refusal: bytes_only,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(REDIS_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::REDIS,
            folder: "redis-topics",
            sources: &[
                TOPICS_HPP,
                (
                    "topics.cpp",
                    include_str!("../../../contenders/redis/topics.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["topics.cpp", "-lhiredis"]],
        }),
    }),
};
