//! The samples of `Values.ice`, by name, the same as those of `values.py` and `values.h`.

use floe::classes::{Graph, Link, Ref};
use floe::{Communicator, Proxy};

use super::contract::values::*;
use super::tell::Any;

pub(crate) const OLDER: [&str; 13] = [
    "nil", "empty", "leaf", "tree", "shared", "ring", "shape", "circle", "kept", "square",
    "sample", "set", "unset",
];
pub(crate) const NEWER: [&str; 7] = [
    "keptMore",
    "keptMost",
    "keptInside",
    "hoop",
    "alone",
    "aloneById",
    "newer",
];
pub(crate) const FAILURES: [&str; 6] = ["failed", "unset", "at", "deep", "newer", "none"];

/// The names of the samples that this version has.
#[allow(clippy::let_and_return, unused_mut)]
pub(crate) fn names() -> Vec<&'static str> {
    let mut names = OLDER.to_vec();
    if_newer! { names.extend(NEWER); }
    names
}

/// Makes a sample; `None` if there is none of that name.
pub(crate) fn make(name: &str, proxy: &Proxy) -> Option<Any> {
    if_newer! {
        if let Some(newer) = make_newer(name, proxy) {
            return Some(newer);
        }
    }
    Some(match name {
        "nil" => Link::nil(),
        "empty" => Link::new(Empty {}),
        "leaf" => node("leaf", Link::nil(), Link::nil()).cast()?,
        "tree" => tree().cast()?,
        "shared" => shared().cast()?,
        "ring" => Link::to(&ring()),
        "shape" => Link::new(shape()),
        "circle" => Link::new(circle(ring().into())),
        "kept" => Link::new(kept()),
        "square" => square(),
        "sample" => Link::new(sample(proxy)),
        "set" => Link::new(set(proxy)),
        "unset" => Link::new(Optionals {
            between: 10,
            ..Optionals::default()
        }),
        _ => return None,
    })
}

if_newer! {
    fn make_newer(name: &str, proxy: &Proxy) -> Option<Any> {
        Some(match name {
            "keptMore" => Link::new(kept_more(leaf(), Link::nil())),
            "keptMost" => kept_most().upcast(),
            "keptInside" => Link::new(Kept {
                name: "holds".into(),
                other: kept_most().upcast(),
            }),
            "hoop" => Link::new(hoop()),
            "alone" => Link::new(Alone {
                secret: 42,
                inside: Link::new(kept_more(leaf(), Link::nil())),
            }),
            "aloneById" => Link::new(AloneById {
                secret: "hidden".into(),
            }),
            "newer" => Link::new(newer_optionals(proxy)),
            _ => return None,
        })
    }

    fn kept_more(corner: Link<Node>, other: Link<Kept>) -> KeptMore {
        KeptMore {
            base: Square {
                base: Kept { name: "kept".into(), other },
                side: 5,
                corner,
            },
            third: Link::new(kept()),
            more: "more".into(),
            note: Some("note".into()),
        }
    }

    fn kept_most() -> Link<KeptMost> {
        let leaf = leaf();
        let mut graph = Graph::new();
        let most = graph.add(KeptMost {
            base: kept_more(leaf.clone(), Link::nil()),
            most: 6,
            fourth: leaf,
            fifth: ring().into(),
        });
        graph[&most].base.base.base.other = most.link();
        graph.finish().expect("a whole graph");
        most.link()
    }

    fn hoop() -> Ring {
        let shape = Shape {
            id: 3,
            note: Some("noted".into()),
            mark: Link::nil(),
        };
        Ring {
            base: Circle {
                base: shape,
                radius: 0.5,
                center: None,
            },
            width: 8,
            inner: leaf(),
        }
    }

    fn newer_optionals(proxy: &Proxy) -> Optionals {
        Optionals {
            new_first: Some("first".into()),
            new_flag: Some(true),
            new_small: Some(3),
            new_number: Some(-7),
            new_exact: Some(0.5),
            new_shade: Some(Shade::Glowing),
            new_shorts: Some(vec![1, 2]),
            new_strings: Some(vec!["a".into(), "b".into()]),
            new_node: optional_class(|| ring().into()),
            new_last: Some(label("last", Shade::Light)),
            ..set(proxy)
        }
    }
}

