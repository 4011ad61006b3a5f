//! Floe as a client of a router: routed proxies, callbacks, and what a router forgets.

use floe::contracts::glacier2::RouterProxy;
use floe::contracts::ice::RouterProxy as PlainRouterProxy;
use floe::{
    Communicator, Identity, InvokeError, LocalError, OperationMode, Proxy, Settings, TypedProxy,
};
use floe_gateway::Gateway;

use crate::world::{Calls, NOTHING, Recorder, World, call, soon};

/// A client whose communicator routes all, with a session.
async fn routed_client(gateway: &Gateway) -> (Communicator, RouterProxy) {
    let mut settings = Settings::default();
    settings.router = Some(gateway.router().parse().expect("a proxy"));
    let communicator = Communicator::with_settings(settings);
    let router: RouterProxy = communicator.proxy(&gateway.router()).expect("a proxy");
    let session = soon(router.create_session("joe", "secret")).await;
    session.expect("a session");
    (communicator, router)
}

#[tokio::test]
async fn a_default_router_carries_all_requests_in_their_order() {
    let world = World::start().await;
    let (communicator, _router) = routed_client(&world.gateway).await;
    let text = world.back_end.object("object").to_string();
    let object: Proxy = communicator.proxy(&text).unwrap();
    let mut expected = Vec::new();
    for number in 0..100 {
        let operation = format!("op{number}");
        match number % 10 {
            0 => call(&object, &operation).await.unwrap(),
            1 => call(&object.ice_facet("facet"), &operation).await.unwrap(),
            _ => {
                let oneway = object.ice_oneway();
                let sent = oneway.invoke(&operation, OperationMode::Normal, NOTHING);
                soon(sent).await.unwrap();
            }
        }
        expected.push(operation);
    }
    assert_eq!(world.back_end.calls.when(100).await, expected);
    assert_eq!(world.gateway.status().to_servers, 100);
    // It goes by itself where it is told to.
    call(&object.ice_router(None), "direct").await.unwrap();
    assert_eq!(world.gateway.status().to_servers, 100);
    world.shut_down().await;
}

#[tokio::test]
async fn a_proxy_with_a_router_of_its_own_goes_through_it_alone() {
    let world = World::start().await;
    let client = world.client().await;
    let communicator = &client.communicator;
    let router: Proxy = communicator.proxy(&world.gateway.router()).unwrap();
    let text = world.back_end.object("object").to_string();
    let direct: Proxy = communicator.proxy(&text).unwrap();
    let routed = direct.ice_router(Some(&router));
    call(&direct, "direct").await.unwrap();
    assert_eq!(world.gateway.status().to_servers, 0);
    call(&routed, "routed").await.unwrap();
    assert_eq!(world.gateway.status().to_servers, 1);
    world.shut_down().await;
}

#[tokio::test]
async fn a_secure_proxy_does_not_go_through_a_router_in_clear_text() {
    let world = World::start().await;
    let (communicator, router) = routed_client(&world.gateway).await;
    let text = world.back_end.object("object").to_string();
    let object: Proxy = communicator.proxy(&text).unwrap();
    call(&object, "plain").await.unwrap();
    let other = world.back_end.object("other").to_string();
    let other: Proxy = communicator.proxy(&other).unwrap();
    let connection = soon(router.ice_connection()).await.unwrap().unwrap();
    for secure in [
        object.ice_secure(true),
        other.ice_secure(true),
        other.ice_secure(true).ice_oneway(),
        connection.proxy("object".parse().unwrap()).ice_secure(true),
    ] {
        let error = call(&secure, "secret").await.unwrap_err();
        assert!(
            matches!(
                &error,
                InvokeError::NotDispatched(LocalError::NoEndpoint { .. })
            ),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.contains("expected an encrypted connection"), "{text}");
        assert!(text.contains("because it says `-s`"), "{text}");
    }
    call(&object, "again").await.unwrap();
    assert_eq!(world.back_end.calls.operations(), ["plain", "again"]);
    assert_eq!(world.gateway.status().to_servers, 2);
    world.shut_down().await;
}

