//! The asynchronous face.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;

use floe::{Adapter, Communicator, Proxy, TypedProxy};
use tokio::runtime::{Builder, Runtime};

use super::contract::floe_calls::{CallsDispatcher, CallsProxy};
use super::servant::Servant;
use super::{IDENTITY, endpoint, settings};
use crate::contender::calls::case::{Case, IN_FLIGHT, Work};
use crate::contender::calls::payload::expect;
use crate::contender::{Failure, announce};
use crate::measure::{Effort, Stopwatch};
use crate::sample::Sample;

/// How the programs of the asynchronous face are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Program {
    /// As the examples are: the server has a thread for each core, the client one thread, and it makes its calls in `main`.
    Plain,
    /// Both have one thread, and the client makes its calls in a task: tokio looks for new input once more before it goes
    /// on with `main`, which is a system call for each reply.
    Tuned,
}

impl Program {
    pub(super) fn serve(self, case: Case) -> Result<(), Failure> {
        let runtime = match self {
            Self::Plain => Builder::new_multi_thread().enable_all().build(),
            Self::Tuned => one_thread(),
        };
        runtime?.block_on(async {
            let communicator = Communicator::with_settings(settings(case));
            let (_adapter, calls) = start_server(&communicator, &endpoint(case)).await?;
            announce(&calls.to_string())?;
            std::future::pending().await
        })
    }

    pub(super) fn call(self, case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
        let runtime = one_thread()?;
        let address = address.to_owned();
        let calling = async move { call_async(case, &address, effort).await };
        match self {
            Self::Plain => runtime.block_on(calling),
            Self::Tuned => runtime.block_on(runtime.spawn(calling))?,
        }
    }
}

fn one_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Serves the object that is called.
pub(crate) async fn start_server(
    communicator: &Communicator,
    endpoint: &str,
) -> Result<(Adapter, Proxy), Failure> {
    let adapter = communicator.adapter(endpoint).await?;
    let calls = adapter.add(IDENTITY, CallsDispatcher::new(Servant::default()))?;
    adapter.activate();
    Ok((adapter, calls))
}

async fn call_async(case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
    let communicator = Communicator::with_settings(settings(case));
    measure(case, communicator.proxy(address)?, effort).await
}

/// Does what the case says with an object that nobody else has called.
pub(crate) async fn measure(
    case: Case,
    calls: CallsProxy,
    effort: Effort,
) -> Result<Sample, Failure> {
    calls.nothing().await?;
    let mut client = Client {
        calls,
        stopwatch: case.stopwatch(effort),
        case,
        made: 1,
    };
    match case.work {
        Work::AmiMany => client.call_many().await?,
        Work::Oneway => client.call_oneway().await?,
        Work::Batch => client.call_batches().await?,
        _ => client.call_twoway().await?,
    }
    // None was lost, and none came twice.
    expect(
        "the count of calls",
        client.made,
        client.calls.count().await?,
    )?;
    Ok(client.stopwatch.into_sample())
}

struct Client {
    calls: CallsProxy,
    case: Case,
    stopwatch: Stopwatch,
    /// Calls of `nothing`.
    made: i64,
}

impl Client {
    /// Notes that so many calls were made; whether to make more.
    fn laps(&mut self, count: usize, uncounted: usize) -> bool {
        self.made += (count + uncounted) as i64;
        self.stopwatch.laps(count)
    }

    async fn call_twoway(&mut self) -> Result<(), Failure> {
        loop {
            self.calls.nothing().await?;
            if !self.laps(1, 0) {
                return Ok(());
            }
        }
    }

    async fn call_many(&mut self) -> Result<(), Failure> {
        let calls = self.calls.clone();
        let mut in_flight: Vec<_> = (0..IN_FLIGHT).map(|_| Box::pin(calls.nothing())).collect();
        loop {
            let mut pending = Vec::with_capacity(IN_FLIGHT);
            for call in &mut in_flight {
                call.set(calls.nothing());
                match begin(call.as_mut()).await {
                    Some(ended) => ended?,
                    None => pending.push(call.as_mut()),
                }
            }
            for call in pending {
                call.await?;
            }
            if !self.laps(IN_FLIGHT, 0) {
                return Ok(());
            }
        }
    }

    async fn call_oneway(&mut self) -> Result<(), Failure> {
        let oneway = self.calls.ice_oneway();
        let count = self.case.oneways();
        loop {
            for _ in 0..count {
                oneway.nothing().await?;
            }
            self.calls.nothing().await?;
            if !self.laps(count, 1) {
                return Ok(());
            }
        }
    }

    async fn call_batches(&mut self) -> Result<(), Failure> {
        let batch = self.calls.ice_batch_oneway();
        let (len, count) = self.case.batches();
        loop {
            for _ in 0..count {
                for _ in 0..len {
                    batch.nothing().await?;
                }
                batch.ice_flush_batch().await?;
            }
            self.calls.nothing().await?;
            if !self.laps(count * len, 1) {
                return Ok(());
            }
        }
    }
}

/// Sends the request of a call. Returns what it returned if its reply is there already, which another thread has read.
async fn begin<T>(mut call: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(returned) => Poll::Ready(Some(returned)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
