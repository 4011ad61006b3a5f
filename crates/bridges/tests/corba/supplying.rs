//! Suppliers.

use std::sync::Arc;

use floe_bridges::core::account::Reason;
use floe_giop::any::{UnionValue, Value};
use floe_giop::cdr::{Endian, Version};
use floe_giop::connection::ConnectionSettings;
use floe_giop::message::Outcome;
use floe_giop::system_exception::SystemExceptionKind as Kind;
use floe_giop::type_code::{Member, TypeCode, TypeName, UnionCase, UnionType};
use serde_json::json;

use crate::client::{Client, assert_returned, refusal};
use crate::fixture::{encode, next, not_crossed, settings, start, start_with, topic};
use crate::values::{tick, tick_code, tick_json};

#[tokio::test]
async fn an_event_is_published_when_push_has_returned() {
    let joined = start(settings()).await;
    let mut events = joined.subscribe().await;
    for (at, version) in [Version::V1_0, Version::V1_1, Version::V1_2]
        .into_iter()
        .enumerate()
    {
        for endian in [Endian::Big, Endian::Little] {
            let settings = ConnectionSettings {
                version,
                endian,
                ..ConnectionSettings::default()
            };
            let mut client = Client::connect_with(&joined.address(), settings).await;
            let proxy = client.supplier("ticks").await;
            let id = at as i64 - 1;
            assert_returned(&client.push(&proxy, &tick_code(), &tick("Zürich", id)).await);
            let expected = encode("::Demo::Ticker::tick", &tick_json("Zürich", id));
            assert_eq!(next(&mut events).await, ("tick".to_owned(), expected));
        }
    }
    let counts = joined.counts();
    assert_eq!((counts.taken_in, counts.not_crossed), (6, vec![]));
    joined.end().await;
}

#[tokio::test]
async fn requests_that_wait_for_no_reply_keep_their_order() {
    let joined = start(settings()).await;
    let mut events = joined.subscribe().await;
    let mut client = Client::connect(&joined.address()).await;
    let proxy = client.supplier("ticks").await;
    let any = |id| {
        let format = floe_giop::cdr::Format::utf8(Endian::NATIVE);
        floe_giop::any::Any::new(tick_code(), &tick("x", id), format).expect("it is one")
    };
    for id in 0..200 {
        client.send(&proxy, "push", |to| any(id).encode(to)).await;
    }
    for _ in 0..200 {
        let (_, outcome) = client.receive().await.expect("it stays open");
        assert_returned(&outcome);
    }
    for id in 0..200 {
        let expected = encode("::Demo::Ticker::tick", &tick_json("x", id));
        assert_eq!(next(&mut events).await.1, expected, "{id}");
    }
    joined.end().await;
}

#[tokio::test]
async fn an_any_of_another_type_is_refused_and_the_connection_goes_on() {
    let joined = start(settings()).await;
    let mut events = joined.subscribe().await;
    let mut client = Client::connect(&joined.address()).await;
    let proxy = client.supplier("ticks").await;
    let text = Value::String("tick".to_owned());
    let pushed = client.push(&proxy, &TypeCode::STRING, &text).await;
    assert_eq!(refusal(pushed), (Kind::BadParam, 4));
    // Another struct of the same repository id.
    let member = Member::new("side", TypeCode::Short);
    let other = TypeCode::structure(TypeName::scoped("Demo", "Tick"), vec![member]);
    let pushed = client
        .push(&proxy, &other, &Value::Struct(vec![Value::Short(1)]))
        .await;
    assert_eq!(refusal(pushed), (Kind::BadParam, 4));
    let alias = TypeCode::Alias {
        name: TypeName::scoped("Other", "Tock"),
        original: tick_code().into(),
    };
    assert_returned(&client.push(&proxy, &alias, &tick("a", 1)).await);
    assert_eq!(
        next(&mut events).await.1,
        encode("::Demo::Ticker::tick", &tick_json("a", 1))
    );
    let counts = joined.counts();
    assert_eq!(
        (counts.taken_in, not_crossed(&counts, Reason::Malformed)),
        (1, 2)
    );
    joined.end().await;
}

#[tokio::test]
async fn a_value_that_is_none_of_its_type_is_refused() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let proxy = client.supplier("ticks").await;
    let pushed = client
        .call(&proxy, "push", |to| {
            tick_code().encode(to)?;
            to.ulong(2);
            to.string("an enumerator that is not there")?;
            to.longlong(1);
            to.octet_sequence(&[])
        })
        .await;
    assert_eq!(refusal(pushed), (Kind::Marshal, 5));
    let pushed = client
        .call(&proxy, "push", |to| {
            tick_code().encode(to)?;
            to.ulong(0);
            to.string("a length beyond the end")?;
            to.longlong(1);
            to.ulong(u32::MAX);
            Ok(())
        })
        .await;
    assert_eq!(refusal(pushed), (Kind::Marshal, 5));
    assert_returned(&client.push(&proxy, &tick_code(), &tick("", 1)).await);
    assert_eq!(not_crossed(&joined.counts(), Reason::Malformed), 2);
    joined.end().await;
}

