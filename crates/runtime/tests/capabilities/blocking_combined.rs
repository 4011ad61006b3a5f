//! The blocking API together with the rest: compression, interceptors, TLS, calls within one
//! communicator, and calls back.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use floe::blocking::{Communicator, Wait};
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::settings::Compression;
use floe::{
    Dispatcher, Identity, InvokeError, OperationMode, Proxy, Settings, SystemException, TypedProxy,
};

use crate::bidirectional::CallsBack;
use crate::blocking::{Server, returned, soon, until};
use crate::compression::listen_in;
use crate::echo::{Echo, NOTHING, encapsulation};
use crate::intercepting::Noted;
use crate::transports;

/// Long enough to be compressed, and no longer: bzip2 takes its time, above all unoptimised.
fn long() -> Vec<u8> {
    encapsulation(&b"again and ".repeat(100))
}

fn compressed_both_ways(compression: Compression) {
    soon(move || {
        let mut settings = Settings::default();
        settings.compressions = vec![compression];
        let server = Server::with_settings(settings);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let to = server.adapter.endpoints()[0].port().unwrap();
        let (port, heard) = runtime.block_on(listen_in(to));
        let published = format!("tcp -h 127.0.0.1 -p {port}");
        server.adapter.publish(&published).unwrap();
        let text = server.adapter.proxy(Identity::new("echo")).to_string();
        let client = Communicator::new();
        let proxy: Proxy = client.proxy(&text).unwrap();
        let proxy = proxy.ice_compression(compression);
        for _ in 0..5 {
            assert_eq!(returned(&proxy, "echo", &long()).unwrap(), long());
            assert_eq!(returned(&proxy, "slow", &long()).unwrap(), long());
            assert_eq!(returned(&proxy, "echo", &NOTHING).unwrap(), NOTHING);
        }
        for statuses in heard.statuses() {
            let count = statuses
                .iter()
                .filter(|it| **it == compression.compressed())
                .count();
            assert!(count >= 10, "{statuses:?}");
        }
        assert_eq!(server.echo_count(), 10);
        client.shutdown();
        server.communicator.shutdown();
    });
}

#[test]
fn calls_without_async_are_compressed_both_ways() {
    compressed_both_ways(Compression::Bzip2);
}

#[test]
fn calls_without_async_are_compressed_as_only_floe_does() {
    compressed_both_ways(Compression::Zstd);
    compressed_both_ways(Compression::ZstdStream);
}

