//! Limits that are for ever: `Duration::MAX` wherever a duration is asked for.

use std::sync::Arc;
use std::time::Duration;

use floe::blocking::Wait;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::settings::{IdleCheck, Liveness};
use floe::{Communicator, Dispatcher, Settings, TypedProxy, blocking};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::echo::{NOTHING, Server, returned, soon};

fn settings() -> Settings {
    let mut liveness = Liveness::default();
    liveness.heartbeat_interval = Duration::MAX;
    liveness.idle_check = IdleCheck::Always;
    liveness.idle_timeout = Duration::MAX;
    liveness.inactivity_timeout = Some(Duration::MAX);
    let mut settings = Settings::default();
    settings.incoming = liveness.clone();
    settings.outgoing = liveness;
    settings.connect_timeout = Duration::MAX;
    settings.close_timeout = Duration::MAX;
    settings.dispatch_stall_timeout = Duration::MAX;
    settings.invocation_timeout = Some(Duration::MAX);
    settings
}

#[tokio::test]
async fn nothing_is_ended_by_a_limit_that_is_for_ever() {
    let server = Server::with_settings(settings()).await;
    let client = Communicator::with_settings(settings());
    let proxy = server.proxy_of(&client, "echo");
    let proxy = proxy.ice_timeout(Some(Duration::MAX));
    let deadline = floe::pipeline::Deadline::new(Duration::MAX);
    let intercepted = proxy.ice_intercepted(deadline);
    for _ in 0..3 {
        soon(returned(&proxy, "echo", &NOTHING)).await.unwrap();
        soon(returned(&intercepted, "slow", &NOTHING))
            .await
            .unwrap();
    }
    soon(client.shutdown()).await;
    soon(server.communicator.shutdown()).await;
}

#[test]
fn nor_without_async() {
    crate::blocking::soon(|| {
        let server = crate::blocking::Server::with_settings(settings());
        let client = blocking::Communicator::with_settings(settings());
        let proxy = server.proxy_of(&client).ice_timeout(Some(Duration::MAX));
        for operation in ["echo", "slow"] {
            crate::blocking::returned(&proxy, operation, &NOTHING).unwrap();
        }
        proxy.ice_ping().wait().unwrap();
        client.shutdown();
        server.communicator.shutdown();
    });
}

/// Reports the heartbeats of its callers.
struct Listening(UnboundedSender<()>);

impl Dispatcher for Listening {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Listening {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let connection = request.current().connection().expect("over the wire");
        let heartbeats = self.0.clone();
        connection.on_heartbeat(move |_| {
            // The receiver is gone when the test is over.
            let _ = heartbeats.send(());
        });
        Box::pin(async move { request.returned_nothing() })
    }
}

/// One thread keeps the time of all: it must not end over a limit that it cannot add up.
#[tokio::test]
async fn heartbeats_come_again_after_an_interval_that_is_for_ever() {
    let server = Server::with_settings(settings()).await;
    let (sender, mut heartbeats) = unbounded_channel();
    server.adapter.add("listening", Listening(sender)).unwrap();
    let client = Communicator::with_settings(settings());
    let proxy = server.proxy_of(&client, "listening");
    soon(returned(&proxy, "listen", &NOTHING)).await.unwrap();
    let connection = soon(proxy.ice_connection()).await.unwrap();
    let connection = connection.expect("over the wire");
    let mut often = Liveness::default();
    often.heartbeat_interval = Duration::from_millis(20);
    for _ in 0..2 {
        connection.set_liveness(often.clone());
        for _ in 0..3 {
            soon(heartbeats.recv()).await.expect("a heartbeat");
        }
        connection.set_liveness(settings().outgoing);
        // Long enough for the thread to look once more, which is all that it should do.
        tokio::time::sleep(Duration::from_millis(100)).await;
        while heartbeats.try_recv().is_ok() {}
    }
}
