//! Attacks: each is refused and counted, and harms no other session.

use std::sync::Arc;

use floe::contracts::glacier2::{
    CannotCreateSessionOrPermissionDeniedError, PermissionDeniedError, PermissionsVerifier,
    PermissionsVerifierDispatcher, RouterProxy,
};
use floe::{Current, Identity, InvokeError, Proxy, Reference, SystemException, TypedProxy};
use floe_access::Users;
use floe_gateway::{GOING_AWAY, GatewaySettings, OVERLOADED, PasswordVerifier};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::resumption::Slow;
use crate::world::{BackEnd, Calls, Client, World, call, soon};

/// A gateway with a client that does nothing wrong, and its object.
struct Scene {
    world: World,
    client: Client,
    object: Proxy,
}

impl Scene {
    async fn set(change: impl FnOnce(&mut GatewaySettings)) -> Self {
        let world = World::with(change).await;
        let client = world.client().await;
        let object = client.routed(&world.back_end.object("good")).await;
        Self {
            object: object.expect("it may"),
            client,
            world,
        }
    }

    /// The client that does nothing wrong is served, and no other client has called anything.
    async fn end_unharmed(self) {
        call(&self.object, "unharmed").await.expect("it is served");
        assert_eq!(self.world.back_end.calls.operations(), ["unharmed"]);
        assert!(self.client.connection.is_active());
        self.world.shut_down().await;
    }

    /// An attacker with a session of its own.
    async fn attacker(&self) -> Client {
        let attacker = Client::connect(&self.world.gateway).await;
        let session = attacker.router.create_session("mallory", "secret");
        soon(session).await.expect("a session");
        attacker
    }
}

fn is_no_object(error: &InvokeError) -> bool {
    matches!(
        error,
        InvokeError::System(SystemException::ObjectNotExist(_))
    )
}

#[tokio::test]
async fn nothing_but_a_login_comes_before_a_session() {
    let scene = Scene::set(|_| ()).await;
    for attempt in 0..4 {
        let attacker = Client::connect(&scene.world.gateway).await;
        let good = scene.world.back_end.object("good");
        let error = match attempt {
            0 => attacker.routed(&good).await.map(drop).unwrap_err(),
            1 => {
                let object = attacker.connection.proxy("good".parse().unwrap());
                call(&object, "attack").await.unwrap_err()
            }
            2 => soon(attacker.router.get_server_proxy())
                .await
                .map(drop)
                .unwrap_err(),
            _ => soon(attacker.router.get_category_for_client())
                .await
                .map(drop)
                .unwrap_err(),
        };
        soon(attacker.connection.closed()).await;
        assert!(!is_no_object(&error), "{error}");
    }
    let status = scene.world.gateway.status();
    assert_eq!((status.requests_without_session, status.sessions), (4, 1));
    scene.end_unharmed().await;
}

#[tokio::test]
async fn a_forged_category_reaches_no_client() {
    let scene = Scene::set(|_| ()).await;
    let server_proxy = soon(scene.client.router.get_server_proxy()).await.unwrap();
    let server_proxy = server_proxy.expect("there are callbacks");
    let own = &server_proxy.reference().identity;
    // A server that guesses.
    let guess = Reference {
        identity: Identity::with_category("dummy", "!".repeat(own.category.len())),
        ..server_proxy.reference().clone()
    };
    let guess = scene.world.back_end.communicator.proxy_from(guess);
    assert!(is_no_object(&call(&guess, "attack").await.unwrap_err()));
    // A client that knows the category of another one asks for its object on the side of clients.
    let attacker = scene.attacker().await;
    let object = attacker.connection.proxy(own.clone());
    assert!(is_no_object(&call(&object, "attack").await.unwrap_err()));
    let status = scene.world.gateway.status();
    assert_eq!((status.to_clients, status.callbacks_refused), (0, 1));
    scene.end_unharmed().await;
}

