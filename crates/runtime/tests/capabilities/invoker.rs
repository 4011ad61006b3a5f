//! Invokers: what sends requests, and dispatchers that answer by means of one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::dispatch::{DispatchSlot, Requests};
use floe::message::Outcome;
use floe::pipeline::{Intercepted, Interceptors, Retry};
use floe::pipeline::{Invocation, InvokeFuture};
use floe::{
    Communicator, Dispatcher, InvokeError, Invoker, LocalError, OperationMode, Reference,
    SystemException, TypedProxy,
};

use crate::echo::{NOTHING, Server, encapsulation, returned};
use crate::intercepting::Noted;

/// Answers all requests by sending them, unopened, to another object.
struct Forwarding {
    invoker: Arc<dyn Invoker>,
    target: Arc<Reference>,
}

impl Dispatcher for Forwarding {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let current = request.current();
            let (target, parameters) = (self.target.clone(), request.parameters());
            let mut invocation =
                Invocation::new(target, current.operation(), current.mode(), parameters);
            *invocation.context_mut() = current.context();
            let invoker = self.invoker.clone();
            async move {
                match invoker.invoke(invocation).await? {
                    Some(outcome) => request.respond(&outcome),
                    None => request.returned_nothing(),
                }
            }
        });
    }
}

/// A server whose only object forwards to the echo of another one.
async fn forwarding_to(server: &Server, invoker: impl Invoker + 'static) -> Server {
    let forwarding = Forwarding {
        invoker: Arc::new(invoker),
        target: Arc::new(server.proxy("echo").reference().clone()),
    };
    let front = Server::start().await;
    let added = front.adapter.add("front", forwarding);
    added.expect("a new identity");
    front
}

#[tokio::test]
async fn a_dispatcher_may_answer_by_an_invoker() {
    let server = Server::start().await;
    let front = forwarding_to(&server, Communicator::new()).await;
    let proxy = front.proxy("front");

    let sent = encapsulation(b"unopened");
    assert_eq!(returned(&proxy, "echo", &sent).await.expect("ok"), sent);
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 1);

    let context = [("answer".to_owned(), "42".to_owned())].into();
    let answer = returned(&proxy.ice_context(context), "context", &NOTHING).await;
    assert_eq!(answer.expect("ok"), encapsulation(b"\x0242"));

    let refused = returned(&proxy, "refuse", &NOTHING).await;
    assert!(
        matches!(
            &refused,
            Err(InvokeError::System(SystemException::UnknownException(reason))) if reason == "no"
        ),
        "{refused:?}"
    );
    assert!(proxy.ice_is_a("::Test::Echo").await.expect("a typed call"));
}

#[tokio::test]
async fn an_invocation_over_a_proxy_goes_to_the_target_that_it_names() {
    let server = Server::start().await;
    let proxy = server.proxy("nobody");
    let target = server.proxy("echo").reference().clone();
    let sent = encapsulation(b"for the echo");
    let invocation = Invocation::new(target, "echo", OperationMode::Normal, sent.clone());
    let outcome = Invoker::invoke(&proxy, invocation).await.expect("ok");
    assert_eq!(outcome, Some(Outcome::Returned(sent.into())));
}

#[tokio::test]
async fn a_proxy_adds_its_context_to_an_invocation_which_wins() {
    let server = Server::start().await;
    let context = [("answer".to_owned(), "of the proxy".to_owned())].into();
    let proxy = server.proxy("echo").ice_context(context);
    let invocation = || {
        let target = proxy.reference().clone();
        Invocation::new(target, "context", OperationMode::Normal, NOTHING.to_vec())
    };
    let answer = |text: &[u8]| Some(Outcome::Returned(encapsulation(text).into()));

    let outcome = Invoker::invoke(&proxy, invocation()).await.expect("ok");
    assert_eq!(outcome, answer(b"\x0cof the proxy"));

    let mut own = invocation();
    let before = own.context_mut().insert("answer".into(), "own".into());
    assert_eq!(before, None);
    let outcome = Invoker::invoke(&proxy, own).await.expect("ok");
    assert_eq!(outcome, answer(b"\x03own"));
}

#[tokio::test]
async fn bytes_that_are_no_encapsulation_are_refused_before_they_leave() {
    let server = Server::start().await;
    let target = server.proxy("echo").reference().clone();
    let invocation = Invocation::new(target, "echo", OperationMode::Normal, b"no".to_vec());
    let refused = Communicator::new().invoke(invocation).await;
    assert!(
        matches!(
            refused,
            Err(InvokeError::NotDispatched(LocalError::Parameters(_)))
        ),
        "{refused:?}"
    );
}

/// Fails so many times before it answers.
struct Failing(AtomicUsize);

impl Invoker for Failing {
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
        let fails = self.0.load(Ordering::SeqCst) > 0;
        Box::pin(std::future::ready(match fails {
            true => {
                self.0.fetch_sub(1, Ordering::SeqCst);
                let (peer, reason) = ("nobody".to_owned(), "as asked".to_owned());
                let error = LocalError::ConnectionLost { peer, reason };
                Err(InvokeError::NotDispatched(error))
            }
            false => Ok(Some(Outcome::Returned(invocation.parameters().clone()))),
        }))
    }
}

#[tokio::test]
async fn interceptors_wrap_any_invoker() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let mut interceptors = Interceptors::default();
    interceptors.push(Retry::new(2, Duration::ZERO));
    interceptors.push(Noted("attempt", notes.clone()));
    let invoker = Intercepted::new(interceptors, Failing(AtomicUsize::new(2)));

    let server = Server::start().await;
    let front = forwarding_to(&server, invoker).await;
    let sent = encapsulation(b"answered at the third attempt");
    let answer = returned(&front.proxy("front"), "echo", &sent).await;
    assert_eq!(answer.expect("ok"), sent);
    assert_eq!(
        server.echo.echo_count.load(Ordering::SeqCst),
        0,
        "nothing was sent"
    );
    let notes = notes.lock().expect("unpoisoned").join(", ");
    assert_eq!(notes, ["begin attempt, end attempt"; 3].join(", "));
}
