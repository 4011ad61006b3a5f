//! A contract in the languages of other worlds: the text, the names, and what is refused.

use std::collections::HashSet;

use floe_codegen::foreign::{
    EventType, Made, NameScope, Naming, Payload, World, event_type, original,
};
use floe_codegen::{Idl, WsdlOptions, generate_idl, generate_notification_wsdl, generate_wsdl};
use floe_slice::{Compilation, check_source};
use proptest::prelude::*;

use crate::{assert_committed, compiled, repository};

fn market() -> Compilation {
    compiled(&[repository("tests/interop/worlds/Market.ice")])
}

fn legal(contract: &str) -> Compilation {
    let compilation = check_source(contract.as_bytes());
    assert!(!compilation.has_errors(), "{}", compilation.render());
    compilation
}

fn idl(contract: &str, kind: Idl) -> String {
    generate_idl(&legal(contract).model, kind).unwrap().0
}

fn wsdl(contract: &str) -> String {
    generate_wsdl(&legal(contract).model, &WsdlOptions::new()).unwrap()
}

/// The findings of all three languages, each rendered.
fn refusals(contract: &str) -> [String; 3] {
    let compilation = legal(contract);
    let model = &compilation.model;
    let results = [
        generate_idl(model, Idl::Dds).map(|(text, _)| text),
        generate_idl(model, Idl::Corba).map(|(text, _)| text),
        generate_wsdl(model, &WsdlOptions::new()),
    ];
    results.map(|result| {
        let findings = result.expect_err("the contract is refused");
        let findings = findings.iter();
        findings.map(|it| it.render(&compilation.sources)).collect()
    })
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "expected `{part}` in {text}");
    }
}

#[test]
fn a_contract_becomes_the_committed_text_of_each_world() {
    let model = market().model;
    let (dds, _) = generate_idl(&model, Idl::Dds).unwrap();
    assert_committed("crates/codegen/tests/expected/market-dds.idl", &dds);
    let (corba, left_out) = generate_idl(&model, Idl::Corba).unwrap();
    assert_committed("crates/codegen/tests/expected/market-corba.idl", &corba);
    assert_eq!(left_out, []);
    let options = WsdlOptions::new().address("http://localhost:8080");
    let wsdl = generate_wsdl(&model, &options).unwrap();
    assert_committed("crates/codegen/tests/expected/market.wsdl", &wsdl);
}

#[test]
fn an_interface_that_answers_is_left_out_of_dds_with_a_warning() {
    let compilation = market();
    let (text, left_out) = generate_idl(&compilation.model, Idl::Dds).unwrap();
    assert!(!text.contains("Orders"));
    let said: String = left_out
        .iter()
        .map(|it| it.render(&compilation.sources))
        .collect();
    assert_eq!(left_out.len(), 2, "{said}");
    assert_has(
        &said,
        &[
            "warning[left-out]: `::Market::Orders` is left out: its operation `place` answers",
            "interface Orders",
            "use --corba for calls",
            "warning[left-out]: `::Market::motto` is left out: it has a quote",
        ],
    );
}

#[test]
fn classes_are_refused_with_their_place_and_a_remedy() {
    for said in refusals("module M {\n class Node { int n; }\n interface I { void op(Node n); } }")
    {
        assert_eq!(said.matches("error[").count(), 1, "{said}");
        assert_has(
            &said,
            &[
                "error[no-foreign-form]: `::M::Node` is a class: instances can be nil, shared, circular or of a derived class",
                "input.ice:2:8",
                "2 |  class Node { int n; }",
                "= help: make it a struct",
            ],
        );
    }
}

#[test]
fn any_class_is_refused_where_it_is_used() {
    let contract = "module M { sequence<Value> Values;\n exception E { Value v; }\n interface I { void op(Value v) throws E; } }";
    let [dds, corba, wsdl] = refusals(contract);
    assert_eq!(dds.matches("error[no-foreign-form]").count(), 1, "{dds}");
    for said in [corba, wsdl] {
        assert_eq!(said.matches("error[no-foreign-form]").count(), 3, "{said}");
        assert_has(
            &said,
            &["input.ice:2:22", "= help: name a struct in its place"],
        );
    }
}

#[test]
fn an_interface_by_value_is_refused_and_a_proxy_is_text() {
    for said in refusals("module M { interface I { } struct S { I* proxy; I value; } }") {
        assert_eq!(said.matches("error[").count(), 1, "{said}");
        assert_has(
            &said,
            &[
                "any class instance can stand here",
                "a proxy (with `*`) if an interface was meant",
            ],
        );
    }
}

