//! The Floe client of `Values.ice`: says line by line what the Ice clients beside it say.

use floe::classes::Link;
use floe::{Communicator, EncodingVersion, Proxy, TypedProxy};

use super::contract::values::*;
use super::samples::{self, FAILURES, NEWER, OLDER, make, something};
use super::tell::{Any, Tell, told};

/// Calls the object behind `proxy`, and returns a line about each call.
pub(crate) async fn converse(communicator: &Communicator, proxy: &str) -> Vec<String> {
    let peer: PeerProxy = communicator.proxy(proxy).expect("a proxy");
    let mut conversation = Conversation {
        peer,
        version: EncodingVersion::V1_1,
        proxy: something(communicator),
        lines: Vec::new(),
    };
    for version in [EncodingVersion::V1_1, EncodingVersion::V1_0] {
        conversation.peer = conversation.peer.ice_encoding(version);
        conversation.version = version;
        conversation.send().await;
        conversation.receive().await;
        conversation.typed().await;
        conversation.parts().await;
        conversation.options().await;
        conversation.optional_classes().await;
        conversation.failures().await;
    }
    conversation.lines
}

struct Conversation {
    peer: PeerProxy,
    version: EncodingVersion,
    /// The proxy that samples contain.
    proxy: Proxy,
    lines: Vec<String>,
}

/// Each part told for itself.
macro_rules! parts {
    ($($part:expr),*) => {
        [$(told(&[&$part])),*].join(" | ")
    };
}

impl Conversation {
    fn note<E: Tell>(&mut self, what: &str, came: Result<String, E>) {
        let came = came.unwrap_or_else(|error| told(&[&error]));
        self.lines.push(format!("{} {what}: {came}", self.version));
    }

    async fn send(&mut self) {
        for name in samples::names() {
            let value = make(name, &self.proxy).expect("it has a sample of each name");
            self.echo("", name, &value).await;
        }
    }

    async fn receive(&mut self) {
        for name in [&OLDER[..], &NEWER].concat() {
            let made = self.peer.make(name).await;
            let told_made = made.as_ref().map(|made| parts!(made.clone()));
            self.note(&format!("make {name}"), told_made.map_err(ByReference));
            if let Ok(made) = made
                && !made.is_nil()
            {
                self.echo("again ", name, &made).await;
            }
            let made = self.peer.make_compact(name).await;
            let made = made.map(|made| parts!(made));
            self.note(&format!("make compact {name}"), made);
        }
    }

    /// Sends a value in both formats.
    async fn echo(&mut self, again: &str, name: &str, value: &Any) {
        let format = if again.is_empty() { "sliced " } else { "" };
        let back = self.peer.sliced(value).await;
        let back = back.map(|(back, seen)| parts!(back, seen));
        self.note(&format!("{again}{format}{name}"), back);
        let back = self.peer.compact(value).await;
        let back = back.map(|(back, seen)| parts!(back, seen));
        self.note(&format!("{again}compact {name}"), back);
    }

    async fn typed(&mut self) {
        let ring = samples::ring();
        let circle: Link<Shape> = Link::new(samples::circle(Link::to(&ring)));
        let both = self.peer.typed(&circle, &Link::to(&ring)).await;
        self.note(
            "typed",
            both.map(|(shape, node, seen)| parts!(shape, node, seen)),
        );
        let both = self.peer.typed(&Link::nil(), &Link::nil()).await;
        self.note(
            "typed nil",
            both.map(|(shape, node, seen)| parts!(shape, node, seen)),
        );
        let held = self.peer.hold(&samples::held()).await;
        self.note("hold", held.map(|(held, seen)| parts!(held, seen)));
        let sample = Link::new(samples::sample(&self.proxy));
        let sample = self.peer.echo_sample(&sample).await;
        self.note("sample", sample.map(|sample| parts!(sample)));
        let set = Link::new(samples::set(&self.proxy));
        let set = self.peer.echo_optionals(&set).await;
        self.note("optionals", set.map(|set| parts!(set)));
        let nodes = [Link::to(&ring), Link::nil(), ring.left.clone()];
        let nodes = self.peer.echo_nodes(&nodes).await;
        self.note("nodes", nodes.map(|nodes| parts!(nodes)));
    }