#[test]
fn threads_share_a_compressed_connection_without_async() {
    soon(|| {
        let mut settings = Settings::default();
        settings.compressions = vec![Compression::ZstdStream];
        let server = Server::with_settings(settings);
        let text = server.adapter.proxy(Identity::new("echo")).to_string();
        let client = Communicator::new();
        let proxy: Proxy = client.proxy(&text).unwrap();
        let proxy = proxy.ice_compression(Compression::ZstdStream);
        let threads: Vec<_> = (0..4u8)
            .map(|number| {
                let proxy = proxy.clone();
                thread::spawn(move || {
                    for len in 0..200 {
                        let sent = encapsulation(&vec![number; 100 + len * 7]);
                        assert_eq!(returned(&proxy, "echo", &sent).unwrap(), sent);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(server.echo_count(), 800);
    });
}

#[test]
fn interceptors_wrap_calls_without_async_on_both_sides() {
    soon(|| {
        let server = Server::start();
        let notes = Arc::new(Mutex::new(Vec::new()));
        let mut settings = Settings::default();
        settings.interceptors.push(Noted("a", notes.clone()));
        let client = Communicator::with_settings(settings);
        let proxy = server.proxy_of(&client);
        let sent = encapsulation(b"wrapped");
        // Calls are wrapped even if their dispatcher was called before.
        assert_eq!(returned(&proxy, "echo", &sent).unwrap(), sent);
        server.adapter.intercept(Noted("b", notes.clone()));
        assert_eq!(returned(&proxy, "echo", &sent).unwrap(), sent);
        assert_eq!(returned(&proxy, "slow", &sent).unwrap(), sent);
        let around = "begin a, begin b, end b, end a";
        let expected = format!("begin a, end a, {around}, {around}");
        assert_eq!(notes.lock().unwrap().join(", "), expected);
    });
}

#[test]
fn an_interceptor_sees_what_each_request_in_a_row_did_not_find() {
    soon(|| {
        let server = Server::start();
        server
            .adapter
            .intercept(Noted("around", Arc::new(Mutex::new(Vec::new()))));
        let client = Communicator::new();
        let endpoint = &server.adapter.endpoints()[0];
        let nobody: Proxy = client.proxy(&format!("nobody:{endpoint}")).unwrap();
        nobody.connect().wait().unwrap();
        let operations = ["one", "two", "three", "four"];
        // Sent together, so that the server finds them in one read.
        let calls = operations.map(|operation| {
            let nobody = nobody.clone();
            async move {
                nobody
                    .invoke(operation, OperationMode::Normal, &NOTHING)
                    .await
            }
        });
        let all = async {
            let [one, two, three, four] = calls;
            tokio::join!(one, two, three, four)
        };
        let (one, two, three, four) = all.wait();
        for (operation, result) in operations.iter().zip([one, two, three, four]) {
            let told = match &result {
                Ok(Some(Outcome::System(SystemException::ObjectNotExist(failed))))
                | Err(InvokeError::System(SystemException::ObjectNotExist(failed))) => failed,
                other => panic!("{operation}: {other:?}"),
            };
            assert_eq!(told.operation, *operation);
            assert_eq!(told.identity.name, "nobody");
        }
    });
}

#[test]
fn calls_without_async_are_encrypted() {
    soon(|| {
        let server = Server::at("ssl -h 127.0.0.1 -p 0", transports::settings());
        let client = Communicator::with_settings(transports::settings());
        let proxy = server.proxy_of(&client);
        for len in [0, 10, 1_000, 100_000, 900_000] {
            let sent = encapsulation(&vec![7; len]);
            let proxy = proxy.ice_timeout(Some(Duration::from_secs(20)));
            assert_eq!(returned(&proxy, "echo", &sent).unwrap(), sent);
        }
        assert_eq!(returned(&proxy, "slow", &NOTHING).unwrap(), NOTHING);
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        assert!(connection.info().cipher.is_some());
        client.shutdown();
        server.communicator.shutdown();
    });
}

#[test]
fn calls_within_a_communicator_without_async_skip_the_wire() {
    soon(|| {
        let server = Server::start();
        let proxy = server.proxy_of(&server.communicator);
        let peer = returned(&proxy, "peer", &NOTHING).unwrap();
        assert!(peer.ends_with(b"collocated"), "{peer:?}");
        // A dispatch that waits becomes a task, and the thread waits for the task.
        assert_eq!(returned(&proxy, "slow", &NOTHING).unwrap(), NOTHING);
        let hasty = proxy.ice_timeout(Some(Duration::from_millis(5)));
        let slow = hasty.invoke("slow", OperationMode::Normal, &NOTHING).wait();
        assert!(
            matches!(slow, Err(InvokeError::PerhapsDispatched(_))),
            "{slow:?}"
        );
        let panic = returned(&proxy, "panic", &NOTHING);
        assert!(matches!(panic, Err(InvokeError::System(_))), "{panic:?}");
    });
}

/// Asks another object, and answers with what that says.
struct Asks(Proxy);

impl Dispatcher for Asks {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Asks {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let parameters = request.parameters();
            let asked = self.0.invoke("slow", OperationMode::Normal, &parameters);
            match asked.await {
                Ok(Some(outcome)) => request.respond(&outcome),
                other => Err(SystemException::UnknownException(format!("{other:?}"))),
            }
        })
    }
}

#[test]
fn a_servant_called_here_may_wait_for_one_elsewhere() {
    soon(|| {
        let elsewhere = Server::start();
        let server = Server::start();
        let asks = Asks(elsewhere.proxy_of(&server.communicator));
        let proxy = server.adapter.add("asks", asks).unwrap();
        let sent = encapsulation(b"passed on");
        for _ in 0..3 {
            assert_eq!(returned(&proxy, "ask", &sent).unwrap(), sent);
        }
    });
}

#[test]
fn a_server_calls_a_client_without_async_back_during_a_call() {
    soon(|| {
        let server = Server::start();
        let calls_back = Arc::new(CallsBack::default());
        server.adapter.add("back", calls_back).unwrap();
        let client = Communicator::new();
        let endpoint = &server.adapter.endpoints()[0];
        let proxy: Proxy = client.proxy(&format!("back:{endpoint}")).unwrap();
        let sent = encapsulation(b"there and back");
        let nobody = returned(&proxy, "op", &sent);
        assert!(matches!(nobody, Err(InvokeError::System(_))), "{nobody:?}");

        let adapter = client.adapter_without_endpoints().unwrap();
        let echo = Arc::new(Echo::default());
        adapter.add("callback", echo.clone()).unwrap();
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        connection.set_adapter(Some(&adapter));
        for _ in 0..100 {
            assert_eq!(returned(&proxy, "op", &sent).unwrap(), sent);
        }
        assert_eq!(echo.echo_count.load(Ordering::SeqCst), 100);
        let info = connection.info();
        assert_eq!((info.transport, info.is_incoming), ("tcp", false));
        assert!(info.local_address.is_some() && info.remote_address.is_some());

        // The other adapter has no such object: what was found before is forgotten.
        let other = client.adapter_without_endpoints().unwrap();
        connection.set_adapter(Some(&other));
        assert!(returned(&proxy, "op", &sent).is_err());
    });
}

#[test]
fn a_client_without_async_is_called_back_soon_while_it_does_something_else() {
    soon(|| {
        let server = Server::start();
        let calls_back = Arc::new(CallsBack::default());
        server.adapter.add("back", calls_back.clone()).unwrap();
        let client = Communicator::new();
        let endpoint = &server.adapter.endpoints()[0];
        let proxy: Proxy = client.proxy(&format!("back:{endpoint}")).unwrap();
        let adapter = client.adapter_without_endpoints().unwrap();
        let echo = Arc::new(Echo::default());
        adapter.add("callback", echo.clone()).unwrap();
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        connection.set_adapter(Some(&adapter));
        let sent = encapsulation(b"back");
        assert_eq!(returned(&proxy, "op", &sent).unwrap(), sent);

        let kept = calls_back.connection.lock().unwrap().clone().unwrap();
        let back = kept.proxy(Identity::new("callback"));
        let start = Instant::now();
        for _ in 0..100 {
            assert_eq!(returned(&back, "echo", &sent).unwrap(), sent);
        }
        // None waits for what comes only now and then: a tenth of a second each would be twice as long.
        let took = start.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
        let compressed = back.ice_compress(true);
        assert_eq!(returned(&compressed, "echo", &long()).unwrap(), long());
        until(|| echo.echo_count.load(Ordering::SeqCst) == 102);
    });
}

#[test]
fn a_shutdown_from_any_thread_lets_the_rest_of_a_batch_find_its_servants() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let batch = server.proxy_of(&client).ice_batch_oneway();
        for operation in ["echo", "slow", "echo"] {
            let invocation = batch.invoke(operation, OperationMode::Normal, &NOTHING);
            assert_eq!(invocation.wait().unwrap(), None);
        }
        batch.flush_batch().wait().unwrap();
        until(|| server.echo_count() > 0);
        let communicator = server.communicator.clone();
        // One that has never been in a runtime.
        thread::spawn(move || communicator.begin_shutdown())
            .join()
            .unwrap();
        server.communicator.wait_for_shutdown();
        assert_eq!(server.echo_count(), 2);
    });
}

