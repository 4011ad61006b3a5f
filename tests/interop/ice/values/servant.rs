//! The Floe servant of `Values.ice`: answers as the Ice servers beside it do.

use floe::classes::Link;
use floe::{Adapter, Communicator, Current, InvokeError, Proxy};

use super::contract::values::*;
use super::samples::{failure, make, something};
use super::tell::{Any, told};

struct Servant {
    proxy: Proxy,
}

type Options = (
    Option<String>,
    String,
    Option<bool>,
    Option<i16>,
    Option<i64>,
    Option<Shade>,
    Option<Pair>,
    Option<Labels>,
    Option<Table>,
    Option<Option<Proxy>>,
);

impl Peer for Servant {
    async fn sliced(&self, value: Any, _: &Current) -> Result<(Any, String), InvokeError> {
        let seen = told(&[&value]);
        Ok((value, seen))
    }

    async fn compact(&self, value: Any, _: &Current) -> Result<(Any, String), InvokeError> {
        let seen = told(&[&value]);
        Ok((value, seen))
    }

    async fn typed(
        &self,
        shape: Link<Shape>,
        node: Link<Node>,
        _: &Current,
    ) -> Result<(Link<Shape>, Link<Node>, String), InvokeError> {
        let seen = told(&[&shape, &node]);
        Ok((shape, node, seen))
    }

    async fn hold(&self, held: Held, _: &Current) -> Result<(Held, String), InvokeError> {
        let seen = told(&[&held]);
        Ok((held, seen))
    }

    if_older! {
        async fn options(
            &self,
            required: i32,
            flag: Option<bool>,
            small: Option<i16>,
            large: Option<i64>,
            text: Option<String>,
            shade: Option<Shade>,
            pair: Option<Pair>,
            labels: Option<Labels>,
            table: Option<Table>,
            object: Option<Option<Proxy>>,
            _: &Current,
        ) -> Result<Options, InvokeError> {
            let seen = told(&[
                &required, &flag, &small, &large, &text, &shade, &pair, &labels, &table, &object,
            ]);
            Ok((text, seen, flag, small, large, shade, pair, labels, table, object))
        }
    }

    if_newer! {
        async fn options(
            &self,
            required: i32,
            flag: Option<bool>,
            small: Option<i16>,
            large: Option<i64>,
            text: Option<String>,
            shade: Option<Shade>,
            pair: Option<Pair>,
            labels: Option<Labels>,
            table: Option<Table>,
            object: Option<Option<Proxy>>,
            newer: Option<Strings>,
            newest: Option<Label>,
            _: &Current,
        ) -> Result<Options, InvokeError> {
            let seen = told(&[
                &required, &flag, &small, &large, &text, &shade, &pair, &labels, &table, &object,
                &newer, &newest,
            ]);
            Ok((text, seen, flag, small, large, shade, pair, labels, table, object))
        }
    }

    async fn optional_class(
        &self,
        shape: Option<Link<Shape>>,
        node: Link<Node>,
        other: Option<Link<Node>>,
        _: &Current,
    ) -> Result<(Option<Link<Shape>>, Link<Node>, Option<Link<Node>>, String), InvokeError> {
        let seen = told(&[&shape, &node, &other]);
        Ok((shape, node, other, seen))
    }

    async fn make(&self, sample: String, _: &Current) -> Result<Any, FailedError> {
        make(&sample, &self.proxy).ok_or_else(|| failure("none"))
    }

    async fn make_compact(&self, sample: String, _: &Current) -> Result<Any, FailedError> {
        make(&sample, &self.proxy).ok_or_else(|| failure("none"))
    }

    async fn fail(&self, sample: String, _: &Current) -> Result<(), FailedError> {
        Err(failure(&sample))
    }

    async fn fail_compact(&self, sample: String, _: &Current) -> Result<(), FailedError> {
        Err(failure(&sample))
    }

    async fn echo_sample(
        &self,
        value: Link<Sample>,
        _: &Current,
    ) -> Result<Link<Sample>, InvokeError> {
        Ok(value)
    }

    async fn echo_optionals(
        &self,
        value: Link<Optionals>,
        _: &Current,
    ) -> Result<Link<Optionals>, InvokeError> {
        Ok(value)
    }

    async fn echo_nodes(&self, value: Nodes, _: &Current) -> Result<Nodes, InvokeError> {
        Ok(value)
    }

    async fn left(&self, node: Link<Node>, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(left(&node))
    }

    async fn left_compact(&self, node: Link<Node>, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(left(&node))
    }

    async fn both(
        &self,
        node: Link<Node>,
        _: &Current,
    ) -> Result<(Link<Node>, Link<Node>), InvokeError> {
        let left = left(&node);
        Ok((node, left))
    }
}

fn left(node: &Link<Node>) -> Link<Node> {
    node.get().map_or_else(Link::nil, |node| node.left.clone())
}

/// Serves an object "values" on a free port of loopback until the adapter is dropped; returns its proxy.
pub(crate) async fn serve(communicator: &Communicator) -> (Adapter, String) {
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    let proxy = something(communicator);
    let proxy = adapter.add("values", PeerDispatcher::new(Servant { proxy }));
    adapter.activate();
    (adapter, proxy.expect("the identity is free").to_string())
}
