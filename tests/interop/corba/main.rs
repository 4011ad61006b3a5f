//! `floe-giop` with omniORB: as a server, with naming service and event channel, and as a client.
//!
//! omniORB for Python comes from PyPI; `cargo xtask test` and `cargo xtask interop-corba` provide it.

mod capture;
mod market;
mod orb;
mod peers;

use floe_giop::any::{Any, Value};
use floe_giop::cdr::{CodeSets, Decoder, Encoder, Endian, Format, Version};
use floe_giop::connection::ConnectionSettings;
use floe_giop::cos::Raised;
use floe_giop::cos::naming::Name;
use floe_giop::message::{LocateStatus, Outcome, Target};
use floe_giop::reference::Ior;
use floe_giop::system_exception::{Completion, SystemException, SystemExceptionKind};
use floe_giop::type_code::{Member, TypeCode};
use market::{change, change_value, order, order_value, tick, tick_json, tick_value};
use orb::{Client, Orb};

fn settings() -> ConnectionSettings {
    ConnectionSettings::default()
}

#[test]
fn events_of_a_python_supplier_reach_a_python_consumer() {
    let Some(python) = peers::python_or_skip() else {
        return;
    };
    let orb = Orb::start(settings());
    let mut consumer = python.start("consume", &[&orb.naming()]);
    consumer.ready();
    assert_eq!(orb.consumer_count(), 1);
    let supplier = python.start("supply", &[&orb.naming(), "20"]).succeed();
    assert_eq!(
        supplier,
        ["refused before connecting", "refused a second time", "done"]
    );
    for number in 0..20 {
        let json: serde_json::Value = serde_json::from_str(&consumer.line()).expect("it is JSON");
        assert_eq!(json, tick_json(number));
    }
    consumer.close_input();
    consumer.succeed();
    assert_eq!(orb.consumer_count(), 0);
}

#[test]
fn the_naming_service_answers_python_as_another_would() {
    let Some(python) = peers::python_or_skip() else {
        return;
    };
    let orb = Orb::start(settings());
    assert_eq!(python.start("name", &[&orb.naming()]).succeed(), ["done"]);
}

/// Serves `Market::Feed` as `peer.py` does.
fn serve_feed(orb: &Orb) {
    let mut heard = 0;
    let servant = move |operation: &str, arguments: &mut Decoder<'_>, results: &mut Encoder| {
        match operation {
            "echo" => Ok(Any::decode(arguments)?.encode(results)?),
            "refuse" => {
                let why = Value::String(arguments.string("why")?);
                let why = (Member::new("why", TypeCode::STRING), why);
                let code = (Member::new("code", TypeCode::Long), Value::Long(42));
                Err(Raised::user("Market", "Refused", vec![why, code]))
            }
            "fail" => Err(Raised::System(SystemException {
                kind: SystemExceptionKind::NoPermission,
                minor: 0x42,
                completed: Completion::Maybe,
            })),
            "note" => {
                heard += arguments.wstring("text")?.chars().count() as u32;
                Ok(())
            }
            "notes" => {
                results.ulong(heard);
                Ok(())
            }
            "_is_a" => {
                results.boolean(true);
                Ok(())
            }
            "_non_existent" => {
                results.boolean(false);
                Ok(())
            }
            _ => Err(Raised::system(SystemExceptionKind::BadOperation)),
        }
    };
    orb.serve_object("IDL:Market/Feed:1.0", "feed", Box::new(servant));
}

#[test]
fn values_of_python_come_back_as_they_were() {
    let Some(python) = peers::python_or_skip() else {
        return;
    };
    let orb = Orb::start(settings());
    serve_feed(&orb);
    assert_eq!(python.start("call", &[&orb.naming()]).succeed(), ["done"]);
}

#[test]
fn a_python_servant_answers_in_each_version_and_byte_order() {
    let Some(python) = peers::python_or_skip() else {
        return;
    };
    let mut feed = python.start("serve", &[]);
    let reference: Ior = feed.ready().parse().expect("it is a reference");
    for version in [Version::V1_0, Version::V1_1, Version::V1_2] {
        for endian in [Endian::Big, Endian::Little] {
            call_feed(
                &reference,
                ConnectionSettings {
                    version,
                    endian,
                    ..settings()
                },
            );
        }
    }
    feed.close_input();
    feed.succeed();
}