/// Asks a servant, itself once it has one, as often as the first parameter says, and blocks.
#[derive(Default)]
struct Descends(std::sync::OnceLock<Proxy>);

impl Dispatcher for Descends {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Descends {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let left = request.parameters()[6];
            if left > 0 {
                let proxy = self.0.get().unwrap();
                returned(proxy, "echo", &encapsulation(&[left - 1])).unwrap();
            }
            request.returned_nothing()
        })
    }
}

#[test]
fn servants_that_wait_for_servants_here_may_be_any_number() {
    soon(|| {
        let server = Server::start();
        let descends = Arc::new(Descends::default());
        let proxy = server.adapter.add("descends", descends.clone()).unwrap();
        descends.0.set(proxy.clone()).unwrap();
        returned(&proxy, "op", &encapsulation(&[100])).unwrap();
    });
}

#[test]
fn a_servant_in_the_background_may_connect_elsewhere_and_wait() {
    soon(|| {
        let elsewhere = Server::start();
        let mut settings = Settings::default();
        settings.thread_limit = 0;
        let server = Server::with_settings(settings);
        let descends = Descends::default();
        let there = elsewhere.proxy_of(&server.communicator);
        descends.0.set(there).unwrap();
        let proxy = server.adapter.add("descends", descends).unwrap();
        let client = Communicator::new();
        let proxy = client.proxy_from(proxy.reference().clone());
        let relayed = returned(&proxy, "op", &encapsulation(&[1]));
        assert!(relayed.is_ok(), "{relayed:?}");
    });
}

