//! Gateways behind gateways: no client gets a session for all others, and no request goes round for ever.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::glacier2::RouterProxy;
use floe::dispatch::dispatch_fn;
use floe::message::Outcome;
use floe::{Communicator, Context, OperationMode, Proxy, Reference, Settings, TypedProxy};
use floe_gateway::{Gateway, GatewaySettings, PasswordVerifier};
use tokio::time::timeout;

use crate::world::{BackEnd, Client, World, call, soon};

/// The object at which a client makes its session survive, over the client's connection.
fn resumption(client: &Client, gateway: &Gateway) -> Proxy {
    let router: Proxy = client.communicator.proxy(&gateway.router()).unwrap();
    let identity = router.reference().identity.clone();
    client.connection.proxy(identity).ice_facet("floe.session")
}

/// Lets the session of a client be resumed. Returns its token.
async fn token(client: &Client, gateway: &Gateway) -> String {
    let mut grace = vec![14, 0, 0, 0, 1, 1];
    grace.extend(60_000_i64.to_le_bytes());
    let resumption = resumption(client, gateway);
    let opened = resumption.invoke("open", OperationMode::Normal, &grace);
    let Some(Outcome::Returned(opened)) = soon(opened).await.expect("it may be resumed") else {
        panic!("expected a token");
    };
    let len = usize::from(opened[6]);
    String::from_utf8(opened[7..7 + len].to_vec()).expect("a token is a text")
}

/// An encapsulation of a short text.
fn encoded(text: &str) -> Vec<u8> {
    let len = u8::try_from(text.len()).expect("it is short");
    let mut bytes = vec![len + 7, 0, 0, 0, 1, 1, len];
    bytes.extend(text.bytes());
    bytes
}

#[tokio::test]
async fn a_client_resumes_no_session_with_a_gateway_behind_the_gateway() {
    let world = World::start().await;
    let behind = World::with(|settings| settings.instance_name = "Behind".to_owned()).await;
    let owner = behind.client().await;
    let token = token(&owner, &behind.gateway).await;
    let client = world.client().await;
    let router: Proxy = client.communicator.proxy(&behind.gateway.router()).unwrap();
    client.routed(&router).await.expect("it may be called");
    let through = resumption(&client, &behind.gateway);
    let token = encoded(&token);
    for operation in ["resume", "open", "confirm"] {
        let asked = through.invoke(operation, OperationMode::Normal, &token);
        let refused = soon(asked).await.expect_err("all clients would share it");
        let refused = refused.to_string();
        assert!(refused.contains("would share that session"), "{refused}");
    }
    behind.shut_down().await;
    world.shut_down().await;
}

/// Makes the connection between two gateways the one of a session with the second, and tells it where `round` is. The
/// client has a session with each of them.
async fn take_over(first: (&Gateway, &Client), second: (&Gateway, &Client)) {
    let token = token(second.1, second.0).await;
    let client = first.1;
    let router: Proxy = client.communicator.proxy(&second.0.router()).unwrap();
    let router = client.routed(&router).await.expect("it may be called");
    let resumption = router.ice_facet("floe.session");
    let token = encoded(&token);
    // This call and the next one may be refused.
    let _ = soon(resumption.invoke("resume", OperationMode::Normal, &token)).await;
    let round = format!("round:{}", first.0.client_endpoints());
    let round: Proxy = client.communicator.proxy(&round).unwrap();
    let _ = soon(RouterProxy::from_proxy(router).add_proxies(&[Some(round)])).await;
}

