//! Connections as users see them: calls back over them, what is known of them, their close.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{
    Communicator, Connection, Dispatcher, EncodeError, Identity, InvokeError, LocalError,
    OperationMode, Proxy, SystemException, TypedProxy,
};

use crate::echo::{Echo, NOTHING, Server, encapsulation, returned, soon};

/// Calls the object `callback` of its caller, and keeps the connection.
#[derive(Default)]
pub(crate) struct CallsBack {
    pub(crate) connection: Mutex<Option<Connection>>,
}

impl Dispatcher for CallsBack {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl CallsBack {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let connection = request.current().connection().expect("over the wire");
            *self.connection.lock().expect("unpoisoned") = Some(connection.clone());
            let identity = Identity::new("callback");
            let parameters = request.parameters();
            let back = connection.proxy(identity);
            let result = back
                .invoke("echo", OperationMode::Normal, &parameters)
                .await;
            match result {
                Ok(Some(outcome)) => request.respond(&outcome),
                Ok(None) => request.returned_nothing(),
                Err(InvokeError::System(exception)) => Err(exception),
                Err(error) => Err(SystemException::UnknownLocalException(error.to_string())),
            }
        })
    }
}

#[tokio::test]
async fn a_server_calls_its_client_back_over_the_same_connection() {
    let server = Server::start().await;
    let calls_back = Arc::new(CallsBack::default());
    server
        .adapter
        .add("back", calls_back.clone())
        .expect("a new identity");
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "back");
    let sent = encapsulation(b"there and back");

    let nobody = returned(&proxy, "op", &sent).await;
    assert!(
        matches!(&nobody, Err(InvokeError::System(SystemException::ObjectNotExist(failed)))
            if failed.identity.name == "callback"),
        "{nobody:?}"
    );

    let adapter = client
        .adapter_without_endpoints()
        .await
        .expect("an adapter");
    let echo = Arc::new(Echo::default());
    adapter.add("callback", echo.clone()).expect("new");
    let connection = proxy.ice_connection().await.expect("connected");
    let connection = connection.expect("a connection");
    connection.set_adapter(Some(&adapter));
    assert!(connection.adapter().is_some());
    assert_eq!(returned(&proxy, "op", &sent).await.expect("ok"), sent);
    assert_eq!(echo.echo_count.load(Ordering::SeqCst), 1);

    connection.set_adapter(None);
    assert!(returned(&proxy, "op", &sent).await.is_err());
}

#[tokio::test]
async fn a_fixed_proxy_uses_its_connection_alone_and_never_travels() {
    let server = Server::start().await;
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "echo");
    let connection = proxy.ice_connection().await.expect("connected");
    let connection = connection.expect("a connection");
    let fixed = proxy.ice_fixed(&connection);
    assert!(fixed.is_fixed());
    fixed.ice_ping().await.expect("a ping");

    let mut buffer = Vec::new();
    let mut encoder = floe::encoding::Encoder::new(&mut buffer, floe::EncodingVersion::V1_1);
    encoder.put(&Some(fixed.clone()));
    assert!(matches!(encoder.finish(), Err(EncodeError::FixedProxy)));

    soon(connection.close()).await;
    let result = fixed.ice_ping().await;
    assert!(
        matches!(result, Err(InvokeError::NotDispatched(_))),
        "{result:?}"
    );
    proxy.ice_ping().await.expect("the other proxy reconnects");
    assert_ne!(proxy.ice_cached_connection(), Some(connection));
}

#[tokio::test]
async fn a_connection_tells_its_addresses_on_both_sides() {
    let server = Server::start().await;
    let calls_back = Arc::new(CallsBack::default());
    server
        .adapter
        .add("back", calls_back.clone())
        .expect("a new identity");
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "back");
    let ours = proxy.ice_connection().await.expect("connected");
    let ours = ours.expect("a connection").info();
    let _ = returned(&proxy, "op", &NOTHING).await;
    let theirs = calls_back.connection.lock().expect("unpoisoned").clone();
    let theirs = theirs.expect("called").info();
    assert!(!ours.is_incoming && theirs.is_incoming);
    assert_eq!(ours.transport, "tcp");
    assert!(ours.local_address.is_some());
    assert_eq!(ours.local_address, theirs.remote_address);
    assert_eq!(ours.remote_address, theirs.local_address);
}

