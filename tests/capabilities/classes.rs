//! Generated classes, optional values and exceptions with both, called through the runtime in both
//! encodings.

use floe::classes::{Graph, Link};
use floe::{Communicator, EncodingVersion, Settings, TypedProxy};

use crate::contract::classes::{
    AtNodeError, Based, Bytes, Circle, Class, Color, Counter, CounterDispatcher, CounterProxy,
    CountingDispatcher, CountingProxy, DrawingDispatcher, DrawingProxy, Failed, FailedError,
    FailedOrLonelyError, Held, Hostile, LaterProxy, Node, Nothing, PartsDispatcher, PartsProxy,
    Point, Ring, Shape, SubCounter, SubCounterProxy, Uses,
};
use crate::contract::extra::{self, ShotError, SkyDispatcher, SkyProxy, Star};
use crate::echo::{self, Any, Echo, in_both_encodings, served};

#[tokio::test]
async fn an_instance_keeps_its_class_and_all_members() {
    let (_adapter, proxy) = served().await;
    for proxy in in_both_encodings(&proxy) {
        let ring = proxy.echo(&Link::new(echo::ring())).await.unwrap();
        let got = ring.get().unwrap().cast::<Ring>().expect("not sliced");
        let mut expected = echo::ring();
        if proxy.as_proxy().reference().encoding == EncodingVersion::V1_0 {
            // What encoding 1.0 cannot carry.
            expected.base.base.note = None;
            expected.base.base.zero = None;
            expected.base.base.color = None;
            expected.base.center = None;
            expected.base.inner = None;
        }
        assert_eq!(*got, expected);
        assert_eq!((got.id, got.radius, got.at.y), (4, 0.5, 2));
        assert!(proxy.echo(&Link::nil()).await.unwrap().is_nil());
    }
}

#[tokio::test]
async fn optional_members_with_a_default_are_set_at_first() {
    let shape = Shape::default();
    assert_eq!(shape.note.as_deref(), Some("set"));
    assert_eq!((shape.id, shape.zero, shape.color), (1, Some(0), None));
    assert_eq!(Failed::default().code, Some(7));
    let (_adapter, proxy) = served().await;
    let unset = Shape {
        note: None,
        ..Shape::default()
    };
    let got = proxy.echo(&Link::new(unset.clone())).await.unwrap();
    assert_eq!(*got.get().unwrap(), unset);
}

#[tokio::test]
async fn any_class_of_the_contract_is_known_where_any_is_asked_for() {
    let (_adapter, proxy) = served().await;
    for proxy in in_both_encodings(&proxy) {
        let any: Any = Link::new(Circle::default());
        let (one, same) = proxy.echo_any(&any).await.unwrap();
        let (one, same) = (one.get().unwrap(), same.get().unwrap());
        assert!(one.ptr_eq(&same), "one instance came twice");
        assert!(one.cast::<Circle>().is_some());
        let nothing = proxy.echo_any(&Link::new(Nothing {})).await.unwrap().0;
        assert!(nothing.cast::<Nothing>().is_some());
        let unknown = proxy.anything(&any, None).await.unwrap();
        assert!(unknown.get().unwrap().cast::<Shape>().is_some());
    }
}

#[tokio::test]
async fn a_cycle_and_what_is_shared_arrive_as_they_were() {
    let (_adapter, proxy) = served().await;
    for proxy in in_both_encodings(&proxy) {
        let first = ring();
        let nodes = vec![first.clone(), Link::nil(), first];
        let (node, index) = proxy.link(&nodes).await.unwrap();
        let node = node.get().unwrap();
        let second = node.next.get().unwrap();
        assert_eq!(second.name, "second");
        assert!(second.next.get().unwrap().ptr_eq(&node));
        assert!(index["first"].get().unwrap().ptr_eq(&node));
        assert!(index[""].is_nil());
    }
}

/// Two nodes that lead to one another; a link to the first.
fn ring() -> Link<Node> {
    let mut graph = Graph::new();
    let first = graph.add(Node {
        name: "first".to_owned(),
        ..Node::default()
    });
    let second = graph.add(Node {
        name: "second".to_owned(),
        next: first.link(),
        ..Node::default()
    });
    graph[&first].next = second.link();
    graph.finish().expect("a whole ring");
    first.link()
}