/// The proxy that the samples contain.
pub(crate) fn something(communicator: &Communicator) -> Proxy {
    let proxy = communicator.proxy("some/thing:tcp -h 127.0.0.1 -p 1");
    proxy.expect("a proxy")
}

fn node(name: &str, left: Link<Node>, right: Link<Node>) -> Link<Node> {
    Link::new(Node {
        name: name.into(),
        left,
        right,
    })
}

fn leaf() -> Link<Node> {
    node("leaf", Link::nil(), Link::nil())
}

fn tree() -> Link<Node> {
    let deep = node("deep é", Link::nil(), Link::nil());
    let left = node("left", Link::nil(), Link::nil());
    node("root", left, node("right", Link::nil(), deep))
}

fn shared() -> Link<Node> {
    let both = leaf();
    node("top", both.clone(), node("side", both, Link::nil()))
}

/// Two nodes that refer to one another and to themselves.
pub(crate) fn ring() -> Ref<Node> {
    let mut graph = Graph::new();
    let [first, second] = ["first", "second"].map(|name| {
        graph.add(Node {
            name: name.into(),
            ..Node::default()
        })
    });
    for (node, other) in [(&first, &second), (&second, &first)] {
        graph[node].left = other.link();
        graph[node].right = node.link();
    }
    graph.finish().expect("a whole ring");
    first.link().get().expect("it is complete")
}

/// A square that refers to itself.
fn square() -> Any {
    let mut graph = Graph::new();
    let square = graph.add(Square {
        base: Kept {
            name: "square".into(),
            other: Link::nil(),
        },
        side: 4,
        corner: leaf(),
    });
    graph[&square].base.other = square.link();
    graph.finish().expect("a whole graph");
    square.link()
}

fn shape() -> Shape {
    Shape {
        id: 1,
        note: Some("noted".into()),
        mark: leaf(),
    }
}

pub(crate) fn circle(mark: Link<Node>) -> Circle {
    Circle {
        base: Shape {
            id: 2,
            note: None,
            mark,
        },
        radius: 2.5,
        center: Some(Pair { x: 1, y: -1 }),
    }
}

fn kept() -> Kept {
    let inner = Kept {
        name: "inner".into(),
        other: Link::nil(),
    };
    Kept {
        name: "outer".into(),
        other: Link::new(inner),
    }
}

pub(crate) fn label(text: &str, shade: Shade) -> Label {
    Label {
        text: text.into(),
        shade,
    }
}

pub(crate) fn sample(proxy: &Proxy) -> Sample {
    let node = ring();
    let left = &node.left;
    Sample {
        flag: true,
        octet: 255,
        small: i16::MIN,
        number: i32::MIN,
        large: i64::MAX,
        ratio: 0.5,
        exact: -0.25,
        text: "text é你😀".into(),
        shade: Shade::Glowing,
        pair: Pair { x: -1, y: 1 },
        label: label("label", Shade::Light),
        flags: vec![true, false],
        bytes: (0..5).collect(),
        shorts: vec![-1, 0, 1],
        doubles: vec![0.5, -1.5],
        strings: vec![String::new(), "a".into()],
        shades: vec![Shade::Light, Shade::Dark],
        pairs: vec![Pair { x: 1, y: 2 }],
        labels: vec![label("", Shade::Dark)],
        proxies: vec![Some(proxy.clone()), None],
        table: [(-1, 0.5), (7, 1.5)].into(),
        legend: [("a".into(), Shade::Light), ("b".into(), Shade::Glowing)].into(),
        object: Some(proxy.clone()),
        nodes: vec![Link::to(&node), Link::nil(), Link::to(&node), left.clone()],
        index: [("one".into(), left.clone()), ("two".into(), Link::nil())].into(),
        node: Link::to(&node),
    }
}