#[tokio::test]
async fn gateways_behind_each_other_send_no_request_round_for_ever() {
    let first = World::with(|settings| settings.instance_name = "First".to_owned()).await;
    let second = World::with(|settings| settings.instance_name = "Second".to_owned()).await;
    let clients = [first.client().await, second.client().await];
    let (one, two) = (
        (&first.gateway, &clients[0]),
        (&second.gateway, &clients[1]),
    );
    take_over(one, two).await;
    // The first gateway has taken over that session, if it could.
    let again = second.client().await;
    take_over((&second.gateway, &again), one).await;
    let client = first.client().await;
    let round = format!("round:{}", second.gateway.client_endpoints());
    let round: Proxy = client.communicator.proxy(&round).unwrap();
    let round = client.routed(&round).await.expect("it may be called");
    let passed = || first.gateway.status().to_servers + second.gateway.status().to_servers;
    let before = passed();
    let called = timeout(Duration::from_secs(2), call(&round, "round")).await;
    let passed = passed() - before;
    assert_eq!(passed, 1, "it went round");
    called
        .expect("it is answered")
        .expect_err("there is no object");
    first.shut_down().await;
    second.shut_down().await;
}

/// A port on which nothing listens.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("it has one").port()
}

#[tokio::test]
async fn gateways_that_are_routers_of_each_other_refuse_requests() {
    let endpoints = [free_port(), free_port()].map(|port| format!("tcp -h 127.0.0.1 -p {port}"));
    let mut gateways = Vec::new();
    for (own, other) in [(0, 1), (1, 0)] {
        let mut settings = Settings::default();
        let router = format!("Glacier2/router:{}", endpoints[other]);
        settings.router = Some(router.parse().unwrap());
        let communicator = Communicator::with_settings(settings);
        let mut settings = GatewaySettings::new(&endpoints[own]);
        settings.password_verifier = Some(PasswordVerifier::AcceptAll);
        let gateway = Gateway::start(&communicator, settings).await;
        gateways.push((gateway.expect("a gateway starts"), communicator));
    }
    let back_end = BackEnd::start().await;
    let client = Client::connect(&gateways[0].0).await;
    let session = client.router.create_session("joe", "secret");
    soon(session).await.expect("a session");
    let object = client.routed(&back_end.object("object")).await.unwrap();
    let called = call(&object, "round").await;
    called.expect_err("the first gateway has no session with the second one");
    assert_eq!(back_end.calls.list(), []);
    let passed = gateways
        .iter()
        .map(|(gateway, _)| gateway.status().to_servers);
    assert_eq!(passed.collect::<Vec<_>>(), [1, 0]);
    for (gateway, communicator) in gateways {
        soon(gateway.shutdown()).await;
        soon(communicator.shutdown()).await;
    }
}

#[tokio::test]
async fn events_keep_their_number_of_hops_where_no_contexts_are_forwarded() {
    let world = World::start().await;
    let client = world.client().await;
    let contexts = Arc::new(Mutex::new(Vec::new()));
    let noting = || {
        let contexts = contexts.clone();
        dispatch_fn(move |request| {
            contexts.lock().unwrap().push(request.current().context());
            request.returned_nothing()
        })
    };
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let context = Context::from([entry("floe.hops", "15"), entry("secret", "word")]);

    let server = &world.back_end.adapter;
    let publisher = server.add("a.publish", noting()).unwrap();
    let publisher = client.routed(&publisher).await.unwrap();
    call(&publisher.ice_context(context.clone()), "tick")
        .await
        .unwrap();

    let own = client.communicator.adapter_without_endpoints().await;
    let own = own.unwrap();
    own.add_default("", noting()).unwrap();
    client.connection.set_adapter(Some(&own));
    let server_proxy = soon(client.router.get_server_proxy()).await.unwrap();
    let mut callback: Reference = server_proxy.expect("there is one").reference().clone();
    callback.identity.name = "b.publish".to_owned();
    let callback = world.back_end.communicator.proxy_from(callback);
    call(&callback.ice_context(context), "tick").await.unwrap();

    let kept = Context::from([entry("floe.hops", "15")]);
    assert_eq!(*contexts.lock().unwrap(), [kept.clone(), kept]);
    world.shut_down().await;
}
