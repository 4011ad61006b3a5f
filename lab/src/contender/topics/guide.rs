//! A pinger and a replier as the guide `docs/guides/events.md` writes programs: streams on one thread.

use std::cell::Cell;
use std::time::Duration;

use ::floe::TypedProxy;
use ::floe::hub::{Delivery, HubClient, Qos, Subscription, Topic, TypedEvent};
use tokio::runtime::Builder;
use tokio::time::sleep;

use super::case::{Case, PROBE, Payload};
use super::contract::floe_topics::{AckEvent, AckProxy, PingEvent, PingProxy};
use super::pinger::Pinger;
use crate::contender::calls::payload::{bytes, records};
use crate::contender::{Failure, end_with_stdin};

/// Between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(5);

fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}

/// Messages are not acknowledged in this scenario, by no contender.
async fn subscribe<E: TypedEvent>(topic: &Topic) -> Result<Subscription<E>, Failure> {
    let qos = Qos::new().delivery(Delivery::Oneway);
    Ok(topic.subscribe::<E>().qos(qos).await?)
}

pub(super) fn ping(case: Case, address: &str) -> Result<(), Failure> {
    block_on(async {
        let hub = HubClient::connect(address).await?;
        let ping: PingProxy = hub.topic("ping").await?.publisher().await?;
        let ping = ping.ice_oneway();
        let mut acks = subscribe::<AckEvent>(&hub.topic("ack").await?).await?;
        let (count, records) = match case.payload {
            Payload::Bytes(count) => (count, None),
            Payload::Records(count) => (0, Some(records(count))),
        };
        let payload = bytes(count).into();
        let publish = async |number| match &records {
            Some(records) => ping.ping_records(number, records).await,
            None => ping.ping_bytes(number, &payload).await,
        };
        let pinger = Pinger::new();
        end_with_stdin();
        loop {
            tokio::select! {
                event = acks.next() => {
                    let AckEvent::Acknowledge(number) = event.ok_or("the stream has ended")??;
                    let next = Cell::new(None);
                    pinger.answered(number, |number| {
                        next.set(Some(number));
                        Ok(())
                    })?;
                    if let Some(next) = next.get() {
                        publish(next).await?;
                    }
                }
                () = sleep(PROBE_INTERVAL), if pinger.is_probing() => publish(PROBE).await?,
            }
        }
    })
}

pub(super) fn reply(case: Case, address: &str) -> Result<(), Failure> {
    block_on(async {
        let hub = HubClient::connect(address).await?;
        let acks: AckProxy = hub.topic("ack").await?.publisher().await?;
        let acks = acks.ice_oneway();
        let mut pings = subscribe::<PingEvent>(&hub.topic("ping").await?).await?;
        end_with_stdin();
        let mut is_first = true;
        while let Some(event) = pings.next().await {
            let (number, payload, is_right) = match event? {
                PingEvent::PingBytes { number, payload } => {
                    let is_right = !is_first || payload[..] == bytes(payload.len());
                    (number, Payload::Bytes(payload.len()), is_right)
                }
                PingEvent::PingRecords {
                    number,
                    records: came,
                } => {
                    let is_right = !is_first || came == records(came.len());
                    (number, Payload::Records(came.len()), is_right)
                }
            };
            is_first = false;
            if !is_right || payload != case.payload {
                return Err(format!("expected {:?}, got {payload:?}", case.payload).into());
            }
            acks.acknowledge(number).await?;
        }
        Ok(())
    })
}