/// Blocks its thread for a call back over the connection that the request came over.
struct BlocksForItself;

impl Dispatcher for BlocksForItself {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl BlocksForItself {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let connection = request.current().connection().expect("over the wire");
        let back = connection.proxy(Identity::new("callback"));
        let result = back.ice_ping().wait();
        let text = result.expect_err("nobody could read it").to_string();
        let response = request.returned(|encoder| encoder.string(&text));
        Box::pin(async move { response })
    }
}

/// Returns the error that a servant gets if it blocks on a call to itself.
fn told(proxy: &Proxy) -> String {
    let results = returned(proxy, "op", &NOTHING).unwrap();
    String::from_utf8_lossy(&results[7..]).into_owned()
}

#[test]
fn a_servant_that_waits_for_its_own_reader_is_told_so_at_once() {
    soon(|| {
        let server = Server::start();
        server
            .adapter
            .add("blocks", Arc::new(BlocksForItself))
            .unwrap();
        let client = Communicator::new();
        let endpoint = &server.adapter.endpoints()[0];
        let proxy: Proxy = client.proxy(&format!("blocks:{endpoint}")).unwrap();
        let text = told(&proxy);
        assert!(text.contains("this thread is the one that reads"), "{text}");
        // The connection goes on.
        assert_eq!(told(&proxy), text);
    });
}

#[test]
fn a_called_back_client_that_waits_for_its_own_reader_is_told_so_at_once() {
    soon(|| {
        // The peer calls back from async code, over the connection that the client's thread reads.
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(crate::echo::Server::start());
        let calls_back = Arc::new(CallsBack::default());
        server.adapter.add("back", calls_back).unwrap();
        let endpoint = &server.adapter.endpoints()[0];
        let client = Communicator::new();
        let adapter = client.adapter_without_endpoints().unwrap();
        adapter.add("callback", Arc::new(BlocksForItself)).unwrap();
        let proxy: Proxy = client.proxy(&format!("back:{endpoint}")).unwrap();
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        connection.set_adapter(Some(&adapter));
        let text = told(&proxy);
        assert!(text.contains("this thread is the one that reads"), "{text}");
    });
}

#[test]
fn a_client_that_has_just_called_shuts_down_at_once() {
    soon(|| {
        let server = Server::start();
        let mut slow_count = 0;
        for _ in 0..20 {
            let client = Communicator::new();
            let proxy = server.proxy_of(&client);
            returned(&proxy, "echo", &NOTHING).unwrap();
            let start = Instant::now();
            client.shutdown();
            slow_count += usize::from(start.elapsed() >= Duration::from_millis(90));
        }
        // As long as a connection is not watched after a call; a busy machine may be slow, too.
        assert!(slow_count <= 2, "{slow_count} of 20 took long");
    });
}
