//! A servant that gives back what it gets, of a contract with classes and optional values.

use floe::classes::{AnyClass, Link};
use floe::{Adapter, Communicator, Current, EncodingVersion, InvokeError, Proxy, TypedProxy};

use crate::contract::classes::{
    AtNode, AtNodeError, Circle, Color, CounterProxy, CounterServant, Counting, Deeper, Drawing,
    DrawingDispatcher, DrawingProxy, Failed, FailedError, FailedOrLonelyError, Held, Index,
    LaterProxy, Lonely, Node, NodeProxy, Nodes, Parts, Point, Points, Ring, Shape, SubCounterProxy,
    UnknownProxy, Uses,
};
use crate::contract::extra::{Shot, ShotError, Sky, Star};

pub(crate) type Any = Link<dyn AnyClass>;

/// Gives back what it gets, or a part of it.
pub(crate) struct Echo;

impl Parts for Echo {
    async fn next(&self, node: Link<Node>, _: &Current) -> Result<Link<Node>, InvokeError> {
        Ok(next(&node))
    }

    async fn both(
        &self,
        node: Link<Node>,
        _: &Current,
    ) -> Result<(Link<Node>, Link<Node>), InvokeError> {
        let next = next(&node);
        Ok((node, next))
    }

    async fn fail(&self, node: Link<Node>, _: &Current) -> Result<(), AtNodeError> {
        Err(AtNode {
            node: next(&node),
            ..AtNode::default()
        }
        .into())
    }
}

fn next(node: &Link<Node>) -> Link<Node> {
    node.get().map_or_else(Link::nil, |node| node.next.clone())
}

impl Drawing for Echo {
    async fn echo(&self, shape: Link<Shape>, _: &Current) -> Result<Link<Shape>, InvokeError> {
        Ok(shape)
    }

    async fn echo_any(&self, any: Any, _: &Current) -> Result<(Any, Any), InvokeError> {
        Ok((any.clone(), any))
    }

    async fn link(&self, nodes: Nodes, _: &Current) -> Result<(Link<Node>, Index), InvokeError> {
        let named = |node: &Link<Node>| {
            (
                node.get().map_or_else(String::new, |it| it.name.clone()),
                node.clone(),
            )
        };
        let index: Index = nodes.iter().map(named).collect();
        Ok((nodes.first().cloned().unwrap_or_default(), index))
    }

    async fn hold(&self, held: Held, _: &Current) -> Result<Held, InvokeError> {
        Ok(held)
    }

    async fn r#use(&self, uses: Link<Uses>, _: &Current) -> Result<Link<Uses>, InvokeError> {
        Ok(uses)
    }

    async fn optionals(
        &self,
        nine: Option<i32>,
        required: String,
        one: Option<String>,
        shape: Option<Link<Shape>>,
        proxy: Option<Option<Proxy>>,
        color: Option<Color>,
        points: Option<Points>,
        _: &Current,
    ) -> Result<
        (
            Option<String>,
            i32,
            Option<Option<Proxy>>,
            Option<Link<Shape>>,
            Option<Points>,
        ),
        InvokeError,
    > {
        let told = format!("{nine:?} {required} {one:?} {color:?}");
        let count = nine.map_or(-1, |nine| nine + 1);
        Ok((one.map(|_| told), count, proxy, shape, points))
    }

    async fn only(&self, it: Option<i32>, _: &Current) -> Result<Option<i32>, InvokeError> {
        Ok(it)
    }

    async fn only_class(
        &self,
        it: Option<Link<Shape>>,
        _: &Current,
    ) -> Result<Option<Link<Shape>>, InvokeError> {
        Ok(it)
    }

    async fn encoder(
        &self,
        decoder: Link<Node>,
        reader: Option<Link<Node>>,
        _: &Current,
    ) -> Result<(Link<Node>, Link<Node>, Option<i32>), InvokeError> {
        Ok((
            reader.clone().unwrap_or_default(),
            decoder,
            reader.map(|_| 2),
        ))
    }

    async fn fail(
        &self,
        how: String,
        node: Link<Node>,
        _: &Current,
    ) -> Result<(), FailedOrLonelyError> {
        match how.as_str() {
            "failed" => Err(Failed::default().into()),
            "unset" => Err(Failed {
                why: how,
                code: None,
            }
            .into()),
            "node" => Err(at_node(node).into()),
            "deeper" => {
                let AtNode {
                    why,
                    code,
                    node,
                    shape,
                } = at_node(node);
                let more = Some("more".to_owned());
                Err(Deeper {
                    why,
                    code,
                    node,
                    shape,
                    more,
                }
                .into())
            }
            "lonely" => Err(Lonely { node: Some(node) }.into()),
            _ => Ok(()),
        }
    }

    async fn fail_compact(&self, node: Link<Node>, _: &Current) -> Result<(), AtNodeError> {
        Err(at_node(node).into())
    }

    async fn anything(
        &self,
        it: Any,
        _later: Option<LaterProxy>,
        _: &Current,
    ) -> Result<Any, InvokeError> {
        Ok(it)
    }
}

impl CounterServant for Echo {
    async fn next(&self, by: i32, shape: Link<Shape>, _: &Current) -> Result<i32, FailedError> {
        match shape.get() {
            Some(shape) => Ok(by + shape.id),
            None => Err(Failed::default().into()),
        }
    }
}

impl Counting for Echo {
    async fn count(
        &self,
        sub: Option<SubCounterProxy>,
        _node: Option<NodeProxy>,
        _unknown: Option<UnknownProxy>,
        _: &Current,
    ) -> Result<Option<CounterProxy>, InvokeError> {
        Ok(sub.map(CounterProxy::from))
    }

    async fn by_value(
        &self,
        drawing: Any,
        maybe: Option<Any>,
        _: &Current,
    ) -> Result<Any, InvokeError> {
        Ok(maybe.unwrap_or(drawing))
    }
}

impl Sky for Echo {
    async fn find(&self, star: Link<Star>, _: &Current) -> Result<Link<Shape>, ShotError> {
        match star.get() {
            Some(_) => Ok(Link::new(ring())),
            None => Err(Shot {
                star: Link::new(Star::default()),
                ..Shot::default()
            }
            .into()),
        }
    }
}

pub(crate) async fn served() -> (Adapter, DrawingProxy) {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let proxy = adapter
        .add("drawing", DrawingDispatcher::new(Echo))
        .unwrap();
    adapter.activate();
    (adapter, DrawingProxy::from_proxy(proxy))
}

pub(crate) fn in_both_encodings(proxy: &DrawingProxy) -> [DrawingProxy; 2] {
    [EncodingVersion::V1_1, EncodingVersion::V1_0].map(|encoding| proxy.ice_encoding(encoding))
}

pub(crate) fn ring() -> Ring {
    let shape = Shape {
        id: 4,
        color: Some(Color::Blue),
        ..Shape::default()
    };
    let circle = Circle {
        base: shape,
        radius: 0.5,
        center: Some(Point { x: 1, y: -1 }),
        inner: Some(Link::new(Shape::default())),
    };
    Ring {
        base: circle,
        width: 2.5,
    }
}

fn at_node(node: Link<Node>) -> AtNode {
    AtNode {
        why: "there".to_owned(),
        code: Some(5),
        node,
        shape: Some(Link::new(Circle::default())),
    }
}