#[tokio::test]
async fn a_connection_knows_its_addresses_after_its_end() {
    let server = Server::start().await;
    let calls_back = Arc::new(CallsBack::default());
    let added = server.adapter.add("back", calls_back.clone());
    added.expect("a new identity");
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "back");
    let _ = returned(&proxy, "op", &NOTHING).await;
    let ours = proxy.ice_cached_connection().expect("a connection");
    let theirs = calls_back.connection.lock().expect("unpoisoned").clone();
    let theirs = theirs.expect("called");
    let before = [ours.info(), theirs.info()];
    assert!(before.iter().all(|info| info.remote_address.is_some()));
    ours.abort();
    soon(theirs.closed()).await;
    assert_eq!([ours.info(), theirs.info()], before);
}

#[tokio::test]
async fn whoever_asked_hears_of_the_close_once() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let connection = proxy.ice_connection().await.expect("connected");
    let connection = connection.expect("a connection");
    let count = Arc::new(AtomicUsize::new(0));
    let (sender, closed) = tokio::sync::oneshot::channel();
    let counted = count.clone();
    connection.on_close(move |connection| {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = sender.send(connection.is_active());
    });
    server.adapter.deactivate();
    assert!(!soon(closed).await.expect("called"));
    soon(connection.closed()).await;
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_the_application_drops_is_not_retried() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let connection = proxy.ice_connection().await.expect("connected");
    let connection = connection.expect("a connection");
    let call = tokio::spawn({
        let proxy: Proxy = proxy.clone();
        async move {
            proxy
                .invoke("late", OperationMode::Idempotent, &NOTHING)
                .await
        }
    });
    server.has_begun(1).await;
    connection.abort();
    let result = soon(call).await.expect("no panic");
    assert!(
        matches!(
            result,
            Err(InvokeError::PerhapsDispatched(
                LocalError::ClosedHere { .. }
            ))
        ),
        "{result:?}"
    );
}

/// Calls `callback` of its peer with one less than it was called with, until that is nothing.
#[derive(Default)]
struct CountsDown;

impl Dispatcher for CountsDown {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl CountsDown {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let parameters = request.parameters();
            let depth = i32::from_le_bytes(parameters[6..10].try_into().expect("an int"));
            if depth == 0 {
                return request.returned_nothing();
            }
            let connection = request.current().connection().expect("over the wire");
            let peer = connection.proxy(Identity::new("down"));
            let less = encapsulation(&(depth - 1).to_le_bytes());
            let result = peer.invoke("down", OperationMode::Normal, &less).await;
            match result {
                Ok(_) => request.returned_nothing(),
                Err(InvokeError::System(exception)) => Err(exception),
                Err(error) => Err(SystemException::UnknownLocalException(error.to_string())),
            }
        })
    }
}

#[tokio::test]
async fn calls_that_nest_deeper_than_the_limit_end_with_an_error_that_says_so() {
    let mut settings = floe::Settings::default();
    settings.dispatch_limit = 4;
    settings.dispatch_stall_timeout = std::time::Duration::from_millis(50);
    let server = Server::with_settings(settings.clone()).await;
    server
        .adapter
        .add("down", Arc::new(CountsDown))
        .expect("new");
    let client = Communicator::with_settings(settings);
    let adapter = client.adapter_without_endpoints().await.expect("local");
    adapter.add("down", Arc::new(CountsDown)).expect("new");
    let proxy = server.proxy_of(&client, "down");
    let connection = proxy.ice_connection().await.expect("connected");
    connection
        .expect("a connection")
        .set_adapter(Some(&adapter));

    let enough = encapsulation(&7_i32.to_le_bytes());
    soon(returned(&proxy, "down", &enough))
        .await
        .expect("within the limit");
    let too_deep = encapsulation(&100_i32.to_le_bytes());
    let refused = soon(returned(&proxy, "down", &too_deep)).await;
    let Err(InvokeError::System(SystemException::UnknownException(text))) = refused else {
        panic!("expected a refusal, got {refused:?}");
    };
    assert!(text.contains("dispatch_limit"), "{text}");
    soon(returned(&proxy, "down", &enough))
        .await
        .expect("it works on");
}
