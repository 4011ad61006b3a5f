//! Sessions that survive a lost connection: nothing accepted is lost, and nothing is delivered twice.

use std::sync::Arc;
use std::time::Duration;

use floe::contracts::glacier2::RouterProxy;
use floe::dispatch::{DispatchSlot, Requests};
use floe::encoding::{Encapsulation, Encoder};
use floe::message::{Outcome, RequestFailed};
use floe::{
    Communicator, Connection, Dispatcher, EncodingVersion, Identity, InvokeError, OperationMode,
    Proxy, SystemException, TypedProxy,
};
use floe_gateway::{OVERLOADED, ResumableSession};
use proptest::prelude::*;
use tokio::runtime::Builder;
use tokio::sync::Notify;

use crate::limits::Lengthy;
use crate::world::{Calls, Client, NOTHING, Recorder, World, call, soon};

const GRACE: Duration = Duration::from_secs(60);

/// A client whose session survives.
pub(crate) struct Survivor {
    communicator: Communicator,
    router: RouterProxy,
    pub(crate) session: ResumableSession,
}

impl Survivor {
    pub(crate) async fn start(world: &World) -> Self {
        let communicator = Communicator::new();
        let router: RouterProxy = communicator.proxy(&world.gateway.router()).unwrap();
        let created = router.create_session("joe", "secret");
        soon(created).await.expect("a session");
        let session = ResumableSession::open(&communicator, &router, GRACE);
        let session = soon(session).await.expect("it can be resumed");
        Self {
            communicator,
            router,
            session,
        }
    }

    /// The connection to the gateway.
    pub(crate) async fn connection(&self) -> Option<Connection> {
        soon(self.router.ice_connection()).await.ok().flatten()
    }

    /// Breaks the connection.
    async fn cut(&self) {
        if let Some(connection) = self.connection().await {
            connection.abort();
        }
    }

    /// A proxy to an object of the back end, through the session.
    pub(crate) fn routed(&self, world: &World, identity: &str) -> Proxy {
        let text = world.back_end.object(identity).to_string();
        let proxy: Proxy = self.communicator.proxy(&text).unwrap();
        self.session.routed(&proxy)
    }

    /// A proxy to an object of the client, as the back end calls it.
    async fn callback(&self, world: &World, calls: &Calls) -> Proxy {
        self.callback_to(world, Recorder(calls.clone())).await
    }

    /// Returns a proxy for calls back to this servant.
    pub(crate) async fn callback_to(&self, world: &World, servant: impl Dispatcher) -> Proxy {
        let adapter = soon(self.session.adapter()).await.expect("an adapter");
        let category = soon(self.router.get_category_for_client()).await.unwrap();
        let identity = Identity::with_category("callback", category);
        let object = adapter.add(identity, servant).unwrap();
        let reference = object.reference().clone();
        world.back_end.communicator.proxy_from(reference)
    }

    async fn end(self) {
        soon(self.session.close()).await.expect("it is there");
        soon(self.communicator.shutdown()).await;
    }
}

async fn send(proxy: &Proxy, operation: &str) -> Result<(), InvokeError> {
    let invoked = proxy.invoke(operation, OperationMode::Normal, NOTHING);
    soon(invoked).await.map(drop)
}

/// Sends requests in both directions, and cuts the connection before those with these numbers.
async fn converse(count: usize, cuts: &[usize], is_oneway: bool) {
    let world = World::start().await;
    let survivor = Survivor::start(&world).await;
    let calls = Calls::default();
    let mut callback = survivor.callback(&world, &calls).await;
    let mut object = survivor.routed(&world, "object");
    if is_oneway {
        (callback, object) = (callback.ice_oneway(), object.ice_oneway());
    }
    let mut expected = Vec::new();
    for number in 0..count {
        if cuts.contains(&number) {
            survivor.cut().await;
        }
        let operation = format!("op{number}");
        let both = tokio::join!(send(&object, &operation), send(&callback, &operation));
        both.0.expect("the gateway has accepted it");
        both.1.expect("the gateway has accepted it");
        expected.push(operation);
    }
    assert_eq!(world.back_end.calls.when(count).await, expected);
    assert_eq!(calls.when(count).await, expected);
    assert_eq!(world.gateway.status().sessions, 1);
    survivor.end().await;
    world.shut_down().await;
}

