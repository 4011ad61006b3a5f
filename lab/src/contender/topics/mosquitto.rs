//! mosquitto, an MQTT broker, with its own library and QoS 0.

use super::{Clients, TOPICS_HPP, TopicsContender, bytes_only};
use crate::contender::events::{MOSQUITTO_SERVICE, Service};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const MOSQUITTO: Contender = Contender {
    name: "mosquitto",
    refusal: bytes_only,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(MOSQUITTO_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::MOSQUITTO,
            folder: "mosquitto-topics",
            sources: &[
                TOPICS_HPP,
                (
                    "topics.cpp",
                    include_str!("../../../contenders/mosquitto/topics.cpp"),
                ),
            ],
            data: None,
            build: &[gxx!["topics.cpp", "-lmosquitto"]],
        }),
    }),
};
