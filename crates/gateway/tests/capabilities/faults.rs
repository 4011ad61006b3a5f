//! Clients, gateways and back ends that die: what was on its way fails, and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::dispatch::{DispatchSlot, Requests};
use floe::{
    Communicator, Dispatcher, InvokeError, OperationMode, Proxy, SystemException, TypedProxy,
};
use floe_gateway::{Gateway, GatewaySettings, PasswordVerifier};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::forwarding::{REQUEST, accept, next_message};
use crate::resumption::{Slow, Survivor};
use crate::world::{NOTHING, World, call, soon};

/// How long a session waits for a client that will not come back.
const GRACE: Duration = Duration::from_millis(50);

fn is_lost(result: &Result<(), InvokeError>) -> bool {
    matches!(
        result,
        Err(InvokeError::System(SystemException::UnknownLocalException(text)))
            if text.contains("ConnectionLost")
    )
}

#[tokio::test]
async fn a_back_end_that_dies_fails_its_requests_and_no_others() {
    for buffered in [true, false] {
        let world = World::with(|settings| settings.to_servers.buffered = buffered).await;
        let client = world.client().await;
        let victim = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = victim.local_addr().unwrap().port();
        let object: Proxy = client
            .communicator
            .proxy(&format!("victim:tcp -h 127.0.0.1 -p {port}"))
            .unwrap();
        let object = client.routed(&object).await.unwrap();
        let waiting = tokio::spawn(async move { call(&object, "op").await });
        let mut stream = soon(accept(&victim)).await;
        assert_eq!(soon(next_message(&mut stream)).await.0, REQUEST);
        drop((stream, victim));
        let failed = soon(waiting).await.unwrap();
        assert!(is_lost(&failed), "{failed:?}");
        let good = client.routed(&world.back_end.object("good")).await;
        call(&good.unwrap(), "after").await.expect("it is served");
        assert_eq!(world.gateway.status().sessions, 1);
        world.shut_down().await;
    }
}

/// Fails the first request, by an exception or with its connection.
struct FailsFirst {
    breaks_connection: bool,
    call_count: AtomicUsize,
}

impl Dispatcher for FailsFirst {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let is_first = self.call_count.fetch_add(1, Ordering::Relaxed) == 0;
            if is_first && self.breaks_connection {
                let connection = request.current().connection();
                connection.expect("the gateway is elsewhere").abort();
            }
            std::future::ready(match is_first {
                true => Err(SystemException::UnknownException("the first".to_owned())),
                false => request.returned_nothing(),
            })
        });
    }
}

#[tokio::test]
async fn an_idempotent_request_that_fails_is_sent_once_more_as_by_glacier2() {
    for buffered in [true, false] {
        let world = World::with(|settings| settings.to_servers.buffered = buffered).await;
        let client = world.client().await;
        let cases = [false, true].map(|breaks| {
            [OperationMode::Normal, OperationMode::Idempotent].map(|mode| (breaks, mode))
        });
        for (breaks_connection, mode) in cases.into_iter().flatten() {
            let servant = Arc::new(FailsFirst {
                breaks_connection,
                call_count: AtomicUsize::new(0),
            });
            let name = format!("{breaks_connection} {mode:?}");
            let object = world.back_end.adapter.add(&*name, servant.clone());
            let object = client.routed(&object.expect("new")).await.unwrap();
            let called = soon(object.invoke("op", mode, NOTHING)).await.map(drop);
            let count = servant.call_count.load(Ordering::Relaxed);
            match mode.is_idempotent() {
                true => assert_eq!((called.is_ok(), count), (true, 2), "{name}: {called:?}"),
                false => assert_eq!((called.is_ok(), count), (false, 1), "{name}"),
            }
        }
        world.shut_down().await;
    }
}

#[tokio::test]
async fn oneway_requests_that_cannot_be_sent_are_counted_as_lost() {
    for buffered in [true, false] {
        let world = World::with(|settings| settings.to_servers.buffered = buffered).await;
        let client = world.client().await;
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = closed.local_addr().unwrap().port();
        drop(closed);
        let text = format!("o:tcp -h 127.0.0.1 -p {port}");
        let object: Proxy = client.communicator.proxy(&text).unwrap();
        let object = client.routed(&object).await.unwrap();
        call(&object.ice_oneway(), "op")
            .await
            .expect("it is oneway");
        soon(async {
            while world.gateway.status().lost < 1 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        world.shut_down().await;
    }
}

#[tokio::test]
async fn a_client_that_dies_leaves_no_caller_waiting() {
    let world = World::with(|settings| settings.resume_grace = Some(GRACE)).await;
    let survivor = Survivor::start(&world).await;
    let servant = Arc::new(Slow::default());
    let callback = survivor.callback_to(&world, servant.clone()).await;
    let waiting = tokio::spawn(async move { call(&callback, "op").await });
    soon(servant.entered.notified()).await;
    // It goes without a word, and does not come back.
    let connection = survivor.connection().await.expect("it is connected");
    drop(survivor.session);
    connection.abort();
    let failed = soon(waiting).await.unwrap();
    assert!(is_lost(&failed), "{failed:?}");
    let status = world.gateway.status();
    assert_eq!((status.sessions, status.queued), (0, 0));
    world.shut_down().await;
}

#[tokio::test]
async fn a_gateway_that_dies_ends_its_sessions_and_repeats_nothing() {
    let runtime = Runtime::new().unwrap();
    let world = World::on(&runtime).await;
    let servant = Arc::new(Slow::default());
    world.back_end.adapter.add("slow", servant.clone()).unwrap();
    let survivor = Survivor::start(&world).await;
    let slow = survivor.routed(&world, "slow");
    let waiting = tokio::spawn(async move { call(&slow, "op").await });
    soon(servant.entered.notified()).await;
    let endpoints = world.gateway.client_endpoints();
    let back_end = world.kill(runtime);
    let communicator = Communicator::new();
    let restarted = soon(restart(&communicator, &endpoints)).await;
    // The new gateway does not know the session.
    let reason = soon(survivor.session.lost()).await;
    assert!(reason.contains("session not resumed"), "{reason}");
    soon(waiting).await.unwrap().expect_err("nobody knows it");
    assert_eq!(servant.calls.operations(), ["op"]);
    servant.leave.notify_one();
    soon(restarted.shutdown()).await;
    soon(communicator.shutdown()).await;
    soon(back_end.communicator.shutdown()).await;
}

/// Starts a gateway where another one was, as soon as the system gives its port away.
async fn restart(communicator: &Communicator, endpoints: &str) -> Gateway {
    loop {
        let mut settings = GatewaySettings::new(endpoints);
        settings.password_verifier = Some(PasswordVerifier::AcceptAll);
        match Gateway::start(communicator, settings).await {
            Ok(gateway) => return gateway,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}
