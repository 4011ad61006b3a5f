//! Oneway and batched oneway invocations.

use std::sync::atomic::Ordering;

use floe::{InvokeError, LocalError, OperationMode, Proxy, TypedProxy};

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

#[tokio::test]
async fn an_operation_that_returns_data_needs_a_twoway_proxy() {
    let server = Server::start().await;
    let error = soon(server.proxy("echo").ice_oneway().ice_id())
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            InvokeError::NotDispatched(LocalError::NotTwoway { .. })
        ),
        "{error}"
    );
}
