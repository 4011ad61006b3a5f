//! Servant locators, and facets as a whole.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::dispatch::{Cookie, LocateFuture, Located, LocatorError, ServantLocator};
use floe::{AdapterError, Current, Dispatcher, Identity, InvokeError, SystemException, TypedProxy};

use crate::echo::{Echo, NOTHING, Server, returned, soon};

/// Has a servant for each name but `nobody`; the cookie is the name.
#[derive(Default)]
struct Book {
    echo: Arc<Echo>,
    notes: Mutex<Vec<String>>,
}

impl Book {
    fn note(&self, note: String) {
        self.notes.lock().expect("unpoisoned").push(note);
    }

    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().expect("unpoisoned"))
    }
}

impl ServantLocator for Book {
    fn locate<'a>(&'a self, current: &'a Current) -> LocateFuture<'a> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let name = current.name().to_owned();
            self.note(format!("locate {name}"));
            match name.as_str() {
                "nobody" => Ok(None),
                "closed" => Err(SystemException::UnknownException("closed".into()).into()),
                _ => Ok(Some(Located::new(self.echo.clone()).with_cookie(name))),
            }
        })
    }

    fn finished(
        &self,
        current: &Current,
        _servant: &Arc<dyn Dispatcher>,
        cookie: Cookie,
    ) -> Result<(), LocatorError> {
        let cookie = cookie.and_then(|cookie| cookie.downcast::<String>().ok());
        let cookie = cookie.expect("the cookie comes back");
        self.note(format!("finished {} of {cookie}", current.operation()));
        match current.name() {
            "unfinished" => Err(SystemException::UnknownException("unfinished".into()).into()),
            _ => Ok(()),
        }
    }

    fn deactivate(&self, category: &str) {
        self.note(format!("deactivate {category}"));
    }
}

#[tokio::test]
async fn a_locator_is_asked_for_each_request_and_told_of_its_end() {
    let server = Server::start().await;
    let book = Arc::new(Book::default());
    server
        .adapter
        .add_locator("book", book.clone())
        .expect("a new category");
    let again = server.adapter.add_locator("book", Book::default());
    assert!(matches!(again, Err(AdapterError::AlreadyRegistered { .. })));
    let client = server.proxy("echo");
    let ask = |name: &str| {
        client.ice_identity(Identity {
            name: name.to_owned(),
            category: "book".to_owned(),
        })
    };

    returned(&ask("one"), "echo", &NOTHING).await.expect("ok");
    assert_eq!(book.notes(), ["locate one", "finished echo of one"]);
    // A servant that panics has ended, too.
    returned(&ask("two"), "panic", &NOTHING).await.unwrap_err();
    assert_eq!(book.notes(), ["locate two", "finished panic of two"]);

    // Its exception goes before that of the servant, as in Ice.
    for operation in ["echo", "no such operation"] {
        let error = returned(&ask("unfinished"), operation, &NOTHING).await;
        match error {
            Err(InvokeError::System(SystemException::UnknownException(text))) => {
                assert_eq!(text, "unfinished", "{operation}");
            }
            other => panic!("expected the exception of the locator, got {other:?}"),
        }
    }
    book.notes();

    let nobody = returned(&ask("nobody"), "echo", &NOTHING).await;
    assert!(matches!(
        nobody,
        Err(InvokeError::System(SystemException::ObjectNotExist(_)))
    ));
    let closed = returned(&ask("closed"), "echo", &NOTHING).await;
    assert!(matches!(
        closed,
        Err(InvokeError::System(SystemException::UnknownException(_)))
    ));
    assert_eq!(book.notes(), ["locate nobody", "locate closed"]);

    assert!(server.adapter.find_locator("book").is_some());
    assert!(server.adapter.remove_locator("book"));
    assert_eq!(book.notes(), ["deactivate book"]);
    assert!(!server.adapter.remove_locator("book"));
}

#[tokio::test]
async fn servants_come_before_default_servants_and_these_before_locators() {
    let server = Server::start().await;
    let (general, special) = (Arc::new(Book::default()), Arc::new(Book::default()));
    server
        .adapter
        .add_locator("", general.clone())
        .expect("new");
    server
        .adapter
        .add_locator("c", special.clone())
        .expect("new");
    server.adapter.add("c/own", Echo::default()).expect("new");
    let client = server.proxy("echo");
    let ping = async |category: &str, name: &str| {
        let (name, category) = (name.to_owned(), category.to_owned());
        let proxy = client.ice_identity(Identity { name, category });
        proxy.ice_ping().await.expect("a ping");
    };
    ping("c", "own").await;
    assert!(special.notes().is_empty());
    ping("c", "other").await;
    assert_eq!(special.notes().len(), 2);
    ping("d", "other").await;
    assert_eq!(general.notes().len(), 2);
    server
        .adapter
        .add_default("c", Echo::default())
        .expect("new");
    ping("c", "other").await;
    assert!(special.notes().is_empty());
}