/// An optional value with an instance in it; unset for peers of Ice 3.8, which has no such thing.
fn optional_class<T>(make: impl FnOnce() -> T) -> Option<T> {
    (!cfg!(feature = "ice38")).then(make)
}

#[allow(clippy::needless_update)]
pub(crate) fn set(proxy: &Proxy) -> Optionals {
    Optionals {
        flag: Some(false),
        octet: Some(0),
        small: Some(-5),
        number: Some(70_000),
        large: Some(-(1 << 40)),
        ratio: Some(-0.5),
        exact: Some(1.25),
        text: Some("x".into()),
        shade: Some(Shade::Glowing),
        pair: Some(Pair { x: 3, y: 4 }),
        label: Some(label("l", Shade::Dark)),
        flags: Some(vec![true]),
        bytes: Some(vec![1, 2]),
        shorts: Some(vec![1, 2, 3]),
        strings: Some(vec!["s".into(), String::new()]),
        shades: Some(vec![Shade::Glowing]),
        pairs: Some(vec![Pair { x: 5, y: 6 }, Pair { x: 7, y: 8 }]),
        labels: Some(vec![label("m", Shade::Light)]),
        table: Some([(1, 0.5)].into()),
        legend: Some([("k".into(), Shade::Dark)].into()),
        object: Some(Some(proxy.clone())),
        between: 9,
        shape: optional_class(|| Link::new(circle(ring().into()))),
        nodes: optional_class(|| vec![leaf(), Link::nil()]),
        ..Optionals::default()
    }
}

pub(crate) fn held() -> Held {
    let node = ring();
    let shape = Ref::new(circle(ring().into()));
    Held {
        before: 1,
        shape: Link::to(&shape),
        any: Link::to::<Circle>(&shape),
        value: Link::new(Empty {}),
        nodes: vec![Link::to(&node), node.left.clone()],
        index: [("n".into(), Link::to(&node))].into(),
        after: 2,
    }
}

macro_rules! failure_of {
    ($($exception:ident)*) => {
        /// The error of an operation that throws any of the exceptions.
        pub(crate) trait Failure: $(From<$exception> +)* {}

        impl<T: $(From<$exception> +)*> Failure for T {}
    };
}

with_exceptions!(failure_of);

/// A sample of an exception; the base says that there is none of that name.
pub(crate) fn failure<T: Failure>(name: &str) -> T {
    let failed = |why: &str, code| Failed {
        why: why.into(),
        code,
    };
    match name {
        "failed" => failed("failed", Some(7)).into(),
        "unset" => failed("", None).into(),
        "at" => at().into(),
        "deep" => deep().into(),
        _ => {
            if_newer! {
                if name == "newer" {
                    return newer_failure().into();
                }
            }
            failed("no such sample", None).into()
        }
    }
}

#[allow(unused_mut)]
fn at() -> FailedAt {
    let mut at = FailedAt {
        why: "at".into(),
        place: ring().into(),
        more: Some("more".into()),
        ..FailedAt::default()
    };
    if_newer! { at.newer = Some("newer text".into()); }
    at
}

#[allow(unused_mut)]
fn deep() -> FailedDeep {
    let mut deep = FailedDeep {
        why: "deep".into(),
        code: Some(3),
        place: ring().into(),
        held: held(),
        labels: Some(vec![label("l", Shade::Light)]),
        shape: optional_class(|| Link::new(shape())),
        ..FailedDeep::default()
    };
    if_newer! { deep.newer = Some("newer text".into()); }
    deep
}

if_newer! {
    fn newer_failure() -> FailedNewer {
        let FailedDeep { why, code, place, more, newer, held, labels, shape } = deep();
        let last = place.clone();
        FailedNewer { why, code, place, more, newer, held, labels, shape, level: 12, last }
    }
}
