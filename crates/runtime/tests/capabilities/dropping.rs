//! Values that users give to the runtime are dropped without a lock held, so their drop may call the runtime.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Adapter, Communicator, Connection, Dispatcher, TypedProxy};

use crate::echo::{Server, soon};

/// Looks at its adapter when it goes.
struct Curious(Adapter);

impl Dispatcher for Curious {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Curious {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move { request.returned_nothing() })
    }
}

impl Drop for Curious {
    fn drop(&mut self) {
        let identity = "another".parse().expect("an identity");
        assert!(self.0.find(&identity, "").is_none());
        self.0.remove(&identity, "");
    }
}

/// Runs on a thread of its own, which a lock that is never free does not keep from being given up.
fn within_time(run: impl FnOnce() + Send + 'static) {
    let (sender, done) = channel();
    let running = thread::spawn(move || {
        run();
        // The test no longer waits if it took too long.
        let _ = sender.send(());
    });
    let waited = done.recv_timeout(Duration::from_secs(20));
    assert_ne!(waited, Err(RecvTimeoutError::Timeout), "it hangs");
    running.join().expect("no panic");
}

#[tokio::test]
async fn a_servant_that_goes_may_look_at_its_adapter() {
    let server = Server::start().await;
    let adapter = server.adapter.clone();
    within_time(move || {
        let curious = || Curious(adapter.clone());
        adapter.add("curious", curious()).expect("new");
        adapter.add("curious", curious()).expect_err("it is there");
        adapter.add_default("some", curious()).expect("new");
        adapter
            .add_default("some", curious())
            .expect_err("it is there");
        assert!(adapter.remove(&"curious".parse().expect("an identity"), ""));
        assert!(adapter.remove_default("some"));
    });
    soon(server.communicator.shutdown()).await;
}

/// Listens anew when it goes.
struct Stubborn(Connection);

impl Drop for Stubborn {
    fn drop(&mut self) {
        self.0.on_heartbeat(|_| ());
    }
}

#[tokio::test]
async fn a_listener_that_goes_may_be_followed_by_another_one() {
    let server = Server::start().await;
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "echo");
    let connection = soon(proxy.ice_connection()).await.unwrap();
    let connection = connection.expect("over the wire");
    let listen = |connection: &Connection| {
        let stubborn = Stubborn(connection.clone());
        connection.on_heartbeat(move |_| {
            let _held = &stubborn;
        });
    };
    let own = connection.clone();
    within_time(move || {
        listen(&own);
        listen(&own);
    });
    let own = connection.clone();
    within_time(move || own.abort());
    soon(connection.closed()).await;
}
