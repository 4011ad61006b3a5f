//! A Floe client against Ice servers; the same checks against a Floe server tell whose fault it is.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use floe::message::Outcome;
use floe::{
    Communicator, Context, EncodingVersion, Identity, InvokeError, OperationMode, Proxy,
    SystemException, TypedProxy,
};
use floe_tests::ice::{Ice, Language};

use super::contract::interop::*;
use super::servant::{Sum, serve};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_agrees_with_ice_servers() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (mut server, proxy) = ice.start_server(language);
        check(&proxy, PeerKind::Ice).await;
        server.close_input();
        server.succeed();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_can_end_an_ice_server() {
    let Some(ice) = Ice::or_skip() else { return };
    let (server, proxy) = ice.start_server(Language::Cpp);
    let communicator = Communicator::new();
    let everything: EverythingProxy = communicator.proxy(&proxy).expect("a proxy");
    everything
        .shutdown()
        .await
        .expect("it is answered before the server ends");
    server.succeed();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_agrees_with_a_floe_server() {
    let communicator = Communicator::new();
    let (_adapter, proxy) = serve(&communicator).await;
    check(&proxy.to_string(), PeerKind::Floe).await;
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum PeerKind {
    Ice,
    Floe,
}

async fn check(proxy: &str, peer: PeerKind) {
    check_as(&Communicator::new(), proxy, peer).await;
}

/// Checks everything, and shuts the communicator down.
pub(crate) async fn check_as(communicator: &Communicator, proxy: &str, peer: PeerKind) {
    let everything: EverythingProxy = communicator.proxy(proxy).expect("a proxy");
    for encoding in [EncodingVersion::V1_1, EncodingVersion::V1_0] {
        let encoded = everything.ice_encoding(encoding);
        check_primitives(&encoded).await;
        check_structures(&encoded).await;
        check_sequences(&encoded).await;
        check_dictionaries(&encoded).await;
        check_proxies(&encoded).await;
        check_user_exceptions(&encoded).await;
    }
    check_results_and_context(&everything).await;
    check_system_exceptions(&everything, peer).await;
    check_addressing(&everything).await;
    check_ticks(&everything).await;
    check_load(&everything).await;
    check_time(&everything).await;
    check_counters(communicator, &everything).await;
    check_untyped(&everything).await;
    check_connection(communicator, &everything).await;
    communicator.shutdown().await;
}

/// Checks the parts that belong to the communicator and the connection, and not to a proxy.
async fn check_connection(communicator: &Communicator, everything: &EverythingProxy) {
    communicator.implicit_context().put("implicit", "yes");
    let own = Context::from([("own".to_owned(), "too".to_owned())]);
    let arrived = everything.ice_context(own).context().await;
    let arrived = arrived.expect("a context");
    assert_eq!(arrived.get("implicit").map(String::as_str), Some("yes"));
    assert_eq!(arrived.get("own").map(String::as_str), Some("too"));
    communicator.implicit_context().remove("implicit");

    everything.reset_ticks().await.expect("reset");
    let batches = [everything.ice_batch_oneway(), everything.ice_batch_oneway()];
    for batch in &batches {
        batch.tick().await.expect("collected");
        batch.tick().await.expect("collected");
    }
    communicator.flush_batches().await.expect("flushed");
    let until = Instant::now() + Duration::from_secs(10);
    while everything.ticks().await.expect("counted") != 4 {
        assert!(Instant::now() < until, "four ticks did not arrive");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let connection = everything.ice_connection().await.expect("connected");
    let connection = connection.expect("it is over the wire");
    let first = everything.as_proxy().reference().endpoints()[0].to_string();
    assert!(first.starts_with(&format!("{} ", connection.info().transport)));
    assert!(!connection.info().is_incoming);
    let fixed = everything.ice_fixed(&connection);
    fixed.nothing().await.expect("the connection is there");
    connection.heartbeat();
    fixed.nothing().await.expect("a heartbeat hurts nobody");
    connection.close().await;
    assert!(fixed.nothing().await.is_err());
    everything.nothing().await.expect("over another connection");
}

/// Calls an echo operation and compares both copies.
macro_rules! echoes {
    ($proxy:ident.$operation:ident: $($value:expr),+ $(,)?) => {
        $({
            let value = $value;
            let echo = $proxy.$operation(value.into()).await;
            let echo = echo.expect(stringify!($operation));
            assert_eq!(echo, (value.into(), value.into()), stringify!($operation));
        })+
    };
    ($proxy:ident.$operation:ident ref: $($value:expr),+ $(,)?) => {
        $({
            let value = $value;
            let echo = $proxy.$operation(&value).await.expect(stringify!($operation));
            assert_eq!(echo, (value.clone(), value), stringify!($operation));
        })+
    };
}

async fn check_primitives(proxy: &EverythingProxy) {
    echoes!(proxy.echo_bool: true, false);
    echoes!(proxy.echo_byte: 0_u8, 127_u8, 128_u8, 255_u8);
    echoes!(proxy.echo_short: 0_i16, -1_i16, i16::MAX, i16::MIN);
    echoes!(proxy.echo_int: 0, -1, i32::MAX, i32::MIN);
    echoes!(proxy.echo_long: 0_i64, -1_i64, i64::MAX, i64::MIN);
    echoes!(proxy.echo_float: 0.0_f32, -1.5_f32, f32::MIN_POSITIVE, f32::INFINITY);
    echoes!(proxy.echo_double: 0.0, 1.0 / 3.0, -2.5e100, f64::NEG_INFINITY);
    let long = ["x".repeat(254), "x".repeat(255), "é".repeat(70_000)];
    echoes!(proxy.echo_string: "", "café 你好 😀", "line\nend\0nul");
    for text in &long {
        let (returned, copy) = proxy.echo_string(text).await.expect("a long string");
        assert!(returned == *text && copy == *text);
    }
    echoes!(proxy.echo_colour: Colour::Red, Colour::Green, Colour::Blue);
    echoes!(proxy.echo_sparse: Sparse::First, Sparse::Middle, Sparse::Last);
    echoes!(proxy.echo_wide: Wide::Near, Wide::Beyond, Wide::Further);
    echoes!(proxy.echo_huge: Huge::None, Huge::Page, Huge::All);
}

fn nested() -> Nested {
    Nested {
        corner: Point { x: 7, y: 8 },
        values: Primitives {
            truth: false,
            text: "changed".into(),
            ..Primitives::default()
        },
        path: vec![Point { x: 1, y: -1 }, Point::default()],
        size: Huge::All,
    }
}

async fn check_structures(proxy: &EverythingProxy) {
    let defaults = Primitives::default();
    assert_eq!((defaults.octet, defaults.large), (200, 5_000_000_000));
    assert_eq!(
        (defaults.text.as_str(), defaults.shade),
        ("default text", Colour::Blue)
    );
    echoes!(proxy.echo_point ref: Point { x: -1, y: i32::MAX });
    echoes!(proxy.echo_primitives ref: defaults);
    echoes!(proxy.echo_nested ref: nested(), Nested::default());
}

async fn check_sequences(proxy: &EverythingProxy) {
    echoes!(proxy.echo_bool_seq ref: vec![true, false, true], vec![]);
    echoes!(proxy.echo_byte_seq ref: (0..=255).collect::<Vec<u8>>(), vec![]);
    echoes!(proxy.echo_short_seq ref: vec![i16::MIN, 0, i16::MAX]);
    echoes!(proxy.echo_int_seq ref: (-150..150).collect::<Vec<i32>>());
    echoes!(proxy.echo_long_seq ref: vec![i64::MIN, 0, i64::MAX]);
    echoes!(proxy.echo_float_seq ref: vec![0.5, -0.25]);
    echoes!(proxy.echo_double_seq ref: vec![0.1, -1e300]);
    echoes!(proxy.echo_string_seq ref: vec![String::new(), "a".into(), "ü".repeat(300)]);
    echoes!(proxy.echo_colour_seq ref: vec![Colour::Blue, Colour::Red]);
    echoes!(proxy.echo_nested_seq ref: vec![nested(), Nested::default()], vec![]);
    echoes!(proxy.echo_int_seq_seq ref: vec![vec![1, 2], vec![], vec![3]]);
    let ages = BTreeMap::from([("a".to_owned(), 1)]);
    echoes!(proxy.echo_string_int_dict_seq ref: vec![ages, BTreeMap::new()]);
}

async fn check_dictionaries(proxy: &EverythingProxy) {
    let many = (0..300)
        .map(|number: i32| (number.to_string(), number))
        .collect();
    echoes!(proxy.echo_string_int_dict ref: BTreeMap::new(), many);
    let points = [
        (Colour::Green, Point { x: 1, y: 2 }),
        (Colour::Red, Point::default()),
    ];
    echoes!(proxy.echo_colour_point_dict ref: BTreeMap::from(points));
    let texts = [
        (Point { x: 1, y: 2 }, vec!["a".to_owned(), "b".to_owned()]),
        (Point { x: 2, y: 1 }, vec![]),
    ];
    echoes!(proxy.echo_point_string_seq_dict ref: BTreeMap::from(texts));
    let low = BTreeMap::from([("low".to_owned(), 1)]);
    echoes!(proxy.echo_long_dict_dict ref: BTreeMap::from([(i64::MIN, low), (5, BTreeMap::new())]));
}

async fn check_proxies(proxy: &EverythingProxy) {
    let encoding = proxy.as_proxy().reference().encoding;
    let communicator = proxy.as_proxy().communicator().expect("it has one");
    let (returned, copy) = proxy.echo_object(None).await.expect("nil");
    assert_eq!((returned, copy), (None, None));
    for text in [
        "plain:tcp -h 127.0.0.1 -p 1",
        "cat/name -f facet -o:tcp -h 10.0.0.1 -p 4061 -t 3000 -z:opaque -t 99 -e 1.1 -v AQIDBA==",
        "indirect -D @ adapter",
        "wellknown -O",
        "many:udp -h 239.1.1.1 -p 9:ws -h 127.0.0.1 -p 80 -r /chat",
        // Ours, which Ice carries unopened.
        "near:unix -f /run/near -h here -t 60000:tcp -h 127.0.0.1 -p 1 -t 60000",
    ] {
        let object: Proxy = communicator.proxy(text).expect("a proxy");
        let object = object.ice_encoding(encoding);
        let (returned, copy) = proxy.echo_object(Some(&object)).await.expect(text);
        assert_eq!(
            (returned.as_ref(), copy.as_ref()),
            (Some(&object), Some(&object))
        );
    }
    let own = Some(proxy.as_proxy().clone());
    let objects = vec![own.clone(), None, own.map(|own| own.ice_oneway())];
    echoes!(proxy.echo_object_seq ref: objects);
    let objects = BTreeMap::from([
        ("none".to_owned(), None),
        ("self".to_owned(), objects_self(proxy)),
    ]);
    echoes!(proxy.echo_string_object_dict ref: objects);
    let counter = CounterProxy::from_proxy(proxy.as_proxy().ice_identity(Identity::new("c")));
    let (returned, _) = proxy
        .echo_counter(Some(&counter))
        .await
        .expect("a typed proxy");
    assert_eq!(returned, Some(counter));
}

fn objects_self(proxy: &EverythingProxy) -> Option<Proxy> {
    Some(proxy.as_proxy().clone())
}

async fn check_user_exceptions(proxy: &EverythingProxy) {
    assert_eq!(proxy.fail(0).await.expect("no failure"), 0);
    let one = proxy.fail(1).await;
    assert!(matches!(one, Err(E1Error::E1(E1 { code: 11 }))), "{one:?}");
    match proxy.fail(2).await {
        Err(E1Error::E2(two)) => {
            assert_eq!((two.code, two.reason.as_str()), (22, "two"));
        }
        other => panic!("expected E2, got {other:?}"),
    }
    match proxy.fail_as_base(3).await {
        Err(E1Error::E3(three)) => {
            assert_eq!((three.code, three.reason.as_str()), (33, "three"));
            assert_eq!(three.place, Point { x: 3, y: -3 });
        }
        other => panic!("expected E3, got {other:?}"),
    }
    let unrelated = proxy.fail_unrelated().await;
    assert!(
        matches!(unrelated, Err(E1OrUnrelatedError::Unrelated(_))),
        "{unrelated:?}"
    );
}

async fn check_results_and_context(proxy: &EverythingProxy) {
    proxy.nothing().await.expect("nothing");
    assert_eq!(proxy.divide(-7, 2).await.expect("a result"), (-3, -1, -3.5));
    assert_eq!(proxy.context().await.expect("none"), Context::new());
    let context = Context::from([("a".into(), "1".into()), ("b".into(), String::new())]);
    assert_eq!(
        proxy
            .ice_context(context.clone())
            .context()
            .await
            .expect("two"),
        context
    );
}

async fn check_system_exceptions(proxy: &EverythingProxy, peer: PeerKind) {
    let nobody = proxy.ice_identity(Identity::with_category("nobody", "nowhere"));
    match nobody.nothing().await {
        Err(InvokeError::System(SystemException::ObjectNotExist(failed))) => {
            assert_eq!(
                failed.identity,
                Identity::with_category("nobody", "nowhere")
            );
            assert_eq!(failed.operation, "nothing");
        }
        other => panic!("expected ObjectNotExist, got {other:?}"),
    }
    let faceless = proxy.ice_facet("no facet").nothing().await;
    assert!(
        matches!(&faceless, Err(InvokeError::System(SystemException::FacetNotExist(f))) if f.facet == "no facet"),
        "{faceless:?}"
    );
    let wrong = CounterProxy::from_proxy(proxy.as_proxy().clone())
        .value()
        .await;
    assert!(
        matches!(&wrong, Err(InvokeError::System(SystemException::OperationNotExist(f))) if f.operation == "value"),
        "{wrong:?}"
    );
    // C++ cannot throw what it has not declared; what it sends then depends on the language.
    let undeclared = proxy.fail_undeclared().await;
    assert!(
        matches!(
            &undeclared,
            Err(InvokeError::UndeclaredException { .. }
                | InvokeError::System(SystemException::UnknownUserException(_)))
        ),
        "{undeclared:?}"
    );
    let unknown = proxy.fail_unknown().await;
    assert!(
        matches!(&unknown, Err(InvokeError::System(SystemException::UnknownException(text)))
            if peer == PeerKind::Ice || text.contains("asked to fail")),
        "{unknown:?}"
    );
}

async fn check_addressing(proxy: &EverythingProxy) {
    let ids = ["Calls", "Echo", "Everything", "Failing", "Named"];
    let mut expected = vec!["::Ice::Object".to_owned()];
    expected.extend(ids.map(|name| format!("::Interop::{name}")));
    assert_eq!(proxy.ice_ids().await.expect("ids"), expected);
    assert_eq!(proxy.ice_id().await.expect("id"), EverythingProxy::TYPE_ID);
    assert!(proxy.ice_is_a("::Interop::Named").await.expect("an answer"));
    assert!(
        !proxy
            .ice_is_a("::Interop::Counter")
            .await
            .expect("an answer")
    );
    proxy.ice_ping().await.expect("a ping");
    let arrival = proxy.arrived_at().await.expect("an arrival");
    assert_eq!((arrival.name.as_str(), arrival.mode), ("everything", 0));
    let arrival = proxy.arrived_at_idempotently().await.expect("an arrival");
    assert_eq!(
        (arrival.operation.as_str(), arrival.mode),
        ("arrivedAtIdempotently", 2)
    );
    let facet = EverythingProxy::checked(proxy.ice_facet("facet1"))
        .await
        .expect("an answer");
    let facet = facet.expect("the facet has the type");
    assert_eq!(facet.name().await.expect("a name"), "facet1");
    let anyone = proxy.ice_identity(Identity::with_category("anyone", "default"));
    assert_eq!(anyone.name().await.expect("a name"), "default");
    assert_eq!(
        anyone.arrived_at().await.expect("an arrival").name,
        "anyone"
    );
}

async fn check_ticks(proxy: &EverythingProxy) {
    proxy.reset_ticks().await.expect("a reset");
    let oneway = proxy.ice_oneway();
    for _ in 0..100 {
        oneway.tick().await.expect("sent");
    }
    wait_for_ticks(proxy, 100).await;
    let batch = proxy.ice_batch_oneway();
    for _ in 0..50 {
        batch.tick().await.expect("collected");
    }
    assert_eq!(proxy.ticks().await.expect("ticks"), 100);
    batch.ice_flush_batch().await.expect("sent");
    wait_for_ticks(proxy, 150).await;
    let endpoints = proxy.as_proxy().reference().endpoints();
    if endpoints.iter().any(floe::Endpoint::is_datagram) {
        check_datagram_ticks(proxy).await;
    }
}

async fn check_datagram_ticks(proxy: &EverythingProxy) {
    let datagram = proxy.ice_datagram();
    for _ in 0..25 {
        datagram.tick().await.expect("sent");
    }
    wait_for_ticks(proxy, 175).await;
    let batch = proxy.ice_batch_datagram();
    for _ in 0..25 {
        batch.tick().await.expect("collected");
    }
    batch.ice_flush_batch().await.expect("sent");
    wait_for_ticks(proxy, 200).await;
}

async fn wait_for_ticks(proxy: &EverythingProxy, expected: i32) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while proxy.ticks().await.expect("ticks") < expected && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(proxy.ticks().await.expect("ticks"), expected);
}

async fn check_load(proxy: &EverythingProxy) {
    let blob: Vec<u8> = (0..900_000_u32).map(|index| (index * 7) as u8).collect();
    assert!(proxy.blob(&blob).await.expect("900 kB") == blob);
    let calls: Vec<_> = (0..10_000)
        .map(|number| {
            let proxy = proxy.clone();
            tokio::spawn(async move { (number, proxy.echo_int(number).await) })
        })
        .collect();
    for call in calls {
        let (number, echo) = call.await.expect("no panic");
        assert_eq!(echo.expect("one of 10,000"), (number, number));
    }
}

async fn check_time(proxy: &EverythingProxy) {
    let started = Instant::now();
    proxy.sleep(100).await.expect("it wakes");
    assert!(started.elapsed() >= Duration::from_millis(99));
    let hasty = proxy.ice_timeout(Some(Duration::from_millis(50)));
    let error = hasty.sleep(500).await.expect_err("it sleeps longer");
    assert!(error.is_timeout(), "{error}");
    assert_eq!(
        proxy.echo_int(5).await.expect("the connection lives"),
        (5, 5)
    );
}

async fn check_counters(communicator: &Communicator, proxy: &EverythingProxy) {
    let counter = proxy
        .make_counter(40)
        .await
        .expect("a counter")
        .expect("not nil");
    assert_eq!(counter.add(2).await.expect("a sum"), 42);
    assert_eq!(counter.value().await.expect("a sum"), 42);

    let adapter = communicator
        .adapter("tcp -h 127.0.0.1 -p 0")
        .await
        .expect("a free port");
    let own = std::sync::Arc::new(Sum::default());
    let object = adapter
        .add("own", CounterDispatcher::new(own.clone()))
        .expect("new");
    adapter.activate();
    let object = CounterProxy::from_proxy(object);
    assert_eq!(
        proxy
            .use_counter(Some(&object), 7)
            .await
            .expect("called back"),
        7
    );
    assert_eq!(own.0.load(Ordering::SeqCst), 7);
}

async fn check_untyped(proxy: &EverythingProxy) {
    let five = [10, 0, 0, 0, 1, 1, 5, 0, 0, 0];
    let outcome = proxy
        .as_proxy()
        .invoke("echoInt", OperationMode::Normal, &five)
        .await;
    match outcome {
        Ok(Some(Outcome::Returned(bytes))) => {
            assert_eq!(bytes[..], [14, 0, 0, 0, 1, 1, 5, 0, 0, 0, 5, 0, 0, 0]);
        }
        other => panic!("expected results, got {other:?}"),
    }
    let one = [10, 0, 0, 0, 1, 1, 1, 0, 0, 0];
    let outcome = proxy
        .as_proxy()
        .invoke("fail", OperationMode::Normal, &one)
        .await;
    assert!(
        matches!(outcome, Ok(Some(Outcome::UserException(_)))),
        "{outcome:?}"
    );
}
