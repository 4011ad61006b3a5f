//! Floe: a generated proxy calls a generated servant, as a program of a user would.

use std::io;

use floe::{Adapter, Communicator, Current, InvokeError};
use tokio::runtime::{Builder, Runtime};

use crate::contender::{Contender, Failure, Origin, announce};
use crate::measure::Effort;
use crate::sample::Sample;

use contract::floe_lab::{Calls, CallsDispatcher, CallsProxy};

mod contract {
    floe::include_contract!("Calls");
}

/// Floe on tokio's current-thread runtime, in both processes: what suits a program whose work is
/// to wait.
pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    cases: &["twoway"],
    encoding: None,
    origin: Origin::Pair {
        serve: |_case| serve(&current_thread()?),
        call: |_case, address, effort| call(&current_thread()?, address, effort),
    },
};

/// Floe on tokio's default runtime, which has a thread for each core, in both processes.
pub(crate) const FLOE_THREADS: Contender = Contender {
    name: "floe-threads",
    cases: &["twoway"],
    encoding: None,
    origin: Origin::Pair {
        serve: |_case| serve(&multi_thread()?),
        call: |_case, address, effort| call(&multi_thread()?, address, effort),
    },
};

fn current_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn multi_thread() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// The object that is called; its length is part of every request's.
pub(super) const IDENTITY: &str = "calls";

fn serve(runtime: &Runtime) -> Result<(), Failure> {
    let _adapter = runtime.block_on(start_server())?;
    runtime.block_on(std::future::pending())
}

async fn start_server() -> Result<Adapter, Failure> {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await?;
    let proxy = adapter.add(IDENTITY, CallsDispatcher::new(Servant))?;
    adapter.activate();
    announce(&proxy.to_string())?;
    Ok(adapter)
}

fn call(runtime: &Runtime, address: &str, effort: Effort) -> Result<Sample, Failure> {
    let address = address.to_owned();
    // Calls are made from a task: tokio looks for new input once more before it goes on with what
    // `block_on` was given, which is a system call for each reply.
    let calling = runtime.spawn(async move { call_twoway(&address, effort).await });
    runtime.block_on(calling)?
}

async fn call_twoway(address: &str, effort: Effort) -> Result<Sample, Failure> {
    let communicator = Communicator::new();
    let calls: CallsProxy = communicator.proxy(address)?;
    calls.nothing().await?;
    let mut stopwatch = effort.stopwatch();
    loop {
        calls.nothing().await?;
        if !stopwatch.lap() {
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
