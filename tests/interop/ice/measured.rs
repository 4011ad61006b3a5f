//! A Floe client reads what an Ice 3.7.8 or 3.8.3 for Python server measures of itself, with the contract that is built in.

use floe::classes::{Class, Ref};
use floe::{Communicator, Proxy, TypedProxy};
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

use contract::ice_mx::{
    ConnectionMetrics, DispatchMetrics, InvocationMetrics, MetricsAdminProxy, MetricsView,
    RemoteMetrics, ThreadMetrics,
};

// Generated code is as its contract is.
mod contract {
    floe::include_contract!("Measured");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_of_an_ice_server_are_read_with_their_classes() {
    let Some(ice) = Ice::or_skip() else { return };
    read(&ice).await;
}

#[cfg(feature = "ice38")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_of_an_ice38_server_are_read_with_their_classes() {
    read(&crate::values::ice38::ice()).await;
}

async fn read(ice: &Ice) {
    let mut python = ice.peer("measured", Language::Python);
    let mut server = Peer::start("the Ice server", &mut python);
    let communicator = Communicator::new();
    let proxy: Proxy = communicator.proxy(&server.ready()).expect("a proxy");
    let admin = MetricsAdminProxy::checked(proxy).await.expect("an answer");
    let admin = admin.expect("the facet that has metrics");
    let (view, timestamp) = admin.get_metrics_view("All").await.expect("a view");
    assert!(timestamp > 0);

    let dispatch = first::<DispatchMetrics>(&view, "Dispatch");
    assert_eq!((dispatch.base.failures, dispatch.user_exception), (0, 0));
    assert!(dispatch.size > 0 && dispatch.reply_size > 0, "{dispatch:?}");
    let invocation = first::<InvocationMetrics>(&view, "Invocation");
    assert_eq!((invocation.base.total, invocation.retry), (1, 0));
    let [remote] = invocation.remotes.as_slice() else {
        panic!("expected one connection: {invocation:?}");
    };
    let remote = remote
        .get()
        .and_then(|remote| remote.cast::<RemoteMetrics>());
    let remote = remote.expect("a request over a connection");
    assert!(remote.base.size > 0, "{remote:?}");
    assert!(invocation.collocated.is_empty(), "{invocation:?}");
    let connection = first::<ConnectionMetrics>(&view, "Connection");
    assert!(connection.received_bytes > 0, "{connection:?}");
    let thread = first::<ThreadMetrics>(&view, "Thread");
    assert!(thread.base.total > 0, "{thread:?}");

    server.close_input();
    server.succeed();
}

/// The first object of a map of a view.
fn first<C: Class>(view: &MetricsView, map: &str) -> Ref<C> {
    let metrics = view.get(map).and_then(|metrics| metrics.first()?.get());
    let metrics = metrics.unwrap_or_else(|| panic!("nothing in {map} of {view:?}"));
    metrics.cast::<C>().expect("the class of the map")
}
