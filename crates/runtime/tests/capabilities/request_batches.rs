//! Requests that arrive together are dispatched as one batch. Each must fare as if it had come alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use floe::codegen::OperationInfo;
use floe::dispatch::{DispatchSlot, Request, Requests};
use floe::{
    Communicator, Dispatcher, InvokeError, OperationMode, Proxy, Settings, SystemException,
    TypedProxy,
};
use tokio::task::yield_now;

use crate::echo::{Server, soon};

/// The servant's actions. The first byte of the parameters selects one.
const RETURN: u8 = 0;
const PANIC: u8 = 1;
const WAIT: u8 = 2;
const REFUSE: u8 = 3;
/// Removes itself from its adapter.
const LEAVE: u8 = 4;

/// The operation that all requests call.
const RUN: OperationInfo = OperationInfo {
    name: "run",
    mode: OperationMode::Normal,
    returns_data: false,
};

/// Does what each request asks for, and notes it.
struct Actor {
    notes: Arc<Notes>,
    /// True if it answers as generated dispatchers do.
    is_generated: bool,
}

/// The actions in the order in which they begin and end.
#[derive(Default)]
struct Notes {
    begun: Mutex<Vec<u8>>,
    /// The lengths of the parameters, at the end of each dispatch.
    ended: Mutex<Vec<usize>>,
    polled_count: AtomicUsize,
    /// How many times it got requests.
    dispatched_count: AtomicUsize,
}

impl Actor {
    async fn run(&self, request: &Request) -> Result<(), SystemException> {
        let parameters = request.parameters();
        let what = parameters[6];
        self.notes.begun.lock().unwrap().push(what);
        let current = request.current();
        assert!(current.connection().is_some());
        assert_eq!((current.name(), current.operation()), ("actor", "run"));
        match what {
            PANIC => panic!("as asked"),
            WAIT => {
                for _ in 0..20 {
                    self.notes.polled_count.fetch_add(1, Ordering::SeqCst);
                    yield_now().await;
                }
            }
            REFUSE => return Err(SystemException::UnknownException("no".into())),
            LEAVE => assert!(current.adapter().remove(&current.identity(), "")),
            _ => {}
        }
        self.notes.ended.lock().unwrap().push(parameters.len());
        Ok(())
    }
}

impl floe::codegen::Answer for Actor {
    async fn answer(&self, request: Request) -> floe::codegen::Answered {
        self.run(&request).await?;
        Ok(request.returned_nothing()?)
    }
}

impl Dispatcher for Actor {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        self.notes.dispatched_count.fetch_add(1, Ordering::SeqCst);
        if self.is_generated {
            return floe::codegen::dispatch(self, requests, slot);
        }
        requests.each(slot, move |request| {
            let actor = self.clone();
            async move {
                let answered = floe::codegen::Answer::answer(&*actor, request).await;
                answered.map_err(|exception| *exception)
            }
        });
    }
}

async fn call(proxy: &Proxy, what: u8, len: usize) -> Result<(), InvokeError> {
    let parameters = vec![what; len];
    proxy
        .call(&RUN, |encoder| encoder.bytes(&parameters), |_| Ok(()))
        .await
}

async fn start(settings: Settings, is_generated: bool) -> (Server, Arc<Notes>, Proxy) {
    let server = Server::with_settings(settings).await;
    let notes = Arc::new(Notes::default());
    let actor = Actor {
        notes: notes.clone(),
        is_generated,
    };
    server.adapter.add("actor", actor).unwrap();
    let proxy = server.proxy_of(&Communicator::new(), "actor");
    soon(proxy.ice_connection()).await.unwrap();
    (server, notes, proxy)
}

const SEVERAL: [u8; 13] = [
    RETURN, RETURN, PANIC, RETURN, RETURN, WAIT, RETURN, REFUSE, RETURN, RETURN, LEAVE, RETURN,
    RETURN,
];

/// How many of them come to the servant before it has left, and how many of those end there.
const BEGUN_COUNT: usize = 11;
const ENDED_COUNT: usize = 9;

