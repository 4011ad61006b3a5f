//! JacORB, an ORB in Java: its notification service, and clients that push events of the type `any`.

use super::{Clients, TopicsContender};
use crate::contender::events::Service;
use crate::contender::topics::case::{Case, Payload};
use crate::contender::{Contender, Origin, java};

pub(crate) const JACORB: Contender = Contender {
    name: "jacorb",
    refusal: |name| match Case::parse(name).map(|case| case.payload) {
        Ok(Payload::Bytes(_)) => None,
        Ok(Payload::Records(_)) => {
            Some("its events are octets here; omnievents has records in the same `any`")
        }
        Err(_) => Some("the scenario has no such case"),
    },
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Built,
        clients: Clients::Built(&java::JACORB),
    }),
};
