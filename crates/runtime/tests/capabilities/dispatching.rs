//! Adapters: facets, default servants, registrations.

use floe::{
    AdapterError, Communicator, Identity, InvokeError, OperationMode, SystemException, TypedProxy,
};

use crate::echo::{Echo, Server, encapsulation, returned, soon};

#[tokio::test]
async fn a_facet_is_an_object_of_its_own() {
    let server = Server::start().await;
    let facet = server
        .adapter
        .add_facet("echo", "other", Echo::default())
        .unwrap();
    assert_eq!(facet.reference().facet, "other");
    soon(server.proxy("echo").ice_facet("other").ice_ping())
        .await
        .unwrap();
    assert!(server.adapter.remove(&Identity::new("echo"), "other"));
    assert!(!server.adapter.remove(&Identity::new("echo"), "other"));
    assert!(
        server
            .proxy("echo")
            .ice_facet("other")
            .ice_ping()
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_default_servant_answers_for_its_category_and_that_of_the_empty_one_for_all() {
    let server = Server::start().await;
    server
        .adapter
        .add_default("users", Echo::default())
        .unwrap();
    soon(server.proxy("users/anybody").ice_ping())
        .await
        .unwrap();
    assert!(server.proxy("others/anybody").ice_ping().await.is_err());
    server.adapter.add_default("", Echo::default()).unwrap();
    server.proxy("others/anybody").ice_ping().await.unwrap();
    server.proxy("nobody").ice_ping().await.unwrap();
}

#[tokio::test]
async fn a_second_servant_for_the_same_object_is_refused() {
    let server = Server::start().await;
    let error = server.adapter.add("echo", Echo::default()).unwrap_err();
    assert!(matches!(&error, AdapterError::AlreadyRegistered { .. }));
    assert_eq!(
        error.to_string(),
        "a servant is registered for \"echo\" already: remove it first"
    );
}

#[tokio::test]
async fn an_endpoint_in_use_is_said() {
    let server = Server::start().await;
    let endpoint = server.adapter.endpoints()[0].to_string();
    let error = Communicator::new().adapter(&endpoint).await.unwrap_err();
    assert!(matches!(&error, AdapterError::Listen { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("cannot listen on \"tcp -h 127.0.0.1 -p "),
        "{text}"
    );
    assert!(
        text.ends_with("choose another port; port 0 picks a free port"),
        "{text}"
    );
}

#[tokio::test]
async fn an_untyped_proxy_becomes_typed_only_if_the_object_says_so() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    assert!(
        soon(floe::Proxy::checked(proxy.clone()))
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        floe::Proxy::checked(proxy.ice_facet("none"))
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_function_serves_undecoded_requests_and_sees_all_of_the_current() {
    let server = Server::start().await;
    let (sender, seen) = std::sync::mpsc::channel();
    let servant = floe::dispatch::dispatch_fn(move |request| {
        let current = request.current().clone();
        sender.send(current).expect("the test listens");
        let parameters = request.parameters();
        request.respond(&floe::message::Outcome::Returned(parameters))
    });
    server
        .adapter
        .add_facet("category/untyped", "facet", servant)
        .expect("a new facet");
    let context = floe::Context::from([("key".to_owned(), "value".to_owned())]);
    let identity = floe::Identity {
        name: "untyped".to_owned(),
        category: "category".to_owned(),
    };
    let proxy = server.proxy("echo").ice_identity(identity.clone());
    let proxy = proxy.ice_facet("facet").ice_context(context.clone());
    let sent = crate::echo::encapsulation(b"anything");
    let outcome = proxy.invoke("any", OperationMode::Idempotent, &sent).await;
    let returned = floe::message::Outcome::Returned(sent.into());
    assert_eq!(outcome.expect("ok"), Some(returned));

    let current = seen.recv().expect("it was called");
    assert_eq!(current.identity(), identity);
    assert_eq!(current.facet(), "facet");
    assert_eq!(current.operation(), "any");
    assert_eq!(current.mode(), OperationMode::Idempotent);
    assert_eq!(current.context(), context);
    assert!(!current.is_oneway() && current.request_id().0 > 0);
    assert_eq!(current.encoding(), floe::EncodingVersion::V1_1);
    assert_eq!(current.adapter().endpoints(), server.adapter.endpoints());
    let connection = current.connection().expect("over the wire");
    assert!(connection.info().is_incoming && connection.adapter().is_some());
}

#[tokio::test]
async fn parameters_of_another_contract_are_told_to_be_so() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let is_a = async |parameters: &[u8]| {
        let sent = encapsulation(parameters);
        soon(proxy.invoke("ice_isA", OperationMode::Idempotent, &sent)).await
    };
    is_a(b"\x06::I::J").await.unwrap();
    // A parameter more than the server expects, one less, and one of another type.
    for (parameters, place) in [
        (
            &b"\x06::I::J\x05"[..],
            "end of encapsulation at byte 7: 1 byte is left after the last value",
        ),
        (
            b"\x06::I::J\x03abc",
            "end of encapsulation at byte 7: 4 bytes are left after the last value",
        ),
        (b"", "at byte 0"),
        (b"\x02\xFF\xFF", "expected UTF-8 text"),
    ] {
        let error = is_a(parameters).await.unwrap_err().to_string();
        assert!(
            error.contains(
                "the parameters of operation \"ice_isA\" of object \"echo\" do not match the server's contract: "
            ),
            "{error}"
        );
        assert!(error.contains(place), "{error}");
        assert!(error.contains("`floe slice breaking OLD NEW`"), "{error}");
        assert!(!error.contains("tagged"), "{error}");
    }
}

#[tokio::test]
async fn parameters_in_another_encoding_are_refused_with_the_name_that_ice_gives_to_that() {
    let server = Server::start().await;
    let echo = server.proxy("echo");
    for (major, minor) in [(1, 2), (2, 0)] {
        let parameters = [8, 0, 0, 0, major, minor, 1, b'x'];
        let error = returned(&echo, "ice_isA", &parameters).await.unwrap_err();
        let InvokeError::System(SystemException::UnknownLocalException(text)) = &error else {
            panic!("expected status 5, got {error}");
        };
        let expected = format!(
            "::Ice::UnsupportedEncodingException: cannot decode encapsulation at byte 0: encoding {major}.{minor} is not supported"
        );
        assert!(text.starts_with(&expected), "{text}");
        // What comes back in it says nothing of contracts.
        let bytes = returned(&echo, "echo", &parameters).await.expect("an echo");
        let error = floe::encoding::Encapsulation::parse(&bytes)
            .and_then(|encapsulation| encapsulation.decoder().map(|_| ()));
        let error = InvokeError::BadReply(error.unwrap_err()).to_string();
        let is_true =
            error.contains("an encoding that Floe does not read") && !error.contains("contract");
        assert!(is_true, "{error}");
    }
}
