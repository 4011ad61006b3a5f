//! mosquitto, an MQTT broker, with its own library.

use super::case::Quality;
use super::{Clients, FANOUT_HPP, FanoutContender, refusal};
use crate::contender::events::{MOSQUITTO_SERVICE, Service};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const MOSQUITTO: Contender = Contender {
    name: "mosquitto",
    refusal: |case| {
        refusal(case, |quality| match quality {
            Quality::Oneway | Quality::Twoway => None,
            Quality::Ordered => Some("MQTT keeps the order always: see twoway"),
            Quality::KeepLast => {
                Some("MQTT retains an event for later subscribers, not for one that is behind")
            }
            Quality::Priority => Some("MQTT has no priorities"),
            Quality::Batched => Some("MQTT has no batches"),
            Quality::Compressed => Some("MQTT compresses nothing"),
        })
    },
    encoding: None,
    origin: Origin::Fanout(&FanoutContender {
        service: Service::Own(MOSQUITTO_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::MOSQUITTO,
            folder: "mosquitto-fanout",
            sources: &[
                FANOUT_HPP,
                (
                    "fanout.cpp",
                    include_str!("../../../contenders/mosquitto/fanout.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["fanout.cpp", "-lmosquitto"]],
        }),
    }),
};
