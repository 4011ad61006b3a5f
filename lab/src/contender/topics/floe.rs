//! Floe: two topics of the hub of the `floe` command, and oneway calls, in a pinger and a replier that are servants. `guide.rs` has
//! those of the guide.

use std::sync::{Arc, OnceLock};

use ::floe::blocking::Communicator;
use ::floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use ::floe::{Bytes, Current, InvokeError, Proxy, TypedProxy};

use super::case::{Case, Payload};
use super::contract::floe_topics::{
    AckBlocking, AckDispatcher, AckProxy, PingBlocking, PingDispatcher, PingProxy,
};
use super::guide;
use super::pinger::Pinger;
use super::{Clients, TopicsContender};
use crate::contender::calls::payload::{bytes, records};
use crate::contender::codec::contract::floe_lab::OuterSeq;
use crate::contender::events::{FLOE_SERVICE, Service};
use crate::contender::{Contender, Failure, Origin, end_with_stdin};

/// The programs of the guide: see `guide.rs`.
pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(FLOE_SERVICE),
        clients: Clients::Own {
            ping: guide::ping,
            reply: guide::reply,
        },
    }),
};

/// Blocking servants.
pub(crate) const FLOE_SERVANT: Contender = Contender {
    name: "floe-servant",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(FLOE_SERVICE),
        clients: Clients::Own { ping, reply },
    }),
};

fn topic(communicator: &Communicator, manager: &str, name: &str) -> Result<TopicProxy, Failure> {
    let manager: TopicManagerProxy = communicator.proxy(manager)?;
    Ok(manager.create_or_retrieve(name).wait()?)
}

fn publisher(communicator: &Communicator, manager: &str, name: &str) -> Result<Proxy, Failure> {
    let publisher = topic(communicator, manager, name)?.get_publisher().wait()?;
    Ok(publisher.ice_oneway())
}

fn ping(case: Case, address: &str) -> Result<(), Failure> {
    let communicator = Communicator::new();
    let message = Message::new(
        case,
        PingProxy::from_proxy(publisher(&communicator, address, "ping")?),
    );
    let message = Arc::new(message);
    let pinger = Arc::new(Pinger::new());
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0")?;
    let servant = Answers(pinger.clone(), message.clone());
    let own = adapter.add("ack.subscriber", AckDispatcher::blocking(servant))?;
    adapter.activate();
    topic(&communicator, address, "ack")?
        .subscribe_and_get_publisher(&QoS::default(), Some(&own.ice_oneway()))
        .wait()?;
    end_with_stdin();
    pinger.probe(|number| message.publish(number))?;
    communicator.wait_for_shutdown();
    Ok(())
}

/// The message that is published.
struct Message {
    topic: PingProxy,
    bytes: Bytes,
    /// `None` if bytes are published.
    records: Option<OuterSeq>,
}

impl Message {
    fn new(case: Case, topic: PingProxy) -> Self {
        let (count, records) = match case.payload {
            Payload::Bytes(count) => (count, None),
            Payload::Records(count) => (0, Some(records(count))),
        };
        let bytes = bytes(count).into();
        Self {
            topic,
            bytes,
            records,
        }
    }

    fn publish(&self, number: i32) -> Result<(), Failure> {
        match &self.records {
            Some(records) => self.topic.ping_records(number, records).wait()?,
            None => self.topic.ping_bytes(number, &self.bytes).wait()?,
        }
        Ok(())
    }
}

/// Publishes the next message in the thread that got the answer.
struct Answers(Arc<Pinger>, Arc<Message>);

impl AckBlocking for Answers {
    fn acknowledge(&self, number: i32, _current: &Current) -> Result<(), InvokeError> {
        let Self(pinger, message) = self;
        or_end(pinger.answered(number, |next| message.publish(next)));
        Ok(())
    }
}

fn reply(case: Case, address: &str) -> Result<(), Failure> {
    let communicator = Communicator::new();
    let acks = AckProxy::from_proxy(publisher(&communicator, address, "ack")?);
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0")?;
    let servant = Replies {
        acks,
        case,
        first: OnceLock::new(),
    };
    let own = adapter.add("ping.subscriber", PingDispatcher::blocking(servant))?;
    adapter.activate();
    topic(&communicator, address, "ping")?
        .subscribe_and_get_publisher(&QoS::default(), Some(&own.ice_oneway()))
        .wait()?;
    end_with_stdin();
    communicator.wait_for_shutdown();
    Ok(())
}

struct Replies {
    acks: AckProxy,
    case: Case,
    /// True if the records of the first message were as they should be; each is compared by its length.
    first: OnceLock<bool>,
}

impl Replies {
    fn reply(&self, number: i32, payload: Payload, is_right: impl Fn() -> bool) {
        let is_right = payload == self.case.payload && *self.first.get_or_init(is_right);
        or_end(match is_right {
            true => self.acks.acknowledge(number).wait().map_err(Failure::from),
            false => Err(format!("expected {:?}, got {payload:?}", self.case.payload).into()),
        });
    }
}

impl PingBlocking for Replies {
    fn ping_bytes(
        &self,
        number: i32,
        payload: Bytes,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        let is_right = || payload[..] == bytes(payload.len());
        self.reply(number, Payload::Bytes(payload.len()), is_right);
        Ok(())
    }

    fn ping_records(
        &self,
        number: i32,
        came: OuterSeq,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        let is_right = || came == records(came.len());
        self.reply(number, Payload::Records(came.len()), is_right);
        Ok(())
    }
}

/// The hub could only lose the subscriber; the lab must know.
fn or_end(result: Result<(), Failure>) {
    if let Err(error) = result {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