#[tokio::test]
async fn a_part_of_a_received_cycle_leads_to_all_of_it() {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let proxy = adapter.add("parts", PartsDispatcher::new(Echo)).unwrap();
    let proxy = PartsProxy::from_proxy(proxy);
    adapter.activate();
    for encoding in [EncodingVersion::V1_1, EncodingVersion::V1_0] {
        let proxy = proxy.ice_encoding(encoding);
        // A servant keeps a part of what it got, and a client a part of two results or of an error.
        let next = proxy.next(&ring()).await.unwrap();
        let (_, kept) = proxy.both(&ring()).await.unwrap();
        let AtNodeError::AtNode(thrown) = proxy.fail(&ring()).await.unwrap_err() else {
            panic!("sliced");
        };
        for second in [next, kept, thrown.node] {
            let names = [second.clone(), proxy.next(&second).await.unwrap()];
            let names = names.map(|node| {
                let node = node.get().unwrap();
                (node.name.clone(), node.next.get().unwrap().name.clone())
            });
            let [first, second] = ["first", "second"].map(str::to_owned);
            assert_eq!(names, [(second.clone(), first.clone()), (first, second)]);
        }
    }
}

#[tokio::test]
async fn a_structure_carries_instances() {
    let (_adapter, proxy) = served().await;
    for proxy in in_both_encodings(&proxy) {
        let held = Held {
            before: 3,
            shape: Link::new(Shape {
                note: None,
                zero: None,
                ..Shape::default()
            }),
            any: Link::new(Node::default()),
            value: Link::nil(),
            nodes: vec![Link::new(Node::default())],
        };
        assert_eq!(proxy.hold(&held).await.unwrap(), held);
    }
}

#[tokio::test]
async fn optional_members_of_every_type_arrive_set_and_unset() {
    let (_adapter, proxy) = served().await;
    let uses = uses(&proxy);
    let got = proxy.r#use(&Link::new(uses.clone())).await.unwrap();
    assert_eq!(*got.get().unwrap(), uses);
    let nil_and_unset = Uses {
        any: Some(None),
        maybe: None,
        ..Uses::default()
    };
    let got = proxy
        .r#use(&Link::new(nil_and_unset.clone()))
        .await
        .unwrap();
    assert_eq!(*got.get().unwrap(), nil_and_unset);
}

#[tokio::test]
async fn optional_parameters_and_results_arrive_set_and_unset() {
    let (_adapter, proxy) = served().await;
    let shape: Link<Shape> = Link::new(Circle::default());
    let points = [Point { x: 1, y: 2 }];
    let (told, count, same_proxy, same_shape, same_points) = proxy
        .optionals(
            Some(9),
            "text",
            Some("one"),
            Some(&shape),
            Some(Some(proxy.as_proxy())),
            Some(Color::Green),
            Some(&points),
        )
        .await
        .unwrap();
    assert_eq!(
        told.as_deref(),
        Some("Some(9) text Some(\"one\") Some(Green)")
    );
    assert_eq!(count, 10);
    assert_eq!(same_proxy, Some(Some(proxy.as_proxy().clone())));
    assert_eq!(same_shape, Some(shape));
    assert_eq!(same_points.as_deref(), Some(&points[..]));
    let none = proxy
        .optionals(None, "", None, None, Some(None), None, None)
        .await
        .unwrap();
    assert_eq!(none, (None, -1, Some(None), None, None));
    assert_eq!(proxy.only(Some(3)).await.unwrap(), Some(3));
    assert_eq!(proxy.only(None).await.unwrap(), None);
    assert_eq!(
        proxy.only_class(Some(&Link::nil())).await.unwrap(),
        Some(Link::nil())
    );
    assert_eq!(proxy.only_class(None).await.unwrap(), None);
}

#[tokio::test]
async fn encoding_1_0_leaves_optional_values_out() {
    let (_adapter, proxy) = served().await;
    let proxy = proxy.ice_encoding(EncodingVersion::V1_0);
    assert_eq!(proxy.only(Some(3)).await.unwrap(), None);
    let shape = Link::new(Shape::default());
    assert_eq!(proxy.only_class(Some(&shape)).await.unwrap(), None);
    let node = Link::new(Node::default());
    let (nil, returned, number) = proxy.encoder(&node, Some(&node)).await.unwrap();
    assert_eq!((nil.is_nil(), returned, number), (true, node, None));
}

