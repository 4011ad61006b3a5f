//! ZeroMQ: PUB to XSUB, a proxy, XPUB to SUB.

use super::case::Quality;
use super::{Clients, FANOUT_HPP, FanoutContender, refusal};
use crate::contender::events::Service;
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const ZEROMQ: Contender = Contender {
    name: "zeromq",
    refusal: |case| {
        refusal(case, |quality| match quality {
            Quality::Oneway => None,
            Quality::Twoway | Quality::Ordered => Some("PUB and SUB acknowledge nothing"),
            Quality::KeepLast => Some("its proxy keeps all events; ZMQ_CONFLATE is for one socket"),
            Quality::Priority => Some("it has no priorities"),
            Quality::Batched => Some("it batches by itself: see oneway"),
            Quality::Compressed => Some("it compresses nothing"),
        })
    },
    encoding: None,
    origin: Origin::Fanout(&FanoutContender {
        service: Service::Built,
        clients: Clients::Built(&Program {
            peer: &peer::ZEROMQ,
            folder: "zeromq-fanout",
            sources: &[
                FANOUT_HPP,
                (
                    "fanout.cpp",
                    include_str!("../../../contenders/zeromq/fanout.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["fanout.cpp", "-lzmq"]],
        }),
    }),
};
