//! Qpid JMS, with ActiveMQ Artemis as its broker: both in a program in Java.

use super::{Clients, EventsContender, Service};
use crate::contender::{Contender, Origin, java};

pub(crate) const QPID: Contender = Contender {
    name: "qpid",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Events(&EventsContender {
        service: Service::Built,
        clients: Clients::Built(&java::QPID),
    }),
};
