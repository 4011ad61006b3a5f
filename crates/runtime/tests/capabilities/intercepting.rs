//! Interceptors around invocations and dispatches.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::dispatch::{DispatchFuture, Request};
use floe::message::Outcome;
use floe::pipeline::{
    Deadline, DispatchInterceptor, Interceptor, Invocation, InvokeFuture, Logging, Metrics, Next,
    NextDispatch, Retry,
};
use floe::{
    Communicator, InvokeError, LocalError, OperationMode, Settings, SystemException, TypedProxy,
};

use crate::echo::{NOTHING, Server, encapsulation, returned};

/// Writes down its name before and after.
pub(crate) struct Noted(pub(crate) &'static str, pub(crate) Arc<Mutex<Vec<String>>>);

impl Noted {
    fn note(&self, what: &str) {
        let line = format!("{what} {}", self.0);
        self.1.lock().expect("unpoisoned").push(line);
    }
}

impl Interceptor for Noted {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        Box::pin(async move {
            self.note("begin");
            let result = next.invoke(invocation).await;
            self.note("end");
            result
        })
    }
}

impl DispatchInterceptor for Noted {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        Box::pin(async move {
            self.note("begin");
            let result = next.dispatch(request).await;
            self.note("end");
            result
        })
    }
}

#[tokio::test]
async fn interceptors_wrap_one_another_in_their_order_on_both_sides() {
    let server = Server::start().await;
    let notes = Arc::new(Mutex::new(Vec::new()));
    server.adapter.intercept(Noted("c", notes.clone()));
    server.adapter.intercept(Noted("d", notes.clone()));
    let mut settings = Settings::default();
    settings.interceptors.push(Noted("a", notes.clone()));
    let client = Communicator::with_settings(settings);
    let proxy = server.proxy_of(&client, "echo");
    let proxy = proxy.ice_intercepted(Noted("b", notes.clone()));
    let sent = encapsulation(b"wrapped");
    assert_eq!(returned(&proxy, "echo", &sent).await.expect("ok"), sent);
    let notes = notes.lock().expect("unpoisoned").join(", ");
    assert_eq!(
        notes,
        "begin a, begin b, begin c, begin d, end d, end c, end b, end a"
    );
}

/// Adds to the context, and answers `cached` itself.
struct Changing;

impl Interceptor for Changing {
    fn invoke<'a>(&'a self, mut invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        if invocation.operation() == "cached" {
            let parameters = invocation.parameters().clone();
            return Box::pin(std::future::ready(Ok(Some(Outcome::Returned(parameters)))));
        }
        let context = invocation.context_mut();
        context.insert("answer".to_owned(), "42".to_owned());
        next.invoke(invocation)
    }
}

#[tokio::test]
async fn an_interceptor_changes_the_context_or_answers_itself() {
    let server = Server::start().await;
    let proxy = server.proxy("echo").ice_intercepted(Changing);
    let answer = returned(&proxy, "context", &NOTHING).await;
    assert_eq!(answer.expect("ok"), encapsulation(b"\x0242"));
    let cached = returned(&proxy, "cached", &NOTHING).await;
    assert_eq!(cached.expect("ok"), NOTHING);
    // Typed calls take the same way.
    assert!(proxy.ice_is_a("::Test::Echo").await.expect("ok"));
}

/// Refuses callers that do not know the word.
struct Guard;

impl DispatchInterceptor for Guard {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        if request.current().context().contains_key("word") {
            return next.dispatch(request);
        }
        let refused = SystemException::UnknownException("who are you?".into());
        Box::pin(std::future::ready(Err(refused)))
    }
}

#[tokio::test]
async fn a_dispatch_interceptor_may_refuse_in_the_servants_place() {
    let server = Server::start().await;
    server.adapter.intercept(Guard);
    let proxy = server.proxy("echo");
    let refused = proxy.ice_ping().await;
    assert!(matches!(
        refused,
        Err(InvokeError::System(SystemException::UnknownException(text))) if text == "who are you?"
    ));
    let context = [("word".to_owned(), String::new())].into();
    proxy.ice_context(context).ice_ping().await.expect("known");
}

#[tokio::test]
async fn metrics_count_by_operation_and_end_on_both_sides() {
    let server = Server::start().await;
    let (ours, theirs) = (Metrics::new(), Metrics::new());
    server.adapter.intercept(theirs.clone());
    server.adapter.intercept(Logging);
    let proxy = server.proxy("echo").ice_intercepted(ours.clone());
    let proxy = proxy.ice_intercepted(Logging);
    for _ in 0..3 {
        returned(&proxy, "echo", &NOTHING).await.expect("ok");
    }
    returned(&proxy, "refuse", &NOTHING).await.unwrap_err();
    let hurried = tokio::time::timeout(
        Duration::from_millis(5),
        proxy.invoke("slow", OperationMode::Normal, &NOTHING),
    );
    hurried.await.expect_err("it is slow");
    for (metrics, is_client) in [(ours, true), (theirs, false)] {
        let snapshot = metrics.snapshot();
        let echo = &snapshot["echo"];
        assert_eq!((echo.succeeded, echo.ended(), echo.current), (3, 3, 0));
        assert_eq!(echo.latency.iter().sum::<u64>(), 3);
        assert!(echo.quantile(0.99) >= echo.quantile(0.5));
        assert_eq!(snapshot["refuse"].failed, 1);
        assert_eq!(snapshot["slow"].cancelled, u64::from(is_client));
    }
}

#[tokio::test]
async fn a_deadline_holds_for_whoever_has_none() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    // Long enough to send on a busy machine, and still shorter than the call.
    proxy.ice_ping().await.expect("a connection");
    let proxy = proxy.ice_intercepted(Deadline::new(Duration::from_millis(40)));
    let result = returned(&proxy, "slow", &NOTHING).await;
    assert!(
        matches!(
            result,
            Err(InvokeError::PerhapsDispatched(LocalError::Timeout { .. })
                | InvokeError::NotDispatched(LocalError::Timeout { .. }))
        ),
        "{result:?}"
    );
}

/// Fails so many times before it lets through.
struct Failing(AtomicUsize, fn(LocalError) -> InvokeError);

impl Interceptor for Failing {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        if self.0.load(Ordering::SeqCst) == 0 {
            return next.invoke(invocation);
        }
        self.0.fetch_sub(1, Ordering::SeqCst);
        let (peer, reason) = ("p".into(), "r".into());
        let error = self.1(LocalError::ConnectionLost { peer, reason });
        Box::pin(std::future::ready(Err(error)))
    }
}

#[tokio::test]
async fn a_patient_retry_keeps_at_most_once() {
    let server = Server::start().await;
    let retry = Retry::new(5, Duration::from_millis(1));
    let failing = |failure| {
        let proxy = server.proxy("echo").ice_intercepted(retry);
        proxy.ice_intercepted(Failing(AtomicUsize::new(5), failure))
    };
    let unsent = failing(InvokeError::NotDispatched);
    returned(&unsent, "echo", &NOTHING)
        .await
        .expect("the sixth");
    let doubtful = failing(InvokeError::PerhapsDispatched);
    returned(&doubtful, "echo", &NOTHING).await.unwrap_err();
    let idempotent = failing(InvokeError::PerhapsDispatched);
    idempotent.ice_ping().await.expect("the sixth");
}
