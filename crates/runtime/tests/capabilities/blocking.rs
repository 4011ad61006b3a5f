//! The blocking API: callers that read their replies themselves, and servers with threads.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use floe::blocking::{Communicator, Wait};
use floe::message::Outcome;
use floe::{Adapter, InvokeError, OperationMode, Proxy, Settings, TypedProxy};

use crate::echo::{self, Echo, NOTHING, encapsulation};

/// A blocking server with an echo under the identity `echo`.
pub(crate) struct Server {
    pub(crate) communicator: Communicator,
    pub(crate) adapter: Adapter,
    pub(crate) echo: Arc<Echo>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with_settings(Settings::default())
    }

    pub(crate) fn with_settings(settings: Settings) -> Self {
        Self::at("tcp -h 127.0.0.1 -p 0", settings)
    }

    pub(crate) fn at(endpoint: &str, settings: Settings) -> Self {
        let communicator = Communicator::with_settings(settings);
        let adapter = communicator.adapter(endpoint).unwrap();
        let echo = Arc::new(Echo::default());
        adapter.add("echo", echo.clone()).unwrap();
        adapter.activate();
        Self {
            communicator,
            adapter,
            echo,
        }
    }

    pub(crate) fn proxy_of(&self, client: &Communicator) -> Proxy {
        let endpoint = &self.adapter.endpoints()[0];
        client.proxy(&format!("echo:{endpoint}")).unwrap()
    }

    /// How many of `slow` and `late` were begun.
    pub(crate) fn slow_count(&self) -> usize {
        self.echo.slow_count.load(Ordering::SeqCst)
    }

    pub(crate) fn echo_count(&self) -> usize {
        self.echo.echo_count.load(Ordering::SeqCst)
    }
}

pub(crate) fn returned(
    proxy: &Proxy,
    operation: &str,
    parameters: &[u8],
) -> Result<Vec<u8>, InvokeError> {
    let invocation = proxy.invoke(operation, OperationMode::Normal, parameters);
    match invocation.wait()? {
        Some(Outcome::Returned(bytes)) => Ok(bytes.to_vec()),
        other => panic!("expected results, got {other:?}"),
    }
}

/// Ends a test that hangs: runs it on another thread, and waits for 30 s.
pub(crate) fn soon<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    let running = thread::spawn(move || {
        let result = test();
        // The receiver is gone if it took too long.
        let _ = sender.send(());
        result
    });
    let ended = receiver.recv_timeout(Duration::from_secs(30));
    assert_ne!(
        ended,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout),
        "done within 30 s"
    );
    running
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Waits until something holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(25),
            "it holds within 25 s"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// So many calls, each with another parameter.
pub(crate) fn call_often(proxy: &Proxy, count: i32) {
    for number in 0..count {
        let parameters = encapsulation(&number.to_le_bytes());
        assert_eq!(returned(proxy, "echo", &parameters).unwrap(), parameters);
    }
}

#[test]
fn an_echo_comes_back_without_async() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        call_often(&proxy, 1000);
        assert_eq!(proxy.ice_id().wait().unwrap(), "::Test::Echo");
        client.shutdown();
        server.communicator.shutdown();
    });
}

#[test]
fn polling_on_both_sides_gives_the_same_results() {
    soon(|| {
        let mut settings = Settings::default();
        settings.polling = Duration::from_micros(50);
        let server = Server::with_settings(settings);
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let polling = proxy.ice_polling(Duration::from_micros(100));
        call_often(&polling, 2000);
        assert_eq!(returned(&polling, "slow", &NOTHING).unwrap(), NOTHING);
        call_often(&proxy, 100);
    });
}

#[test]
fn unix_sockets_are_read_by_their_callers_too() {
    soon(|| {
        let name = format!("floe-blocking-{}.socket", std::process::id());
        let path = std::env::temp_dir().join(name);
        let endpoint = format!("unix -f {}", path.display());
        let server = Server::at(&endpoint, Settings::default());
        let client = Communicator::new();
        call_often(&server.proxy_of(&client), 1000);
        server.communicator.shutdown();
    });
}

#[test]
fn blocking_and_async_programs_work_with_each_other() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(echo::Server::start());
    let endpoint = server.adapter.endpoints()[0].to_string();
    soon(move || {
        let client = Communicator::new();
        let proxy: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
        call_often(&proxy, 500);
        assert_eq!(returned(&proxy, "slow", &NOTHING).unwrap(), NOTHING);
    });
    let server = Server::start();
    runtime.block_on(async {
        let client = floe::Communicator::new();
        let endpoint = &server.adapter.endpoints()[0];
        let proxy: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
        for _ in 0..500 {
            echo::soon(echo::returned(&proxy, "echo", &NOTHING))
                .await
                .unwrap();
        }
    });
}

