//! Limits: no client takes from a gateway what others need.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::contracts::glacier2::{
    CannotCreateSessionOrPermissionDeniedError, SessionManagerDispatcher,
};
use floe::dispatch::{DispatchSlot, Dispatcher, Requests};
use floe::message::{Outcome, RequestFailed};
use floe::{Communicator, Identity, InvokeError, Proxy, Settings, SystemException, TypedProxy};
use floe_access::Users;
use floe_gateway::{GatewaySettings, OVERLOADED, PasswordVerifier};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::resumption::{Slow, Survivor};
use crate::sessions::Sessions;
use crate::world::{BackEnd, Calls, Client, NOTHING, World, call, soon};

/// Asks for a session. Returns the client, or the reason why there is no session.
async fn session(world: &World, from: &str, user: &str) -> Result<Client, String> {
    let client = Client::connect_from(&world.gateway, from).await;
    match soon(client.router.create_session(user, "secret")).await {
        Ok(_) => Ok(client),
        Err(CannotCreateSessionOrPermissionDeniedError::CannotCreateSessionException(refused)) => {
            Err(refused.reason)
        }
        Err(other) => panic!("expected a session or a refusal, got {other}"),
    }
}

/// A world whose verifier proves the names of users.
async fn proving(change: impl FnOnce(&mut GatewaySettings)) -> World {
    let back_end = BackEnd::start().await;
    let verifier = back_end.verifier();
    World::before(back_end, |settings| {
        settings.password_verifier = Some(PasswordVerifier::Proxy(verifier));
        change(settings);
    })
    .await
}

#[tokio::test]
async fn sessions_that_wait_for_their_clients_count_for_their_user_and_address() {
    for is_of_user in [true, false] {
        let world = World::with(|settings| match is_of_user {
            true => settings.user_session_limit = Some(2),
            false => settings.address_session_limit = Some(2),
        })
        .await;
        for _ in 0..2 {
            let survivor = Survivor::start(&world).await;
            let connection = survivor.connection().await.expect("it is connected");
            drop(survivor.session);
            connection.abort();
        }
        // The gateway notices the losses meanwhile.
        for _ in 0..20 {
            let refused = session(&world, "127.0.0.1", "joe").await;
            let reason = refused.map(drop).expect_err("two wait");
            assert!(reason.contains("too many sessions"), "{reason}");
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(world.gateway.status().sessions, 2);
        world.shut_down().await;
    }
}

#[tokio::test]
async fn an_address_has_half_of_the_sessions_unless_it_is_set_otherwise() {
    let world = World::with(|settings| settings.session_limit = 4).await;
    let mut clients = Vec::new();
    for user in ["a", "b"] {
        clients.push(session(&world, "127.0.0.2", user).await.expect("a session"));
    }
    let refused = session(&world, "127.0.0.2", "c").await.map(drop);
    let reason = refused.expect_err("the other half is for others");
    assert!(reason.starts_with(OVERLOADED), "{reason}");
    assert!(reason.contains("address-session-limit"), "{reason}");
    clients.push(session(&world, "127.0.0.3", "c").await.expect("a session"));
    // An end makes room.
    let first = clients.swap_remove(0);
    soon(first.router.destroy_session())
        .await
        .expect("it is there");
    clients.push(session(&world, "127.0.0.2", "d").await.expect("a session"));
    world.shut_down().await;
}

#[tokio::test]
async fn a_user_with_a_proven_name_has_half_of_the_sessions() {
    let world = proving(|settings| settings.session_limit = 4).await;
    let mut clients = Vec::new();
    for from in ["127.0.0.2", "127.0.0.3"] {
        clients.push(session(&world, from, "joe").await.expect("a session"));
    }
    let refused = session(&world, "127.0.0.4", "joe").await.map(drop);
    let reason = refused.expect_err("the other half is for others");
    assert!(reason.contains("user-session-limit"), "{reason}");
    clients.push(
        session(&world, "127.0.0.4", "jane")
            .await
            .expect("a session"),
    );
    world.shut_down().await;
    // A name that any client may use belongs to no user.
    let world = World::with(|settings| settings.session_limit = 4).await;
    for from in ["127.0.0.2", "127.0.0.3", "127.0.0.4"] {
        clients.push(session(&world, from, "joe").await.expect("a session"));
    }
    world.shut_down().await;
}

#[tokio::test]
async fn a_user_has_no_name_of_megabytes() {
    let world = World::start().await;
    let refused = session(&world, "127.0.0.1", &"n".repeat(100_000)).await;
    let reason = refused.map(drop).expect_err("it would be kept");
    assert!(reason.contains("1024 bytes"), "{reason}");
    session(&world, "127.0.0.1", &"n".repeat(1024))
        .await
        .expect("it is short");
    world.shut_down().await;
}

/// A server that accepts connections in its backlog, and reads nothing.
async fn deaf() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let port = listener.local_addr().expect("it is bound").port();
    (listener, port)
}

