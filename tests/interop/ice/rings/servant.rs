//! The Floe servant of Rings.ice, and the rings that both sides build.

use std::sync::Mutex;

use floe::classes::{Draft, Graph, Link};
use floe::{Adapter, Communicator, Current, InvokeError};

use super::contract::rings::*;

pub(super) async fn serve(communicator: &Communicator) -> (Adapter, String) {
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("a free port");
    let servant = KeeperDispatcher::new(Servant::default());
    let proxy = adapter.add("keeper", servant);
    adapter.activate();
    (adapter, proxy.expect("the identity is free").to_string())
}

#[derive(Default)]
struct Servant {
    node: Mutex<Link<Node>>,
}

impl Servant {
    fn held(&self) -> Link<Node> {
        self.node.lock().expect("nobody panics").clone()
    }
}

impl Keeper for Servant {
    async fn after(&self, node: Link<Node>, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(behind(&node))
    }

    async fn after_sliced(&self, node: Link<Node>, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(behind(&node))
    }

    async fn ring(
        &self,
        length: i32,
        _: &Current,
    ) -> Result<(Link<Node>, Link<Node>), InvokeError> {
        Ok(ring(length)?)
    }

    async fn ring_sliced(
        &self,
        length: i32,
        _: &Current,
    ) -> Result<(Link<Node>, Link<Node>), InvokeError> {
        Ok(ring(length)?)
    }

    async fn keep(&self, node: Link<Node>, _: &Current) -> Result<(), InvokeError> {
        *self.node.lock().expect("nobody panics") = behind(&node);
        Ok(())
    }

    async fn kept(&self, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(self.held())
    }

    async fn kept_sliced(&self, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(self.held())
    }

    async fn fork(&self, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(fork()?)
    }
}

fn behind(node: &Link<Node>) -> Link<Node> {
    node.get().expect("a node").next.clone()
}

/// The first and the last node of a ring.
pub(super) fn ring(length: i32) -> Result<(Link<Node>, Link<Node>), floe::EncodeError> {
    let mut graph = Graph::new();
    let name = |index| format!("n{index}");
    let nodes: Vec<Draft<Node>> = (0..length)
        .map(|index| graph.add(node(name(index), Link::nil())))
        .collect();
    for (one, next) in nodes.iter().zip(nodes.iter().cycle().skip(1)) {
        graph[one].next = next.link();
    }
    graph.finish()?;
    let [first, .., last] = nodes.as_slice() else {
        return Ok((nodes[0].link(), nodes[0].link()));
    };
    Ok((first.link(), last.link()))
}

/// A fork into a ring with itself and into another one.
pub(super) fn fork() -> Result<Link<Node>, floe::EncodeError> {
    let mut graph = Graph::new();
    let fork = graph.draft::<Fork>();
    let back = graph.add(node("back", fork.link()));
    let (other, _) = ring(3)?;
    let base = node("fork", back.link());
    graph.fill(&fork, Fork { base, other });
    graph.finish()?;
    Ok(fork.link())
}

pub(super) fn node(name: impl Into<String>, next: Link<Node>) -> Node {
    let name = name.into();
    Node { name, next }
}