#[tokio::test]
async fn a_session_without_losses_is_one_as_any_other() {
    converse(20, &[], true).await;
    converse(20, &[], false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_begin_in_their_order_on_many_threads() {
    converse(300, &[50, 100, 101, 200], true).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn nothing_accepted_is_lost_and_nothing_is_delivered_twice(
        cuts in prop::collection::vec(0usize..30, 1..6), is_oneway in any::<bool>()
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(converse(30, &cuts, is_oneway));
    }
}

/// Answers when it is told to.
#[derive(Default)]
pub(crate) struct Slow {
    pub(crate) entered: Notify,
    pub(crate) leave: Notify,
    pub(crate) calls: Calls,
}

impl Dispatcher for Slow {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let servant = self.clone();
            async move {
                servant.calls.note("slow", request.operation());
                servant.entered.notify_one();
                servant.leave.notified().await;
                request.returned_nothing()
            }
        });
    }
}

#[tokio::test]
async fn an_answer_that_was_due_when_the_connection_broke_comes_and_its_servant_ran_once() {
    let world = World::start().await;
    let servant = Arc::new(Slow::default());
    world.back_end.adapter.add("slow", servant.clone()).unwrap();
    let survivor = Survivor::start(&world).await;
    let slow = survivor.routed(&world, "slow");
    let answer = tokio::spawn(async move { send(&slow, "op").await });
    soon(servant.entered.notified()).await;
    let before = survivor.connection().await;
    survivor.cut().await;
    soon(async {
        while survivor.connection().await == before || !survivor.session.is_connected() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    servant.leave.notify_one();
    soon(answer).await.unwrap().expect("an answer");
    assert_eq!(servant.calls.operations(), ["op"]);
    survivor.end().await;
    world.shut_down().await;
}

/// Calls an operation of the gateway for sessions that takes and returns a text.
async fn ask(client: &Client, operation: &str, text: &str) -> Result<String, InvokeError> {
    let mut parameters = Vec::new();
    let mut encoder = Encoder::new(&mut parameters, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, |encoder| match operation {
        "open" => encoder.put(&1_i64),
        _ => encoder.string(text),
    });
    encoder.finish().unwrap();
    let object: Proxy = client.router.as_proxy().ice_facet("floe.session");
    let invoked = object.invoke(operation, OperationMode::Normal, &parameters);
    let Some(Outcome::Returned(bytes)) = soon(invoked).await? else {
        panic!("expected results");
    };
    let encapsulation = Encapsulation::parse(&bytes).unwrap();
    let mut decoder = encapsulation.decoder().unwrap();
    Ok(decoder.get::<String>().unwrap_or_default())
}

/// Knows no object, so that its exceptions are as long as the facets in the requests.
struct Missing;

impl Dispatcher for Missing {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, |_| async {
            Err(SystemException::ObjectNotExist(RequestFailed::default()))
        });
    }
}

/// A missing object with a facet of this length, through the client's session.
async fn missing(world: &World, client: &Client, facet_len: usize) -> Proxy {
    let facet = "f".repeat(facet_len);
    let adapter = &world.back_end.adapter;
    adapter.add_facet("missing", &facet, Missing).expect("one");
    let object = client.routed(&world.back_end.object("missing")).await;
    object.expect("it may be called").ice_facet(&facet)
}

#[tokio::test]
async fn kept_exceptions_take_room_until_their_client_has_them() {
    let world = World::with(|settings| settings.to_clients.queue_bytes = 100_000).await;
    let client = world.client().await;
    ask(&client, "open", "").await.unwrap();
    let object = missing(&world, &client, 50_000).await;
    let send = async |number: u64, floor: u64| {
        let numbers = [("floe.number", number), ("floe.floor", floor)];
        let numbers = numbers.map(|(key, number)| (key.to_owned(), number.to_string()));
        let object = object.ice_context(numbers.into());
        match call(&object, "op").await.unwrap_err() {
            InvokeError::System(SystemException::ObjectNotExist(_)) => None,
            InvokeError::System(SystemException::UnknownException(text)) => Some(text),
            other => panic!("expected the server's exception or a refusal, got {other}"),
        }
    };
    for number in 1..=10 {
        let refused = send(number, 1).await;
        assert_eq!(refused.is_some(), number > 2, "{number}: {refused:?}");
    }
    // Their client has the first two.
    assert_eq!(send(3, 3).await, None);
    world.shut_down().await;
}

