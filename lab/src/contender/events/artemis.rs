//! ActiveMQ Artemis, a broker of JMS, with its own client: both in a program in Java.

use super::{Clients, EventsContender, Service};
use crate::contender::{Contender, Origin, java};

pub(crate) const ARTEMIS: Contender = Contender {
    name: "artemis",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Built,
        clients: Clients::Built(&java::ARTEMIS),
    }),
};