fn call_feed(reference: &Ior, settings: ConnectionSettings) {
    let version = settings.version;
    let mut client = Client::connect(reference, settings);
    assert_eq!(client.locate(), LocateStatus::ObjectHere, "{version}");
    let results = |outcome| match outcome {
        Outcome::Results(body) => body,
        other => panic!("GIOP {version}: expected results, got {other:?}"),
    };
    let text = |text: &str| (TypeCode::STRING, Value::String(text.to_owned()));
    let tree = order_value(1, vec![order_value(2, vec![]), order_value(3, vec![])]);
    let mut values = vec![(order(), tree), text("abc")];
    if version > Version::V1_0 {
        // Earlier there are no code sets.
        values.push(text("Zürich €"));
    }
    if version == Version::V1_2 {
        // omniORB has no wide characters before.
        values.push((tick(), tick_value(3)));
        client.call_oneway("note", |encoder| encoder.wstring("🦀!"));
    }
    for (code, value) in values {
        // An any whose bytes are in another byte order and alignment than the message.
        for endian in [Endian::Big, Endian::Little] {
            let any = Any::new(code.clone(), &value, Format::utf8(endian)).expect("it is one");
            let body = results(client.call("echo", |encoder| any.encode(encoder)));
            let back = Any::decode(&mut body.decoder()).expect("it is an any");
            assert_eq!(**back.code(), code, "GIOP {version}");
            assert_eq!(back.value(), Ok(value.clone()), "GIOP {version}");
        }
    }
    let flipped = |client: &mut Client, value: Value| {
        let body = results(client.call("flip", |encoder| value.encode(&change(), encoder)));
        let mut decoder = body.decoder();
        let value = Value::decode(&change(), &mut decoder).expect("it is a union");
        let tree = Value::decode(&order(), &mut decoder).expect("it is a tree");
        decoder.finish("results").expect("nothing is left");
        (value, tree)
    };
    let tree = order_value(
        1,
        vec![
            order_value(2, vec![order_value(3, vec![])]),
            order_value(4, vec![]),
        ],
    );
    let (more, text) = (
        change_value(0, Value::Long(-7)),
        change_value(1, Value::String("-7".to_owned())),
    );
    assert_eq!(
        flipped(&mut client, more.clone()),
        (text.clone(), tree.clone())
    );
    assert_eq!(flipped(&mut client, text), (more, tree));
    let refused = client.call("refuse", |encoder| encoder.string("why"));
    let Outcome::UserException { id, body } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(id, "IDL:Market/Refused:1.0");
    let mut decoder = body.decoder();
    assert_eq!(decoder.name("id"), Ok(id));
    assert_eq!(decoder.string("why"), Ok("why".to_owned()));
    assert_eq!(decoder.long("code"), Ok(42));
    let failed = client.call("fail", |_| Ok(()));
    let Outcome::SystemException(exception) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(
        exception.to_string(),
        "NO_PERMISSION (minor code 0x42): the operation was perhaps executed"
    );
    let missing = client.call("none", |_| Ok(()));
    let Outcome::SystemException(exception) = missing else {
        panic!("{missing:?}")
    };
    assert_eq!(exception.kind, SystemExceptionKind::BadOperation);
    client.set_target(Target::Key(b"\0".as_slice().into()));
    assert_eq!(client.locate(), LocateStatus::UnknownObject, "{version}");
}

#[test]
fn the_naming_service_of_omniorb_finds_what_was_bound() {
    let Some(python) = peers::python_or_skip() else {
        return;
    };
    let names = python.start_names();
    let root: Ior = names.corbaloc().parse().expect("it is a reference");
    let mut client = Client::connect(&root, settings());
    let name = Name::parse("ticks").expect("it is a name");
    let bound = client.call("rebind", |encoder| {
        name.encode(encoder)?;
        root.encode(encoder)
    });
    assert!(matches!(bound, Outcome::Results(_)), "{bound:?}");
    let found = client.call("resolve", |encoder| name.encode(encoder));
    let Outcome::Results(body) = found else {
        panic!("{found:?}")
    };
    let found = Ior::decode(&mut body.decoder()).expect("it is a reference");
    assert_eq!(
        found.iiop_profiles().next().map(|profile| profile.port),
        Some(names.port)
    );
    let missing = client.call("resolve", |encoder| {
        Name::parse("missing")
            .expect("it is a name")
            .encode(encoder)
    });
    let Outcome::UserException { id, .. } = missing else {
        panic!("{missing:?}")
    };
    assert_eq!(id, "IDL:omg.org/CosNaming/NamingContext/NotFound:1.0");
}

#[test]
fn code_sets_of_omniorb_are_utf() {
    let Some(python) = peers::python_or_skip() else {
        return;
    };
    let mut feed = python.start("serve", &[]);
    let reference: Ior = feed.ready().parse().expect("it is a reference");
    let mut profiles = reference.iiop_profiles();
    let info = profiles
        .next()
        .expect("it has one")
        .code_sets()
        .expect("it is well-formed");
    assert_eq!(info.expect("there is one").select(), CodeSets::UTF);
}

