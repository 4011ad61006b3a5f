//! Floe: a topic of the hub of the `floe` command, with a connection for each publisher and each subscriber.
//!
//! Subscribers are in a current-thread runtime of their own; the main thread publishes, and waits for waves.

use std::sync::{Arc, mpsc};

use ::floe::blocking::{self, Wait};
use ::floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use ::floe::hub::{Delivery, HubClient, Overflow, Qos};
use ::floe::{Adapter, Bytes, Communicator, Current, InvokeError, Proxy, TypedProxy};

use super::case::{Case, Quality};
use super::waves::Waves;
use super::{Clients, FanoutContender, listen_to_lab};
use crate::contender::calls::payload::bytes;
use crate::contender::codec::contract::floe_lab::OuterSeq;
use crate::contender::events::{FLOE_BATCHING_SERVICE, Service};
use crate::contender::topics::contract::floe_topics::{Ping, PingDispatcher, PingEvent, PingProxy};
use crate::contender::{Contender, Failure, Origin};
use crate::measure::Effort;

/// Floe with subscribers of one kind.
macro_rules! contender {
    ($name:literal, $subscribers:path) => {
        Contender {
            name: $name,
            refusal: |case| match Case::parse(case).map(|case| case.quality) {
                Ok(Quality::Priority) => Some(
                    "a hub delivers the events of a topic as they came: a topic of its own goes before others",
                ),
                Ok(_) => None,
                Err(_) => Some("the scenario has no such case"),
            },
            encoding: None,
            origin: Origin::Fanout(&FanoutContender {
                service: Service::Own(FLOE_BATCHING_SERVICE),
                clients: Clients::Own(|case, effort, address| {
                    fanout(case, effort, address, $subscribers)
                }),
            }),
        }
    };
}

/// Subscribers are streams, as in the guide `docs/guides/events.md`.
pub(crate) const FLOE: Contender = contender!("floe", Subscribers::Streams);

/// Subscribers are servants, at endpoints of their own.
pub(crate) const FLOE_SERVANT: Contender = contender!("floe-servant", Subscribers::Servants);

/// The kind of all subscribers.
#[derive(Debug, Clone, Copy)]
enum Subscribers {
    Streams,
    Servants,
}

/// How events are sent, by publishers and to subscribers.
fn sent_as(quality: Quality, proxy: &Proxy) -> Proxy {
    match quality {
        Quality::Twoway | Quality::Ordered => proxy.ice_twoway(),
        Quality::Batched => proxy.ice_batch_oneway(),
        Quality::Compressed => proxy.ice_oneway().ice_compress(true),
        Quality::Oneway | Quality::KeepLast | Quality::Priority => proxy.ice_oneway(),
    }
}

fn fanout(
    case: Case,
    effort: Effort,
    address: &str,
    subscribers: Subscribers,
) -> Result<(), Failure> {
    let waves = Arc::new(Waves::new(case));
    let (subscribing, subscribed) = mpsc::channel();
    let (own, manager) = (waves.clone(), address.to_owned());
    std::thread::spawn(move || {
        let result = subscribe_and_serve(case, &own, &manager, subscribers, &subscribing);
        // The main thread has gone on if it was subscribed.
        let _ = subscribing.send(result);
    });
    subscribed.recv()??;
    let communicator = blocking::Communicator::new();
    let manager: TopicManagerProxy = communicator.proxy(address)?;
    let topic: TopicProxy = manager.create_or_retrieve(TOPIC).wait()?;
    let publisher = topic.get_publisher().wait()?;
    let publishers = (0..case.publishers).map(|index| {
        let own = publisher.ice_connection_id(&index.to_string());
        PingProxy::from_proxy(sent_as(case.quality, &own))
    });
    let publishers: Vec<_> = publishers.collect();
    listen_to_lab(&waves);
    let payload: Bytes = bytes(case.payload_len).into();
    waves.run(
        effort,
        |publisher, number| Ok(publishers[publisher].ping_bytes(number, &payload).wait()?),
        || {
            let is_batched = case.quality == Quality::Batched;
            let mut all = publishers.iter().filter(|_| is_batched);
            Ok(all.try_for_each(|publisher| publisher.ice_flush_batch().wait())?)
        },
    )?;
    communicator.wait_for_shutdown();
    Ok(())
}

const TOPIC: &str = "fanout";

