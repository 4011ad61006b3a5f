//! Operators end the process of a gateway, and read its counters.

use std::time::Duration;

use floe::TypedProxy;
use floe::contracts::ice::ProcessProxy;
use floe_gateway::{AdminSettings, METRICS_MAPS};
use floe_metrics::MetricsView;
use floe_metrics::contracts::ice_mx::{MetricsAdminProxy, SessionMetrics};

use crate::world::{BackEnd, World, call, soon};

#[tokio::test]
async fn after_an_operator_has_ended_the_process_nothing_answers() {
    let world = World::with(|settings| {
        settings.admin = Some(AdminSettings::new("tcp -h 127.0.0.1 -p 0"));
    })
    .await;
    let client = world.client().await;
    let object = client.routed(&world.back_end.object("object")).await;
    let object = object.unwrap();
    call(&object, "before").await.unwrap();
    let operator = floe::Communicator::new();
    let admin = world.gateway.admin().expect("there is one");
    let admin: floe::Proxy = operator.proxy(&admin).unwrap();
    let process = ProcessProxy::from_proxy(admin.ice_facet("Process"));
    soon(process.shutdown()).await.unwrap();
    let router: floe::Proxy = operator.proxy(&world.gateway.router()).unwrap();
    // In the time that a drain may take, too.
    for proxy in [&router, &object, &admin] {
        let answer = tokio::time::timeout(Duration::from_millis(50), proxy.ice_ping()).await;
        let is_answered = answer.is_ok_and(|answer| answer.is_ok());
        assert!(!is_answered, "{}", proxy.reference());
    }
    soon(world.gateway.end_requested()).await;
    let calls = world.back_end.calls.clone();
    world.shut_down().await;
    assert_eq!(calls.operations(), ["before"]);
    soon(operator.shutdown()).await;
}

#[tokio::test]
async fn an_operator_reads_what_waits_and_what_was_overridden_of_each_session() {
    let world = World::with(|settings| {
        let mut admin = AdminSettings::new("tcp -h 127.0.0.1 -p 0");
        let view = MetricsView::by_id(&METRICS_MAPS);
        admin.views.insert("Each".to_owned(), view);
        settings.admin = Some(admin);
        settings.to_servers.sleep_time = Duration::from_secs(3600);
    })
    .await;
    let operator = floe::Communicator::new();
    let admin = world.gateway.admin().expect("there is one");
    let admin: floe::Proxy = operator.proxy(&admin).unwrap();
    let admin = MetricsAdminProxy::from_proxy(admin.ice_facet("Metrics"));
    let read = async || {
        let (view, _) = soon(admin.get_metrics_view("Each")).await.unwrap();
        let [joe] = view["Session"].as_slice() else {
            panic!("expected one user: {view:?}");
        };
        let joe = joe.get().and_then(|joe| joe.cast::<SessionMetrics>());
        let joe = joe.expect("metrics of a session");
        assert_eq!((joe.base.id.as_str(), joe.base.current), ("joe", 1));
        (
            joe.forwarded_client,
            joe.queued_client,
            joe.overridden_client,
        )
    };
    let client = world.client().await;
    let object = client.routed(&world.back_end.object("object")).await;
    let oneway = object.unwrap().ice_oneway();
    call(&oneway, "first").await.unwrap();
    // The pause begins when the first request has left. The next ones wait for its end, and the last replaces one.
    world.back_end.calls.when(1).await;
    let token = [("_ovrd".to_owned(), "token".to_owned())];
    let overriding = oneway.ice_context(token.into());
    for operation in ["second", "third"] {
        call(&overriding, operation).await.unwrap();
    }
    call(&oneway, "fourth").await.unwrap();
    let counts = soon(async {
        loop {
            match read().await {
                counts @ (4, ..) => break counts,
                _ => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    })
    .await;
    assert_eq!(counts, (4, 2, 1));
    world.shut_down().await;
    soon(operator.shutdown()).await;
}

#[tokio::test]
async fn what_is_forwarded_is_counted_in_bytes_too() {
    let world = World::before(BackEnd::start().await, |_| ()).await;
    let view = world.gateway.view();
    let client = world.client().await;
    let object = client
        .routed(&world.back_end.object("object"))
        .await
        .unwrap();
    call(&object, "op").await.unwrap();
    let status = view.status().expect("it runs");
    // The operation with its length, the mode, the number of entries of the context, and the parameters.
    assert_eq!(
        (status.to_servers, status.to_servers_bytes),
        (1, 3 + 1 + 1 + 6)
    );
    assert_eq!((status.queued, status.queued_bytes), (0, 0));
    world.shut_down().await;
    soon(async {
        while view.status().is_some() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
