//! A call costs no allocation once it has been made often enough, neither its caller nor its server:
//! both are in this process, which counts. Calls without a reply cost some for each burst or batch.
//!
//! A binary of its own with one test, so that nothing else allocates meanwhile.

use std::alloc::System;
use std::time::Duration;

use floe::InvocationMode;
use floe::blocking;
use floe::contracts::ice::{Process, ProcessDispatcher, ProcessProxy};
use floe::{Communicator, Current, InvokeError, TypedProxy};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Calls that are counted.
const CALL_COUNT: usize = 2_000;
/// Calls without a reply between two with one, and in a batch.
const BURST_LEN: usize = 500;
/// Allocations in all of them that are no call's: threads in the background now and then do
/// something, too.
const OTHERS_MAX: usize = CALL_COUNT / 50;

struct Quiet;

impl Process for Quiet {
    async fn shutdown(&self, _current: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn write_message(
        &self,
        _message: String,
        _fd: i32,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        Ok(())
    }
}

#[test]
fn a_steady_call_allocates_nothing() {
    let blocking = allocations_of_blocking_calls();
    assert!(
        blocking <= OTHERS_MAX,
        "{blocking} in {CALL_COUNT} calls of the blocking API"
    );
    let asynchronous = allocations_of_async_calls();
    assert!(
        asynchronous <= OTHERS_MAX,
        "{asynchronous} in {CALL_COUNT} calls of the async API"
    );
    for mode in [InvocationMode::Oneway, InvocationMode::BatchOneway] {
        let count = allocations_of_bursts(mode);
        assert!(
            count <= OTHERS_MAX,
            "{count} in {CALL_COUNT} calls in mode {mode:?}"
        );
    }
}

fn allocations_of_blocking_calls() -> usize {
    let server = blocking::Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").unwrap();
    let proxy = adapter.add("quiet", ProcessDispatcher::new(Quiet)).unwrap();
    adapter.activate();
    let client = blocking::Communicator::new();
    let process = ProcessProxy::from_proxy(client.proxy_from(proxy.reference().clone()));
    let limited = process.ice_timeout(Some(Duration::from_secs(10)));
    let call = || {
        process.shutdown().wait().unwrap();
        limited.shutdown().wait().unwrap();
    };
    (0..CALL_COUNT).for_each(|_| call());
    let region = Region::new(ALLOCATOR);
    (0..CALL_COUNT / 2).for_each(|_| call());
    let count = region.change().allocations + region.change().reallocations;
    client.shutdown();
    server.shutdown();
    count
}

fn allocations_of_bursts(mode: InvocationMode) -> usize {
    current_thread().block_on(async {
        let server = Communicator::new();
        let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let proxy = adapter.add("quiet", ProcessDispatcher::new(Quiet)).unwrap();
        adapter.activate();
        let client = Communicator::new();
        let process = ProcessProxy::from_proxy(client.proxy_from(proxy.reference().clone()));
        let bursting = process.ice_mode(mode);
        let call = async || {
            for _ in 0..CALL_COUNT / BURST_LEN {
                for _ in 0..BURST_LEN {
                    bursting.shutdown().await.unwrap();
                }
                bursting.ice_flush_batch().await.unwrap();
                process.shutdown().await.unwrap();
            }
        };
        call().await;
        let region = Region::new(ALLOCATOR);
        call().await;
        region.change().allocations + region.change().reallocations
    })
}

fn current_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn allocations_of_async_calls() -> usize {
    current_thread().block_on(async {
        let server = Communicator::new();
        let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let proxy = adapter.add("quiet", ProcessDispatcher::new(Quiet)).unwrap();
        adapter.activate();
        let client = Communicator::new();
        let process = ProcessProxy::from_proxy(client.proxy_from(proxy.reference().clone()));
        for _ in 0..CALL_COUNT {
            process.shutdown().await.unwrap();
        }
        let region = Region::new(ALLOCATOR);
        for _ in 0..CALL_COUNT {
            process.shutdown().await.unwrap();
        }
        region.change().allocations + region.change().reallocations
    })
}
