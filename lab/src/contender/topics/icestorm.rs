//! IceStorm in an IceBox, with two topics, and a pinger and a replier in C++.

use super::{Clients, TOPICS_HPP, TopicsContender};
use crate::contender::events::{ICESTORM_SERVICE, Service};
use crate::contender::{CODEC_ICE, Contender, Origin, Program, gxx, peer};

pub(crate) const ICESTORM: Contender = Contender {
    name: "icestorm",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(ICESTORM_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::ICESTORM,
            folder: "icestorm-topics",
            sources: &[
                TOPICS_HPP,
                CODEC_ICE,
                ("Topics.ice", include_str!("../../../contracts/Topics.ice")),
                (
                    "topics.cpp",
                    include_str!("../../../contenders/icestorm/topics.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["slice2cpp", "Codec.ice"],
                &["slice2cpp", "-I.", "Topics.ice"],
                gxx![
                    "-DICE_CPP11_MAPPING",
                    "topics.cpp",
                    "Topics.cpp",
                    "Codec.cpp",
                    "-lIceStorm++11",
                    "-lIce++11",
                ],
            ],
        }),
    }),
};
