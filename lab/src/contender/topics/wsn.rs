//! WS-Notification, events in messages of SOAP, with the broker and the clients of Apache CXF.

use super::{Clients, TopicsContender, bytes_only};
use crate::contender::events::Service;
use crate::contender::{Contender, Origin, java};

pub(crate) const WSN: Contender = Contender {
    name: "wsn",
    refusal: bytes_only,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Built,
        clients: Clients::Built(&java::WSN),
    }),
};