#[tokio::test]
async fn a_request_that_was_executed_is_not_refused_as_an_overload() {
    // An address may have half of it, and the answer is longer.
    let world = World::with(|settings| settings.memory_max = 500_000).await;
    let lengthy = world.back_end.adapter.add("lengthy", Lengthy::default());
    let client = world.client().await;
    ask(&client, "open", "").await.unwrap();
    let object = client.routed(&lengthy.unwrap()).await.unwrap();
    let numbers = [("floe.number", "1"), ("floe.floor", "1")];
    let numbers = numbers.map(|(key, number)| (key.to_owned(), number.to_owned()));
    let object = object.ice_context(numbers.into());
    let refused = call(&object, "op").await.unwrap_err().to_string();
    assert!(refused.contains("was executed"), "{refused}");
    assert!(!refused.contains(OVERLOADED), "{refused}");
    world.shut_down().await;
}

fn is_refused(answer: &Result<String, InvokeError>) -> bool {
    matches!(
        answer,
        Err(InvokeError::System(SystemException::UnknownException(text)))
            if text.starts_with("session not resumed: ")
    )
}

#[tokio::test]
async fn a_token_is_good_for_one_resumption_and_for_the_grace_period() {
    let world = World::start().await;
    let bystander = world.client().await;
    let object = world.back_end.object("bystander");
    let object = bystander.routed(&object).await.unwrap();
    let first = world.client().await;
    let token = ask(&first, "open", "").await.unwrap();
    let thief = Client::connect(&world.gateway).await;
    assert!(is_refused(&ask(&thief, "resume", "guessed").await));
    let second = Client::connect(&world.gateway).await;
    let next = ask(&second, "resume", &token).await.unwrap();
    // The client has noticed the loss first: its old connection ends.
    soon(first.connection.closed()).await;
    ask(&second, "confirm", &next).await.unwrap();
    assert!(is_refused(&ask(&thief, "resume", &token).await));
    call(
        &second
            .routed(&world.back_end.object("object"))
            .await
            .unwrap(),
        "op",
    )
    .await
    .unwrap();
    // The grace period of this session is a millisecond.
    second.connection.abort();
    soon(async {
        while world.gateway.status().sessions > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert!(is_refused(&ask(&thief, "resume", &next).await));
    assert_eq!(world.gateway.status().logins_refused, 3);
    call(&object, "unharmed").await.unwrap();
    assert_eq!(world.back_end.calls.operations(), ["op", "unharmed"]);
    world.shut_down().await;
}

#[tokio::test]
async fn a_session_comes_back_from_another_address_if_that_may_have_one_more() {
    let world = World::with(|settings| settings.address_session_limit = Some(1)).await;
    let mut clients = Vec::new();
    for address in ["127.0.0.2", "127.0.0.3"] {
        let client = Client::connect_from(&world.gateway, address).await;
        let created = soon(client.router.create_session("joe", "secret")).await;
        created.expect("the first of its address");
        clients.push(client);
    }
    let token = ask(&clients[0], "open", "").await.unwrap();
    let moved = Client::connect_from(&world.gateway, "127.0.0.3").await;
    let refused = ask(&moved, "resume", &token).await.unwrap_err().to_string();
    assert!(refused.contains("address-session-limit"), "{refused}");
    // Its client may try again.
    assert!(refused.contains(OVERLOADED), "{refused}");
    soon(clients[1].router.destroy_session()).await.unwrap();
    ask(&moved, "resume", &token).await.expect("there is room");
    // Its first address may have another one.
    let client = Client::connect_from(&world.gateway, "127.0.0.2").await;
    let created = soon(client.router.create_session("joe", "secret")).await;
    created.expect("the other one has moved");
    world.shut_down().await;
}

#[tokio::test]
async fn guessed_tokens_are_slowed() {
    let world = World::start().await;
    let thief = Client::connect(&world.gateway).await;
    for attempt in 0..101 {
        assert!(is_refused(&ask(&thief, "resume", "guessed").await));
        assert_eq!(world.gateway.status().logins_slowed, 0, "{attempt}");
    }
    assert!(is_refused(&ask(&thief, "resume", "guessed").await));
    assert_eq!(world.gateway.status().logins_slowed, 1);
    world.shut_down().await;
}

#[tokio::test]
async fn a_gateway_that_keeps_no_sessions_says_so() {
    let world = World::with(|settings| settings.resume_grace = None).await;
    let client = world.client().await;
    let refused = ask(&client, "open", "").await.unwrap_err().to_string();
    assert!(refused.contains("cannot be resumed"), "{refused}");
    world.shut_down().await;
}