#[test]
fn many_threads_share_a_connection() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let threads: Vec<_> = (0..16)
            .map(|index| {
                let proxy = proxy.clone();
                thread::spawn(move || {
                    for number in 0..200_i32 {
                        let parameters = encapsulation(&(index * 1000 + number).to_le_bytes());
                        let operation = match number % 50 {
                            7 => "slow",
                            _ => "echo",
                        };
                        if number % 3 == 0 {
                            let oneway = proxy.ice_oneway();
                            let sent = oneway.invoke("echo", OperationMode::Normal, &parameters);
                            assert!(sent.wait().unwrap().is_none());
                        }
                        let result = returned(&proxy, operation, &parameters);
                        assert_eq!(result.unwrap(), parameters);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let (slow, oneway) = (16 * 4, 16 * 67);
        until(|| server.echo_count() == 16 * 200 - slow + oneway);
    });
}

#[test]
fn a_dropped_call_leaves_the_connection_as_it_was() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        for _ in 0..20 {
            let begun = async {
                let mut call = pin!(proxy.invoke("slow", OperationMode::Normal, &NOTHING));
                poll_fn(|context| {
                    assert!(call.as_mut().poll(context).is_pending());
                    Poll::Ready(())
                })
                .await;
            };
            proxy.ice_ping().wait().unwrap();
            begun.wait();
            call_often(&proxy, 5);
        }
    });
}

#[test]
fn a_future_may_wait_for_other_things_than_replies() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        proxy.ice_ping().wait().unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let echo = server.echo.clone();
        let sending = thread::spawn(move || {
            until(|| echo.slow_count.load(Ordering::SeqCst) == 1);
            sender.send(7).unwrap();
        });
        // The channel comes first, while the reply is due.
        let first = async {
            tokio::select! {
                number = receiver => number.unwrap(),
                _ = proxy.invoke("late", OperationMode::Normal, &NOTHING) => 0,
            }
        };
        assert_eq!(first.wait(), 7);
        sending.join().unwrap();
        let both = async {
            tokio::join!(
                proxy.invoke("slow", OperationMode::Normal, &NOTHING),
                proxy.invoke("echo", OperationMode::Normal, &NOTHING),
                tokio::time::sleep(Duration::from_millis(1)),
            )
        };
        let (slow, echo, ()) = both.wait();
        assert!(slow.is_ok() && echo.is_ok());
        call_often(&proxy, 5);
    });
}

#[test]
fn calls_over_several_connections_can_be_waited_for_together() {
    soon(|| {
        let (one, other) = (Server::start(), Server::start());
        let client = Communicator::new();
        let (one, other) = (one.proxy_of(&client), other.proxy_of(&client));
        for _ in 0..20 {
            let both = async { tokio::join!(one.ice_ping(), other.ice_ping()) };
            let (first, second) = both.wait();
            assert!(first.is_ok() && second.is_ok());
        }
    });
}

#[test]
fn async_tasks_can_use_proxies_of_a_blocking_communicator() {
    let server = Server::start();
    let client = Communicator::new();
    let proxy = server.proxy_of(&client);
    let waiting = {
        let proxy = proxy.clone();
        thread::spawn(move || call_often(&proxy, 300))
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(echo::soon(async {
        for _ in 0..300 {
            echo::returned(&proxy, "echo", &NOTHING).await.unwrap();
        }
    }));
    soon(move || waiting.join().unwrap());
}

#[test]
fn more_than_both_outputs_hold_travels_in_both_directions_at_once() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let parameters = Arc::new(encapsulation(&vec![7; 500_000]));
        let threads: Vec<_> = (0..40)
            .map(|_| {
                let (proxy, parameters) = (proxy.clone(), parameters.clone());
                thread::spawn(move || returned(&proxy, "echo", &parameters).unwrap() == *parameters)
            })
            .collect();
        for thread in threads {
            assert!(thread.join().unwrap());
        }
    });
}

#[test]
fn connections_beyond_the_limit_of_threads_are_served_as_well() {
    soon(|| {
        let mut settings = Settings::default();
        settings.thread_limit = 2;
        let server = Server::with_settings(settings);
        let clients: Vec<_> = (0..6).map(|_| Communicator::new()).collect();
        for _ in 0..3 {
            for client in &clients {
                call_often(&server.proxy_of(client), 5);
            }
        }
        server.communicator.shutdown();
    });
}

#[test]
fn a_burst_of_oneways_arrives_whole_and_in_order() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let oneway = proxy.ice_oneway();
        for _ in 0..20_000 {
            let sent = oneway.invoke("echo", OperationMode::Normal, &NOTHING);
            sent.wait().unwrap();
        }
        // The last ones leave without any help.
        until(|| server.echo_count() == 20_000);
        for _ in 0..1000 {
            let sent = oneway.invoke("echo", OperationMode::Normal, &NOTHING);
            sent.wait().unwrap();
        }
        let count = returned(&proxy, "count", &NOTHING).unwrap();
        assert_eq!(
            count,
            encapsulation(&21_000_i32.to_le_bytes()),
            "what follows overtakes nothing"
        );
    });
}

#[test]
fn a_servant_without_a_thread_of_its_own_may_call_elsewhere_and_wait() {
    use floe::Dispatcher;
    use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};

    struct Relay(Proxy);

    impl Dispatcher for Relay {
        fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
            requests.each(slot, move |request| self.clone().respond(request));
        }
    }

    impl Relay {
        fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
            Box::pin(async move {
                self.0.ice_ping().wait().unwrap();
                request.returned_nothing()
            })
        }
    }

    soon(|| {
        let server = Server::start();
        let relay = Communicator::new();
        let adapter = relay.adapter("tcp -h 127.0.0.1 -p 0").unwrap();
        let proxy = adapter
            .add("relay", Relay(server.proxy_of(&relay)))
            .unwrap();
        adapter.activate();
        let client = Communicator::new();
        let proxy = client.proxy_from(proxy.reference().clone());
        for _ in 0..100 {
            returned(&proxy, "relay", &NOTHING).unwrap();
        }
    });
}
