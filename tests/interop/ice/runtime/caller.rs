//! The Floe client of `Runtime.ice`: every line, with whatever server there is.
//!
//! Here are requests and what becomes of them; `connections.rs` has what concerns their way.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use floe::message::{Outcome, RequestFailed};
use floe::{
    Communicator, Context, EncodingVersion, Identity, InvokeError, OperationMode, Settings,
    SystemException, TypedProxy,
};

use super::connections;
use super::contract::runtime::*;

/// Returns the settings of a client for these checks.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.batch_size_max = 1024;
    settings
}

/// Checks every line, and shuts the communicator down.
pub(crate) async fn check(communicator: &Communicator, proxy: &str) {
    let untyped: floe::Proxy = communicator.proxy(proxy).expect("a proxy");
    let probe = ProbeProxy::checked(untyped).await.expect("an answer");
    let probe = probe.expect("it is a probe");
    check_requests(communicator, &probe).await;
    check_modes(&probe).await;
    check_servants(&probe).await;
    check_locator_failures(&probe).await;
    check_failures(&probe).await;
    check_forwarding(&probe).await;
    check_order(&probe).await;
    check_giving_up(&probe).await;
    check_many(&probe).await;
    check_batches(communicator, &probe).await;
    check_datagrams(communicator, &probe).await;
    connections::check(communicator, &probe).await;
    communicator.shutdown().await;
}

/// Asks until the answer is the expected one.
pub(crate) async fn becomes<T: PartialEq + std::fmt::Debug>(
    what: &str,
    expected: T,
    ask: impl AsyncFn() -> T,
) {
    let deadline = Instant::now() + PATIENCE;
    let mut answer = ask().await;
    while answer != expected && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(2)).await;
        answer = ask().await;
    }
    assert_eq!(answer, expected, "{what}");
}

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn total(probe: &ProbeProxy) -> i32 {
    probe.total().await.expect("the total")
}

fn context(entries: &[(&str, &str)]) -> Context {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    entries.iter().map(owned).collect()
}

pub(crate) fn addressed(probe: &ProbeProxy, category: &str, name: &str) -> ProbeProxy {
    probe.ice_identity(Identity::with_category(name, category))
}

async fn check_requests(communicator: &Communicator, probe: &ProbeProxy) {
    let expected = Seen {
        name: "probe".to_owned(),
        operation: "see".to_owned(),
        encoding: "1.1".to_owned(),
        servant: "probe".to_owned(),
        ..Seen::default()
    };
    assert_eq!(probe.see().await.expect("seen"), expected);
    let old = probe.ice_encoding(EncodingVersion::V1_0);
    assert_eq!(old.see().await.expect("seen").encoding, "1.0");
    let implicit = communicator.implicit_context();
    implicit.put("a", "implicit");
    implicit.put("b", "implicit");
    let bound = probe.ice_context(context(&[("b", "proxy")]));
    let seen = bound.see().await.expect("seen").context;
    assert_eq!(
        seen,
        context(&[("a", "implicit"), ("b", "proxy")])
            .into_iter()
            .collect()
    );
    implicit.remove("a");
    implicit.remove("b");
}

/// A servant of Ice 3.7 may check what these expect.
async fn check_modes(probe: &ProbeProxy) {
    assert_eq!(probe.see().await.expect("seen").mode, 0);
    assert_eq!(probe.peek().await.expect("seen").mode, 1);
    let located = addressed(probe, "located", "someone");
    let mode = async || probe.located_mode().await.expect("a mode");
    located.ice_ping().await.expect("a ping");
    assert_eq!(mode().await, 1, "ice_ping");
    located.total().await.expect("the total");
    assert_eq!(mode().await, 2, "idempotent");
    let is_a = located.ice_is_a(ProbeProxy::TYPE_ID).await;
    assert!(is_a.expect("an answer"));
    assert_eq!(mode().await, 1, "ice_isA");
    located.total().await.expect("the total");
    assert_eq!(located.ice_id().await.expect("an id"), ProbeProxy::TYPE_ID);
    assert_eq!(mode().await, 1, "ice_id");
    located.total().await.expect("the total");
    assert_eq!(located.ice_ids().await.expect("ids").len(), 2);
    assert_eq!(mode().await, 1, "ice_ids");
}

async fn check_servants(probe: &ProbeProxy) {
    let side = ProbeProxy::checked(probe.ice_facet("side")).await;
    let side = side.expect("an answer").expect("it is a probe");
    let seen = side.see().await.expect("seen");
    assert_eq!(
        (seen.servant.as_str(), seen.facet.as_str()),
        ("side", "side")
    );
    let none = ProbeProxy::checked(probe.ice_facet("none")).await;
    assert!(none.expect("an answer").is_none());
    match probe.ice_facet("none").see().await {
        Err(InvokeError::System(SystemException::FacetNotExist(failed))) => {
            assert_eq!(failed.facet, "none");
        }
        other => panic!("expected FacetNotExist, got {other:?}"),
    }
    let seen = addressed(probe, "default", "anyone")
        .see()
        .await
        .expect("seen");
    assert_eq!(seen.servant, "default");
    assert_eq!(
        (seen.category.as_str(), seen.name.as_str()),
        ("default", "anyone")
    );
    check_locator(probe).await;
}

