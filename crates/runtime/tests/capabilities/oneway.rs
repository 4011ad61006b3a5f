//! Oneway and batched oneway invocations.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use floe::codegen::OperationInfo;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{
    Communicator, Context, Dispatcher, InvokeError, LocalError, OperationMode, Proxy, TypedProxy,
};

use crate::blocking;
use crate::echo::{NOTHING, Server, returned, soon};

async fn send(proxy: &Proxy, count: usize) {
    for _ in 0..count {
        let sent = proxy.invoke("echo", OperationMode::Normal, &NOTHING).await;
        assert!(matches!(sent, Ok(None)), "{sent:?}");
    }
}

#[tokio::test]
async fn oneway_requests_arrive_in_order_before_a_later_twoway() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    soon(send(&proxy.ice_oneway(), 1_000)).await;
    proxy.ice_ping().await.unwrap();
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 1_000);
}

/// The runtime has one thread, so no task of the client runs while this one blocks.
#[tokio::test]
async fn oneway_requests_leave_although_their_task_goes_on_without_a_wait() {
    let server = blocking::Server::start();
    let endpoint = &server.adapter.endpoints()[0];
    let client = Communicator::new();
    let proxy: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
    proxy.ice_ping().await.unwrap();
    for round in 1..=20 {
        soon(send(&proxy.ice_oneway(), 11)).await;
        blocking::until(|| server.echo_count() == 11 * round);
    }
    server.communicator.shutdown();
}

#[tokio::test]
async fn a_batch_waits_for_its_flush() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let batch = proxy.ice_batch_oneway();
    soon(send(&batch, 100)).await;
    proxy.ice_ping().await.unwrap();
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 0);
    batch.ice_flush_batch().await.unwrap();
    proxy.ice_ping().await.unwrap();
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 100);
    batch.ice_flush_batch().await.unwrap();
}

#[tokio::test]
async fn a_batch_that_reaches_its_limit_leaves_by_itself() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let batch = proxy.ice_batch_oneway();
    let parameters = crate::echo::encapsulation(&[0; 100_000]);
    for _ in 0..25 {
        batch
            .invoke("echo", OperationMode::Normal, &parameters)
            .await
            .unwrap();
    }
    proxy.ice_ping().await.unwrap();
    let arrived = server.echo.echo_count.load(Ordering::SeqCst);
    assert_eq!(arrived, 20, "two batches of ten fit into 1 MiB each");
    batch.ice_flush_batch().await.unwrap();
    returned(&proxy, "count", &NOTHING).await.unwrap();
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 25);
}

/// Notes operation, mode and context of each request.
#[derive(Default)]
struct Heads(Mutex<Vec<(String, OperationMode, Option<String>)>>);

impl Dispatcher for Heads {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Heads {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let current = request.current();
        let value = current.context().get("key").cloned();
        let head = (current.operation().to_owned(), current.mode(), value);
        self.0.lock().unwrap().push(head);
        Box::pin(async move { request.returned_nothing() })
    }
}

/// The head of the operation invoked last is kept: it must not be that of another one, nor of another
/// context.
#[tokio::test]
async fn each_request_of_a_batch_has_its_own_head() {
    const fn operation(name: &'static str, mode: OperationMode) -> OperationInfo {
        OperationInfo {
            name,
            mode,
            returns_data: false,
        }
    }
    const RUN: OperationInfo = operation("run", OperationMode::Normal);
    const LOOK: OperationInfo = operation("look", OperationMode::Idempotent);

    let server = Server::start().await;
    let heads = Arc::new(Heads::default());
    server.adapter.add("heads", heads.clone()).unwrap();
    let client = Communicator::new();
    let plain = server.proxy_of(&client, "heads").ice_batch_oneway();
    let own: Context = [("key".to_owned(), "own".to_owned())].into();
    let proxies = [plain.clone(), plain.ice_context(own)];
    let mut expected = Vec::new();
    for proxy in &proxies {
        for shared in [None, Some("shared"), None] {
            match shared {
                Some(value) => client.implicit_context().put("key", value),
                None => client.implicit_context().remove("key"),
            };
            for operation in [&RUN, &RUN, &LOOK, &RUN, &LOOK, &LOOK] {
                let call = proxy.call::<(), InvokeError>(
                    operation,
                    |encoder| encoder.bytes(&[]),
                    |_| Ok(()),
                );
                soon(call).await.unwrap();
                let value = proxy.context().get("key").map(String::as_str).or(shared);
                let value = value.map(str::to_owned);
                expected.push((operation.name.to_owned(), operation.mode, value));
            }
        }
        soon(proxy.ice_flush_batch()).await.unwrap();
        soon(proxy.ice_twoway().ice_ping()).await.unwrap();
        expected.push(("ice_ping".to_owned(), OperationMode::BUILTIN, None));
        if let Some((_, _, value)) = expected.last_mut() {
            *value = proxy.context().get("key").cloned();
        }
    }
    assert_eq!(*heads.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn an_operation_that_returns_data_needs_a_twoway_proxy() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let batch = proxy.ice_batch_oneway();
    soon(send(&batch, 1)).await;
    for sending in [&proxy.ice_oneway(), &batch, &batch] {
        let error = soon(sending.ice_id()).await.unwrap_err();
        assert!(
            matches!(
                error,
                InvokeError::NotDispatched(LocalError::NotTwoway { .. })
            ),
            "{error}"
        );
    }
    soon(batch.ice_flush_batch()).await.unwrap();
}
