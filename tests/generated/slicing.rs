//! Generated code that knows fewer classes than its caller, and that caller.

use std::sync::Arc;

use bytes::Bytes;
use floe::classes::{AnyClass, Link};
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::encoding::Encapsulation;
use floe::message::Outcome;
use floe::{
    Communicator, Current, Dispatcher, EncodingVersion, InvokeError, OperationMode,
    SystemException, TypedProxy,
};

use crate::build::{Build, Graph};
use crate::contract::s::EchoProxy;
use crate::file::{Vector, from_hex, hex, load};
use crate::receiver::s::{Echo, EchoDispatcher, PBase, SBase};

/// The receiver of the vectors.
struct Receiver;

impl Echo for Receiver {
    async fn pecho(&self, p: Link<PBase>, _: &Current) -> Result<Link<PBase>, InvokeError> {
        Ok(p)
    }

    async fn secho(&self, s: Link<SBase>, _: &Current) -> Result<Link<SBase>, InvokeError> {
        Ok(s)
    }

    async fn cecho(&self, s: Link<SBase>, _: &Current) -> Result<Link<SBase>, InvokeError> {
        Ok(s)
    }

    async fn oecho(
        &self,
        o: Link<dyn AnyClass>,
        _: &Current,
    ) -> Result<Link<dyn AnyClass>, InvokeError> {
        Ok(o)
    }

    async fn shutdown(&self, _: &Current) -> Result<(), InvokeError> {
        Ok(())
    }
}

/// Slices of unknown classes are kept for every class, where Ice 3.7 keeps those of classes with
/// `preserve-slice` alone: then what comes back is what was sent.
#[tokio::test]
async fn unknown_slices_are_kept_and_sent_again() {
    let mut refused = 0;
    for vector in load("slicing") {
        let communicator = Communicator::new();
        let adapter = communicator
            .adapter("tcp -h 127.0.0.1 -p 0")
            .await
            .expect("a port");
        let proxy = adapter
            .add("echo", EchoDispatcher::new(Receiver))
            .expect("a new name");
        adapter.activate();
        let request = from_hex(vector.text("request_payload_hex"));
        let parameters = encapsulated(&vector, &request);
        let operation = vector.text("operation");
        let outcome = proxy
            .invoke(operation, OperationMode::Normal, &parameters)
            .await;
        let Some(reply) = vector.json["reply_payload_hex"].as_str() else {
            let error = outcome.expect_err("nothing of it is known").to_string();
            assert!(error.contains("::S::SUnknown"), "{error}");
            refused += 1;
            continue;
        };
        let Ok(Some(Outcome::Returned(bytes))) = outcome else {
            panic!("{}: {outcome:?}", vector.name);
        };
        let is_1_1 = vector.encoding() == EncodingVersion::V1_1;
        let is_kept_by_us_only = is_1_1 && reply != hex(&request);
        let expected = if is_kept_by_us_only {
            hex(&request)
        } else {
            reply.to_owned()
        };
        assert_eq!(hex(&bytes[6..]), expected, "{}", vector.name);
    }
    assert_eq!(refused, 1);
}

#[tokio::test]
async fn a_sender_writes_its_own_classes_and_reads_them_again_as_ice_does() {
    for vector in load("slicing") {
        let Some(reply) = vector.json["reply_payload_hex"].as_str() else {
            continue;
        };
        let replier = Replier {
            expected: from_hex(vector.text("request_payload_hex")),
            reply: encapsulated(&vector, &from_hex(reply)).into(),
        };
        let communicator = Communicator::new();
        let adapter = communicator
            .adapter("tcp -h 127.0.0.1 -p 0")
            .await
            .expect("a port");
        let proxy = adapter.add("echo", replier).expect("a new name");
        adapter.activate();
        let proxy = EchoProxy::from_proxy(proxy).ice_encoding(vector.encoding());
        let sent =
            Graph::default().finished(|graph| Link::<dyn AnyClass>::build(vector.value(), graph));
        let got = match vector.text("operation") {
            "pecho" => proxy
                .pecho(&sent.cast().expect("a PBase"))
                .await
                .map(|it| it.cast()),
            "secho" => proxy
                .secho(&sent.cast().expect("an SBase"))
                .await
                .map(|it| it.cast()),
            "cecho" => proxy
                .cecho(&sent.cast().expect("an SBase"))
                .await
                .map(|it| it.cast()),
            _ => proxy.oecho(&sent).await.map(Some),
        };
        let got = got.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        let expected = &vector.json["value_after_echo"];
        let expected =
            Graph::default().finished(|graph| Link::<dyn AnyClass>::build(expected, graph));
        assert_eq!(got, Some(expected), "{}", vector.name);
    }
}

/// Expects the parameters of a vector, and gives its reply.
struct Replier {
    expected: Vec<u8>,
    reply: Bytes,
}

impl Dispatcher for Replier {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Replier {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let parameters = hex(&request.parameters()[6..]);
        if parameters != hex(&self.expected) {
            let text = format!("expected {}, got {parameters}", hex(&self.expected));
            return Box::pin(async move { Err(SystemException::UnknownException(text)) });
        }
        let outcome = Outcome::Returned(self.reply.clone());
        Box::pin(async move { request.respond(&outcome) })
    }
}

/// A payload with the header of an encapsulation.
fn encapsulated(vector: &Vector, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("short");
    let header = Encapsulation::header(vector.encoding(), len);
    [&header, payload].concat()
}