/// The reference that an operation without arguments returns.
fn obtain(from: &Ior, operation: &str) -> Ior {
    let mut client = Client::connect(from, settings());
    let outcome = client.call(operation, |_| Ok(()));
    let Outcome::Results(body) = outcome else {
        panic!("{operation}: {outcome:?}")
    };
    Ior::decode(&mut body.decoder()).expect("it is a reference")
}

#[test]
fn events_pass_an_omni_events_that_found_our_naming_service() {
    if !peers::has_program_or_skip("omniEvents") {
        return;
    }
    let orb = Orb::start(settings());
    let (sender, received) = std::sync::mpsc::channel();
    let servant = move |operation: &str, arguments: &mut Decoder<'_>, _: &mut Encoder| {
        match operation {
            "push" => {
                let any = Any::decode(arguments)?;
                // The test may have ended.
                let _ = sender.send(any);
                Ok(())
            }
            _ => Err(Raised::system(SystemExceptionKind::BadOperation)),
        }
    };
    let consumer = floe_giop::cos::event::PUSH_CONSUMER_ID;
    let consumer = orb.serve_object(consumer, "consumer", Box::new(servant));
    let events = peers::Events::start(&orb.naming());
    events.create_channel("stock");
    let channel = orb.resolve("stock");
    let supplier = obtain(&obtain(&channel, "for_consumers"), "obtain_push_supplier");
    let connected = Client::connect(&supplier, settings())
        .call("connect_push_consumer", |encoder| consumer.encode(encoder));
    assert!(matches!(connected, Outcome::Results(_)), "{connected:?}");
    let proxy = obtain(&obtain(&channel, "for_suppliers"), "obtain_push_consumer");
    let mut proxy = Client::connect(&proxy, settings());
    let connected = proxy.call("connect_push_supplier", |encoder| Ior::NIL.encode(encoder));
    assert!(matches!(connected, Outcome::Results(_)), "{connected:?}");
    for number in 0..20 {
        let endian = Endian::from_flag(number % 2 == 0);
        let any = Any::new(tick(), &tick_value(number), Format::utf8(endian));
        let any = any.expect("it is of its type");
        let pushed = proxy.call("push", |encoder| any.encode(encoder));
        assert!(matches!(pushed, Outcome::Results(_)), "{pushed:?}");
    }
    for number in 0..20 {
        let any = received
            .recv_timeout(floe_tests::peer::PATIENCE)
            .expect("it arrives");
        assert_eq!(
            (&**any.code(), any.value()),
            (&tick(), Ok(tick_value(number)))
        );
    }
}

#[test]
fn wireshark_finds_nothing_malformed_in_what_we_send() {
    if !peers::has_program_or_skip("tshark") {
        return;
    }
    for version in [Version::V1_0, Version::V1_1, Version::V1_2] {
        for endian in [Endian::Big, Endian::Little] {
            let settings = ConnectionSettings {
                version,
                endian,
                ..settings()
            };
            let orb = Orb::start(settings.clone());
            serve_feed(&orb);
            let mut client = Client::connect(&orb.resolve("feed"), settings);
            let (code, value) = match version {
                Version::V1_0 => (order(), order_value(1, vec![order_value(2, vec![])])),
                _ => (tick(), tick_value(3)),
            };
            let any = Any::new(code, &value, Format::utf8(endian)).expect("it is of its type");
            let _ = client.call("echo", |encoder| any.encode(encoder));
            let _ = client.call("refuse", |encoder| encoder.string("why"));
            let _ = client.call("fail", |_| Ok(()));
            let _ = client.locate();
            let recorded = orb.recorded();
            let seen = capture::dissect(&recorded);
            // Four questions and four answers, by the numbers of their types.
            let expected = ["0", "1", "0", "1", "0", "1", "3", "4"];
            assert_eq!(seen.types, expected, "GIOP {version}, {endian:?}");
            assert_eq!(seen.complaints, [""; 0], "GIOP {version}, {endian:?}");
        }
    }
}

#[test]
fn wireshark_would_find_a_message_that_is_malformed() {
    if !peers::has_program_or_skip("tshark") {
        return;
    }
    // A request of GIOP 1.2 whose operation is longer than the message.
    let mut request = b"GIOP\x01\x02\0\0\0\0\0\x18".to_vec();
    for word in [1u32, 3 << 24, 0, 1, 0, 0xffff] {
        request.extend(word.to_be_bytes());
    }
    let seen = capture::dissect(&[(true, request)]);
    assert_eq!(seen.types, ["0"]);
    assert_ne!(seen.complaints, [""; 0]);
}
