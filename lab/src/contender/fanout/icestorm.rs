//! IceStorm in an IceBox, with all publishers and subscribers in C++.

use super::case::Quality;
use super::{Clients, FANOUT_HPP, FanoutContender, refusal};
use crate::contender::events::{ICESTORM_SERVICE, Service};
use crate::contender::{CODEC_ICE, Contender, Origin, Program, gxx, peer};

pub(crate) const ICESTORM: Contender = Contender {
    name: "icestorm",
    refusal: |case| {
        refusal(case, |quality| match quality {
            Quality::Oneway
            | Quality::Twoway
            | Quality::Ordered
            | Quality::Batched
            | Quality::Compressed => None,
            Quality::KeepLast => Some("its queues have no limit in events"),
            Quality::Priority => Some("it has no priorities"),
        })
    },
    encoding: None,
    origin: Origin::Fanout(&FanoutContender {
        service: Service::Own(ICESTORM_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::ICESTORM,
            folder: "icestorm-fanout",
            sources: &[
                FANOUT_HPP,
                CODEC_ICE,
                ("Topics.ice", include_str!("../../../contracts/Topics.ice")),
                (
                    "fanout.cpp",
                    include_str!("../../../contenders/icestorm/fanout.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["slice2cpp", "Codec.ice"],
                &["slice2cpp", "-I.", "Topics.ice"],
                gxx![
                    "-DICE_CPP11_MAPPING",
                    "fanout.cpp",
                    "Topics.cpp",
                    "Codec.cpp",
                    "-lIceStorm++11",
                    "-lIce++11",
                ],
            ],
        }),
    }),
};
