//! Operations without parameters or results, and peers that send something in their place.
//!
//! Observed, Ice 3.7.8 for C++, as server and as client: in encoding 1.1 it takes anything, in 1.0 nothing. A client in
//! Python does not even look.

use floe::contracts::ice_storm::TopicProxy;
use floe::message::Outcome;
use floe::{Communicator, InvokeError, OperationMode, SystemException, TypedProxy};

use crate::echo::{Server, soon};

/// In place of no values: junk of one byte and of two, a tagged value, and an end marker.
const CONTENTS: [&[u8]; 4] = [&[1], &[1, 2], &[8, 2], &[0xFF]];

fn encapsulation(minor: u8, content: &[u8]) -> Vec<u8> {
    let header = [6 + content.len() as u8, 0, 0, 0, 1, minor];
    [&header, content].concat()
}

#[tokio::test]
async fn what_stands_for_parameters_that_an_operation_has_not_is_skipped_in_encoding_1_1() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let invoke = async |operation, minor, content| {
        let sent = encapsulation(minor, content);
        soon(proxy.invoke(operation, OperationMode::Idempotent, &sent)).await
    };
    for operation in ["ice_ping", "ice_id", "ice_ids"] {
        invoke(operation, 0, &[]).await.expect("empty");
        for content in CONTENTS {
            invoke(operation, 1, content).await.expect("skipped");
            let error = invoke(operation, 0, content).await.expect_err("refused");
            let InvokeError::System(SystemException::UnknownLocalException(text)) = error else {
                panic!("{operation} of {content:?}: {error:?}");
            };
            assert!(text.contains("empty encapsulation"), "{text}");
        }
    }
}

#[tokio::test]
async fn what_stands_for_results_that_an_operation_has_not_is_skipped_in_encoding_1_1() {
    for content in CONTENTS {
        calls_of_what_returns(&encapsulation(1, content), true).await;
        calls_of_what_returns(&encapsulation(0, content), false).await;
    }
}

/// Operations without results, with and without exceptions, of an object that answers with this.
async fn calls_of_what_returns(results: &[u8], is_taken: bool) {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let outcome = Outcome::Returned(results.to_vec().into());
    let servant = floe::dispatch::dispatch_fn(move |request| request.respond(&outcome));
    let served = adapter.add("any", servant).unwrap();
    adapter.activate();
    let proxy = Communicator::new()
        .proxy::<TopicProxy>(&served.to_string())
        .unwrap();

    let pinged = soon(proxy.ice_ping()).await;
    let destroyed = soon(proxy.destroy()).await;
    let unlinked = soon(proxy.unlink(None)).await;

    assert_eq!(pinged.is_ok(), is_taken, "{pinged:?}");
    assert_eq!(destroyed.is_ok(), is_taken, "{destroyed:?}");
    assert_eq!(unlinked.is_ok(), is_taken, "{unlinked:?}");
    if !is_taken {
        assert!(
            matches!(pinged, Err(InvokeError::BadReply(_))),
            "{pinged:?}"
        );
    }
}
