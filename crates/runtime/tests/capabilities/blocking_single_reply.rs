//! Typed calls without async: a thread that waits for one call alone reads its reply in the middle of it, and
//! all others go on as ever.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use floe::blocking::{Communicator, Wait};
use floe::codegen::OperationInfo;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Dispatcher, InvokeError, OperationMode, Proxy, Settings, TypedProxy};
use tokio::sync::Barrier;

use crate::bidirectional::CallsBack;
use crate::blocking::{Server, soon, until};
use crate::echo::Echo;

/// Calls as a generated proxy would for an operation that takes a number and returns it.
fn called(
    proxy: &Proxy,
    operation: &'static str,
    number: i32,
) -> impl Future<Output = Result<i32, InvokeError>> {
    let operation: &'static OperationInfo = match operation {
        "echo" => &ECHO,
        "late" => &LATE,
        "panic" => &PANIC,
        "op" => &OP,
        other => panic!("no operation {other}"),
    };
    proxy.call(
        operation,
        move |encoder| encoder.put(&number),
        |decoder| decoder.get(),
    )
}

const fn operation(name: &'static str) -> OperationInfo {
    OperationInfo {
        name,
        mode: OperationMode::Normal,
        returns_data: true,
    }
}

static ECHO: OperationInfo = operation("echo");
static LATE: OperationInfo = operation("late");
static PANIC: OperationInfo = operation("panic");
static OP: OperationInfo = operation("op");

#[test]
fn threads_that_share_a_connection_get_their_own_results() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let proxy = server.proxy_of(&client);
                thread::spawn(move || {
                    for number in (0..300).map(|number| thread * 1000 + number) {
                        assert_eq!(called(&proxy, "echo", number).wait().unwrap(), number);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(server.echo_count(), 8 * 300);
        client.shutdown();
    });
}

/// Answers when two requests are there.
struct Meets(Barrier);

impl Dispatcher for Meets {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Meets {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            self.0.wait().await;
            request.returned_nothing()
        })
    }
}

#[test]
fn calls_that_are_waited_for_together_are_all_sent_before_any_is_answered() {
    soon(|| {
        let server = Server::start();
        server
            .adapter
            .add("meets", Arc::new(Meets(Barrier::new(2))))
            .unwrap();
        let client = Communicator::new();
        let endpoint = &server.adapter.endpoints()[0];
        let proxy: Proxy = client.proxy(&format!("meets:{endpoint}")).unwrap();
        proxy.connect().wait().unwrap();
        let call = || proxy.call(&OP, |_| {}, |_| Ok::<_, floe::DecodeError>(()));
        let both = async { tokio::join!(call(), call()) };
        let (one, other): (Result<(), InvokeError>, Result<(), InvokeError>) = both.wait();
        one.unwrap();
        other.unwrap();
        client.shutdown();
    });
}

#[test]
fn a_call_beside_something_else_does_not_hold_that_up() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        called(&proxy, "echo", 1).wait().unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let either = async {
            tokio::select! {
                _ = called(&proxy, "late", 1) => "the call",
                _ = receiver => "the other",
            }
        };
        let teller = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            sender.send(()).unwrap();
        });
        assert_eq!(either.wait(), "the other");
        teller.join().unwrap();
        assert_eq!(called(&proxy, "echo", 2).wait().unwrap(), 2);
        client.shutdown();
    });
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_a_call_leaves_it_in_doubt() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        let hopeful = proxy.clone();
        let waiting = thread::spawn(move || called(&hopeful, "late", 1).wait());
        until(|| server.slow_count() == 1);
        connection.abort();
        let error = waiting.join().unwrap().unwrap_err();
        assert!(
            matches!(error, InvokeError::PerhapsDispatched(_)),
            "{error}"
        );
        assert_eq!(called(&proxy, "echo", 2).wait().unwrap(), 2);
        client.shutdown();
    });
}

#[test]
fn a_caller_is_called_back_in_the_middle_of_its_call() {
    soon(|| {
        let server = Server::start();
        server
            .adapter
            .add("back", Arc::new(CallsBack::default()))
            .unwrap();
        let client = Communicator::new();
        let endpoint = &server.adapter.endpoints()[0];
        let proxy: Proxy = client.proxy(&format!("back:{endpoint}")).unwrap();
        let adapter = client.adapter_without_endpoints().unwrap();
        let echo = Arc::new(Echo::default());
        adapter.add("callback", echo.clone()).unwrap();
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        connection.set_adapter(Some(&adapter));
        for number in 0..100 {
            assert_eq!(called(&proxy, "op", number).wait().unwrap(), number);
        }
        assert_eq!(echo.echo_count.load(Ordering::SeqCst), 100);
        client.shutdown();
    });
}

#[test]
fn exceptions_timeouts_and_polling_are_as_ever() {
    soon(|| {
        let mut settings = Settings::default();
        settings.polling = Duration::from_micros(50);
        let server = Server::with_settings(settings);
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let polling = proxy.ice_polling(Duration::from_micros(100));
        for number in 0..1000 {
            assert_eq!(called(&polling, "echo", number).wait().unwrap(), number);
        }
        let refused = called(&proxy, "panic", 1).wait().unwrap_err();
        assert!(matches!(refused, InvokeError::System(_)), "{refused}");
        let hasty = proxy.ice_timeout(Some(Duration::from_millis(20)));
        assert!(called(&hasty, "late", 1).wait().unwrap_err().is_timeout());
        // The late reply comes before this one, and is ignored.
        assert_eq!(called(&proxy, "late", 7).wait().unwrap(), 7);
        client.shutdown();
    });
}