#[tokio::test]
async fn a_stuffed_routing_table_forgets_and_does_not_grow() {
    let scene = Scene::set(|settings| {
        settings.routing_table_max = 1000;
        settings.routing_table_bytes = 20_000;
    })
    .await;
    let attacker = scene.attacker().await;
    let endpoint = scene.world.back_end.adapter.endpoints()[0].to_string();
    let mut evicted = 0;
    for round in 0..20 {
        let proxies: Vec<Option<Proxy>> = (0..100)
            .map(|number| {
                let text = format!("object-{round}-{number}:{endpoint}");
                Some(attacker.communicator.proxy(&text).unwrap())
            })
            .collect();
        evicted += soon(attacker.router.add_proxies(&proxies))
            .await
            .unwrap()
            .len();
    }
    // A proxy is longer than 40 bytes, so at most 500 stay.
    assert!((1500..2000).contains(&evicted), "{evicted}");
    assert_eq!(scene.world.gateway.status().routes_evicted, evicted as u64);
    scene.end_unharmed().await;
}

#[tokio::test]
async fn a_giant_proxy_ends_the_connection_of_its_client() {
    let scene = Scene::set(|settings| settings.routing_table_bytes = 20_000).await;
    let attacker = scene.attacker().await;
    let mut giant = scene.world.back_end.object("giant").reference().clone();
    giant.identity.name = "x".repeat(20_000);
    let giant: Proxy = attacker.communicator.proxy_from(giant);
    let refused = soon(attacker.router.add_proxies(&[Some(giant)])).await;
    assert!(refused.is_err());
    soon(attacker.connection.closed()).await;
    assert_eq!(scene.world.gateway.status().proxies_refused, 1);
    scene.end_unharmed().await;
}

#[tokio::test]
async fn guessed_passwords_are_slowed_and_the_right_one_still_counts() {
    let hash = "$6$rounds=2000$saltsalt$GBImuhotpiUgeciq/ZS6UaMklAGJMK25wd5Tacv1I0CcSmxHOQQLpmVKYRPIU6LoFrr4iPAAmsqUTjBoZ.Fwr/";
    let users = Users::parse(format!("joe {hash}\n").as_bytes()).expect("a users' file");
    let world = World::with(|settings| {
        settings.password_verifier = Some(PasswordVerifier::Users(users));
    })
    .await;
    let attacker = Client::connect(&world.gateway).await;
    for attempt in 0..5 {
        let guessed = soon(attacker.router.create_session("joe", "guess")).await;
        let is_denied = matches!(
            guessed,
            Err(CannotCreateSessionOrPermissionDeniedError::PermissionDeniedException(_))
        );
        assert!(is_denied, "{guessed:?}");
        let slowed = world.gateway.status().logins_slowed;
        assert_eq!(slowed, u64::from(attempt == 4), "{attempt}");
    }
    assert_eq!(world.gateway.status().logins_refused, 5);
    let created = soon(attacker.router.create_session("joe", "secret")).await;
    created.expect("it is the right one");
    world.shut_down().await;
}

/// Accepts every user but `mallory`, who waits for a permit and is refused then.
struct SlowVerifier {
    permits: Arc<Semaphore>,
    calls: Calls,
}

impl PermissionsVerifier for SlowVerifier {
    async fn check_permissions(
        &self,
        user_id: String,
        _password: String,
        _current: &Current,
    ) -> Result<(bool, String), PermissionDeniedError> {
        if user_id != "mallory" {
            return Ok((true, String::new()));
        }
        self.calls.note("verifier", "wait");
        let _permit = self.permits.acquire().await;
        Ok((false, "no".to_owned()))
    }
}

