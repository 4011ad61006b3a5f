//! Compression on both sides of a gateway: what each peer takes, and bzip2 for all others.

use std::sync::{Arc, Mutex};

use floe::dispatch::dispatch_fn;
use floe::settings::Compression;
use floe::{Communicator, Connection, Context, Identity, OperationMode, Proxy, TypedProxy};

use crate::world::{Client, World, call, offering, soon};

/// Parameters of a length that is worth a compression.
fn long() -> Vec<u8> {
    [&20_006_u32.to_le_bytes()[..], &[1, 1], &[7; 20_000]].concat()
}

/// A context that asks the gateway to compress.
fn compressed() -> Context {
    [("_fwd".to_owned(), "z".to_owned())].into()
}

/// Asks an object for its answer to long parameters.
async fn call_long(object: &Proxy) {
    let parameters = long();
    let invoked = object.invoke("op", OperationMode::Normal, &parameters);
    soon(invoked).await.expect("an answer");
}

/// A server that gives the connection of its last request. Its adapter offers what its communicator does.
struct Server {
    communicator: Communicator,
    object: Proxy,
    connection: Arc<Mutex<Option<Connection>>>,
}

impl Server {
    async fn start(communicator: Communicator) -> Self {
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let connection = Arc::new(Mutex::new(None));
        let noted = connection.clone();
        let servant = dispatch_fn(move |request| {
            *noted.lock().unwrap() = request.current().connection();
            request.returned_nothing()
        });
        let object = adapter.add("server", servant).unwrap();
        adapter.activate();
        Self {
            communicator,
            object,
            connection,
        }
    }

    /// How the gateway has compressed its last request.
    fn got(&self) -> Option<Compression> {
        let connection = self.connection.lock().unwrap();
        connection.as_ref().expect("a request").asked_compression()
    }
}

/// Sends a request through a gateway to a server.
async fn to_server(server: Communicator, allowed: Option<&[Compression]>) -> Option<Compression> {
    let world = World::with(|settings| {
        settings.filter.accept_addresses = vec!["127.0.0.1".parse().unwrap()];
        if let Some(allowed) = allowed {
            settings.to_servers.compressions = allowed.into();
        }
    })
    .await;
    let server = Server::start(server).await;
    let client = world.client().await;
    let object = client.routed(&server.object).await.unwrap();
    call_long(&object).await;
    assert_eq!(server.got(), None, "the client has not asked for it");
    call_long(&object.ice_context(compressed())).await;
    let got = server.got();
    soon(server.communicator.shutdown()).await;
    world.shut_down().await;
    got
}

#[tokio::test]
async fn a_server_gets_the_first_compression_that_it_offers_and_bzip2_if_it_offers_none() {
    use Compression::{Brotli, Bzip2, Zstd, ZstdBatch};
    assert_eq!(to_server(offering(), None).await, Some(ZstdBatch));
    let allowed: &[_] = &[Brotli, Zstd];
    assert_eq!(to_server(offering(), Some(allowed)).await, Some(Brotli));
    assert_eq!(to_server(offering(), Some(&[])).await, Some(Bzip2));
    assert_eq!(to_server(Communicator::new(), None).await, Some(Bzip2));
}

/// Calls a client back through a gateway. The client has asked for this compression in replies.
async fn to_client(
    asked: Option<Compression>,
    allowed: Option<&[Compression]>,
) -> Option<Compression> {
    let world = World::with(|settings| {
        if let Some(allowed) = allowed {
            settings.to_clients.compressions = allowed.into();
        }
    })
    .await;
    let client = world.client().await;
    if let Some(asked) = asked {
        let router: Proxy = client.communicator.proxy(&world.gateway.router()).unwrap();
        call(&router.ice_compression(asked), "ice_ping")
            .await
            .unwrap();
    }
    let object = callback(&client, &world).await;
    call_long(&object).await;
    assert_eq!(client.connection.asked_compression(), None, "not asked for");
    call_long(&object.ice_context(compressed())).await;
    let got = client.connection.asked_compression();
    world.shut_down().await;
    got
}

/// A back end's proxy to an object of the client.
async fn callback(client: &Client, world: &World) -> Proxy {
    let adapter = client.communicator.adapter_without_endpoints();
    let adapter = adapter.await.unwrap();
    let servant = dispatch_fn(|request| request.returned_nothing());
    adapter.add_default("", servant).unwrap();
    client.connection.set_adapter(Some(&adapter));
    let category = soon(client.router.get_category_for_client()).await.unwrap();
    let server_side = soon(client.router.get_server_proxy()).await.unwrap();
    let mut reference = server_side.expect("there is one").reference().clone();
    reference.identity = Identity::with_category("object", category);
    world.back_end.communicator.proxy_from(reference)
}

#[tokio::test]
async fn a_client_gets_the_compression_that_it_asks_for_and_bzip2_if_it_asks_for_none() {
    use Compression::{Brotli, Bzip2, Zstd};
    for asked in Compression::ALL {
        assert_eq!(to_client(Some(asked), None).await, Some(asked));
    }
    assert_eq!(to_client(None, None).await, Some(Bzip2));
    assert_eq!(to_client(Some(Zstd), Some(&[Brotli])).await, Some(Bzip2));
}

#[tokio::test]
async fn a_routed_proxy_uses_the_compressions_of_its_router() {
    let world = World::start().await;
    let client = world.client().await;
    let router: Proxy = client.communicator.proxy(&world.gateway.router()).unwrap();
    let text = world.back_end.object("object").to_string();
    let object: Proxy = client.communicator.proxy(&text).unwrap();
    // The back end offers nothing, but this is about the line to the router.
    let object = object
        .ice_router(Some(&router))
        .ice_compression(Compression::ZstdStream);
    call_long(&object).await;
    let callback = callback(&client, &world).await;
    call_long(&callback.ice_context(compressed())).await;
    let got = client.connection.asked_compression();
    assert_eq!(got, Some(Compression::ZstdStream));
    world.shut_down().await;
}
