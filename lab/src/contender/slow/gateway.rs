//! Events from a back end to a client through a router: a gateway of Floe, or a Glacier2.
//!
//! The back end and the client are programs of Floe in all of them, so that the routers alone make the difference. The line
//! is between router and client.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use floe::contracts::glacier2::RouterProxy;
use floe::contracts::ice::RouterProxy as PlainRouterProxy;
use floe::settings::Compression;
use floe::{Communicator, Current, Identity, InvokeError, TypedProxy};
use tokio::runtime::Builder;
use tokio::sync::Notify;

use super::case::{Case, TICKS, events_only};
use super::contract::floe_documents::{
    Listener, ListenerDispatcher, ListenerProxy, Publisher, PublisherDispatcher, PublisherProxy,
};
use super::{READY, SENT, SlowContender, note, pause};
use crate::contender::router::Router;
use crate::contender::{Contender, Failure, Origin, announce, peer};
use crate::sample::Sample;
use crate::slow_line::own_host;

/// A gateway of Floe that batches, with a pause as its guide advises for slow lines.
pub(crate) const FLOE_GATEWAY: Contender = contender(
    "floe-gateway",
    &SlowContender {
        peer: None,
        serve: |_| serve(|| start_floe("adaptive"), COMPRESSED),
        call: receive,
    },
);

/// A gateway of Floe that neither batches nor compresses.
pub(crate) const FLOE_GATEWAY_PLAIN: Contender = contender(
    "floe-gateway-plain",
    &SlowContender {
        peer: None,
        serve: |_| serve(|| start_floe("off"), ""),
        call: receive,
    },
);

/// A Glacier2 that batches and compresses.
pub(crate) const GLACIER2: Contender = contender(
    "glacier2",
    &SlowContender {
        peer: Some(&peer::GLACIER2),
        serve: |_| serve(|| start_glacier2(true), COMPRESSED),
        call: receive,
    },
);

/// A Glacier2 with its default settings.
pub(crate) const GLACIER2_PLAIN: Contender = contender(
    "glacier2-plain",
    &SlowContender {
        peer: Some(&peer::GLACIER2),
        serve: |_| serve(|| start_glacier2(false), ""),
        call: receive,
    },
);

const fn contender(name: &'static str, parts: &'static SlowContender) -> Contender {
    Contender {
        name,
        refusal: events_only,
        encoding: None,
        origin: Origin::Slow(parts),
    }
}

/// The context entry `_fwd` of events that are compressed.
const COMPRESSED: &str = "z";

/// Starts a router and a back end, and says where they are.
fn serve(
    start: impl FnOnce() -> Result<Router, Failure>,
    forward: &'static str,
) -> Result<(), Failure> {
    let router = start()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let communicator = Communicator::new();
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await?;
        let servant = BackEnd { forward };
        let publisher = adapter.add("publisher", PublisherDispatcher::new(servant))?;
        adapter.activate();
        announce(&format!("{}\t{publisher}", router.proxy))?;
        tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()))
            .await??;
        Ok(())
    })
}

/// Publishes events.
struct BackEnd {
    forward: &'static str,
}

impl Publisher for BackEnd {
    async fn publish(
        &self,
        listener: Option<ListenerProxy>,
        count: i32,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        let Some(listener) = listener else {
            return Ok(());
        };
        let mut listener = listener.ice_oneway();
        if !self.forward.is_empty() {
            let entry = ("_fwd".to_owned(), self.forward.to_owned());
            listener = listener.ice_context([entry].into());
        }
        for number in 0..count {
            listener.tick(number.into()).await?;
        }
        Ok(())
    }
}

/// Counts events.
#[derive(Default)]
struct Ear {
    came: AtomicI64,
    sum: AtomicI64,
    all: Notify,
}

impl Listener for Arc<Ear> {
    async fn tick(&self, number: i64, _current: &Current) -> Result<(), InvokeError> {
        self.sum.fetch_add(number, Ordering::Relaxed);
        if self.came.fetch_add(1, Ordering::Relaxed) + 1 == TICKS as i64 {
            self.all.notify_one();
        }
        Ok(())
    }
}

/// Has the back end publish events, and measures until the last one is there.
fn receive(_case: Case, address: &str) -> Result<Sample, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (router, publisher) = address
            .split_once('\t')
            .ok_or("expected a router and a publisher")?;
        let communicator = Communicator::new();
        let router: RouterProxy = communicator.proxy(router)?;
        // What the client asks for in replies, a gateway of Floe uses for events that ask for compression.
        let offered = router
            .as_proxy()
            .offered_compression(&[Compression::ZstdBatch]);
        let router = match offered {
            Some(compression) => router.ice_compression(compression),
            None => router,
        };
        router.create_session("lab", "lab").await?;
        let plain = PlainRouterProxy::from(router.clone());
        let adapter = communicator.adapter_with_router(&plain).await?;
        let category = router.get_category_for_client().await?;
        let ear = Arc::new(Ear::default());
        let identity = Identity::with_category("listener", category);
        let listener = adapter.add(identity, ListenerDispatcher::new(ear.clone()))?;
        let listener = ListenerProxy::from_proxy(listener);
        adapter.activate();
        let publisher: PublisherProxy = communicator.proxy(publisher)?;
        let publisher = publisher.ice_router(Some(router.as_proxy()));
        publisher.ice_ping().await?;
        pause(READY)?;
        let mut sample = Sample::new();
        let started = Instant::now();
        publisher.publish(Some(&listener), TICKS as i32).await?;
        ear.all.notified().await;
        note(&mut sample, started);
        pause(SENT)?;
        let count = TICKS as i64;
        let (expected, sum) = (count * (count - 1) / 2, ear.sum.load(Ordering::Relaxed));
        match sum == expected {
            true => Ok(sample),
            false => Err(format!("expected numbers whose sum is {expected}, got {sum}").into()),
        }
    })
}

fn start_floe(batching: &str) -> Result<Router, Failure> {
    let sleep_time = if batching == "off" { "none" } else { "20ms" };
    let settings = format!(
        "[gateway.to-clients]\n\
         batching = \"{batching}\"\n\
         sleep-time = \"{sleep_time}\"\n"
    );
    let offer = ["--offer", Compression::ZstdBatch.as_str()];
    let is_offering = batching != "off" && Compression::ZstdBatch.is_built();
    let arguments: &[&str] = if is_offering { &offer } else { &[] };
    Router::floe(&client_endpoint(), &settings, arguments)
}

fn start_glacier2(is_batching: bool) -> Result<Router, Failure> {
    // The router takes the letters of `_fwd` from the context, whether it forwards that or not.
    let properties = match is_batching {
        true => "Glacier2.Server.AlwaysBatch=1\n",
        false => "",
    };
    Router::glacier2(&client_endpoint(), properties)
}

fn client_endpoint() -> String {
    format!("tcp -h {} -p {ROUTER_PORT}", own_host())
}

/// In a namespace of its own every port is free.
const ROUTER_PORT: u16 = 4063;
