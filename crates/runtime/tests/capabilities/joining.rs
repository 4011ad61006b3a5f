//! Messages without an answer that join others which are about to leave: typed calls, one after another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::blocking::{self, Wait};
use floe::codegen::OperationInfo;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::encoding::Encoder;
use floe::{
    Adapter, Communicator, Context, Dispatcher, EncodeError, InvokeError, LocalError,
    OperationMode, Proxy, Settings, TypedProxy,
};
use tokio::net::TcpListener;

use crate::echo::{TYPE_IDS, soon};

/// Calls as a generated proxy does for an operation that takes a number, or other parameters that `encode` writes.
async fn note(
    proxy: &Proxy,
    encode: impl Fn(&mut Encoder<'_>) + Send + Sync,
) -> Result<(), InvokeError> {
    proxy.call(&NOTE, encode, |_| Ok(())).await
}

static NOTE: OperationInfo = OperationInfo {
    name: "note",
    mode: OperationMode::Normal,
    returns_data: false,
};

/// Notes the numbers that it is given.
#[derive(Default)]
struct Notes(Mutex<Vec<i32>>);

impl Dispatcher for Notes {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Notes {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        if request.operation() != NOTE.name {
            return Box::pin(async move { request.builtin(TYPE_IDS[1], &TYPE_IDS) });
        }
        let noted = request.decode(OperationMode::Normal, |decoder| {
            self.0.lock().unwrap().push(decoder.get()?);
            Ok(())
        });
        Box::pin(async move {
            noted?;
            request.returned_nothing()
        })
    }
}

impl Notes {
    fn numbers(&self) -> Vec<i32> {
        self.0.lock().unwrap().clone()
    }
}

struct Server {
    adapter: Adapter,
    notes: Arc<Notes>,
}

impl Server {
    async fn start() -> Self {
        let communicator = Communicator::new();
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let notes = Arc::new(Notes::default());
        adapter.add("notes", notes.clone()).unwrap();
        adapter.activate();
        Self { adapter, notes }
    }

    fn address(&self) -> String {
        format!("notes:{}", self.adapter.endpoints()[0])
    }

    fn proxy(&self) -> Proxy {
        Communicator::new().proxy(&self.address()).unwrap()
    }
}

#[tokio::test]
async fn they_keep_their_order_among_calls_that_are_answered() {
    let server = Server::start().await;
    let twoway = server.proxy();
    let (oneway, batch) = (twoway.ice_oneway(), twoway.ice_batch_oneway());
    for number in 0..20_000 {
        let proxy = match number % 1_000 {
            999 => &twoway,
            500..600 => &batch,
            _ => &oneway,
        };
        soon(note(proxy, |encoder| encoder.put(&number)))
            .await
            .unwrap();
        if number % 1_000 == 599 {
            soon(batch.ice_flush_batch()).await.unwrap();
        }
    }
    assert!(server.notes.numbers().into_iter().eq(0..20_000));
}

#[tokio::test]
async fn what_cannot_be_encoded_leaves_those_beside_it_whole() {
    let server = Server::start().await;
    let twoway = server.proxy();
    for proxy in [twoway.ice_oneway(), twoway.ice_batch_oneway()] {
        for number in 0..100 {
            note(&proxy, |encoder| encoder.put(&number)).await.unwrap();
            let failing = |encoder: &mut Encoder<'_>| {
                encoder.bytes(&[7; 300]);
                encoder.fail(EncodeError::FixedProxy);
            };
            let failed = note(&proxy, failing).await;
            assert!(
                matches!(
                    failed,
                    Err(InvokeError::NotDispatched(LocalError::Encode(_)))
                ),
                "{failed:?}"
            );
            let panicking = |encoder: &mut Encoder<'_>| {
                encoder.bytes(&[7; 300]);
                panic!("as asked");
            };
            let call = || note(&proxy, panicking).wait();
            assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        }
        proxy.ice_flush_batch().await.unwrap();
    }
    soon(twoway.ice_ping()).await.unwrap();
    assert!(
        server
            .notes
            .numbers()
            .into_iter()
            .eq((0..100).chain(0..100))
    );
}

#[tokio::test]
async fn one_that_was_never_polled_is_never_sent() {
    let server = Server::start().await;
    let twoway = server.proxy();
    for proxy in [twoway.ice_oneway(), twoway.ice_batch_oneway()] {
        for number in 0..100 {
            note(&proxy, |encoder| encoder.put(&number)).await.unwrap();
            drop(note(&proxy, |encoder| encoder.put(&-1)));
        }
        proxy.ice_flush_batch().await.unwrap();
    }
    soon(twoway.ice_ping()).await.unwrap();
    assert!(
        server
            .notes
            .numbers()
            .into_iter()
            .eq((0..100).chain(0..100))
    );
}

#[tokio::test]
async fn they_find_another_connection_when_theirs_has_ended() {
    let server = Server::start().await;
    let twoway = server.proxy();
    let oneways: Vec<_> = (0..20)
        .map(|_| twoway.ice_context(Context::new()).ice_oneway())
        .collect();
    for round in 0..3 {
        for number in 0..100 {
            for oneway in &oneways {
                soon(note(oneway, |encoder| encoder.put(&(round * 100 + number))))
                    .await
                    .unwrap();
            }
        }
        let connection = soon(twoway.ice_connection()).await.unwrap().unwrap();
        soon(twoway.ice_ping()).await.unwrap();
        soon(connection.close()).await;
        soon(connection.closed()).await;
    }
    let expected = (0..300).flat_map(|number| [number; 20]);
    assert!(server.notes.numbers().into_iter().eq(expected));
}

#[tokio::test]
async fn they_wait_for_a_peer_that_does_not_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = tokio::spawn(async move {
        let (mut peer, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut peer, &crate::raw::header(3, 14))
            .await
            .unwrap();
        std::future::pending::<()>().await;
        drop(peer);
    });
    let mut settings = Settings::default();
    settings.output_limit = 100_000;
    let client = Communicator::with_settings(settings);
    let proxy: Proxy = client
        .proxy(&format!("notes:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let oneway = proxy.ice_oneway();
    soon(oneway.ice_connection()).await.unwrap();
    let mut is_held_up = false;
    for _ in 0..100_000 {
        let sent = note(&oneway, |encoder| encoder.bytes(&[7; 1_000]));
        match tokio::time::timeout(Duration::from_millis(300), sent).await {
            Ok(sent) => sent.unwrap(),
            Err(_) => {
                is_held_up = true;
                break;
            }
        }
    }
    assert!(is_held_up, "the system took 100 MB that nobody read");
    silent.abort();
}

/// Threads send and collect as tasks do.
#[test]
fn they_arrive_whole_and_in_order_without_async() {
    crate::blocking::soon(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(Server::start());
        let client = blocking::Communicator::new();
        let twoway: Proxy = client.proxy(&server.address()).unwrap();
        let (oneway, batch) = (twoway.ice_oneway(), twoway.ice_batch_oneway());
        let call = |proxy: &Proxy, number: i32| {
            let call = proxy.call::<(), InvokeError>(
                &NOTE,
                move |encoder| encoder.put(&number),
                |_| Ok(()),
            );
            call.wait().unwrap();
        };
        for number in 0..20_000 {
            match number % 1_000 {
                999 => call(&twoway, number),
                500..600 => call(&batch, number),
                _ => call(&oneway, number),
            }
            if number % 1_000 == 599 {
                batch.ice_flush_batch().wait().unwrap();
            }
        }
        assert!(server.notes.numbers().into_iter().eq(0..20_000));
    });
}