/// Says when all subscribers are subscribed, and serves them for as long as the process lives.
fn subscribe_and_serve(
    case: Case,
    waves: &Arc<Waves>,
    manager: &str,
    subscribers: Subscribers,
    subscribing: &mpsc::Sender<Result<(), Failure>>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let communicator = Communicator::new();
        let _adapters = match subscribers {
            Subscribers::Streams => stream_all(case, waves, manager).await.map(|()| Vec::new()),
            Subscribers::Servants => subscribe_all(&communicator, case, waves, manager).await,
        }?;
        subscribing.send(Ok(()))?;
        std::future::pending().await
    })
}

/// Subscribes with streams, and a task that reads each.
async fn stream_all(case: Case, waves: &Arc<Waves>, manager: &str) -> Result<(), Failure> {
    let topic = HubClient::connect(manager).await?.topic(TOPIC).await?;
    for index in 0..case.subscribers {
        let qos = match case.quality {
            Quality::Twoway => Qos::new(),
            Quality::Ordered => Qos::new().delivery(Delivery::Ordered),
            Quality::Batched => Qos::new().delivery(Delivery::Batch),
            Quality::Oneway | Quality::Compressed | Quality::Priority => {
                Qos::new().delivery(Delivery::Oneway)
            }
            Quality::KeepLast => Qos::new()
                .delivery(Delivery::Oneway)
                .overflow(Overflow::DropOldest)
                .queue_events(1),
        };
        let events = topic.subscribe::<PingEvent>().qos(qos);
        let mut events = match case.quality {
            Quality::Compressed => events.listen("tcp -h 127.0.0.1 -p 0 -z").await?,
            _ => events.await?,
        };
        let subscriber = Subscriber {
            case,
            waves: waves.clone(),
            index,
        };
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                match event {
                    Ok(PingEvent::PingBytes { number, payload }) => {
                        subscriber.take(number, &payload);
                    }
                    Ok(PingEvent::PingRecords { .. }) => {
                        or_end(Err("expected bytes, got records".into()))
                    }
                    Err(interruption) => or_end(Err(interruption.into())),
                }
            }
        });
    }
    Ok(())
}

async fn subscribe_all(
    communicator: &Communicator,
    case: Case,
    waves: &Arc<Waves>,
    manager: &str,
) -> Result<Vec<Adapter>, Failure> {
    let manager: TopicManagerProxy = communicator.proxy(manager)?;
    let topic: TopicProxy = manager.create_or_retrieve(TOPIC).await?;
    let qos: &[(&str, &str)] = match case.quality {
        Quality::Ordered => &[("reliability", "ordered")],
        Quality::KeepLast => &[("floe.overflow", "drop-oldest"), ("floe.queueEvents", "1")],
        _ => &[],
    };
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let qos: QoS = qos.iter().map(owned).collect();
    let endpoint = match case.quality {
        Quality::Compressed => "tcp -h 127.0.0.1 -p 0 -z",
        _ => "tcp -h 127.0.0.1 -p 0",
    };
    let mut adapters = Vec::new();
    for index in 0..case.subscribers {
        // An endpoint of its own, so that the hub has a connection to each.
        let adapter = communicator.adapter(endpoint).await?;
        let servant = Subscriber {
            case,
            waves: waves.clone(),
            index,
        };
        let name = format!("subscriber{index}");
        let own = adapter.add(name.as_str(), PingDispatcher::new(servant))?;
        adapter.activate();
        let own = sent_as(case.quality, &own);
        topic.subscribe_and_get_publisher(&qos, Some(&own)).await?;
        adapters.push(adapter);
    }
    Ok(adapters)
}

struct Subscriber {
    case: Case,
    waves: Arc<Waves>,
    index: usize,
}

impl Subscriber {
    fn take(&self, number: i32, payload: &Bytes) {
        or_end(match payload.len() == self.case.payload_len {
            true => self.waves.took(self.index, number),
            false => {
                Err(format!("expected an event of the case, got {} bytes", payload.len()).into())
            }
        });
    }
}

/// The hub could only lose the subscriber; the lab must know.
fn or_end(taken: Result<(), Failure>) {
    if let Err(error) = taken {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

impl Ping for Subscriber {
    async fn ping_bytes(
        &self,
        number: i32,
        payload: Bytes,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        self.take(number, &payload);
        Ok(())
    }

    async fn ping_records(
        &self,
        _number: i32,
        _records: OuterSeq,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        or_end(Err("expected bytes, got records".into()));
        Ok(())
    }
}