    async fn parts(&mut self) {
        let ring = Link::from(samples::ring());
        let left = self.peer.left(&ring).await;
        self.note("left", left.map(|left| parts!(left)));
        let left = self.peer.left_compact(&ring).await;
        self.note("left compact", left.map(|left| parts!(left)));
        let both = self.peer.both(&ring).await;
        // The node, which leads to the other one, goes.
        let kept = both.map(|(_, left)| left);
        let left = kept.clone().unwrap_or_default();
        self.note("left kept", kept.map(|left| parts!(left)));
        let again = self.peer.left(&left).await;
        self.note("left again", again.map(|left| parts!(left)));
    }

    async fn options(&mut self) {
        let proxy = self.proxy.clone();
        self.ask_options("set", 1, true, Some(Some(&proxy))).await;
        self.ask_options("unset", 2, false, None).await;
        self.ask_options("nil", 3, false, Some(None)).await;
    }

    async fn ask_options(
        &mut self,
        what: &str,
        required: i32,
        are_set: bool,
        object: Option<Option<&Proxy>>,
    ) {
        let labels = [samples::label("a", Shade::Glowing)];
        let table = Table::from([(3, 0.5)]);
        let flag = are_set.then_some(false);
        let small = are_set.then_some(-3);
        let large = are_set.then_some(1 << 40);
        let text = are_set.then_some("text");
        let shade = are_set.then_some(Shade::Glowing);
        let pair = are_set.then_some(&Pair { x: 1, y: 2 });
        let labels = are_set.then_some(&labels[..]);
        let table = are_set.then_some(&table);
        if_newer! {
            let (newer, newest) = (["n".to_owned()], samples::label("newest", Shade::Light));
            let call = self.peer.options(
                required, flag, small, large, text, shade, pair, labels, table, object,
                are_set.then_some(&newer[..]), are_set.then_some(&newest),
            );
        }
        if_older! {
            let call = self.peer.options(
                required, flag, small, large, text, shade, pair, labels, table, object,
            );
        }
        let options = call.await.map(
            |(text, seen, flag, small, large, shade, pair, labels, table, object)| {
                parts!(
                    text, seen, flag, small, large, shade, pair, labels, table, object
                )
            },
        );
        self.note(&format!("options {what}"), options);
    }

    async fn optional_classes(&mut self) {
        let ring = samples::ring();
        let (node, other) = (Link::to(&ring), ring.left.clone());
        let circle = Link::new(samples::circle(samples::ring().into()));
        let set = (Some(&circle), &node, Some(&other));
        let (no_shape, no_node) = (Link::nil(), Link::nil());
        let nil = (Some(&no_shape), &no_node, Some(&no_node));
        for (what, (shape, node, other)) in
            [("set", set), ("nil", nil), ("unset", (None, &node, None))]
        {
            let came = self.peer.optional_class(shape, node, other).await;
            let came = came.map(|(shape, node, other, seen)| parts!(shape, node, other, seen));
            self.note(&format!("class {what}"), came);
        }
    }

    async fn failures(&mut self) {
        for name in FAILURES {
            let failed = self.peer.fail(name).await;
            self.note(&format!("fail {name}"), failed.map(|()| String::new()));
            let failed = self.peer.fail_compact(name).await;
            self.note(
                &format!("fail compact {name}"),
                failed.map(|()| String::new()),
            );
        }
    }
}

/// An error that is told and kept.
struct ByReference<'a, E>(&'a E);

impl<E: Tell> Tell for ByReference<'_, E> {
    fn tell(&self, teller: &mut super::tell::Teller) {
        self.0.tell(teller);
    }
}