#[tokio::test]
async fn slow_logins_delay_no_other_client() {
    const ATTACKERS: usize = 10;
    const AT_A_TIME: usize = 4;
    const FREE: usize = 3;
    let permits = Arc::new(Semaphore::new(0));
    let waits = Calls::default();
    let back_end = BackEnd::start().await;
    let verifier = PermissionsVerifierDispatcher::new(SlowVerifier {
        permits: permits.clone(),
        calls: waits.clone(),
    });
    let verifier = back_end.adapter.add("slow", verifier).expect("one");
    let world = World::before(back_end, |settings| {
        settings.password_verifier = Some(PasswordVerifier::Proxy(verifier.reference().clone()));
    })
    .await;
    let mut logins = JoinSet::new();
    for _ in 0..ATTACKERS {
        let attacker = Client::connect(&world.gateway).await;
        logins.spawn(async move { attacker.router.create_session("mallory", "guess").await });
    }
    waits.when(AT_A_TIME).await;
    let client = world.client().await;
    let object = client.routed(&world.back_end.object("good")).await.unwrap();
    call(&object, "unharmed").await.expect("it is served");
    let status = world.gateway.status();
    assert_eq!((status.sessions, status.logins_refused), (1, 0));
    // As long as these are not refused, the others are not tried.
    assert_eq!(waits.operations().len(), AT_A_TIME);
    permits.add_permits(ATTACKERS);
    for login in soon(logins.join_all()).await {
        let is_denied = matches!(
            login,
            Err(CannotCreateSessionOrPermissionDeniedError::PermissionDeniedException(_))
        );
        assert!(is_denied, "{login:?}");
    }
    let status = world.gateway.status();
    assert_eq!(
        (status.sessions, status.logins_refused),
        (1, ATTACKERS as u64)
    );
    // Attempts at the same time are no way around the waits.
    let slowed_min = (ATTACKERS - AT_A_TIME - FREE) as u64;
    assert!(status.logins_slowed >= slowed_min, "{status:?}");
    call(&object, "unharmed").await.expect("it is served");
    assert_eq!(world.back_end.calls.operations(), ["unharmed"; 2]);
    world.shut_down().await;
}

#[tokio::test]
async fn a_flood_beyond_the_rate_is_refused_as_an_overload() {
    let scene = Scene::set(|settings| settings.user_request_rate = Some(1)).await;
    let attacker = scene.attacker().await;
    let flood = attacker.connection.proxy("unknown".parse().unwrap());
    let refused = soon(async {
        loop {
            match call(&flood, "attack").await.unwrap_err() {
                InvokeError::System(SystemException::UnknownException(text)) => break text,
                error => assert!(is_no_object(&error), "{error}"),
            }
        }
    })
    .await;
    assert!(refused.starts_with(OVERLOADED), "{refused}");
    assert!(scene.world.gateway.status().rate_exceeded > 0);
    scene.end_unharmed().await;
}

#[tokio::test]
async fn the_users_of_an_address_share_its_rate_and_other_addresses_have_their_own() {
    let world = World::with(|settings| settings.address_request_rate = Some(1)).await;
    let joe = world.client().await;
    let jane = Client::connect(&world.gateway).await;
    let session = jane.router.create_session("jane", "secret");
    soon(session).await.expect("a session");
    let unknown = |client: &Client| client.connection.proxy("unknown".parse().unwrap());
    let refused = soon(async {
        loop {
            // This one may be refused as well: both use up the rate.
            let _ = call(&unknown(&joe), "attack").await;
            match call(&unknown(&jane), "attack").await.unwrap_err() {
                InvokeError::System(SystemException::UnknownException(text)) => break text,
                error => assert!(is_no_object(&error), "{error}"),
            }
        }
    })
    .await;
    assert!(refused.starts_with(OVERLOADED), "{refused}");
    // The first request of another address, with a user who has a session at the first one.
    let elsewhere = Client::connect_from(&world.gateway, "127.0.0.2").await;
    let session = elsewhere.router.create_session("jane", "secret");
    soon(session).await.expect("a session");
    let error = call(&unknown(&elsewhere), "good").await.unwrap_err();
    assert!(is_no_object(&error), "{error}");
    world.shut_down().await;
}

