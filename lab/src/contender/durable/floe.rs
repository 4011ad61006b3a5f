//! Floe: a durable topic of the hub of the `floe` command, with the default level `synced`, and a publisher or a durable subscriber
//! that squeeze out what there is; `guide.rs` has those of the guide.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Instant;

use ::floe::contracts::ice_storm::{QoS, TopicManagerProxy};
use ::floe::{Bytes, Communicator, Current, InvokeError, TypedProxy, blocking};
use tokio::runtime::{Builder, Runtime};

use super::case::{Case, PAYLOAD_LEN};
use super::guide;
use super::page_cache::drop_from_memory;
use super::publishing::{rate, rate_of};
use super::{DurableContender, Publisher};
use crate::contender::events::daemon::scratch;
use crate::contender::events::{Service, serve_floe_hub};
use crate::contender::{Contender, Failure, Origin};
use crate::measure::Effort;
use contract::floe_durable::{JournalBlocking, JournalDispatcher, JournalProxy};

pub(super) mod contract {
    floe::include_contract!("Durable");
}

/// The programs of the guide: see `guide.rs`.
pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(|case| serve(Case::parse(case)?)),
        publisher: Publisher::Own(guide::publish),
    }),
};

/// A servant as the subscriber, and publishers that block or poll their calls themselves.
pub(crate) const FLOE_SERVANT: Contender = Contender {
    name: "floe-servant",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(|case| serve(Case::parse(case)?)),
        publisher: Publisher::Own(publish),
    }),
};

pub(super) const TOPIC: &str = "journal";

pub(super) fn payload() -> Bytes {
    Bytes::from_static(&[7; PAYLOAD_LEN])
}

fn serve(case: Case) -> Result<(), Failure> {
    let config = scratch("floe.toml");
    std::fs::write(&config, format!("[topic.{TOPIC}]\ndurable = true\n"))?;
    let data = scratch("data");
    let arguments: [&std::ffi::OsStr; 4] = [
        "--data".as_ref(),
        data.as_os_str(),
        "--config".as_ref(),
        config.as_os_str(),
    ];
    serve_floe_hub(&arguments, |manager| {
        let Case::Replay(count) = case else {
            return Ok(());
        };
        runtime()?.block_on(store(case, count, manager))?;
        drop_from_memory(&data)
    })
}

fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn publish(case: Case, effort: Effort, address: &str) -> Result<f64, Failure> {
    match case {
        Case::Replay(count) => return replay(count, address),
        Case::InFlight(1) | Case::Batch(1) => return publish_one_by_one(effort, address),
        Case::InFlight(_) | Case::Batch(_) => {}
    }
    let runtime = runtime()?;
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
    let journal = journal(&communicator, address).await?;
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

async fn journal(communicator: &Communicator, address: &str) -> Result<JournalProxy, Failure> {
    let manager: TopicManagerProxy = communicator.proxy(address)?;
    let topic = manager.retrieve(TOPIC).await?;
    Ok(JournalProxy::from_proxy(topic.get_publisher().await?))
}

/// Stores so many events.
async fn store(case: Case, count: u64, address: &str) -> Result<(), Failure> {
    let communicator = Communicator::new();
    let journal = journal(&communicator, address).await?;
    let payload = payload();
    let mut left = count as usize;
    while left > 0 {
        let together = left.min(case.unanswered());
        let mut calls: Vec<_> = (0..together)
            .map(|_| Box::pin(journal.store(&payload)))
            .collect();
        for call in &mut calls {
            begin(call.as_mut()).await?;
        }
        for call in calls {
            call.await?;
        }
        left -= together;
    }
    Ok(())
}

/// Reads so many stored events from the first on, and says how many came in a second.
fn replay(count: u64, address: &str) -> Result<f64, Failure> {
    let communicator = blocking::Communicator::new();
    let manager: TopicManagerProxy = communicator.proxy(address)?;
    let topic = manager.retrieve(TOPIC).wait()?;
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0")?;
    let (all_came, all) = mpsc::channel();
    let subscriber = Subscriber {
        left: AtomicU64::new(count),
        all_came,
    };
    let own = adapter.add("journal", JournalDispatcher::blocking(subscriber))?;
    adapter.activate();
    let wishes = [("floe.durable", "replay"), ("floe.from", "beginning")];
    let wishes: QoS = wishes
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let started = Instant::now();
    topic
        .subscribe_and_get_publisher(&wishes, Some(&own))
        .wait()?;
    all.recv()?;
    Ok(rate_of(count, started))
}

/// Counts the events that are still to come.
struct Subscriber {
    left: AtomicU64,
    all_came: mpsc::Sender<()>,
}

impl JournalBlocking for Subscriber {
    fn store(&self, payload: Bytes, _current: &Current) -> Result<(), InvokeError> {
        if payload.len() == PAYLOAD_LEN && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Nobody waits any more if the round is over.
            let _ = self.all_came.send(());
        }
        Ok(())
    }
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
