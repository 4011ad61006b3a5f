//! Spans of `tracing` around invocations and dispatches.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};

use floe::pipeline::Spans;
use floe::{SystemException, TypedProxy};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::echo::Server;

/// Writes down each span with its fields.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").expect("memory");
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "floe::calls"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = span.metadata().name().to_owned();
        span.record(&mut Line(&mut line));
        let mut lines = self.0.lock().unwrap();
        lines.push(line);
        Id::from_u64(lines.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut lines = self.0.lock().unwrap();
        values.record(&mut Line(&mut lines[span.into_u64() as usize - 1]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn an_invocation_and_its_dispatch_have_a_span_each_with_what_it_failed_with() {
    let notes = Notes::default();
    let _guard = tracing::subscriber::set_default(notes.clone());
    let server = Server::start().await;
    server.adapter.intercept(Spans);
    let proxy = server.proxy("echo").ice_intercepted(Spans);
    proxy.ice_ping().await.expect("an answer");
    let nobody = proxy.ice_identity("nobody".parse().unwrap());
    let error = nobody.ice_ping().await.unwrap_err();
    assert!(matches!(
        error,
        floe::InvokeError::System(SystemException::ObjectNotExist(_))
    ));

    let lines = notes.0.lock().unwrap().clone();
    let [invoked, dispatched, failed, refused] = &lines[..] else {
        panic!("expected four spans, got {lines:?}");
    };
    assert_eq!(invoked, "invoke identity=echo operation=\"ice_ping\"");
    assert!(
        dispatched.starts_with("dispatch identity=echo operation=\"ice_ping\" peer=\"127.0.0.1:"),
        "{dispatched}"
    );
    assert!(failed.starts_with("invoke identity=nobody"), "{failed}");
    for line in [failed, refused] {
        assert!(line.contains(" error="), "{line}");
    }
}
