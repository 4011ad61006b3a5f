//! Calls within a communicator, which skip the wire and mean the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{
    Communicator, Context, Dispatcher, InvokeError, LocalError, OperationMode, Proxy, Settings,
    SystemException, TypedProxy,
};

use crate::echo::{Echo, NOTHING, Server, encapsulation, returned, soon};

/// A proxy of the server's own communicator.
fn own(server: &Server) -> Proxy {
    server.proxy_of(&server.communicator, "echo")
}

#[tokio::test]
async fn a_call_within_a_communicator_makes_no_connection() {
    let server = Server::start().await;
    let proxy = own(&server);
    let sent = encapsulation(b"here");
    assert_eq!(returned(&proxy, "echo", &sent).await.expect("ok"), sent);
    assert!(!proxy.is_connected());
    assert_eq!(proxy.ice_connection().await.expect("here"), None);
    assert!(proxy.ice_is_a("::Test::Echo").await.expect("ok"));
}

#[tokio::test]
async fn a_proxy_or_a_communicator_may_insist_on_the_wire() {
    let server = Server::start().await;
    let wired = own(&server).ice_collocation_optimized(false);
    wired.ice_ping().await.expect("a ping");
    assert!(wired.is_connected());

    let mut settings = Settings::default();
    settings.collocation_optimized = false;
    let communicator = Communicator::with_settings(settings);
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let proxy = adapter.add("echo", Echo::default()).expect("new");
    adapter.activate();
    proxy.ice_ping().await.expect("a ping");
    assert!(proxy.is_connected());
}

#[tokio::test]
async fn a_well_known_object_of_the_same_communicator_is_found() {
    let server = Server::start().await;
    let proxy: Proxy = server.communicator.proxy("echo").expect("a proxy");
    proxy.ice_ping().await.expect("a ping");
}

#[tokio::test]
async fn contexts_failures_and_panics_are_as_over_the_wire() {
    let server = Server::start().await;
    let proxy = own(&server);
    let context = Context::from([("answer".to_owned(), "42".to_owned())]);
    let answer = returned(&proxy.ice_context(context), "context", &NOTHING).await;
    assert_eq!(answer.expect("ok"), encapsulation(b"\x0242"));

    let nobody = server.proxy_of(&server.communicator, "nobody");
    let missing = nobody.ice_ping().await;
    assert!(
        matches!(&missing, Err(InvokeError::System(SystemException::ObjectNotExist(failed)))
            if failed.identity.name == "nobody" && failed.operation == "ice_ping"),
        "{missing:?}"
    );
    let facet = proxy.ice_facet("f").ice_ping().await;
    assert!(matches!(
        facet,
        Err(InvokeError::System(SystemException::FacetNotExist(_)))
    ));
    let panicked = proxy.invoke("panic", OperationMode::Normal, &NOTHING).await;
    assert!(matches!(
        panicked,
        Err(InvokeError::System(SystemException::UnknownException(_)))
    ));
    proxy.ice_ping().await.expect("it serves on");
}

#[tokio::test]
async fn a_timeout_ends_the_wait_and_not_the_dispatch() {
    #[derive(Default)]
    struct Slow {
        ended: AtomicUsize,
        released: tokio::sync::Notify,
    }
    impl Dispatcher for Slow {
        fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
            requests.each(slot, move |request| self.clone().respond(request));
        }
    }

    impl Slow {
        fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
            Box::pin(async move {
                self.released.notified().await;
                self.ended.fetch_add(1, Ordering::SeqCst);
                request.returned_nothing()
            })
        }
    }
    let server = Server::start().await;
    let slow = Arc::new(Slow::default());
    let proxy = server.adapter.add("slow", slow.clone()).expect("new");
    let hurried = proxy.ice_timeout(Some(Duration::from_millis(1)));
    let result = hurried.invoke("op", OperationMode::Normal, &NOTHING).await;
    assert!(
        matches!(
            result,
            Err(InvokeError::PerhapsDispatched(LocalError::Timeout { .. }))
        ),
        "{result:?}"
    );
    slow.released.notify_one();
    // The shutdown waits for what was begun.
    soon(server.communicator.shutdown()).await;
    assert_eq!(slow.ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn oneway_and_batched_requests_arrive_in_order() {
    let server = Server::start().await;
    let proxy = own(&server);
    for _ in 0..100 {
        let oneway = proxy.ice_oneway();
        let sent = oneway.invoke("echo", OperationMode::Normal, &NOTHING).await;
        assert_eq!(sent.expect("sent"), None);
    }
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 100);
    let batch = proxy.ice_batch_oneway();
    for _ in 0..100 {
        let collected = batch.invoke("echo", OperationMode::Normal, &NOTHING).await;
        collected.expect("collected");
    }
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 100);
    batch.flush_batch().await.expect("flushed");
    soon(server.communicator.shutdown()).await;
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 200);
}

