//! Redis: PUBLISH and SUBSCRIBE, with hiredis.

use super::case::Quality;
use super::{Clients, FANOUT_HPP, FanoutContender, refusal};
use crate::contender::events::{REDIS_SERVICE, Service};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const REDIS: Contender = Contender {
    name: "redis",
    refusal: |case| {
        refusal(case, |quality| match quality {
            Quality::Oneway => None,
            Quality::Twoway | Quality::Ordered => Some("its subscribers acknowledge nothing"),
            Quality::KeepLast => Some("PUBLISH keeps nothing for a subscriber"),
            Quality::Priority => Some("it has no priorities"),
            Quality::Batched => {
                Some("a publisher can pipeline, and an event stays an event: see oneway")
            }
            Quality::Compressed => Some("it compresses nothing"),
        })
    },
    encoding: None,
    origin: Origin::Fanout(&FanoutContender {
        service: Service::Own(REDIS_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::REDIS,
            folder: "redis-fanout",
            sources: &[
                FANOUT_HPP,
                (
                    "fanout.cpp",
                    include_str!("../../../contenders/redis/fanout.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["fanout.cpp", "-lhiredis"]],
        }),
    }),
};
