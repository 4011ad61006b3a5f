//! omniEvents, an event service of CORBA, with a channel for each topic, and omniORB.

use super::{Clients, TOPICS_HPP, TOPICS_IDL, TopicsContender};
use crate::contender::events::{OMNIEVENTS_SERVICE, Service};
use crate::contender::{Contender, Origin, Program, gxx, peer};

pub(crate) const OMNIEVENTS: Contender = Contender {
    name: "omnievents",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(OMNIEVENTS_SERVICE),
        clients: Clients::Built(&Program {
            peer: &peer::OMNIEVENTS,
            folder: "omnievents-topics",
            sources: &[
                TOPICS_HPP,
                TOPICS_IDL,
                (
                    "topics.cpp",
                    include_str!("../../../contenders/omnievents/topics.cpp"),
                ),
            ],
            data: None,
            build: &[
                &["omniidl", "-bcxx", "-Wba", "topics.idl"],
                gxx![
                    "-I/usr/include/omniEvents",
                    "topics.cpp",
                    "topicsSK.cc",
                    "topicsDynSK.cc",
                    "-lomniEvents",
                    "-lomniDynamic4",
                    "-lomniORB4",
                    "-lomnithread",
                ],
            ],
        }),
    }),
};