/// The union of `::Demo::Feed`, as omniidl makes it.
fn feed_code() -> TypeCode {
    let scoped = |name: &str| TypeName::scoped("Demo", name);
    let operations = [
        "Feed_Operation_tick",
        "Feed_Operation_halted",
        "Feed_Operation_ping",
    ];
    let alias = |name: &str, original: TypeCode| TypeCode::Alias {
        name: scoped(name),
        original: original.into(),
    };
    let entry = vec![
        Member::new("key", TypeCode::STRING),
        Member::new("value", TypeCode::Long),
    ];
    let entry = TypeCode::structure(scoped("Counts_Entry"), entry);
    let bound = TypeCode::Sequence {
        element: Arc::new(TypeCode::Long),
        bound: 1,
    };
    let halted = vec![
        Member::new("why", TypeCode::STRING),
        Member::new("code", alias("Feed_halted_code_Optional", bound)),
        Member::new("counts", alias("Counts", TypeCode::sequence(entry))),
    ];
    let ping = vec![Member::new("nothing", TypeCode::Octet)];
    let case = |label, name: &str, code: TypeCode| UnionCase {
        label,
        name: name.to_owned(),
        code: code.into(),
    };
    TypeCode::Union(Box::new(UnionType {
        name: scoped("Feed_Event"),
        discriminator: TypeCode::enumeration(scoped("Feed_Operation"), &operations).into(),
        default: None,
        cases: vec![
            case(0, "tick", tick_code()),
            case(
                1,
                "halted",
                TypeCode::structure(scoped("Feed_halted"), halted),
            ),
            case(2, "ping", TypeCode::structure(scoped("Feed_ping"), ping)),
        ],
    }))
}

#[tokio::test]
async fn several_operations_are_a_union() {
    let joined = start_with(settings(), vec![topic("ticks", "::Demo::Feed")]).await;
    let mut events = joined.subscribe().await;
    let mut client = Client::connect(&joined.address()).await;
    let proxy = client.supplier("ticks").await;
    let halted = |code: Vec<Value>| {
        let entry = Value::Struct(vec![Value::String("a".to_owned()), Value::Long(7)]);
        Value::Struct(vec![
            Value::String("why".to_owned()),
            Value::Sequence(code),
            Value::Sequence(vec![entry]),
        ])
    };
    let halted_json = |code| json!({"why": "why", "code": code, "counts": {"a": 7}});
    let ping = Value::Struct(vec![Value::Octet(0)]);
    for (discriminator, member, operation, expected) in [
        (0, tick("a", 1), "tick", tick_json("a", 1)),
        (
            1,
            halted(vec![Value::Long(3)]),
            "halted",
            halted_json(json!(3)),
        ),
        (1, halted(vec![]), "halted", halted_json(json!(null))),
        (2, ping, "ping", json!({})),
    ] {
        let value = Value::Union(Box::new(UnionValue {
            discriminator,
            member: Some(member),
        }));
        assert_returned(&client.push(&proxy, &feed_code(), &value).await);
        let expected = encode(&format!("::Demo::Feed::{operation}"), &expected);
        assert_eq!(next(&mut events).await, (operation.to_owned(), expected));
    }
    let pushed = client
        .call(&proxy, "push", |to| {
            feed_code().encode(to)?;
            to.ulong(3);
            Ok(())
        })
        .await;
    assert_eq!(refusal(pushed), (Kind::Marshal, 5));
    joined.end().await;
}

#[tokio::test]
async fn a_hub_that_is_away_is_a_transient_failure() {
    let mut joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let proxy = client.supplier("ticks").await;
    assert_returned(&client.push(&proxy, &tick_code(), &tick("a", 1)).await);
    joined.hub.take().expect("it runs").shutdown().await;
    let pushed = client.push(&proxy, &tick_code(), &tick("a", 2)).await;
    assert_eq!(refusal(pushed), (Kind::Transient, 2));
    assert_eq!(not_crossed(&joined.counts(), Reason::HubAway), 1);
    joined.end().await;
}

#[tokio::test]
async fn a_topic_that_only_goes_out_has_no_suppliers() {
    let mut out = topic("ticks", "::Demo::Ticker");
    out.direction = floe_bridges::core::mapping::Direction::Out;
    let joined = start_with(settings(), vec![out]).await;
    let mut client = Client::connect(&joined.address()).await;
    let (_, admin) = client.obtain(b"ticks", "for_suppliers").await;
    let refused = client
        .call(&admin, "obtain_push_consumer", |_| Ok(()))
        .await;
    assert_eq!(refusal(refused), (Kind::NoPermission, 8));
    joined.end().await;
}

#[tokio::test]
async fn a_supplier_pushes_between_connecting_and_disconnecting() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let (_, admin) = client.obtain(b"ticks", "for_suppliers").await;
    let (_, proxy) = client.obtain(&admin, "obtain_push_consumer").await;
    let early = client.push(&proxy, &tick_code(), &tick("a", 1)).await;
    let Outcome::UserException { id, .. } = early else {
        panic!("{early:?}")
    };
    assert_eq!(id, "IDL:omg.org/CosEventComm/Disconnected:1.0");
    let connected = client.supplier("ticks").await;
    assert_returned(
        &client
            .call(&connected, "disconnect_push_consumer", |_| Ok(()))
            .await,
    );
    let late = client.push(&connected, &tick_code(), &tick("a", 1)).await;
    let Outcome::SystemException(exception) = late else {
        panic!("{late:?}")
    };
    assert_eq!(exception.kind, Kind::ObjectNotExist);
    joined.end().await;
}