#[test]
fn names_that_idl_cannot_tell_apart_get_an_underscore() {
    let text = idl(
        "module M { enum Side { buy } struct Tick { Side side; int tick; } module Inner { struct inner2 { int INNER2; } } }",
        Idl::Corba,
    );
    assert_has(
        &text,
        &[
            "::M::Side side;",
            "long tick_;",
            "struct inner2 {",
            "long INNER2_;",
        ],
    );
}

#[test]
fn keywords_are_escaped_as_idl_escapes_them_in_any_capitals() {
    let text = idl(
        "module any { struct Octet { int Union; string value; } }",
        Idl::Dds,
    );
    assert_has(
        &text,
        &[
            "module _any {",
            "struct _Octet {",
            "long _Union;",
            "string value;",
        ],
    );
}

#[test]
fn enumerators_of_one_name_stand_beside_each_other() {
    let contract = "module M { enum A { x, y } enum B { y = 2, x = 1 } const B first = x; }";
    assert_has(
        &idl(contract, Idl::Dds),
        &[
            "enum A { A_x, A_y };",
            "enum B { @value(2) B_y, @value(1) B_x };",
            "const ::M::B first = ::M::B_x;",
        ],
    );
    assert_has(
        &idl(contract, Idl::Corba),
        &[
            "enum B { B_y, B_x };",
            "An enumerator travels as its place here",
        ],
    );
    assert_has(
        &wsdl(contract),
        &[
            "<xs:enumeration value=\"y\"/>",
            "<xs:simpleType name=\"B\">",
        ],
    );
}

#[test]
fn a_made_name_yields_to_one_of_the_contract() {
    let contract = "[[\"underscore\"]] module M { dictionary<string, int> Ages; struct Ages_Entry { int i; } }";
    assert_has(
        &idl(contract, Idl::Corba),
        &[
            "struct Ages_Entry_ {",
            "typedef sequence< ::M::Ages_Entry_> Ages;",
        ],
    );
    assert_has(&wsdl(contract), &["<xs:complexType name=\"Ages_Entry_\">"]);
}

#[test]
fn comments_never_reach_the_next_line() {
    let text = idl(
        "module M { /** ends in \\\n * and ??/ */ struct S { int i; } }",
        Idl::Dds,
    );
    assert_has(
        &text,
        &["/// ends in \\ .\n", "/// and ??/ .\n", "@final struct S {"],
    );
}

#[test]
fn a_constant_that_a_compiler_would_spoil_is_left_out_with_its_place() {
    let compilation =
        legal("module M { const string plain = \"h\u{e9}\"; const string nul = \"a\\0\"; }");
    for kind in [Idl::Dds, Idl::Corba] {
        let (text, left_out) = generate_idl(&compilation.model, kind).unwrap();
        assert_has(&text, &["const string plain = \"h\\303\\251\";"]);
        assert!(!text.contains("nul"), "{text}");
        assert_eq!(left_out.len(), 1);
        let said = left_out[0].render(&compilation.sources);
        assert_has(
            &said,
            &[
                "`::M::nul` is left out",
                "cannot hold the character of code 0",
            ],
        );
    }
}

#[test]
fn a_module_of_which_nothing_is_written_is_not_opened() {
    let text = idl(
        "module M { module Calls { interface I { int ask(); } exception E { } } struct S { int i; } }",
        Idl::Dds,
    );
    assert!(!text.contains("Calls"), "{text}");
    assert_has(&text, &["module M {\n    @final struct S {"]);
}

#[test]
fn a_response_and_an_operation_of_its_name_are_two_elements() {
    let text = wsdl("module M { interface I { void op(); void opResponse(); } }");
    for name in ["op", "opResponse", "opResponse_", "opResponseResponse"] {
        let element = format!("<xs:element name=\"{name}\">");
        assert_eq!(text.matches(&element).count(), 1, "{name}: {text}");
    }
}

#[test]
fn derived_exceptions_are_listed_wherever_they_stand() {
    let contract = "module M { exception A { int a; } interface I { void op() throws A; } exception B extends A { } }";
    let text = idl(contract, Idl::Corba);
    assert_has(
        &text,
        &[
            "void op() raises (::M::A, ::M::B);",
            "exception B {\n        long a;",
        ],
    );
    assert!(
        text.find("exception B") < text.find("interface I"),
        "{text}"
    );
    let text = wsdl(contract);
    assert_eq!(
        text.matches("<wsdl:fault name=\"M.B\"").count(),
        3,
        "{text}"
    );
}

#[test]
fn what_is_included_comes_only_if_it_is_used() {
    let files = [repository("contracts/IceStorm/IceStorm.ice")];
    let model = compiled(&files).model;
    let (text, _) = generate_idl(&model, Idl::Corba).unwrap();
    assert_has(
        &text,
        &[
            "module Ice {",
            "struct Identity {",
            "interface TopicManager {",
        ],
    );
    assert!(!text.contains("Locator"), "{text}");
}