#[tokio::test]
async fn a_shared_instance_of_a_required_and_an_optional_parameter_stays_one() {
    let (_adapter, proxy) = served().await;
    let node = Link::new(Node::default());
    let (one, other, number) = proxy.encoder(&node, Some(&node)).await.unwrap();
    assert!(one.get().unwrap().ptr_eq(&other.get().unwrap()));
    assert_eq!(number, Some(2));
}

#[tokio::test]
async fn exceptions_carry_instances_and_optional_values() {
    let (_adapter, proxy) = served().await;
    for proxy in in_both_encodings(&proxy) {
        let is_1_0 = proxy.as_proxy().reference().encoding == EncodingVersion::V1_0;
        let set = |value: i32| (!is_1_0).then_some(value);
        let node = Link::new(Node {
            name: "here".to_owned(),
            ..Node::default()
        });
        let fail = async |how| proxy.fail(how, &node).await.expect_err("it fails");
        assert!(
            matches!(fail("failed").await, FailedOrLonelyError::Failed(it) if it.code == set(7))
        );
        assert!(
            matches!(fail("unset").await, FailedOrLonelyError::Failed(it) if it.code.is_none())
        );
        let FailedOrLonelyError::AtNode(thrown) = fail("node").await else {
            panic!("sliced");
        };
        assert_eq!(
            (&thrown.node, thrown.code, thrown.shape.is_some()),
            (&node, set(5), !is_1_0)
        );
        let FailedOrLonelyError::Deeper(thrown) = fail("deeper").await else {
            panic!("sliced");
        };
        assert_eq!(thrown.node.get().unwrap().name, "here");
        assert_eq!(thrown.more.is_some(), !is_1_0);
        let FailedOrLonelyError::Lonely(thrown) = fail("lonely").await else {
            panic!("sliced");
        };
        assert_eq!(thrown.node, (!is_1_0).then(|| node.clone()));
        let AtNodeError::AtNode(thrown) = proxy.fail_compact(&node).await.unwrap_err() else {
            panic!("sliced");
        };
        assert_eq!(thrown.node, node);
    }
}

#[tokio::test]
async fn a_class_with_operations_has_data_proxies_and_servants() {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let proxy = adapter
        .add("counter", CounterDispatcher::new(Echo))
        .unwrap();
    let counting = adapter
        .add("counting", CountingDispatcher::new(Echo))
        .unwrap();
    adapter.activate();
    let counter = CounterProxy::from_proxy(proxy.clone());
    assert_eq!(
        counter
            .next(3, &Link::new(Circle::default()))
            .await
            .unwrap(),
        4
    );
    let error = counter.next(3, &Link::nil()).await.unwrap_err();
    assert!(matches!(error, FailedError::Failed(_)));
    assert_eq!(
        counter.only(Some(1)).await.unwrap(),
        Some(1),
        "of the interface"
    );
    let ids = counter.ice_ids().await.unwrap();
    assert_eq!(
        ids,
        [
            "::Classes::Counter",
            "::Classes::Drawing",
            "::Classes::Shape",
            "::Ice::Object"
        ]
    );
    let counting = CountingProxy::from_proxy(counting);
    let sub = SubCounterProxy::from_proxy(proxy);
    assert_eq!(
        counting.count(Some(&sub), None, None).await.unwrap(),
        Some(counter)
    );
    let data = SubCounter {
        base: Counter {
            count: 2,
            ..Counter::default()
        },
        more: None,
    };
    let any: Any = Link::new(data);
    let got = counting.by_value(&Link::nil(), Some(&any)).await.unwrap();
    assert_eq!(got.get().unwrap().cast::<Counter>().unwrap().count, 2);
}