async fn check_locator(probe: &ProbeProxy) {
    let (before, _) = probe.located().await.expect("counts");
    let located = addressed(probe, "located", "someone");
    assert_eq!(located.see().await.expect("seen").servant, "located");
    located.ice_ping().await.expect("a ping");
    let refused = located.fail("refused").await;
    assert!(
        matches!(refused, Err(RefusedError::Refused(_))),
        "{refused:?}"
    );
    becomes(
        "located and finished",
        (before + 3, before + 3),
        async || probe.located().await.expect("counts"),
    )
    .await;
    match addressed(probe, "located", "nobody").ice_ping().await {
        Err(InvokeError::System(SystemException::ObjectNotExist(failed))) => {
            assert_eq!(failed.identity.to_string(), "located/nobody");
        }
        other => panic!("expected ObjectNotExist, got {other:?}"),
    }
}

async fn check_locator_failures(probe: &ProbeProxy) {
    for (name, reason) in [("refused", "locate"), ("unfinished", "finished")] {
        let located = addressed(probe, "located", name);
        match located.fail("refused").await {
            Err(RefusedError::Refused(refused)) => assert_eq!(refused.reason, reason, "{name}"),
            other => panic!("{name}: expected Refused, got {other:?}"),
        }
        // `see` declares no exception.
        match located.see().await {
            Err(InvokeError::UndeclaredException { type_id: text })
            | Err(InvokeError::System(SystemException::UnknownUserException(text))) => {
                assert!(text.contains("::Runtime::Refused"), "{name}: {text}");
            }
            other => panic!("{name}: expected an undeclared exception, got {other:?}"),
        }
    }
}

async fn check_failures(probe: &ProbeProxy) {
    let side = probe.ice_facet("side");
    let expected = RequestFailed {
        identity: Identity::new("probe"),
        facet: "side".to_owned(),
        operation: "fail".to_owned(),
    };
    use SystemException as Failure;
    for (kind, expected) in [
        ("object", Failure::ObjectNotExist(expected.clone())),
        ("facet", Failure::FacetNotExist(expected.clone())),
        ("operation", Failure::OperationNotExist(expected)),
    ] {
        assert_eq!(system_exception(&side, kind).await, expected);
    }
    for (kind, expected) in [
        ("unknown", "told so"),
        ("local", "told so"),
        ("user", "told so"),
        ("other", "asked to fail"),
    ] {
        let failure = system_exception(probe, kind).await;
        let text = match (kind, failure) {
            ("local", Failure::UnknownLocalException(text))
            | ("user", Failure::UnknownUserException(text))
            | ("unknown" | "other", Failure::UnknownException(text)) => text,
            (kind, failure) => panic!("expected another failure for {kind}, got {failure:?}"),
        };
        assert!(text.contains(expected), "{kind}: {text}");
    }
    // Ice for Python looks at what is thrown, Ice for C++ leaves that to the caller.
    match probe.fail("undeclared").await {
        Err(RefusedError::Invoke(InvokeError::UndeclaredException { type_id: text }))
        | Err(RefusedError::Invoke(InvokeError::System(Failure::UnknownUserException(text)))) => {
            assert!(text.contains("::Runtime::Undeclared"), "{text}");
        }
        other => panic!("expected an undeclared exception, got {other:?}"),
    }
    match probe.fail("refused").await {
        Err(RefusedError::Refused(refused)) => assert_eq!(refused.reason, "asked to"),
        other => panic!("expected Refused, got {other:?}"),
    }
    let nothing = [6, 0, 0, 0, 1, 1];
    let untyped = probe.as_proxy();
    let missing = untyped
        .invoke("nothing", OperationMode::Normal, &nothing)
        .await;
    assert!(
        matches!(&missing, Err(InvokeError::System(Failure::OperationNotExist(failed)))
            if failed.operation == "nothing"),
        "{missing:?}"
    );
}

async fn system_exception(probe: &ProbeProxy, kind: &str) -> SystemException {
    match probe.fail(kind).await.map_err(into_invoke_error) {
        Err(Some(InvokeError::System(exception))) => exception,
        other => panic!("expected a system exception for {kind}, got {other:?}"),
    }
}

fn into_invoke_error(error: RefusedError) -> Option<InvokeError> {
    match error {
        RefusedError::Invoke(error) => Some(error),
        _ => None,
    }
}