#[tokio::test]
async fn a_gateway_that_goes_away_and_one_that_is_overloaded_are_told_apart() {
    let servant = Arc::new(Slow::default());
    let world = World::with(|settings| settings.user_request_rate = Some(20)).await;
    world.back_end.adapter.add("slow", servant.clone()).unwrap();
    let client = world.client().await;
    let slow = client.routed(&world.back_end.object("slow")).await.unwrap();
    let waiting = tokio::spawn(async move { call(&slow, "op").await });
    soon(servant.entered.notified()).await;
    let object = client.routed(&world.back_end.object("good")).await;
    let object = object.unwrap();
    let refusal = async || {
        loop {
            match call(&object, "op").await {
                Err(InvokeError::System(SystemException::UnknownException(text))) => break text,
                other => other.expect("it is served, or refused with a reason"),
            }
        }
    };
    let overloaded = soon(refusal()).await;
    assert!(overloaded.starts_with(OVERLOADED), "{overloaded}");
    // The shutdown waits for the answer of the slow object. Requests meanwhile are told why they fail.
    let newcomer = Client::connect(&world.gateway).await;
    let ending = tokio::spawn(world.shut_down());
    let going = soon(async {
        loop {
            let text = refusal().await;
            if !text.starts_with(OVERLOADED) {
                break text;
            }
        }
    })
    .await;
    assert!(going.starts_with(GOING_AWAY), "{going}");
    match soon(newcomer.router.create_session("jane", "secret")).await {
        Err(CannotCreateSessionOrPermissionDeniedError::CannotCreateSessionException(refused)) => {
            assert_eq!(refused.reason, "router is shutting down");
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
    servant.leave.notify_one();
    soon(waiting)
        .await
        .unwrap()
        .expect("it was accepted before");
    soon(ending).await.unwrap();
}

#[tokio::test]
async fn a_user_and_an_address_have_no_more_sessions_than_their_share() {
    let world = World::with(|settings| {
        settings.user_session_limit = Some(1);
        settings.address_session_limit = Some(2);
    })
    .await;
    let _joe = world.client().await;
    let mut others = Vec::new();
    for (user, expected) in [
        ("joe", Some("user-session-limit")),
        ("jane", None),
        ("jack", Some("address-session-limit")),
    ] {
        let client = Client::connect(&world.gateway).await;
        let created = soon(client.router.create_session(user, "secret")).await;
        let reason = match created {
            Ok(_) => None,
            Err(CannotCreateSessionOrPermissionDeniedError::CannotCreateSessionException(
                refused,
            )) => Some(refused.reason),
            Err(other) => panic!("expected a refusal, got {other}"),
        };
        let is_expected = match (&reason, expected) {
            (Some(reason), Some(expected)) => reason.contains(expected),
            (reason, expected) => reason.is_none() && expected.is_none(),
        };
        assert!(is_expected, "{user}: {reason:?}");
        others.push(client);
    }
    world.shut_down().await;
}

#[tokio::test]
async fn a_client_makes_no_session_with_a_gateway_behind_the_gateway() {
    let scene = Scene::set(|_| ()).await;
    let behind = World::with(|settings| settings.instance_name = "Behind".to_owned()).await;
    let attacker = scene.attacker().await;
    let router: Proxy = attacker
        .communicator
        .proxy(&behind.gateway.router())
        .expect("a proxy");
    let router = attacker.routed(&router).await.expect("it may be called");
    let router = RouterProxy::from_proxy(router);
    let refused = soon(router.create_session("mallory", "secret")).await;
    let refused = refused.expect_err("all clients would share it").to_string();
    assert!(refused.contains("would share that session"), "{refused}");
    behind.shut_down().await;
    scene.end_unharmed().await;
}