#[tokio::test]
async fn members_may_be_named_like_what_generated_code_has() {
    let (_adapter, proxy) = served().await;
    let hostile = Hostile {
        base: Link::new(Shape::default()),
        deref: Some(1),
        target: Some(Link::nil()),
        type_id: 5,
        ..Hostile::default()
    };
    let based = Based {
        base: hostile,
        base2: 9,
    };
    let got = proxy.echo(&Link::new(based.clone())).await.unwrap();
    assert_eq!(*got.get().unwrap().cast::<Based>().unwrap(), based);
}

#[tokio::test]
async fn classes_of_another_contract_are_known_if_they_are_added() {
    let star = Link::<Shape>::new(Star::default());
    let with = async |is_added: bool| {
        let mut settings = Settings::default();
        if is_added {
            settings.classes.push(&extra::CLASSES);
        }
        let communicator = Communicator::with_settings(settings);
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let proxy = adapter
            .add("drawing", DrawingDispatcher::new(Echo))
            .unwrap();
        adapter.activate();
        DrawingProxy::from_proxy(proxy).echo(&star).await
    };
    let error = with(false).await.unwrap_err().to_string();
    assert!(error.contains("::Extra::Star"), "{error}");
    let got = with(true).await.unwrap().get().unwrap();
    assert_eq!(got.cast::<Star>().unwrap().points, 5);
}

#[tokio::test]
async fn a_communicator_can_be_given_another_limit_for_graphs() {
    let chain = |len| {
        (0..len).fold(Link::nil(), |next, _| {
            Link::new(Node {
                next,
                ..Node::default()
            })
        })
    };
    let send = async |depth_max, len| {
        let mut settings = Settings::default();
        settings.class_graph_depth_max = depth_max;
        let communicator = Communicator::with_settings(settings);
        let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
        let proxy = adapter
            .add("drawing", DrawingDispatcher::new(Echo))
            .unwrap();
        adapter.activate();
        let deep: Any = Link::new(Node {
            next: chain(len - 1),
            ..Node::default()
        });
        let sent = DrawingProxy::from_proxy(proxy).echo_any(&deep).await;
        sent.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(Settings::default().class_graph_depth_max, 100);
    assert_eq!(send(3, 3).await, Ok(()));
    let error = send(3, 4).await.expect_err("one too many");
    assert!(error.contains("more than 3"), "{error}");
}

#[tokio::test]
async fn a_contract_knows_the_classes_of_the_one_that_it_includes() {
    let communicator = Communicator::new();
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let proxy = adapter.add("sky", SkyDispatcher::new(Echo)).unwrap();
    let proxy = SkyProxy::from_proxy(proxy);
    adapter.activate();
    for encoding in [EncodingVersion::V1_1, EncodingVersion::V1_0] {
        let sky = proxy.ice_encoding(encoding);
        let node = Link::new(Node::default());
        let star = Star {
            node,
            ..Star::default()
        };
        let found = sky.find(&Link::new(star.clone())).await.unwrap();
        assert!(found.get().unwrap().cast::<Ring>().is_some());
        let ShotError::Shot(shot) = sky.find(&Link::nil()).await.unwrap_err() else {
            panic!("sliced");
        };
        assert_eq!(shot.star.get().unwrap().points, 5);
    }
}

fn uses(proxy: &DrawingProxy) -> Uses {
    let bytes: Bytes = (0..=255).chain(0..=255).collect();
    Uses {
        unknown: Link::new(Nothing {}),
        later: None,
        any: Some(Some(proxy.as_proxy().clone())),
        maybe: Some(Some(LaterProxy::from_proxy(proxy.as_proxy().clone()))),
        bytes: Some(bytes),
        numbers: Some(vec![1; 70]),
        points: Some(vec![Point::default(); 3]),
        table: Some([(1, 0.5), (2, -0.0)].into()),
        colors: Some([("red".to_owned(), Color::Red)].into()),
        text: Some(Class {
            text: "t".to_owned(),
        }),
        id: Some("c/n".parse().unwrap()),
        encoding: Some(EncodingVersion::V1_0),
        nodes: Some(vec![Link::nil(), Link::new(Node::default())]),
        flag: Some(true),
        octet: Some(255),
        small: Some(-1),
        large: Some(i64::MIN),
        ratio: Some(1.5),
        exact: Some(f64::MAX),
        name: Some("name".to_owned()),
    }
}
