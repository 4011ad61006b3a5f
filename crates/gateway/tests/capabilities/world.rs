//! A gateway, a back end that writes down what it gets, and a client, for the other files.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::glacier2::{
    PermissionDeniedError, PermissionsVerifier, PermissionsVerifierDispatcher, RouterProxy,
};
use floe::dispatch::{DispatchSlot, Requests};
use floe::message::Outcome;
use floe::settings::Compression;
use floe::{
    Adapter, Communicator, Connection, Current, Dispatcher, Identity, InvokeError, OperationMode,
    Proxy, Reference, Settings, TypedProxy,
};
use floe_gateway::{Gateway, GatewaySettings, PasswordVerifier};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// A gateway and a back end, in communicators of their own.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) back_end: BackEnd,
    gateway_side: Communicator,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(|_| ()).await
    }

    /// With other settings than the default, on free ports, for everybody.
    pub(crate) async fn with(change: impl FnOnce(&mut GatewaySettings)) -> Self {
        let back_end = BackEnd::start().await;
        Self::before(back_end, change).await
    }

    pub(crate) async fn before(
        back_end: BackEnd,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        Self::on_side(offering(), back_end, change).await
    }

    /// With the gateway in this communicator.
    pub(crate) async fn on_side(
        gateway_side: Communicator,
        back_end: BackEnd,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        let mut settings = GatewaySettings::new("tcp -h 127.0.0.1 -p 0");
        settings.server_listen = Some("tcp -h 127.0.0.1 -p 0".to_owned());
        settings.password_verifier = Some(PasswordVerifier::AcceptAll);
        change(&mut settings);
        let gateway = Gateway::start(&gateway_side, settings).await;
        Self {
            gateway: gateway.expect("a gateway starts"),
            back_end,
            gateway_side,
        }
    }

    /// A client with a session.
    pub(crate) async fn client(&self) -> Client {
        let client = Client::connect(&self.gateway).await;
        let session = client.router.create_session("joe", "secret");
        let session = soon(session).await.expect("a session");
        assert!(session.is_none(), "no application makes sessions");
        client
    }

    /// With the gateway on a runtime of its own, so that it can be [killed](Self::kill).
    pub(crate) async fn on(runtime: &Runtime) -> Self {
        let back_end = BackEnd::start().await;
        let world = runtime.spawn(Self::before(back_end, |_| ()));
        world.await.expect("it does not panic")
    }

    /// Ends the gateway with all its tasks and sockets, as the end of its process would, and leaves the back end.
    pub(crate) fn kill(self, runtime: Runtime) -> BackEnd {
        runtime.shutdown_background();
        self.back_end
    }

    pub(crate) async fn shut_down(self) {
        soon(self.gateway.shutdown()).await;
        soon(self.gateway_side.shutdown()).await;
        soon(self.back_end.communicator.shutdown()).await;
    }
}

/// A communicator whose adapters offer every compression, which alters nothing for peers that ask for none.
pub(crate) fn offering() -> Communicator {
    let mut settings = Settings::default();
    settings.compressions = Compression::ALL.into();
    Communicator::with_settings(settings)
}

/// A client of a gateway: its connection, and the router at the other end.
pub(crate) struct Client {
    pub(crate) communicator: Communicator,
    pub(crate) router: RouterProxy,
    pub(crate) connection: Connection,
}

impl Client {
    pub(crate) async fn connect(gateway: &Gateway) -> Self {
        Self::connect_to(&gateway.router()).await
    }

    /// Connects a client from this local address.
    pub(crate) async fn connect_from(gateway: &Gateway, address: &str) -> Self {
        let from = format!("tcp --sourceAddress {address} -h");
        Self::connect_to(&gateway.router().replacen("tcp -h", &from, 1)).await
    }

    async fn connect_to(router: &str) -> Self {
        let communicator = Communicator::new();
        let router: RouterProxy = communicator.proxy(router).expect("a proxy");
        let connection = soon(router.ice_connection()).await.expect("a connection");
        let connection = connection.expect("it is elsewhere");
        Self {
            communicator,
            router: router.ice_fixed(&connection),
            connection,
        }
    }

    /// Makes an object known, and gives what a routed proxy to it is: one over the router's connection.
    pub(crate) async fn routed(&self, object: &Proxy) -> Result<Proxy, InvokeError> {
        soon(self.router.add_proxies(&[Some(object.clone())])).await?;
        Ok(self.connection.proxy(object.reference().identity.clone()))
    }
}

/// A server whose every object writes down its calls, and returns its parameters.
pub(crate) struct BackEnd {
    pub(crate) communicator: Communicator,
    pub(crate) adapter: Adapter,
    pub(crate) calls: Calls,
}

impl BackEnd {
    pub(crate) async fn start() -> Self {
        let communicator = Communicator::new();
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
        let adapter = adapter.expect("loopback");
        let calls = Calls::default();
        adapter
            .add_default("", Recorder(calls.clone()))
            .expect("there is none");
        adapter.activate();
        Self {
            communicator,
            adapter,
            calls,
        }
    }

    /// A verifier of passwords, which accepts all and so proves their users' names.
    pub(crate) fn verifier(&self) -> Reference {
        let verifier = PermissionsVerifierDispatcher::new(Verifier);
        let verifier = self.adapter.add("verifier", verifier).expect("one");
        verifier.reference().clone()
    }

    /// A proxy to one of its objects.
    pub(crate) fn object(&self, identity: &str) -> Proxy {
        let identity: Identity = identity.parse().expect("an identity");
        self.adapter.proxy(identity)
    }
}

/// Accepts every user with any password.
struct Verifier;

impl PermissionsVerifier for Verifier {
    async fn check_permissions(
        &self,
        _user_id: String,
        _password: String,
        _current: &Current,
    ) -> Result<(bool, String), PermissionDeniedError> {
        Ok((true, String::new()))
    }
}

/// Identities and operations, in the order in which they were called.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<(String, String)>>>);

impl Calls {
    pub(crate) fn note(&self, identity: &str, operation: &str) {
        let call = (identity.to_owned(), operation.to_owned());
        self.0.lock().expect("nobody panics").push(call);
    }

    pub(crate) fn list(&self) -> Vec<(String, String)> {
        self.0.lock().expect("nobody panics").clone()
    }

    pub(crate) fn operations(&self) -> Vec<String> {
        self.list()
            .into_iter()
            .map(|(_, operation)| operation)
            .collect()
    }

    /// Waits until there are so many.
    pub(crate) async fn when(&self, count: usize) -> Vec<String> {
        soon(async {
            while self.list().len() < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        self.operations()
    }
}

/// Writes down each call, and returns its parameters.
pub(crate) struct Recorder(pub(crate) Calls);

impl Dispatcher for Recorder {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let call = (
                request.current().identity().to_string(),
                request.operation().to_owned(),
            );
            self.0.0.lock().expect("nobody panics").push(call);
            let parameters = request.parameters();
            std::future::ready(request.respond(&Outcome::Returned(parameters)))
        });
    }
}

/// Calls an operation without parameters.
pub(crate) async fn call(proxy: &Proxy, operation: &str) -> Result<(), InvokeError> {
    let invoked = proxy.invoke(operation, OperationMode::Normal, NOTHING);
    soon(invoked).await.map(|_| ())
}

/// An encapsulation of nothing.
pub(crate) const NOTHING: &[u8] = &[6, 0, 0, 0, 1, 1];

/// Limits the time of a future, so that one that does not end does not hang the tests.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let ended = timeout(Duration::from_secs(60), future).await;
    ended.expect("expected an end within a minute")
}