#[tokio::test]
async fn locators_are_deactivated_with_their_adapter() {
    let server = Server::start().await;
    let book = Arc::new(Book::default());
    server.adapter.add_locator("c", book.clone()).expect("new");
    server.adapter.destroy().await;
    assert_eq!(book.notes(), ["deactivate c"]);
}

#[tokio::test]
async fn all_facets_of_an_object_are_found_and_removed_together() {
    let server = Server::start().await;
    let adapter = &server.adapter;
    let identity = Identity::new("many");
    for facet in ["", "a", "b"] {
        adapter
            .add_facet(&identity, facet, Echo::default())
            .expect("a new facet");
    }
    let facets = adapter.find_all_facets(&identity);
    let names: Vec<_> = facets.iter().map(|(facet, _)| facet.as_str()).collect();
    assert_eq!(names, ["", "a", "b"]);
    assert!(adapter.find(&identity, "a").is_some());
    assert!(adapter.find(&identity, "c").is_none());
    assert_eq!(adapter.remove_all_facets(&identity).len(), 3);
    assert!(adapter.find_all_facets(&identity).is_empty());
    let proxy = server.proxy("many").ice_facet("a");
    assert!(matches!(
        proxy.ice_ping().await,
        Err(InvokeError::System(SystemException::ObjectNotExist(_)))
    ));
}

/// Panics whenever it can.
struct Nervous;

impl floe::Dispatcher for Nervous {
    fn dispatch(
        self: Arc<Self>,
        requests: floe::dispatch::Requests,
        slot: &mut floe::dispatch::DispatchSlot,
    ) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Nervous {
    fn respond(self: Arc<Self>, _: floe::dispatch::Request) -> floe::dispatch::DispatchFuture {
        Box::pin(async { panic!("in the servant") })
    }
}

impl ServantLocator for Nervous {
    fn locate<'a>(&'a self, _: &'a Current) -> LocateFuture<'a> {
        Box::pin(async { Ok(Some(Located::new(Nervous))) })
    }

    fn finished(
        &self,
        _: &Current,
        _: &Arc<dyn Dispatcher>,
        _: Cookie,
    ) -> Result<(), LocatorError> {
        panic!("in the locator")
    }
}

/// Two simultaneous panics would end the program.
#[tokio::test]
async fn a_locator_that_panics_after_its_servant_fails_that_request_alone() {
    let server = Server::start().await;
    server.adapter.add_locator("nervous", Nervous).unwrap();
    let proxy = server.proxy("nervous/any");
    for _ in 0..2 {
        let error = soon(returned(&proxy, "op", &NOTHING)).await.unwrap_err();
        assert!(error.to_string().contains("in the servant"), "{error}");
    }
    soon(server.proxy("echo").ice_ping()).await.unwrap();
}

/// Counts the dispatches that run at the same time.
#[derive(Default)]
struct Crowd {
    current: AtomicUsize,
    most: AtomicUsize,
}

impl Dispatcher for Crowd {
    fn dispatch(
        self: Arc<Self>,
        requests: floe::dispatch::Requests,
        slot: &mut floe::dispatch::DispatchSlot,
    ) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Crowd {
    fn respond(
        self: Arc<Self>,
        request: floe::dispatch::Request,
    ) -> floe::dispatch::DispatchFuture {
        Box::pin(async move {
            let current = self.current.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(current, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
            self.current.fetch_sub(1, Ordering::SeqCst);
            request.returned_nothing()
        })
    }
}

#[tokio::test]
async fn an_adapter_limits_the_dispatches_of_all_its_connections_together() {
    let mut settings = floe::Settings::default();
    settings.adapter_dispatch_limit = 3;
    let communicator = floe::Communicator::with_settings(settings);
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let crowd = Arc::new(Crowd::default());
    let proxy = adapter.add("crowd", crowd.clone()).expect("new");
    adapter.activate();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let client = floe::Communicator::new();
        let proxy = client.proxy_from(proxy.reference().clone());
        for _ in 0..5 {
            let proxy = proxy.clone();
            calls.spawn(async move { returned(&proxy, "op", &NOTHING).await });
        }
    }
    while let Some(call) = calls.join_next().await {
        call.expect("no panic").expect("ok");
    }
    assert_eq!(crowd.most.load(Ordering::SeqCst), 3);
}
