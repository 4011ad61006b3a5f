//! Finding types, interfaces and operations by name.

use floe_dynamic::LookupError;
use floe_slice::model::Type;
use floe_wire::message::OperationMode;

use crate::support::contract;

const SLICE: &str = r#"
module M
{
    struct Point { int x; }
    interface Base { void shared(); }
    interface A extends Base { void report(); void onlyA(); }
    interface B extends Base { void report(); }
}
module N
{
    interface C extends ::M::A { }
}
"#;

#[test]
fn a_type_is_found_by_its_keyword_or_scoped_name() {
    let contract = contract(SLICE);
    for name in [
        "int",
        "string",
        "::M::Point",
        "M::Point",
        "Object*",
        "::M::A*",
    ] {
        assert!(contract.data_type(name).is_ok(), "{name}");
    }
    assert_eq!(
        contract.data_type("Object*").map(|found| found.get()),
        Ok(Type::ObjectProxy)
    );
}

#[test]
fn an_unknown_type_is_answered_with_what_there_is() {
    let error = contract(SLICE)
        .data_type("M::Piont")
        .expect_err("no such type");
    assert_eq!(
        error.to_string(),
        "no type M::Piont in the Slice files; did you mean `::M::Point`?"
    );
    let error = contract(SLICE)
        .data_type("Temperature")
        .expect_err("no such type");
    assert_eq!(
        error.to_string(),
        "no type Temperature in the Slice files; there is ::M::Point"
    );
}

#[test]
fn an_interface_is_no_type_of_its_own_but_an_instance_of_any_class() {
    let contract = contract(SLICE);
    let interface = contract.data_type("::M::A").expect("legal in Ice 3.7");
    let error = contract.value_from_json(interface, &"a:tcp -p 1".into());
    assert_eq!(
        error.expect_err("a proxy is no instance").to_string(),
        "value: expected a class instance as an object, or null, got the string \"a:tcp -p 1\"; \
         a proxy to it is '::M::A*'"
    );
}

#[test]
fn an_operation_is_found_by_the_type_ids_of_its_object() {
    let contract = contract(SLICE);
    let found = contract.operation_of_object(&["::Ice::Object", "::M::B", "::M::Base"], "report");
    assert_eq!(found.expect("B reports").interface(), "::M::B");
    let inherited = contract
        .operation_of_object(&["::N::C"], "shared")
        .expect("C inherits it");
    assert_eq!(inherited.interface(), "::M::Base");
}

#[test]
fn an_operation_of_an_object_with_unknown_types_is_found_in_any_interface() {
    let contract = contract(SLICE);
    let found = contract.operation_of_object(&["::X::Unknown"], "onlyA");
    assert_eq!(found.expect("A has it").interface(), "::M::A");
    assert!(contract.operation("shared").is_ok());
}

#[test]
fn an_operation_of_another_interface_is_not_taken_for_an_object_of_known_type() {
    let error = contract(SLICE).operation_of_object(&["::M::B"], "onlyA");
    assert_eq!(
        error.expect_err("B has no onlyA").to_string(),
        "::M::B has no operation `onlyA`; there is shared, report"
    );
}

#[test]
fn an_ambiguous_operation_is_asked_back_and_found_by_its_qualified_name() {
    let contract = contract(SLICE);
    let error = contract.operation("report").expect_err("A and B have it");
    assert_eq!(
        error.to_string(),
        "several interfaces have an operation report: ::M::A, ::M::B; \
         say which one you mean, for example ::M::A::report"
    );
    for name in ["::M::B::report", "M::B::report", "B::report"] {
        let found = contract.operation(name).expect("the name is qualified");
        assert_eq!(found.interface(), "::M::B", "{name}");
    }
    assert!(matches!(
        contract.operation("M::X::report"),
        Err(LookupError::NoSuchInterface { .. })
    ));
}

#[test]
fn an_operation_that_nobody_has_is_answered_with_the_one_that_was_meant() {
    let error = contract(SLICE)
        .operation("reprot")
        .expect_err("a typing error");
    assert_eq!(
        error.to_string(),
        "no operation `reprot` in the Slice files; did you mean `report`?"
    );
    let error = contract("module M { struct S { int i; } }").operation("report");
    assert_eq!(
        error.expect_err("no interfaces").to_string(),
        "no operation `report`: no Slice file with operations was given"
    );
}

#[test]
fn what_every_object_has_is_found_in_any_contract() {
    let contract = contract(SLICE);
    for name in ["ice_ping", "ice_isA", "ice_id", "ice_ids"] {
        let found = contract.operation_of_object(&["::M::A"], name);
        let found = found.expect("every object has it");
        assert_eq!(found.interface(), "::Ice::Object");
        assert_eq!(found.mode(), OperationMode::Nonmutating);
    }
}

#[test]
fn signatures_list_what_can_be_called() {
    let contract = contract(SLICE);
    assert_eq!(
        contract.interface_names(),
        ["::M::Base", "::M::A", "::M::B", "::N::C"]
    );
    let signatures = contract.signatures("C").expect("the only C");
    assert_eq!(
        signatures,
        ["void shared()", "void report()", "void onlyA()"]
    );
}

#[test]
fn a_type_that_nests_too_deep_is_refused() {
    let mut slice = "module M { sequence<int> S1;".to_owned();
    for depth in 2..=floe_dynamic::MAX_DEPTH + 1 {
        slice += &format!(" sequence<S{}> S{depth};", depth - 1);
    }
    let contract = contract(&(slice + " };"));
    let deepest = format!("M::S{}", floe_dynamic::MAX_DEPTH);
    assert!(contract.data_type(&deepest).is_ok());
    let error = contract.data_type(&format!("M::S{}", floe_dynamic::MAX_DEPTH + 1));
    assert_eq!(
        error.expect_err("one too many").to_string(),
        "::M::S61 nests more than 60 types in one another"
    );
}
