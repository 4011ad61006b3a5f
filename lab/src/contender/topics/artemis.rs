//! ActiveMQ Artemis, a broker of JMS, with its own client: the program of the scenario `events`.

use super::{Clients, TopicsContender, bytes_only};
use crate::contender::events::Service;
use crate::contender::{Contender, Origin, java};

pub(crate) const ARTEMIS: Contender = Contender {
    name: "artemis",
    refusal: bytes_only,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Built,
        clients: Clients::Built(&java::ARTEMIS),
    }),
};