async fn check_forwarding(probe: &ProbeProxy) {
    let forwarded = addressed(probe, "forward", "probe");
    let key = context(&[("key", "value")]);
    let seen = forwarded
        .ice_context(key.clone())
        .see()
        .await
        .expect("seen");
    assert_eq!((seen.name.as_str(), seen.category.as_str()), ("probe", ""));
    assert_eq!(seen.context, key.into_iter().collect());
    let refused = forwarded.fail("refused").await;
    assert!(
        matches!(refused, Err(RefusedError::Refused(_))),
        "{refused:?}"
    );
    match addressed(probe, "forward", "nobody").see().await {
        Err(InvokeError::System(SystemException::ObjectNotExist(failed))) => {
            assert_eq!(failed.identity.to_string(), "nobody");
        }
        other => panic!("expected ObjectNotExist, got {other:?}"),
    }
    let two = [9, 0, 0, 0, 1, 1, 2, b'a', b'b'];
    let untyped = probe.as_proxy();
    let answer = untyped.invoke("echo", OperationMode::Normal, &two).await;
    let expected = Outcome::Returned(two.to_vec().into());
    assert_eq!(answer.expect("an answer"), Some(expected));
}

async fn check_order(probe: &ProbeProxy) {
    let holds = [1, 2, 3].map(|key| spawn_hold(probe, key));
    let mut order = Vec::new();
    for key in [3, 1, 2] {
        release(probe, key).await;
        let mut waiting = holds.iter().filter(|hold| !hold.is_finished()).count();
        while holds.len() - waiting == order.len() {
            tokio::time::sleep(Duration::from_millis(1)).await;
            waiting = holds.iter().filter(|hold| !hold.is_finished()).count();
        }
        assert!(holds[key as usize - 1].is_finished());
        order.push(key);
    }
    for (hold, key) in holds.into_iter().zip([1, 2, 3]) {
        assert_eq!(hold.await.expect("no panic").expect("an answer"), key);
    }
}

pub(crate) fn spawn_hold(
    probe: &ProbeProxy,
    key: i32,
) -> tokio::task::JoinHandle<Result<i32, InvokeError>> {
    let probe = probe.clone();
    tokio::spawn(async move { probe.hold(key).await })
}

/// Releases what is held with this key, as soon as something is.
pub(crate) async fn release(probe: &ProbeProxy, key: i32) {
    becomes("release", 1, async || {
        probe.release(key).await.expect("a count")
    })
    .await;
}

async fn check_giving_up(probe: &ProbeProxy) {
    let hold = spawn_hold(probe, 4);
    probe.ice_ping().await.expect("a ping");
    hold.abort();
    assert!(hold.await.is_err_and(|error| error.is_cancelled()));
    let hasty = probe.ice_timeout(Some(Duration::from_millis(50)));
    let error = hasty.hold(4).await.expect_err("nobody releases it");
    assert!(error.is_timeout(), "{error}");
    let mut count = 0;
    while count == 0 {
        count = probe.release(4).await.expect("a count");
    }
    let x = probe.echo(b"x").await;
    assert_eq!(x.expect("late answers hurt nobody"), b"x");
}

async fn check_many(probe: &ProbeProxy) {
    probe.reset().await.expect("reset");
    let calls: Vec<_> = (0..2_000)
        .map(|_| {
            let probe = probe.clone();
            tokio::spawn(async move { probe.add(1).await })
        })
        .collect();
    let mut answers = BTreeSet::new();
    for call in calls {
        answers.insert(call.await.expect("no panic").expect("one of many"));
    }
    assert_eq!(answers, (1..=2_000).collect());
}

async fn check_batches(communicator: &Communicator, probe: &ProbeProxy) {
    probe.reset().await.expect("reset");
    let batch = probe.ice_batch_oneway();
    for _ in 0..20 {
        batch.note(&[0; 100]).await.expect("collected");
    }
    becomes("flushed by size", true, async || total(probe).await >= 14).await;
    assert!(total(probe).await < 20);
    batch.ice_flush_batch().await.expect("flushed");
    becomes("flush of a proxy", 20, async || total(probe).await).await;
    let connection = batch.ice_connection().await.expect("connected");
    let connection = connection.expect("over the wire");
    batch.note(&[]).await.expect("collected");
    connection.flush_batches().await.expect("flushed");
    becomes("flush of a connection", 21, async || total(probe).await).await;
    batch.note(&[]).await.expect("collected");
    communicator.flush_batches().await.expect("flushed");
    becomes("flush of all", 22, async || total(probe).await).await;
}

/// To each endpoint for them.
async fn check_datagrams(communicator: &Communicator, probe: &ProbeProxy) {
    let endpoints = probe.as_proxy().reference().endpoints().iter();
    for endpoint in endpoints.filter(|endpoint| endpoint.is_datagram()) {
        probe.reset().await.expect("reset");
        let text = format!("probe -d:{endpoint}");
        let single: ProbeProxy = communicator.proxy(&text).expect("a proxy");
        let batch = single.ice_batch_datagram();
        for _ in 0..10 {
            single.note(b"x").await.expect("sent");
            batch.note(b"x").await.expect("collected");
        }
        batch.ice_flush_batch().await.expect("flushed");
        becomes(&text, 20, async || total(probe).await).await;
    }
}
