//! Sessions: who has one, and when it ends.

use std::time::Duration;

use floe::contracts::glacier2::{
    CannotCreateSessionError, CannotCreateSessionOrPermissionDeniedError, SessionControlProxy,
    SessionManager, SessionManagerDispatcher, SessionProxy,
};
use floe::encoding::Encoder;
use floe::{
    Current, EncodingVersion, InvokeError, OperationMode, Proxy, SystemException, TypedProxy,
};
use floe_gateway::{Gateway, GatewayError, GatewaySettings};

use crate::world::{BackEnd, Client, World, call, soon};

#[tokio::test]
async fn a_request_without_a_session_ends_its_connection_and_reaches_nobody() {
    let world = World::start().await;
    let client = Client::connect(&world.gateway).await;
    let object = client.connection.proxy("object".parse().unwrap());
    let error = call(&object, "op").await.unwrap_err();
    assert!(!matches!(error, InvokeError::System(_)), "{error}");
    soon(client.connection.closed()).await;
    assert_eq!(world.gateway.status().requests_without_session, 1);
    assert_eq!(world.back_end.calls.list(), []);
    world.shut_down().await;
}

#[tokio::test]
async fn a_session_ends_with_its_connection_and_its_category_with_it() {
    let world = World::start().await;
    let client = world.client().await;
    let server_proxy = soon(client.router.get_server_proxy()).await.unwrap();
    let server_proxy = server_proxy.expect("there is a server adapter");
    assert_eq!(world.gateway.status().sessions, 1);
    client.connection.abort();
    while world.gateway.status().sessions > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let callback = world
        .back_end
        .communicator
        .proxy_from(server_proxy.reference().clone());
    let error = call(&callback, "op").await.unwrap_err();
    let is_unknown = matches!(
        error,
        InvokeError::System(SystemException::ObjectNotExist(_))
    );
    assert!(is_unknown, "{error}");
    world.shut_down().await;
}

#[tokio::test]
async fn clients_beyond_the_limit_are_refused_and_those_within_it_are_served() {
    let world = World::with(|settings| settings.session_limit = 1).await;
    let first = world.client().await;
    let second = Client::connect(&world.gateway).await;
    let refused = soon(second.router.create_session("jane", "secret")).await;
    match refused {
        Err(CannotCreateSessionOrPermissionDeniedError::CannotCreateSessionException(
            exception,
        )) => {
            assert_eq!(
                exception.reason,
                "gateway overloaded: too many sessions (session-limit)"
            );
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
    let object = first
        .routed(&world.back_end.object("object"))
        .await
        .unwrap();
    call(&object, "op").await.unwrap();
    soon(first.router.destroy_session()).await.unwrap();
    soon(second.router.create_session("jane", "secret"))
        .await
        .unwrap();
    assert_eq!(world.gateway.status().logins_refused, 1);
    world.shut_down().await;
}

#[tokio::test]
async fn a_datagram_makes_no_session() {
    let world = World::with(|settings| {
        settings.client_listen = "tcp -h 127.0.0.1 -p 0:udp -h 127.0.0.1 -p 0".to_owned();
    })
    .await;
    let communicator = floe::Communicator::new();
    let router: Proxy = communicator.proxy(&world.gateway.router()).unwrap();
    let mut credentials = Vec::new();
    let mut encoder = Encoder::new(&mut credentials, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
        encoder.string("joe");
        encoder.string("secret");
    });
    encoder.finish().unwrap();
    let router = router.ice_datagram();
    let sent = router.invoke("createSession", OperationMode::Normal, &credentials);
    soon(sent).await.expect("it is sent");
    soon(async {
        while world.gateway.status().logins_refused < 1 {
            assert_eq!(world.gateway.status().sessions, 0);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(world.gateway.status().sessions, 0);
    world.shut_down().await;
}

#[tokio::test]
async fn an_object_of_this_process_is_reached_by_its_endpoints_alone() {
    let world = World::start().await;
    let client = world.client().await;
    // The gateway's own communicator has this object, but a client names no endpoint of it.
    let hidden = client.communicator.proxy("Glacier2/router").unwrap();
    let hidden: floe::Proxy = hidden;
    let other = hidden.with_reference(floe::Reference {
        identity: "Ice/RouterFinder2".parse().unwrap(),
        ..hidden.reference().clone()
    });
    let object = client.routed(&other).await.unwrap();
    let error = call(&object, "op").await.unwrap_err().to_string();
    assert!(error.contains("::Ice::NoEndpointException"), "{error}");
    world.shut_down().await;
}

#[tokio::test]
async fn a_gateway_without_a_verifier_does_not_start_and_says_what_to_do() {
    let communicator = floe::Communicator::new();
    let settings = GatewaySettings::new("tcp -h 127.0.0.1 -p 0");
    let error = Gateway::start(&communicator, settings).await.unwrap_err();
    assert!(matches!(error, GatewayError::NoVerifier));
    assert!(error.to_string().contains("CryptPasswords"), "{error}");
}

#[tokio::test]
async fn a_dropped_gateway_ends_its_sessions_and_frees_its_port() {
    let world = World::start().await;
    let client = world.client().await;
    let endpoints = world.gateway.client_endpoints();
    drop(world.gateway);
    soon(client.connection.closed()).await;
    let communicator = floe::Communicator::new();
    let again = soon(async {
        loop {
            match communicator.adapter(&endpoints).await {
                Ok(adapter) => break adapter,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    again.await.destroy().await;
    assert!(client.router.ice_ping().await.is_err());
}

/// Returns this session of the application for each user.
pub(crate) struct Sessions(pub(crate) Proxy);

impl SessionManager for Sessions {
    async fn create(
        &self,
        _user_id: String,
        _control: Option<SessionControlProxy>,
        _current: &Current,
    ) -> Result<Option<SessionProxy>, CannotCreateSessionError> {
        Ok(Some(SessionProxy::from_proxy(self.0.clone())))
    }
}

#[test]
fn a_gateway_can_be_dropped_on_a_thread_without_a_runtime() {
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let (world, client) = runtime.block_on(async {
        let back_end = BackEnd::start().await;
        let session = back_end.object("session");
        let manager = SessionManagerDispatcher::new(Sessions(session));
        let manager = back_end.adapter.add("manager", manager).expect("once");
        let world = World::before(back_end, |settings| {
            settings.session_manager = Some(manager.reference().clone());
        })
        .await;
        let client = Client::connect(&world.gateway).await;
        let session = client.router.create_session("joe", "secret");
        soon(session).await.expect("a session").expect("a proxy");
        (world, client)
    });
    drop(world.gateway);
    runtime.block_on(async {
        soon(client.connection.closed()).await;
        assert_eq!(world.back_end.calls.when(1).await, ["destroy"]);
    });
}
