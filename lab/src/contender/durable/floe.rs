//! Floe: a durable topic of the hub of the `floe` command, with the default level `synced`, and a publisher as a user would
//! write it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use ::floe::contracts::ice_storm::TopicManagerProxy;
use ::floe::{Bytes, Communicator, InvokeError, TypedProxy, blocking};
use tokio::runtime::Builder;

use super::case::{Case, PAYLOAD_LEN};
use super::publishing::{rate, rate_of};
use super::{DurableContender, Publisher};
use crate::contender::events::daemon::scratch;
use crate::contender::events::{FLOE_HUB, Service};
use crate::contender::{Contender, Failure, Origin};
use crate::measure::Effort;
use contract::floe_durable::JournalProxy;

mod contract {
    floe::include_contract!("Durable");
}

pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(|_| serve()),
        publisher: Publisher::Own(publish),
    }),
};

const TOPIC: &str = "journal";

fn payload() -> Bytes {
    Bytes::from_static(&[7; PAYLOAD_LEN])
}

fn serve() -> Result<(), Failure> {
    let config = scratch("floe.toml");
    std::fs::write(&config, format!("[topic.{TOPIC}]\ndurable = true\n"))?;
    let data = scratch("data");
    FLOE_HUB(&[
        "--data".as_ref(),
        data.as_os_str(),
        "--config".as_ref(),
        config.as_os_str(),
    ])
}

fn publish(case: Case, effort: Effort, address: &str) -> Result<f64, Failure> {
    if case.unanswered() == 1 {
        return publish_one_by_one(effort, address);
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let address = address.to_owned();
    // From a task: tokio looks for new input once more before it goes on with what `block_on` was given.
    let publishing =
        runtime.spawn(async move { Box::pin(publish_many(case, effort, &address)).await });
    runtime.block_on(publishing)?
}

fn publish_one_by_one(effort: Effort, address: &str) -> Result<f64, Failure> {
    let communicator = blocking::Communicator::new();
    let manager: TopicManagerProxy = communicator.proxy(address)?;
    let topic = manager.retrieve(TOPIC).wait()?;
    let publisher = topic.get_publisher().wait()?;
    let journal = JournalProxy::from_proxy(publisher);
    let payload = payload();
    rate(effort, |until| {
        let mut published = 0;
        loop {
            journal.store(&payload).wait()?;
            published += 1;
            if Instant::now() >= until {
                return Ok(published);
            }
        }
    })
}

async fn publish_many(case: Case, effort: Effort, address: &str) -> Result<f64, Failure> {
    let communicator = Communicator::new();
    let manager: TopicManagerProxy = communicator.proxy(address)?;
    let topic = manager.retrieve(TOPIC).await?;
    let publisher = topic.get_publisher().await?;
    let journal = JournalProxy::from_proxy(publisher);
    let payload = payload();
    publish_until(case, Instant::now() + effort.warm_up(), || {
        journal.store(&payload)
    })
    .await?;
    let started = Instant::now();
    let until = started + effort.round_time;
    let count = publish_until(case, until, || journal.store(&payload)).await?;
    Ok(rate_of(count, started))
}

/// Publishes until that moment, at least once, and awaits all answers; the number of events.
async fn publish_until<F: Future<Output = Result<(), InvokeError>>>(
    case: Case,
    until: Instant,
    store: impl Fn() -> F,
) -> Result<u64, Failure> {
    let mut calls: Vec<_> = (0..case.unanswered()).map(|_| Box::pin(store())).collect();
    for call in &mut calls {
        begin(call.as_mut()).await?;
    }
    let mut published = calls.len() as u64;
    loop {
        let is_over = Instant::now() >= until;
        for call in &mut calls {
            call.as_mut().await?;
            if !is_over && matches!(case, Case::InFlight(_)) {
                call.set(store());
                begin(call.as_mut()).await?;
            }
        }
        if is_over {
            return Ok(published);
        }
        if matches!(case, Case::Batch(_)) {
            for call in &mut calls {
                call.set(store());
                begin(call.as_mut()).await?;
            }
        }
        published += calls.len() as u64;
    }
}

/// Sends the request of a call.
async fn begin(
    mut call: Pin<&mut impl Future<Output = Result<(), InvokeError>>>,
) -> Result<(), Failure> {
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(Err(error)) => Poll::Ready(Err(error.into())),
        Poll::Ready(Ok(())) => Poll::Ready(Err("a call ended as it began".into())),
        Poll::Pending => Poll::Ready(Ok(())),
    })
    .await
}