/// Waits until the last one has ended that gets to the servant.
async fn ended(notes: &Notes) {
    let is_over = || notes.ended.lock().unwrap().len() == ENDED_COUNT;
    soon(async {
        while !is_over() {
            yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn requests_without_a_reply_fare_as_if_each_had_come_alone() {
    for (is_batch, is_generated) in [(false, false), (true, false), (false, true), (true, true)] {
        let (server, notes, proxy) = start(Settings::default(), is_generated).await;
        let sending = match is_batch {
            true => proxy.ice_batch_oneway(),
            false => proxy.ice_oneway(),
        };
        for what in SEVERAL {
            call(&sending, what, 1).await.unwrap();
        }
        soon(sending.ice_flush_batch()).await.unwrap();
        soon(server.proxy("echo").ice_ping()).await.unwrap();
        ended(&notes).await;
        // The requests behind it find no servant, and are answered after the others.
        let after = soon(call(&proxy, RETURN, 1)).await.unwrap_err();
        let InvokeError::System(SystemException::ObjectNotExist(_)) = after else {
            panic!("{after}");
        };
        assert_eq!(
            *notes.begun.lock().unwrap(),
            SEVERAL[..BEGUN_COUNT],
            "{is_batch} {is_generated}"
        );
        assert_eq!(notes.polled_count.load(Ordering::SeqCst), 20);
        if is_batch {
            // All arrived together.
            assert!(notes.dispatched_count.load(Ordering::SeqCst) < BEGUN_COUNT);
        }
    }
}

#[tokio::test]
async fn each_request_in_flight_gets_its_own_answer() {
    let (_server, notes, proxy) = start(Settings::default(), false).await;
    let calls = SEVERAL.map(|what| {
        let proxy = proxy.clone();
        tokio::spawn(async move { call(&proxy, what, 1).await })
    });
    for (at, (what, call)) in SEVERAL.into_iter().zip(calls).enumerate() {
        let result = soon(call).await.unwrap();
        let is_expected = match (what, &result) {
            _ if at >= BEGUN_COUNT => matches!(
                result,
                Err(InvokeError::System(SystemException::ObjectNotExist(_)))
            ),
            (PANIC | REFUSE, Err(InvokeError::System(SystemException::UnknownException(_)))) => {
                true
            }
            (_, result) => result.is_ok(),
        };
        assert!(is_expected, "{at}: {result:?}");
    }
    assert_eq!(*notes.begun.lock().unwrap(), SEVERAL[..BEGUN_COUNT]);
}

/// Two dispatches of the least length may be under way, and one that waits and a long one are more.
#[tokio::test]
async fn a_long_request_in_a_batch_waits_for_the_budget() {
    const LONG: usize = 20_000;

    let mut settings = Settings::default();
    settings.dispatch_limit = 2;
    let (_server, notes, proxy) = start(settings, false).await;
    let oneway = proxy.ice_oneway();
    for (what, len) in [
        (RETURN, 1),
        (WAIT, 2),
        (RETURN, 3),
        (RETURN, LONG),
        (RETURN, 4),
    ] {
        call(&oneway, what, len).await.unwrap();
    }
    soon(call(&proxy, RETURN, 5)).await.unwrap();
    let ended = notes.ended.lock().unwrap().clone();
    assert_eq!(ended, [1, 3, 2, LONG, 4, 5].map(|len| len + 6));
}

/// Keeps the requests that it is given.
#[derive(Default)]
struct Keeper(Mutex<Vec<Requests>>);

impl Dispatcher for Keeper {
    fn dispatch(self: Arc<Self>, requests: Requests, _: &mut DispatchSlot) {
        self.0.lock().unwrap().push(requests);
    }
}

/// No other code knows these requests, so no other code could answer them.
#[tokio::test]
async fn a_dispatcher_that_keeps_its_requests_loses_the_connection() {
    let server = Server::start().await;
    server.adapter.add("actor", Keeper::default()).unwrap();
    let proxy = server.proxy_of(&Communicator::new(), "actor");
    soon(proxy.ice_connection()).await.unwrap();
    let batch = proxy.ice_batch_oneway();
    for _ in 0..3 {
        call(&batch, RETURN, 1).await.unwrap();
    }
    let before = soon(proxy.ice_connection()).await.unwrap();
    soon(batch.ice_flush_batch()).await.unwrap();
    if let Some(connection) = before {
        soon(connection.closed()).await;
    }
    soon(server.proxy("echo").ice_ping()).await.unwrap();
}

/// More operations than a proxy remembers: the head of each is still its own.
#[tokio::test]
async fn each_of_many_operations_is_itself() {
    const fn operation(name: &'static str) -> OperationInfo {
        let mode = OperationMode::Normal;
        OperationInfo {
            name,
            mode,
            returns_data: false,
        }
    }
    static OPERATIONS: [OperationInfo; 12] = [
        operation("a"),
        operation("b"),
        operation("c"),
        operation("d"),
        operation("e"),
        operation("f"),
        operation("g"),
        operation("h"),
        operation("i"),
        operation("j"),
        operation("k"),
        operation("l"),
    ];

    let server = Server::start().await;
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = names.clone();
    let servant = floe::dispatch::dispatch_fn(move |request| {
        seen.lock().unwrap().push(request.operation().to_owned());
        request.returned_nothing()
    });
    server.adapter.add("names", servant).unwrap();
    let proxy = server.proxy_of(&Communicator::new(), "names");
    let mut expected = Vec::new();
    for _ in 0..3 {
        for proxy in [proxy.clone(), proxy.ice_oneway(), proxy.ice_batch_oneway()] {
            for operation in &OPERATIONS {
                let call = proxy.call::<(), InvokeError>(operation, |_| (), |_| Ok(()));
                soon(call).await.unwrap();
                expected.push(operation.name);
            }
            soon(proxy.ice_flush_batch()).await.unwrap();
        }
    }
    soon(proxy.ice_ping()).await.unwrap();
    expected.push("ice_ping");
    assert_eq!(*names.lock().unwrap(), expected);
}