#[tokio::test]
async fn each_connection_id_of_a_router_has_a_session_of_its_own() {
    let world = World::start().await;
    let communicator = Communicator::new();
    let text = world.back_end.object("object").to_string();
    let object: Proxy = communicator.proxy(&text).unwrap();
    let router: RouterProxy = communicator.proxy(&world.gateway.router()).unwrap();
    let mut categories = Vec::new();
    for id in ["one", "other"] {
        let router = router.ice_connection_id(id);
        soon(router.create_session("joe", "secret")).await.unwrap();
        let routed = object.ice_router(Some(router.as_proxy()));
        call(&routed, id).await.unwrap();
        let plain = PlainRouterProxy::from(router.clone());
        let adapter = soon(communicator.adapter_with_router(&plain)).await;
        let category = soon(router.get_category_for_client()).await.unwrap();
        let calls = Calls::default();
        let identity = Identity::with_category("object", category.clone());
        let callback = adapter.unwrap().add(identity, Recorder(calls.clone()));
        let reference = callback.unwrap().reference().clone();
        let callback = world.back_end.communicator.proxy_from(reference);
        call(&callback, "called").await.unwrap();
        assert_eq!(calls.operations(), ["called"]);
        categories.push(category);
    }
    assert_ne!(categories[0], categories[1]);
    assert_eq!(world.gateway.status().sessions, 2);
    assert_eq!(world.back_end.calls.operations(), ["one", "other"]);
    // The connection without an id has no session.
    let routed = object.ice_router(Some(router.as_proxy()));
    call(&routed, "without").await.unwrap_err();
    world.shut_down().await;
}

#[tokio::test]
async fn objects_that_the_router_has_forgotten_are_told_again() {
    let world = World::with(|settings| settings.routing_table_max = 2).await;
    let (communicator, _router) = routed_client(&world.gateway).await;
    let objects: Vec<Proxy> = (0..5)
        .map(|number| {
            world
                .back_end
                .object(&format!("object{number}"))
                .to_string()
        })
        .map(|text| communicator.proxy(&text).unwrap())
        .collect();
    for round in 0..3 {
        for object in &objects {
            call(object, &format!("round{round}")).await.unwrap();
        }
    }
    let mut tasks = tokio::task::JoinSet::new();
    for object in objects.clone() {
        tasks.spawn(async move { call(&object, "together").await.map_err(|e| e.to_string()) });
    }
    while let Some(ended) = soon(tasks.join_next()).await {
        ended.unwrap().unwrap();
    }
    assert_eq!(world.back_end.calls.list().len(), 20);
    world.shut_down().await;
}

#[tokio::test]
async fn after_a_lost_connection_a_new_session_knows_all_objects_again() {
    let world = World::start().await;
    let (communicator, router) = routed_client(&world.gateway).await;
    let text = world.back_end.object("object").to_string();
    let object: Proxy = communicator.proxy(&text).unwrap();
    call(&object, "before").await.unwrap();
    let connection = soon(router.ice_connection()).await.unwrap().unwrap();
    connection.abort();
    soon(connection.closed()).await;
    let error = call(&object, "without a session").await.unwrap_err();
    let is_told = matches!(
        &error,
        InvokeError::NotDispatched(LocalError::Router { .. })
    );
    assert!(
        is_told && error.to_string().contains("have a session"),
        "{error}"
    );
    soon(router.create_session("joe", "secret")).await.unwrap();
    // A oneway request gets no answer that could ask for its object.
    let oneway = object.ice_oneway();
    let sent = oneway.invoke("after", OperationMode::Normal, NOTHING);
    soon(sent).await.unwrap();
    assert_eq!(world.back_end.calls.when(2).await, ["before", "after"]);
    world.shut_down().await;
}

#[tokio::test]
async fn servers_call_an_adapter_with_a_router() {
    let world = World::start().await;
    let (communicator, router) = routed_client(&world.gateway).await;
    let plain = PlainRouterProxy::from(router.clone());
    let adapter = soon(communicator.adapter_with_router(&plain))
        .await
        .unwrap();
    let category = soon(router.get_category_for_client()).await.unwrap();
    let calls = Calls::default();
    let identity = Identity::with_category("object", category);
    let callback = adapter.add(identity, Recorder(calls.clone())).unwrap();
    let reference = callback.reference().clone();
    let callback = world.back_end.communicator.proxy_from(reference);
    call(&callback, "called").await.unwrap();
    assert_eq!(calls.operations(), ["called"]);
    assert_eq!(world.gateway.status().to_clients, 1);
    world.shut_down().await;
}

#[tokio::test]
async fn a_router_without_server_endpoints_gives_no_adapter_and_says_so() {
    let world = World::with(|settings| settings.server_listen = None).await;
    let (communicator, router) = routed_client(&world.gateway).await;
    let plain = PlainRouterProxy::from(router);
    let error = soon(communicator.adapter_with_router(&plain))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Glacier2.Server.Endpoints"), "{text}");
    world.shut_down().await;
}
