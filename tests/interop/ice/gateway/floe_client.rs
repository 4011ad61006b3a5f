//! A Floe client of routers: through a real Glacier2 and through a Floe gateway to an Ice back end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use floe::contracts::glacier2::RouterProxy;
use floe::contracts::ice::RouterProxy as PlainRouterProxy;
use floe::dispatch::{DispatchSlot, Requests};
use floe::encoding::{Encapsulation, Encode, Encoder};
use floe::message::Outcome;
use floe::{
    Communicator, Dispatcher, EncodingVersion, Identity, OperationMode, Proxy, Settings, TypedProxy,
};
use floe_tests::gateway::Router;
use floe_tests::ice::Ice;

use super::{LOGIN, UNBUFFERED, with_login};

/// An object of the client: returns one more than it is given, and adds up what it is told.
#[derive(Default)]
struct Callback {
    sum: AtomicI32,
}

impl Dispatcher for Callback {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let servant = self.clone();
            async move {
                let number: i32 = request.decode(OperationMode::Normal, |decoder| decoder.get())?;
                servant.sum.fetch_add(number, Ordering::Relaxed);
                match request.operation() {
                    "called" => request.returned(|encoder| encoder.put(&(number + 1))),
                    _ => request.returned_nothing(),
                }
            }
        });
    }
}

/// Parameters as an encapsulation.
fn parameters(encode: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut parameters = Vec::new();
    let mut encoder = Encoder::new(&mut parameters, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, encode);
    encoder.finish().expect("they have an encoding");
    parameters
}

/// Calls an operation that returns a text.
async fn text(object: &Proxy, operation: &str, parameters: &[u8]) -> String {
    let invoked = object.invoke(operation, OperationMode::Normal, parameters);
    match invoked.await.expect("an answer") {
        Some(Outcome::Returned(bytes)) => {
            let encapsulation = Encapsulation::parse(&bytes).expect("an encapsulation");
            let mut decoder = encapsulation.decoder().expect("encoding 1.1");
            decoder.get().expect("a text")
        }
        other => panic!("expected a text, got {other:?}"),
    }
}

/// A communicator with this default router, and the router.
pub(super) fn behind(router: &str) -> (Communicator, RouterProxy) {
    let mut settings = Settings::default();
    settings.router = Some(router.parse().expect("a proxy"));
    let communicator = Communicator::with_settings(settings);
    let router = communicator.proxy(router).expect("a proxy");
    (communicator, router)
}

/// Asks the service for its name.
pub(super) async fn who(service: &Proxy) -> String {
    text(service, "who", &parameters(|_| ())).await
}

async fn converse(router: &str, service: &str) {
    let (communicator, router) = behind(router);
    let refused = router.create_session("joe", "wrong").await;
    assert!(refused.is_err(), "{refused:?}");
    router
        .create_session("joe", "secret")
        .await
        .expect("a session");
    let service: Proxy = communicator.proxy(service).expect("a proxy");
    assert_eq!(who(&service).await, "service /service '' Normal");
    let side = service.ice_facet("side");
    assert_eq!(who(&side).await, "side /service 'side' Normal");
    // More objects than the routing table has room for.
    for round in 0..2 {
        for name in ["open/one", "shut/two", "shut/named", "joe/three"] {
            let object = service.ice_identity(name.parse().expect("an identity"));
            let who = who(&object).await;
            assert!(
                who.starts_with(&format!("service {name} ")),
                "{round}: {who}"
            );
        }
    }
    call_back(&communicator, &router, &service).await;
    router.destroy_session().await.expect("there is one");
    communicator.shutdown().await;
}

/// Has the service call an object of this client, under the category of the present session.
pub(super) async fn call_back(communicator: &Communicator, router: &RouterProxy, service: &Proxy) {
    let plain = PlainRouterProxy::from(router.clone());
    let adapter = communicator.adapter_with_router(&plain).await;
    let adapter = adapter.expect("the router has server endpoints");
    let category = router.get_category_for_client().await.expect("a category");
    let callback = Arc::new(Callback::default());
    let identity = Identity::with_category("callback", category);
    let proxy = adapter.add(identity, callback.clone()).expect("a new one");
    let call_back = parameters(|encoder| {
        Some(proxy.clone()).encode(encoder);
        encoder.put(&41_i32);
    });
    assert_eq!(text(service, "callBack", &call_back).await, "42");
    adapter.destroy().await;
}

#[tokio::test]
async fn floe_clients_use_a_real_glacier2_and_a_floe_gateway() {
    let Some(ice) = Ice::or_skip() else { return };
    let small = "Glacier2.RoutingTable.MaxSize=2\n";
    for properties in [LOGIN.to_owned(), with_login(UNBUFFERED), with_login(small)] {
        let starts: [&dyn Fn(&str) -> Router; 2] =
            [&|text| ice.start_glacier2(text), &Router::start_floe];
        for start in starts {
            let (_backend, service) = ice.start_routed();
            let (_, endpoint) = service.split_once(':').expect("it has an endpoint");
            let router = start(&properties.replace('@', endpoint));
            converse(router.proxy(), &service).await;
        }
    }
}