#[test]
fn the_type_of_an_event_follows_the_operations() {
    let model = market().model;
    let id = |name: &str| model.find(name).unwrap();
    let tick = Payload::Struct(id("Market::Tick"));
    let Ok(Some(EventType::One(ticker))) = event_type(&model, id("Market::Ticker")) else {
        panic!("one operation")
    };
    assert_eq!(ticker.payload, tick);
    let Ok(Some(EventType::One(opening))) = event_type(&model, id("Market::Opening")) else {
        panic!("one operation")
    };
    assert_eq!(opening.payload, Payload::Parameters);
    let Ok(Some(EventType::Choice(trading))) = event_type(&model, id("Market::Trading")) else {
        panic!("several operations")
    };
    let names: Vec<&str> = trading.iter().map(|it| &*it.operation.name).collect();
    assert_eq!(names, ["opened", "traded", "halted", "resumed"]);
    assert_eq!(trading[0].interface, id("Market::Opening"));
    assert_eq!(trading[1].payload, tick);
    assert_eq!(
        event_type(&model, id("Market::Orders")).unwrap_err().name,
        "place"
    );
    let naming = Naming::new(&model, World::Idl);
    assert_eq!(
        naming.made(id("Market::Trading"), Made::Event),
        "Trading_Event"
    );
    assert_eq!(naming.modules_of(id("Market::Tick")), ["Market"]);
}

/// Names that are made of parts of escapes, so that many of them look like one, and of anything else.
#[test]
fn the_wsdl_of_a_broker_has_the_events_of_its_topics_and_nothing_else() {
    let contract = "module O { struct Level { int price; } class Node { Node next; } interface Calls { Node ask(); } }
        module M { interface Asks { int ask(); } interface Two { void a(O::Level level); void b(); }
            interface Graphs { void graph(O::Node node); } }";
    let model = legal(contract).model;
    let id = |name: &str| model.find(name).expect("it is there");
    let generate =
        |name: &str| generate_notification_wsdl(&model, &[id(name), id(name)], &WsdlOptions::new());
    let text = generate("::M::Two").expect("it has no class");
    assert_has(
        &text,
        &[
            "xmlns:ns1=\"urn:floe:slice:O\"",
            "xmlns:ns2=\"urn:floe:slice:M\"",
            "<xs:element name=\"Two_Event\" type=\"ns2:Two_Event\"/>",
            "<xs:element name=\"a\" type=\"ns1:Level\"/>",
            "<xs:element ref=\"ns2:Two_Event\"/>",
        ],
    );
    assert_eq!(text.matches("ref=\"ns2:Two_Event\"").count(), 1);
    for absent in ["Node", "Asks", "Calls", "ns3", "wsdl:service"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    let refused = generate("::M::Graphs").expect_err("it has a class");
    assert_eq!(refused.len(), 1);
    assert!(refused[0].message.contains("`::O::Node` is a class"));
}

fn hostile_name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("_".to_owned()),
        Just("x".to_owned()),
        Just("X".to_owned()),
        Just("_x0041_".to_owned()),
        Just("_x005F_".to_owned()),
        Just("0041".to_owned()),
        Just("10FFFF".to_owned()),
        Just("xml".to_owned()),
        Just("Side".to_owned()),
        Just("side".to_owned()),
        Just(" ".to_owned()),
        "[a-zA-Z0-9_]{1,3}",
        "\\PC",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn hostile_names_are_legal_apart_and_come_back(
        names in proptest::collection::hash_set(hostile_name(), 1..12)
    ) {
        for world in [World::Idl, World::Xml] {
            let mut scope = NameScope::new(world);
            let mut seen = HashSet::new();
            for name in &names {
                let spelled = scope.add(name);
                let mut characters = spelled.chars();
                let first = characters.next().expect("a name has characters");
                prop_assert!(first.is_ascii_alphabetic() || world == World::Xml && first == '_', "{spelled}");
                prop_assert!(characters.all(|it| it.is_ascii_alphanumeric() || it == '_'), "{spelled}");
                let is_reserved = spelled.get(..3).is_some_and(|it| it.eq_ignore_ascii_case("xml"));
                prop_assert!(world == World::Idl || !is_reserved, "{spelled}");
                prop_assert_eq!(&original(world, &spelled), name, "{}", spelled);
                let folded = match world {
                    World::Idl => spelled.to_ascii_lowercase(),
                    World::Xml => spelled,
                };
                prop_assert!(seen.insert(folded), "{}", name);
            }
        }
    }
}