#[tokio::test]
async fn tokens_and_facets_take_room_in_a_queue() {
    for is_token in [true, false] {
        let world = World::with(|settings| settings.to_servers.queue_bytes = 200_000).await;
        let (_deaf, port) = deaf().await;
        let client = world.client().await;
        let object: Proxy = client
            .communicator
            .proxy(&format!("deaf:tcp -h 127.0.0.1 -p {port}"))
            .unwrap();
        let object = client.routed(&object).await.unwrap().ice_oneway();
        for number in 0..10 {
            let text = format!("{number:0>50000}");
            let object = match is_token {
                true => object.ice_context(BTreeMap::from([("_ovrd".to_owned(), text)])),
                false => object.ice_facet(&text),
            };
            call(&object, "op").await.expect("it is oneway");
        }
        // The first is on its way, as far as that goes. At most four wait, and the others are lost.
        soon(async {
            while world.gateway.status().to_servers < 10 {
                sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        sleep(Duration::from_millis(1500)).await;
        let status = world.gateway.status();
        assert!(status.queued <= 4, "{status:?}");
        assert!(status.queue_full >= 5, "{status:?}");
        world.shut_down().await;
    }
}

#[tokio::test]
async fn a_flood_of_heartbeats_asks_the_application_once_at_a_time() {
    let back_end = BackEnd::start().await;
    let slow = Arc::new(Slow::default());
    let application = back_end.adapter.add("slow", slow.clone()).unwrap();
    let manager = SessionManagerDispatcher::new(Sessions(application));
    let manager = back_end.adapter.add("manager", manager).unwrap();
    let world = World::before(back_end, |settings| {
        settings.session_manager = Some(manager.reference().clone());
    })
    .await;
    let client = Client::connect(&world.gateway).await;
    let created = soon(client.router.create_session("joe", "secret")).await;
    created.expect("a session").expect("the application's");
    for _ in 0..500 {
        client.connection.heartbeat();
        tokio::task::yield_now().await;
    }
    // It comes behind them.
    soon(client.router.get_session_timeout())
        .await
        .expect("it is served");
    soon(slow.entered.notified()).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(slow.calls.operations(), ["ice_ping"]);
    // The next heartbeat asks again, as soon as there is an answer.
    slow.leave.notify_one();
    soon(async {
        while slow.calls.operations().len() < 2 {
            client.connection.heartbeat();
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    drop(client);
    world.shut_down().await;
}

/// The text with which a gateway refuses something because it has too much to do.
fn overload(result: Result<(), InvokeError>) -> String {
    match result {
        Err(InvokeError::System(SystemException::UnknownException(text)))
            if text.starts_with(OVERLOADED) =>
        {
            text
        }
        other => panic!("expected an overload, got {other:?}"),
    }
}

#[tokio::test]
async fn requests_of_one_address_take_half_of_the_memory_and_others_are_served() {
    let world = World::with(|settings| settings.memory_max = 4_000_000).await;
    let (_deaf, port) = deaf().await;
    let attacker = session(&world, "127.0.0.2", "mallory").await.unwrap();
    // Each has a queue of its own.
    let mut objects = Vec::new();
    for number in 0..8 {
        let text = format!(
            "deaf{number}:tcp -h 127.0.0.1 -p {port} -t {}",
            60_000 + number
        );
        let object: Proxy = attacker.communicator.proxy(&text).unwrap();
        objects.push(attacker.routed(&object).await.unwrap());
    }
    let zeros = encapsulation(500_000);
    for object in &objects {
        let sent = object.ice_oneway();
        let sent = sent.invoke("op", floe::OperationMode::Normal, &zeros);
        soon(sent).await.expect("it is oneway");
    }
    soon(async {
        while world.gateway.status().memory_full < 4 {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let refused = objects[7].invoke("op", floe::OperationMode::Normal, &zeros);
    let text = overload(soon(refused).await.map(drop));
    assert!(text.contains("memory-bytes"), "{text}");
    let other = session(&world, "127.0.0.3", "joe").await.unwrap();
    let good = other.routed(&world.back_end.object("good")).await.unwrap();
    let sent = good.invoke("op", floe::OperationMode::Normal, &zeros);
    soon(sent).await.expect("it is served");
    // The end of the attacker gives all back.
    attacker.connection.abort();
    soon(async {
        while world.gateway.status().memory > 10_000 {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    world.shut_down().await;
}

/// Zeros as parameters.
fn encapsulation(len: usize) -> Vec<u8> {
    let mut bytes = i32::to_le_bytes(i32::try_from(len).expect("short")).to_vec();
    bytes.extend([1, 1]);
    bytes.resize(len, 0);
    bytes
}

#[tokio::test]
async fn routes_of_one_address_take_half_of_the_memory() {
    let world = World::with(|settings| settings.memory_max = 4_000_000).await;
    let mut attackers = Vec::new();
    let mut refused = None;
    let communicator = Communicator::new();
    for number in 0..20 {
        let attacker = session(&world, "127.0.0.2", "mallory").await.unwrap();
        let text = format!("{}:tcp -h 127.0.0.1 -p 1", "n".repeat(50_000));
        let object: Proxy = communicator.proxy(&text).unwrap();
        let added = soon(attacker.router.add_proxies(&[Some(object)])).await;
        attackers.push(attacker);
        if let Err(error) = added {
            refused = Some((number, error));
            break;
        }
    }
    let (number, error) = refused.expect("they take too much");
    assert!((2..10).contains(&number), "{number}");
    assert!(error.to_string().contains("memory-bytes"), "{error}");
    let other = session(&world, "127.0.0.3", "joe").await.unwrap();
    let good = other.routed(&world.back_end.object("good")).await.unwrap();
    call(&good, "op").await.expect("it is served");
    world.shut_down().await;
}

#[tokio::test]
async fn a_hundred_thousand_proxies_at_once_are_refused_and_a_thousand_are_registered() {
    let world = World::start().await;
    let client = world.client().await;
    let proxies = |count| -> Vec<Option<Proxy>> {
        let proxy = |number| client.communicator.proxy(&format!("{number}@a")).ok();
        (0..count).map(proxy).collect()
    };
    let added = soon(client.router.add_proxies(&proxies(1000))).await;
    assert_eq!(added.expect("the table has room").len(), 0);
    let refused = soon(client.router.add_proxies(&proxies(40_000))).await;
    let text = refused.expect_err("the table has no room").to_string();
    assert!(text.contains("at most 1000 proxies"), "{text}");
    let status = world.gateway.status();
    assert_eq!((status.routes_evicted, status.proxies_refused), (0, 1));
    world.shut_down().await;
}

#[tokio::test]
async fn calls_without_an_answer_leave_room_for_those_of_others() {
    for buffered in [true, false] {
        let world = World::with(|settings| settings.to_servers.buffered = buffered).await;
        let slow = Arc::new(Slow::default());
        world.back_end.adapter.add("slow", slow.clone()).unwrap();
        // A server dispatches 1,024 requests of one connection at a time.
        let mut attackers = Vec::new();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..2 {
            let attacker = session(&world, "127.0.0.2", "mallory").await.unwrap();
            let object = attacker.routed(&world.back_end.object("slow")).await;
            let object = object.unwrap();
            for _ in 0..600 {
                let object = object.clone();
                calls.spawn(async move { call(&object, "op").await });
            }
            attackers.push(attacker);
        }
        slow.calls.when(500).await;
        sleep(Duration::from_millis(500)).await;
        let other = session(&world, "127.0.0.3", "joe").await.unwrap();
        let good = other.routed(&world.back_end.object("good")).await.unwrap();
        call(&good, "op").await.expect("it is served");
        // All have their turn.
        soon(async {
            while !calls.is_empty() {
                slow.leave.notify_one();
                let ended = tokio::time::timeout(Duration::from_millis(1), calls.join_next());
                if let Ok(Some(ended)) = ended.await {
                    ended.unwrap().expect("an answer");
                }
            }
        })
        .await;
        assert_eq!(slow.calls.operations().len(), 1200);
        world.shut_down().await;
    }
}

/// Answers with a long text after a moment, or with an exception if there is a facet, and notes how many requests wait at most.
#[derive(Default)]
pub(crate) struct Lengthy {
    waiting: AtomicUsize,
    most: AtomicUsize,
}

impl Dispatcher for Lengthy {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let servant = self.clone();
            async move {
                let waiting = servant.waiting.fetch_add(1, Ordering::Relaxed) + 1;
                servant.most.fetch_max(waiting, Ordering::Relaxed);
                sleep(Duration::from_millis(5)).await;
                servant.waiting.fetch_sub(1, Ordering::Relaxed);
                match request.current().facet() {
                    "" => request.respond(&Outcome::Returned(encapsulation(500_000).into())),
                    _ => Err(SystemException::FacetNotExist(RequestFailed::default())),
                }
            }
        });
    }
}

#[tokio::test]
async fn long_answers_leave_room_for_those_of_others() {
    let world = World::start().await;
    let lengthy = Arc::new(Lengthy::default());
    let added = world.back_end.adapter.add("lengthy", lengthy.clone());
    added.unwrap();
    let attacker = session(&world, "127.0.0.2", "mallory").await.unwrap();
    let object = attacker.routed(&world.back_end.object("lengthy")).await;
    let object = object.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let object = object.clone();
        calls.spawn(async move { call(&object, "op").await });
    }
    soon(async {
        while let Some(ended) = calls.join_next().await {
            ended.unwrap().expect("an answer");
        }
    })
    .await;
    // Two megabytes, and what is let in while the machine is too slow to answer.
    let most = lengthy.most.load(Ordering::Relaxed);
    assert!((2..=20).contains(&most), "{most}");
    world.shut_down().await;
}

/// The calls with long facets that are at work at the same time, to an object that answers each with an exception that has it.
#[tokio::test]
async fn long_exceptions_leave_room_for_answers_of_others() {
    const COUNT: usize = 100;
    let world = World::start().await;
    let lengthy = Arc::new(Lengthy::default());
    let facet = "f".repeat(500_000);
    let adapter = &world.back_end.adapter;
    let added = adapter.add_facet("lengthy", &facet, lengthy.clone());
    added.unwrap();
    let attacker = session(&world, "127.0.0.2", "mallory").await.unwrap();
    let object = attacker.routed(&world.back_end.object("lengthy")).await;
    let object = object.unwrap().ice_facet(&facet);
    // After these, what the gateway expects of answers is what they were.
    for _ in 0..10 {
        missing(call(&object, "op").await);
    }
    lengthy.most.store(0, Ordering::Relaxed);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..COUNT {
        let object = object.clone();
        calls.spawn(async move { call(&object, "op").await });
    }
    while let Some(ended) = soon(calls.join_next()).await {
        missing(ended.unwrap());
    }
    // Beside 2 MB of answers and requests, there is what is let in while the machine is too slow to answer.
    let most = lengthy.most.load(Ordering::Relaxed);
    assert!((2..=6).contains(&most), "{most}");
    world.shut_down().await;
}

fn missing(result: Result<(), InvokeError>) {
    match result {
        Err(InvokeError::System(SystemException::FacetNotExist(_))) => {}
        other => panic!("expected an exception of the server, got {other:?}"),
    }
}

/// A proxy to an object of the client, as the back end calls it.
async fn callback(world: &World, client: &Client, servant: Arc<impl Dispatcher>) -> Proxy {
    let category = soon(client.router.get_category_for_client()).await.unwrap();
    let adapter = client.communicator.adapter_without_endpoints().await;
    let adapter = adapter.unwrap();
    adapter.add_default("", servant).unwrap();
    adapter.activate();
    client.connection.set_adapter(Some(&adapter));
    let server_proxy = soon(client.router.get_server_proxy()).await.unwrap();
    let mut reference = server_proxy
        .expect("there are callbacks")
        .reference()
        .clone();
    reference.identity = Identity::with_category("callback", category);
    world.back_end.communicator.proxy_from(reference)
}

#[tokio::test]
async fn a_client_that_does_not_answer_keeps_no_server_from_calling_others() {
    let world = World::start().await;
    let mut called = Vec::new();
    let silent = Arc::new(Slow::default());
    for from in ["127.0.0.2", "127.0.0.3"] {
        let client = session(&world, from, "joe").await.unwrap();
        let object = callback(&world, &client, silent.clone()).await;
        called.push((object, client));
    }
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..1200 {
        let object = called[0].0.clone();
        calls.spawn(async move { call(&object, "silence").await });
    }
    silent.calls.when(500).await;
    sleep(Duration::from_millis(500)).await;
    let other = called[1].0.clone();
    let other = tokio::spawn(async move { call(&other, "op").await });
    let mut refused = 0;
    // The requests that found no room are refused.
    while refused < 500 {
        let text = overload(soon(calls.join_next()).await.expect("one waits").unwrap());
        assert!(text.contains("does not answer"), "{text}");
        refused += 1;
    }
    soon(async {
        while !silent.calls.operations().contains(&"op".to_owned()) {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    soon(async {
        while !other.is_finished() {
            silent.leave.notify_waiters();
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    other.await.unwrap().expect("an answer");
    world.shut_down().await;
}

/// Notes each request, and answers it when its operation is the next that may be answered.
#[derive(Default)]
struct Chosen {
    calls: Calls,
    answered: Mutex<HashSet<String>>,
    changed: Notify,
}

impl Chosen {
    fn answer(&self, operation: &str) {
        self.answered.lock().unwrap().insert(operation.to_owned());
        self.changed.notify_waiters();
    }
}

impl Dispatcher for Chosen {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let servant = self.clone();
            async move {
                servant.calls.note("chosen", request.operation());
                loop {
                    let changed = servant.changed.notified();
                    if servant
                        .answered
                        .lock()
                        .unwrap()
                        .contains(request.operation())
                    {
                        return request.returned_nothing();
                    }
                    changed.await;
                }
            }
        });
    }
}

#[tokio::test]
async fn callbacks_that_have_waited_for_room_keep_their_order() {
    // As many as there is room for beside the long one.
    const SHORT: usize = 481;
    const WAITING: usize = 30;
    let world = World::start().await;
    let client = session(&world, "127.0.0.2", "joe").await.unwrap();
    let servant = Arc::new(Chosen::default());
    let object = callback(&world, &client, servant.clone()).await;
    let call = |operation: String, len| {
        let object = object.clone();
        async move {
            let parameters = encapsulation(len);
            let called = object.invoke(&operation, floe::OperationMode::Normal, &parameters);
            soon(called).await.map(drop)
        }
    };
    let mut calls = tokio::task::JoinSet::new();
    calls.spawn(call("long".to_owned(), 500_000));
    servant.calls.when(1).await;
    for number in 0..SHORT {
        calls.spawn(call(format!("short{number}"), 6));
    }
    servant.calls.when(1 + SHORT).await;
    let waiting: Vec<_> = (0..WAITING).map(|number| format!("late{number}")).collect();
    for operation in &waiting {
        calls.spawn(call(operation.clone(), 6));
    }
    soon(async {
        while world.gateway.status().to_clients < (1 + SHORT + WAITING) as u64 {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(servant.calls.list().len(), 1 + SHORT);
    servant.answer("long");
    let all = servant.calls.when(1 + SHORT + WAITING).await;
    assert_eq!(all[1 + SHORT..], waiting);
    for operation in all {
        servant.answer(&operation);
    }
    for called in soon(calls.join_all()).await {
        called.expect("an answer");
    }
    world.shut_down().await;
}

#[tokio::test]
async fn a_login_is_not_behind_all_those_from_another_address() {
    let hash = format!("$6$rounds=10000$saltsalt${}", ".".repeat(86));
    let users = Users::parse(format!("joe {hash}\n").as_bytes()).expect("a users' file");
    let world = World::with(|settings| {
        settings.password_verifier = Some(PasswordVerifier::Users(users));
    })
    .await;
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..16 {
        let attacker = Client::connect_from(&world.gateway, "127.0.0.2").await;
        let user = format!("mallory{number}");
        attempts.spawn(async move { attacker.router.create_session(&user, "guess").await });
    }
    // All of them have come.
    sleep(Duration::from_millis(50)).await;
    let other = Client::connect_from(&world.gateway, "127.0.0.3").await;
    soon(other.router.create_session("joe", "mistyped"))
        .await
        .expect_err("it is the wrong one");
    let refused = world.gateway.status().logins_refused;
    assert!(refused < 10, "{refused}");
    soon(attempts.join_all()).await;
    world.shut_down().await;
}

#[tokio::test]
async fn few_logins_wait_on_one_connection() {
    let hash = format!("$6$rounds=10000$saltsalt${}", ".".repeat(86));
    let users = Users::parse(format!("joe {hash}\n").as_bytes()).expect("a users' file");
    let world = World::with(|settings| {
        settings.password_verifier = Some(PasswordVerifier::Users(users));
    })
    .await;
    let client = Client::connect_from(&world.gateway, "127.0.0.2").await;
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (router, user) = (client.router.clone(), format!("mallory{number}"));
        attempts.spawn(async move { router.create_session(&user, "guess").await });
    }
    let mut refused = 0;
    for result in soon(attempts.join_all()).await {
        match result.expect_err("it is the wrong one") {
            CannotCreateSessionOrPermissionDeniedError::CannotCreateSessionException(error) => {
                let text = format!("{OVERLOADED}8 logins wait on this connection already");
                assert!(error.reason.starts_with(&text), "{}", error.reason);
                refused += 1;
            }
            CannotCreateSessionOrPermissionDeniedError::PermissionDeniedException(_) => {}
            other => panic!("expected a refusal, got {other}"),
        }
    }
    // The logins that came while eight waited.
    assert!((50..=92).contains(&refused), "{refused}");
    world.shut_down().await;
}

#[tokio::test]
async fn the_sessions_of_one_address_have_half_of_the_connections_to_servers() {
    for is_oneway in [false, true] {
        let world = World::with(|settings| settings.server_connection_limit = 4).await;
        let attacker = session(&world, "127.0.0.2", "mallory").await.unwrap();
        // The timeout is a part of what tells connections apart.
        let endpoint = world.back_end.adapter.endpoints()[0].to_string();
        let endpoint = endpoint.replace(" -t 60000", "");
        let mut refused = 0;
        for number in 0..8 {
            let text = format!("o{number}:{endpoint} -t {}", 50_000 + number);
            let object: Proxy = attacker.communicator.proxy(&text).unwrap();
            let object = attacker.routed(&object).await.unwrap();
            if is_oneway {
                call(&object.ice_oneway(), "attack")
                    .await
                    .expect("it is oneway");
            } else if let Err(error) = call(&object, "attack").await {
                let text = overload(Err(error));
                assert!(text.contains("server-connection-limit"), "{text}");
                refused += 1;
            }
        }
        if is_oneway {
            soon(async {
                while world.gateway.status().lost < 6 {
                    sleep(Duration::from_millis(2)).await;
                }
            })
            .await;
        } else {
            assert_eq!(refused, 6);
        }
        let other = session(&world, "127.0.0.3", "joe").await.unwrap();
        let good = other.routed(&world.back_end.object("good")).await.unwrap();
        call(&good, "op").await.expect("it is served");
        world.shut_down().await;
    }
}

/// A world whose gateway has room for one connection of each address to servers, and closes unused ones soon.
async fn with_one_connection() -> World {
    let mut settings = Settings::default();
    settings.outgoing.inactivity_timeout = Some(Duration::from_millis(500));
    let gateway_side = Communicator::with_settings(settings);
    let back_end = BackEnd::start().await;
    World::on_side(gateway_side, back_end, |settings| {
        settings.server_connection_limit = 2;
    })
    .await
}

#[tokio::test]
async fn a_connection_for_datagrams_counts_until_it_is_unused() {
    let world = with_one_connection().await;
    let receiver = UdpSocket::bind("127.0.0.1:0").await.expect("loopback");
    let port = receiver.local_addr().expect("it is bound").port();
    let client = session(&world, "127.0.0.2", "joe").await.unwrap();
    let good = client.routed(&world.back_end.object("good")).await.unwrap();
    let object: Proxy = client
        .communicator
        .proxy(&format!("o:udp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let object = client.routed(&object).await.unwrap().ice_oneway();
    let as_datagram = BTreeMap::from([("_fwd".to_owned(), "d".to_owned())]);
    call(&object.ice_context(as_datagram), "op").await.unwrap();
    soon(receiver.recv(&mut [0; 1000])).await.expect("it comes");
    overload(call(&good, "op").await);
    has_room_again(&good).await;
    world.shut_down().await;
}

/// Waits until an object can be reached that no connection was free for.
async fn has_room_again(object: &Proxy) {
    soon(async {
        while let Err(error) = call(object, "op").await {
            overload(Err(error));
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// A server that closes its first connection in order when a request has come, and answers requests over the second one.
async fn closing_once(listener: TcpListener) {
    for is_first in [true, false] {
        let (mut stream, _) = listener.accept().await.expect("a client");
        stream.write_all(&message(3, &[])).await.unwrap();
        let mut header = [0; 14];
        stream.read_exact(&mut header).await.unwrap();
        let size = u32::from_le_bytes(header[10..].try_into().unwrap());
        let mut request = vec![0; size as usize - header.len()];
        stream.read_exact(&mut request).await.unwrap();
        if is_first {
            stream.write_all(&message(4, &[])).await.unwrap();
            continue;
        }
        let answer = [&request[..4], &[0], NOTHING].concat();
        stream.write_all(&message(2, &answer)).await.unwrap();
        // It stays open until the other side closes it.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
}

/// A message of this type.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00".to_vec();
    bytes.extend([kind, 0]);
    bytes.extend(u32::try_from(14 + body.len()).unwrap().to_le_bytes());
    bytes.extend(body);
    bytes
}

#[tokio::test]
async fn a_connection_that_a_retry_makes_counts_until_it_is_unused() {
    let world = with_one_connection().await;
    let (listener, port) = deaf().await;
    let server = tokio::spawn(closing_once(listener));
    let client = session(&world, "127.0.0.2", "joe").await.unwrap();
    let good = client.routed(&world.back_end.object("good")).await.unwrap();
    let object: Proxy = client
        .communicator
        .proxy(&format!("o:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let object = client.routed(&object).await.unwrap();
    call(&object, "op").await.expect("the retry is answered");
    overload(call(&good, "op").await);
    // The gateway closes it when it is not used.
    soon(server).await.unwrap();
    has_room_again(&good).await;
    world.shut_down().await;
}