/// Counts requests, and answers each at its first poll.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Dispatcher for Counter {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            self.0.fetch_add(1, Ordering::SeqCst);
            std::future::ready(request.returned_nothing())
        });
    }
}

#[tokio::test]
async fn a_long_batch_lets_other_tasks_of_its_thread_run() {
    const COUNT: usize = 10_000;
    let server = Server::start().await;
    let counter = Arc::new(Counter::default());
    let proxy = server.adapter.add("counter", counter.clone()).expect("new");
    let batch = proxy.ice_batch_oneway();
    for _ in 0..COUNT {
        let collected = batch.invoke("op", OperationMode::Normal, &NOTHING).await;
        collected.expect("collected");
    }
    batch.flush_batch().await.expect("flushed");
    // The runtime of the test has one thread, so this task sees a part of the batch only if the batch yields.
    let has_yielded = soon(async {
        let mut has_yielded = false;
        loop {
            match counter.0.load(Ordering::SeqCst) {
                0 => {}
                COUNT => return has_yielded,
                _ => has_yielded = true,
            }
            tokio::task::yield_now().await;
        }
    });
    assert!(has_yielded.await);
}

/// Calls itself, so many times inside one another.
struct Nested;

impl Dispatcher for Nested {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Nested {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let depth: i32 = request.decode(OperationMode::Normal, |decoder| decoder.get())?;
            if depth > 0 {
                let current = request.current();
                let proxy = current.adapter().proxy(current.identity());
                let inner = encapsulation(&(depth - 1).to_le_bytes());
                let result = proxy.invoke("op", OperationMode::Normal, &inner).await;
                result.map_err(|error| SystemException::UnknownException(error.to_string()))?;
            }
            request.returned_nothing()
        })
    }
}

#[tokio::test]
async fn calls_inside_calls_neither_deadlock_nor_overflow_the_stack() {
    let mut settings = Settings::default();
    settings.adapter_dispatch_limit = 1;
    settings.dispatch_limit = 1;
    let communicator = Communicator::with_settings(settings);
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let here = adapter.add("nested", Nested).expect("new");
    adapter.activate();
    let parameters = encapsulation(&2_000_i32.to_le_bytes());
    let calls = async { here.invoke("op", OperationMode::Normal, &parameters).await };
    let result = soon(calls).await.expect("all return");
    assert!(matches!(result, Some(Outcome::Returned(_))));
    // The outermost over the wire, where limits hold.
    let there = here.ice_collocation_optimized(false);
    let calls = async { there.invoke("op", OperationMode::Normal, &parameters).await };
    soon(calls).await.expect("all return");
}

#[tokio::test]
async fn an_adapter_that_does_not_serve_is_not_called_past_its_endpoints() {
    let server = Server::start().await;
    let proxy = own(&server);
    proxy.ice_ping().await.expect("a ping");
    server.adapter.deactivate();
    let result = proxy.ice_ping().await;
    assert!(
        matches!(result, Err(InvokeError::NotDispatched(_))),
        "{result:?}"
    );
}
