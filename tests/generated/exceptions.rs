//! Exceptions as a generated proxy gets them, and as a generated dispatcher sends them.

use std::sync::Arc;

use bytes::Bytes;
use floe::classes::Link;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{
    Adapter, Communicator, Current, Dispatcher, InvokeError, OperationMode, Proxy, TypedProxy,
};

use crate::build::{Build, Graph};
use crate::contract::m::{
    E0, E0OrE1OrEClassError, E1, E2, E3, EClass, EOpt, Node, T, TDispatcher, TProxy,
};
use crate::file::{Vector, from_hex, hex, load};

#[tokio::test]
async fn a_caller_gets_the_exceptions_of_ice() {
    for vector in load("exceptions") {
        let reply = Bytes::from(encapsulation(&vector));
        let (_adapter, proxy) = served(Replier(reply)).await;
        let proxy = TProxy::from_proxy(proxy);
        let sliced = proxy.throw_sliced("").await.expect_err("it throws");
        let compact = proxy.throw_compact("").await.expect_err("it throws");
        let json = vector.value();
        let name = json["$exception"].as_str().expect("an exception");
        macro_rules! assert_thrown {
            ($($exception:ident),*) => {
                match name {
                    $(concat!("::M::", stringify!($exception)) => {
                        let expected = Graph::default().finished(|graph| $exception::build(json, graph));
                        let E0OrE1OrEClassError::$exception(got) = sliced else {
                            panic!("{}: {sliced}", vector.name);
                        };
                        assert_eq!(got, expected, "{}", vector.name);
                        let E0OrE1OrEClassError::$exception(got) = compact else {
                            panic!("{}: {compact}", vector.name);
                        };
                        assert_eq!(got, expected, "{}", vector.name);
                    })*
                    other => panic!("no exception {other}"),
                }
            };
        }
        assert_thrown!(E0, E1, E2, E3, EOpt, EClass);
    }
}

#[tokio::test]
async fn a_servant_throws_the_bytes_of_ice() {
    for vector in load("exceptions") {
        let json = vector.value().clone();
        let (_adapter, proxy) = served(TDispatcher::new(Thrower(json))).await;
        let operation = match vector.json["format"].as_str() {
            Some("compact") => "throwCompact",
            _ => "throwSliced",
        };
        let version = vector.encoding();
        let empty_text = [7, 0, 0, 0, version.major, version.minor, 0];
        let outcome = proxy
            .invoke(operation, OperationMode::Normal, &empty_text)
            .await;
        let Ok(Some(Outcome::UserException(bytes))) = outcome else {
            panic!("{}: {outcome:?}", vector.name);
        };
        assert_eq!(hex(&bytes), hex(&encapsulation(&vector)), "{}", vector.name);
    }
}

/// Answers every request with the same exception.
struct Replier(Bytes);

impl Dispatcher for Replier {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Replier {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let outcome = Outcome::UserException(self.0.clone());
        Box::pin(async move { request.respond(&outcome) })
    }
}

/// Throws the exception of a vector.
struct Thrower(serde_json::Value);

macro_rules! thrown {
    ($json:expr => $($exception:ident),*) => {
        match $json["$exception"].as_str() {
            $(Some(concat!("::M::", stringify!($exception))) => {
                let thrown = Graph::default().finished(|graph| $exception::build(&$json, graph));
                Err(thrown.into())
            })*
            other => panic!("no exception {other:?}"),
        }
    };
}

impl T for Thrower {
    async fn throw_sliced(&self, _: String, _: &Current) -> Result<(), E0OrE1OrEClassError> {
        thrown!(self.0 => E0, E1, E2, E3, EOpt, EClass)
    }

    async fn throw_compact(&self, _: String, _: &Current) -> Result<(), E0OrE1OrEClassError> {
        thrown!(self.0 => E0, E1, E2, E3, EOpt, EClass)
    }

    async fn noop(&self, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn idem(&self, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn add(&self, a: i32, b: i32, _: &Current) -> Result<i32, InvokeError> {
        Ok(a + b)
    }

    async fn greet(&self, name: String, _: &Current) -> Result<(String, i32), InvokeError> {
        Ok((name, 0))
    }

    async fn tagged(
        &self,
        _: i32,
        _: Option<i32>,
        _: &Current,
    ) -> Result<(Option<String>, Option<i64>), InvokeError> {
        Ok((None, None))
    }

    async fn big(&self, text: String, _: &Current) -> Result<String, InvokeError> {
        Ok(text)
    }

    async fn fail(&self, _: String, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }

    async fn swap(
        &self,
        a: Link<Node>,
        _: i32,
        _: &Current,
    ) -> Result<(Link<Node>, Link<Node>), InvokeError> {
        Ok((a.clone(), a))
    }

    async fn event(&self, _: String, _: i32, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }
}

fn encapsulation(vector: &Vector) -> Vec<u8> {
    from_hex(
        vector.json["message"]["encapsulation"]
            .as_str()
            .expect("an encapsulation"),
    )
}

async fn served(dispatcher: impl Dispatcher) -> (Adapter, Proxy) {
    let communicator = Communicator::new();
    let adapter = communicator
        .adapter("tcp -h 127.0.0.1 -p 0")
        .await
        .expect("a port");
    let proxy = adapter.add("t", dispatcher).expect("a new name");
    adapter.activate();
    (adapter, proxy)
}

#[test]
fn an_error_that_main_returns_is_a_sentence() {
    let thrown = E0OrE1OrEClassError::from(E0 {});
    assert_eq!(format!("{thrown:?}"), "::M::E0");
}
