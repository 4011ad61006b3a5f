//! Several calls that one thread begins before it waits.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use floe::blocking::{Communicator, Wait, wait_all};
use floe::message::Outcome;
use floe::{InvokeError, OperationMode, Proxy, TypedProxy};

use crate::blocking::{Server, call_often, soon, until};
use crate::echo::{NOTHING, encapsulation};

/// Begins when it is first polled.
fn begun<'a>(
    proxy: &'a Proxy,
    operation: &'a str,
    parameters: &'a [u8],
) -> impl Future<Output = Result<Option<Outcome>, InvokeError>> + Unpin + 'a {
    Box::pin(proxy.invoke(operation, OperationMode::Normal, parameters))
}

#[test]
fn results_are_in_the_order_of_the_calls_and_a_failure_ends_no_other() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        for count in [0, 1, 2, 3_000] {
            let parameters: Vec<_> = (0..count)
                .map(|number: i32| encapsulation(&number.to_le_bytes()))
                .collect();
            let calls = parameters.iter().enumerate();
            let calls = calls.map(|(index, parameters)| match index % 7 {
                3 => begun(&proxy, "refuse", parameters),
                _ => begun(&proxy, "echo", parameters),
            });
            let results = wait_all(calls);
            assert_eq!(results.len(), parameters.len());
            for (index, result) in results.into_iter().enumerate() {
                match result {
                    Ok(Some(Outcome::Returned(bytes))) => assert_eq!(bytes, parameters[index]),
                    Err(InvokeError::System(_)) => assert_eq!(index % 7, 3),
                    other => panic!("call {index}: {other:?}"),
                }
            }
            call_often(&proxy, 5);
        }
    });
}

#[test]
fn no_call_waits_for_the_reply_to_another_one() {
    soon(|| {
        let (one, other) = (Server::start(), Server::start());
        let client = Communicator::new();
        let proxies = [one.proxy_of(&client), other.proxy_of(&client)];
        let start = Instant::now();
        // A second each.
        let calls = (0..40).map(|index| begun(&proxies[index % 2], "late", &NOTHING));
        let results = wait_all(calls);
        assert!(results.iter().all(Result::is_ok));
        let (took, counts) = (start.elapsed(), [one.slow_count(), other.slow_count()]);
        assert_eq!(counts, [20, 20]);
        assert!(took < Duration::from_secs(20), "it took {took:?}");
    });
}

#[test]
fn requests_leave_although_the_future_that_began_them_blocks() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        proxy.ice_ping().wait().unwrap();
        let blocking = async {
            let mut first = pin!(begun(&proxy, "slow", &NOTHING));
            let mut second = pin!(begun(&proxy, "slow", &NOTHING));
            poll_fn(|context| {
                assert!(first.as_mut().poll(context).is_pending());
                assert!(second.as_mut().poll(context).is_pending());
                until(|| server.slow_count() == 2);
                Poll::Ready(())
            })
            .await;
        };
        blocking.wait();
        call_often(&proxy, 5);
    });
}
