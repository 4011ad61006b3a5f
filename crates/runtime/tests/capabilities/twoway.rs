//! Twoway invocations.

use std::collections::BTreeMap;
use std::time::Duration;

use floe::{Communicator, InvokeError, LocalError, Proxy, SystemException, TypedProxy};

use crate::echo::{NOTHING, Server, encapsulation, returned, soon};

#[tokio::test]
async fn an_echo_comes_back() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let parameters = encapsulation(b"\x05hello");
    assert_eq!(
        soon(returned(&proxy, "echo", &parameters)).await.unwrap(),
        parameters
    );
}

#[tokio::test]
async fn every_object_answers_the_built_in_operations() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    soon(proxy.ice_ping()).await.unwrap();
    assert!(proxy.ice_is_a("::Test::Echo").await.unwrap());
    assert!(!proxy.ice_is_a("::Test::Other").await.unwrap());
    assert_eq!(proxy.ice_id().await.unwrap(), "::Test::Echo");
    assert_eq!(
        proxy.ice_ids().await.unwrap(),
        ["::Ice::Object", "::Test::Echo"]
    );
}

#[tokio::test]
async fn a_missing_object_facet_or_operation_is_named() {
    let server = Server::start().await;
    let missing = soon(server.proxy("nobody").ice_ping()).await;
    match missing {
        Err(InvokeError::System(SystemException::ObjectNotExist(failed))) => {
            assert_eq!(failed.identity.name, "nobody");
            assert_eq!(failed.operation, "ice_ping");
        }
        other => panic!("expected ObjectNotExist, got {other:?}"),
    }
    let facet = server.proxy("echo").ice_facet("f").ice_ping().await;
    assert!(
        matches!(facet, Err(InvokeError::System(SystemException::FacetNotExist(f))) if f.facet == "f")
    );
    let operation = returned(&server.proxy("echo"), "nothing", &NOTHING).await;
    assert!(matches!(
        operation,
        Err(InvokeError::System(SystemException::OperationNotExist(f))) if f.operation == "nothing"
    ));
}

#[tokio::test]
async fn ten_thousand_calls_are_in_flight_on_one_connection() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let calls: Vec<_> = (0..10_000_i32)
        .map(|number| {
            let proxy = proxy.clone();
            tokio::spawn(async move {
                let parameters = encapsulation(&number.to_le_bytes());
                let operation = if number % 2 == 0 { "echo" } else { "slow" };
                assert_eq!(
                    returned(&proxy, operation, &parameters).await.unwrap(),
                    parameters
                );
            })
        })
        .collect();
    for call in calls {
        soon(call).await.unwrap();
    }
}

#[tokio::test]
async fn a_large_message_travels_whole() {
    let server = Server::start().await;
    let mut payload = vec![7; 900_000];
    payload[899_999] = 8;
    let parameters = encapsulation(&payload);
    let result = soon(returned(&server.proxy("echo"), "echo", &parameters))
        .await
        .unwrap();
    assert!(result == parameters);
}

#[tokio::test]
async fn the_context_of_a_proxy_goes_with_each_request() {
    let server = Server::start().await;
    let context = BTreeMap::from([("answer".to_owned(), "42".to_owned())]);
    let proxy = server.proxy("echo").ice_context(context);
    assert_eq!(
        soon(returned(&proxy, "context", &NOTHING)).await.unwrap(),
        encapsulation(b"\x0242")
    );
}

#[tokio::test]
async fn a_timeout_ends_the_wait_and_leaves_the_connection_usable() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let hasty = proxy.ice_timeout(Some(Duration::from_millis(5)));
    soon(hasty.ice_twoway().ice_timeout(None).ice_ping())
        .await
        .unwrap();
    let error = soon(returned(&hasty, "slow", &NOTHING)).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert!(
        error
            .to_string()
            .contains("no reply to operation \"slow\" within 5ms"),
        "{error}"
    );
    assert_eq!(returned(&proxy, "slow", &NOTHING).await.unwrap(), NOTHING);
}

#[tokio::test]
async fn a_panic_of_a_servant_fails_that_call_alone() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let error = soon(returned(&proxy, "panic", &NOTHING)).await.unwrap_err();
    assert!(
        matches!(&error, InvokeError::System(SystemException::UnknownException(text)) if text.contains("as asked")),
        "{error}"
    );
    proxy.ice_ping().await.unwrap();
}

#[tokio::test]
async fn nobody_there_is_said_with_the_endpoint() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = unused.local_addr().unwrap().port();
    drop(unused);
    let proxy: Proxy = Communicator::new()
        .proxy(&format!("echo:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let error = soon(proxy.ice_ping()).await.unwrap_err();
    assert!(
        matches!(
            error,
            InvokeError::NotDispatched(LocalError::Connect { .. })
        ),
        "{error}"
    );
    assert!(error.to_string().contains(&format!("-p {port}")), "{error}");
}

#[tokio::test]
async fn a_proxy_can_be_connected_before_it_is_used() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    assert!(!proxy.is_connected());
    soon(proxy.connect()).await.unwrap();
    assert!(proxy.is_connected());
    soon(server.communicator.shutdown()).await;
    let error = soon(proxy.connect()).await.unwrap_err();
    assert!(matches!(error, InvokeError::NotDispatched(_)), "{error:?}");
}
