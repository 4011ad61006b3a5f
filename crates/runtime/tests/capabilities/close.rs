//! Closing, and what becomes of requests.

use floe::{Communicator, TypedProxy};

use crate::echo::{NOTHING, Server, returned, soon};

#[tokio::test]
async fn a_shutdown_finishes_what_was_begun() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    proxy.ice_ping().await.unwrap();
    let slow = {
        let proxy = proxy.clone();
        tokio::spawn(async move { returned(&proxy, "slow", &NOTHING).await })
    };
    server.has_begun(1).await;
    soon(server.communicator.shutdown()).await;
    assert_eq!(slow.await.unwrap().unwrap(), NOTHING);
    assert!(proxy.ice_ping().await.is_err());
}

#[tokio::test]
async fn a_client_outlives_a_restart_of_its_server() {
    let server = Server::start().await;
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "echo");
    soon(proxy.ice_ping()).await.unwrap();
    let endpoint = server.adapter.endpoints()[0].to_string();
    soon(server.communicator.shutdown()).await;

    let again = Communicator::new();
    let adapter = again.adapter(&endpoint).await.unwrap();
    adapter.add("echo", crate::echo::Echo::default()).unwrap();
    adapter.activate();
    soon(proxy.ice_ping()).await.unwrap();
}

#[tokio::test]
async fn a_client_closes_its_connections_when_it_is_shut_down() {
    let server = Server::start().await;
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "echo");
    soon(proxy.ice_ping()).await.unwrap();
    soon(client.shutdown()).await;
    let error = proxy.ice_ping().await.unwrap_err();
    assert_eq!(error.to_string(), "the communicator is shut down");
    soon(server.communicator.shutdown()).await;
}

#[tokio::test]
async fn an_adapter_that_is_destroyed_leaves_the_others_alone() {
    let server = Server::start().await;
    let other = server
        .communicator
        .adapter("tcp -h 127.0.0.1 -p 0")
        .await
        .unwrap();
    let gone = other.add("other", crate::echo::Echo::default()).unwrap();
    other.activate();
    let client = Communicator::new();
    let gone = client.proxy_from(gone.reference().clone());
    let slow = {
        let gone = gone.clone();
        tokio::spawn(async move { returned(&gone, "slow", &NOTHING).await })
    };
    soon(gone.ice_ping()).await.unwrap();
    soon(other.destroy()).await;
    assert_eq!(
        soon(slow).await.unwrap().unwrap(),
        NOTHING,
        "it was begun, so it is finished"
    );
    assert!(gone.ice_ping().await.is_err());
    soon(server.proxy_of(&client, "echo").ice_ping())
        .await
        .unwrap();
    let again = server
        .communicator
        .adapter(&other.endpoints()[0].to_string())
        .await;
    assert!(again.is_ok(), "{again:?}");
}
