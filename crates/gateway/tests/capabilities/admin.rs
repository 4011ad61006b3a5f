//! What operators do with a gateway: they end its process, and read its counters.

use std::time::Duration;

use floe::TypedProxy;
use floe::contracts::ice::ProcessProxy;
use floe_gateway::AdminSettings;

use crate::world::{BackEnd, World, call, soon};

#[tokio::test]
async fn an_operator_ends_the_process_by_its_facet() {
    let world = World::with(|settings| {
        settings.admin = Some(AdminSettings::new("tcp -h 127.0.0.1 -p 0"));
    })
    .await;
    let operator = floe::Communicator::new();
    let admin = world.gateway.admin().expect("there is one");
    let admin: floe::Proxy = operator.proxy(&admin).unwrap();
    let process = ProcessProxy::from_proxy(admin.ice_facet("Process"));
    soon(process.shutdown()).await.unwrap();
    soon(world.gateway.end_requested()).await;
    // It serves until the program ends it.
    world.client().await;
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
