//! Closing, and what becomes of requests.

use std::time::Duration;

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
    tokio::time::sleep(Duration::from_millis(10)).await;
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
