//! Qpid JMS, with ActiveMQ Artemis as its broker: the program of the scenario `events`.

use super::{Clients, TopicsContender, bytes_only};
use crate::contender::events::Service;
use crate::contender::{Contender, Origin, java};

pub(crate) const QPID: Contender = Contender {
    name: "qpid",
    refusal: bytes_only,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Built,
        clients: Clients::Built(&java::QPID),
    }),
};
