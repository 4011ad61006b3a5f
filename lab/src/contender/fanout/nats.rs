//! NATS, without JetStream, with its C client.

use super::case::Quality;
use super::{Clients, FANOUT_HPP, FanoutContender, refusal};
use crate::contender::events::{NATS_CONNECTION_HPP, NATS_SERVICE, Service};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const NATS: Contender = Contender {
    name: "nats",
    refusal: |case| {
        refusal(case, |quality| match quality {
            Quality::Oneway | Quality::Batched => None,
            Quality::Twoway | Quality::Ordered => {
                Some("core NATS acknowledges nothing; JetStream does: see events")
            }
            Quality::KeepLast => Some("core NATS keeps nothing for a subscriber"),
            Quality::Priority => Some("it has no priorities"),
            Quality::Compressed => Some("it compresses nothing between clients and server"),
        })
    },
    encoding: None,
    origin: Origin::Fanout(&FanoutContender {
        service: Service::Own(NATS_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::NATS,
            folder: "nats-fanout",
            sources: &[
                FANOUT_HPP,
                NATS_CONNECTION_HPP,
                (
                    "fanout.cpp",
                    include_str!("../../../contenders/nats/fanout.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["fanout.cpp", "-lnats"]],
        }),
    }),
};
