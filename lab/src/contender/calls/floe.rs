//! Floe: a generated proxy calls a generated servant, as a program of a user would.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;

use floe::blocking::{self, Wait};
use floe::{Adapter, Communicator, Current, InvokeError, Settings, TypedProxy};
use tokio::runtime::{Builder, Runtime};

use super::case::{ALL, BATCH_LEN, BATCHES, Case, IN_FLIGHT, ONEWAYS, POLLING, Work};
use super::socket_path;
use crate::contender::{Contender, Failure, Origin, announce};
use crate::measure::Effort;
use crate::sample::Sample;

use contract::floe_lab::{Calls, CallsDispatcher, CallsProxy};

mod contract {
    floe::include_contract!("Calls");
}

/// Floe on tokio's current-thread runtime, in both processes: what suits a program whose work is
/// to wait. Without any runtime where the case is that of the blocking face.
pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    cases: ALL,
    encoding: None,
    origin: Origin::Pair {
        serve: |case| match Case::parse(case)? {
            case if case.work == Work::TwowayBlocking => serve_blocking(case),
            case => serve(&current_thread()?, case),
        },
        call: |case, address, effort| match Case::parse(case)? {
            case if case.work == Work::TwowayBlocking => call_blocking(case, address, effort),
            case => call(&current_thread()?, case, address, effort),
        },
    },
};

/// Floe on tokio's default runtime, which has a thread for each core, in both processes.
pub(crate) const FLOE_THREADS: Contender = Contender {
    name: "floe-threads",
    cases: &["twoway", "ami-1000", "oneway", "batch"],
    encoding: None,
    origin: Origin::Pair {
        serve: |case| serve(&multi_thread()?, Case::parse(case)?),
        call: |case, address, effort| call(&multi_thread()?, Case::parse(case)?, address, effort),
    },
};

fn current_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn multi_thread() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

fn settings(case: Case) -> Settings {
    let mut settings = Settings::default();
    if case.is_polling {
        settings.polling = POLLING;
    }
    settings
}

fn endpoint(case: Case) -> String {
    if case.is_unix {
        format!("unix -f {}", socket_path("floe"))
    } else {
        "tcp -h 127.0.0.1 -p 0".to_owned()
    }
}

/// The object that is called; its length is part of every request's.
pub(super) const IDENTITY: &str = "calls";

fn serve(runtime: &Runtime, case: Case) -> Result<(), Failure> {
    let _adapter = runtime.block_on(start_server(case))?;
    runtime.block_on(std::future::pending())
}

async fn start_server(case: Case) -> Result<Adapter, Failure> {
    let communicator = Communicator::with_settings(settings(case));
    let adapter = communicator.adapter(&endpoint(case)).await?;
    let proxy = adapter.add(IDENTITY, CallsDispatcher::new(Servant))?;
    adapter.activate();
    announce(&proxy.to_string())?;
    Ok(adapter)
}

fn serve_blocking(case: Case) -> Result<(), Failure> {
    let communicator = blocking::Communicator::with_settings(settings(case));
    let adapter = communicator.adapter(&endpoint(case))?;
    let proxy = adapter.add(IDENTITY, CallsDispatcher::new(Servant))?;
    adapter.activate();
    announce(&proxy.to_string())?;
    communicator.wait_for_shutdown();
    Ok(())
}

fn call_blocking(case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
    let communicator = blocking::Communicator::with_settings(settings(case));
    let calls: CallsProxy = communicator.proxy(address)?;
    calls.nothing().wait()?;
    let mut stopwatch = effort.stopwatch();
    loop {
        calls.nothing().wait()?;
        if !stopwatch.lap() {
            return Ok(stopwatch.into_sample());
        }
    }
}

fn call(runtime: &Runtime, case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
    let address = address.to_owned();
    // Calls are made from a task: tokio looks for new input once more before it goes on with what
    // `block_on` was given, which is a system call for each reply.
    let calling = runtime.spawn(async move { call_async(case, &address, effort).await });
    runtime.block_on(calling)?
}

async fn call_async(case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
    let communicator = Communicator::with_settings(settings(case));
    let calls: CallsProxy = communicator.proxy(address)?;
    calls.nothing().await?;
    match case.work {
        Work::Twoway | Work::TwowayBlocking | Work::Ami => call_twoway(&calls, effort).await,
        Work::AmiMany => call_many(&calls, effort).await,
        Work::Oneway => call_oneway(&calls, effort).await,
        Work::Batch => call_batches(&calls, effort).await,
    }
}

async fn call_twoway(calls: &CallsProxy, effort: Effort) -> Result<Sample, Failure> {
    let mut stopwatch = effort.stopwatch();
    loop {
        calls.nothing().await?;
        if !stopwatch.lap() {
            return Ok(stopwatch.into_sample());
        }
    }
}

async fn call_many(calls: &CallsProxy, effort: Effort) -> Result<Sample, Failure> {
    let mut in_flight: Vec<_> = (0..IN_FLIGHT).map(|_| Box::pin(calls.nothing())).collect();
    let mut stopwatch = effort.stopwatch();
    loop {
        for call in &mut in_flight {
            call.set(calls.nothing());
            begin(call.as_mut()).await?;
        }
        for call in &mut in_flight {
            call.await?;
        }
        if !stopwatch.laps(IN_FLIGHT) {
            return Ok(stopwatch.into_sample());
        }
    }
}

/// Sends the request of a call; its reply cannot be there yet.
async fn begin<T>(mut call: Pin<&mut impl Future<Output = T>>) -> Result<(), Failure> {
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(Err("a call ended as it began".into())),
        Poll::Pending => Poll::Ready(Ok(())),
    })
    .await
}

async fn call_oneway(calls: &CallsProxy, effort: Effort) -> Result<Sample, Failure> {
    let oneway = calls.ice_oneway();
    let mut stopwatch = effort.stopwatch();
    loop {
        for _ in 0..ONEWAYS {
            oneway.nothing().await?;
        }
        calls.nothing().await?;
        if !stopwatch.laps(ONEWAYS) {
            return Ok(stopwatch.into_sample());
        }
    }
}

async fn call_batches(calls: &CallsProxy, effort: Effort) -> Result<Sample, Failure> {
    let batch = calls.ice_batch_oneway();
    let mut stopwatch = effort.stopwatch();
    loop {
        for _ in 0..BATCHES {
            for _ in 0..BATCH_LEN {
                batch.nothing().await?;
            }
            batch.ice_flush_batch().await?;
        }
        calls.nothing().await?;
        if !stopwatch.laps(BATCHES * BATCH_LEN) {
            return Ok(stopwatch.into_sample());
        }
    }
}

struct Servant;

impl Calls for Servant {
    async fn nothing(&self, _current: &Current) -> Result<(), InvokeError> {
        Ok(())
    }
}
