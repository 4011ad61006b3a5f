//! Names that are two in Slice and one in Rust.

use floe_codegen::{RustOptions, generate_rust, generate_rust_with_warnings};
use floe_slice::check_source;

use crate::findings;

#[test]
fn the_first_of_names_that_become_one_keeps_it() {
    let (text, warnings) =
        rust("module M { struct S { int maxCost; int max_cost; int Max_Cost2; } }");
    assert!(text.contains("pub max_cost: i32"), "{text}");
    assert!(
        text.contains("/// - Slice name: `max_cost`\n        pub max_cost_: i32"),
        "{text}"
    );
    let expected = "`max_cost` becomes the Rust member `max_cost_`: `maxCost` has the name";
    assert!(warnings.contains(expected), "{warnings}");
    assert!(warnings.contains("rust:identifier"), "{warnings}");
    assert_eq!(warnings.matches("[mapped-name-changed]").count(), 1);
}

#[test]
fn a_clash_is_resolved_wherever_names_meet() {
    let contracts = [
        (
            "module M { enum E { fooBar, FooBar2, foo_bar } }",
            "FooBar_ =",
        ),
        (
            "module M { const int fooBar = 1; const int foo_bar = 2; }",
            "const FOO_BAR_: i32 = 2",
        ),
        (
            "module M { struct fooBar { int i; } struct foo_bar { int i; } }",
            "struct FooBar_ {",
        ),
        (
            "module M { interface I { void fooBar(); void foo_bar(); } }",
            "fn foo_bar_(",
        ),
        (
            "module M { interface I { void f(int fooBar, int foo_bar); } }",
            "foo_bar_: i32",
        ),
        (
            "module M { interface I { void f(int fooBar, out int foo_bar); } }",
            "returns `foo_bar_`",
        ),
        (
            "module M { exception A { int fooBar; } exception B extends A { int foo_bar; } }",
            "pub foo_bar_: i32",
        ),
        (
            "module M { interface A { void fooBar(); } interface B extends A { void foo_bar(); } }",
            "fn foo_bar_(",
        ),
        (
            "module M { interface A { void fooBar(); } interface B { void foo_bar(); } interface C extends B, A { } }",
            "fn foo_bar_(",
        ),
        (
            "module M { module fooBar { const int a = 1; } module foo_bar { const int b = 1; } }",
            "pub mod foo_bar_ {",
        ),
        (
            "module M { interface Tool { void f(); } struct ToolProxy { int i; } }",
            "struct ToolProxy_ {",
        ),
        (
            "module M { exception E { } interface Tool { void f() throws E; } struct EError { int i; } }",
            "enum EError_ {",
        ),
        (
            "module M { [\"rust:view\"] struct S { string s; } struct SView { int i; } }",
            "struct SView_ {",
        ),
        (
            "module M { exception E { } module N { exception E { } interface T { void f() throws E; void g() throws M::E; } } }",
            "enum EError_ {",
        ),
        (
            "module M { struct ToolProxy { int i; } interface Tool { void f(); } }",
            "pub struct Tool_Proxy(",
        ),
    ];
    for (contract, expected) in contracts {
        let (text, warnings) = rust(contract);
        assert!(text.contains(expected), "{contract}\n{text}");
        assert!(
            warnings.contains("[mapped-name-changed]"),
            "{contract}\n{warnings}"
        );
    }
}

#[test]
fn a_name_that_the_contract_has_is_not_imported() {
    let (text, _) = rust(
        "module M {
            struct Current { int i; }
            exception Invoke { }
            module codegen { const int a = 1; }
            interface I { Current f(Object* p); void g() throws Invoke; }
        }",
    );
    for expected in [
        "use ::floe::{Call, OperationMode, Proxy, dispatch};",
        "current: &::floe::Current) -> Result<(), InvokeError>;",
        "Result<Current, ::floe::InvokeError>",
        "::floe::codegen::structure!(Current { i });",
        "(Proxy);",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn servants_without_async_have_names_of_their_own() {
    let contract = "module M { interface I { void f(); } struct IBlocking { int i; } }";
    let compilation = check_source(contract.as_bytes());
    assert!(!compilation.has_errors(), "{}", compilation.render());
    let options = RustOptions::new().blocking();
    let text = generate_rust(&compilation.model, &options).expect("a legal contract");
    assert!(text.contains("blocking IBlocking {"), "{text}");
    assert!(text.contains("struct IBlocking_ {"), "{text}");
}

#[test]
fn a_chosen_name_is_never_changed() {
    let contract =
        "module M { struct S { int maxCost; [\"rust:identifier:max_cost\"] int other; } }";
    let (text, warnings) = rust(contract);
    assert!(text.contains("pub max_cost: i32"), "{text}");
    let expected = "`maxCost` becomes the Rust member `max_cost_`: `other` has the name";
    assert!(warnings.contains(expected), "{warnings}");
}

#[test]
fn two_chosen_names_that_clash_are_an_error() {
    for contract in [
        "module M { struct S { [\"rust:identifier:x\"] int a; [\"rust:identifier:x\"] int b; } }",
        "module M { [\"rust:identifier:X\"] struct A { int a; } [\"rust:identifier:X\"] struct B { int b; } }",
        "module M { interface I { [\"rust:identifier:x\"] void a(); [\"rust:identifier:x\"] void b(); } }",
    ] {
        let text = findings(contract);
        assert!(text.contains("[mapped-name-clash]"), "{contract}\n{text}");
        assert!(text.contains("rust:identifier"), "{text}");
    }
}

#[test]
fn a_definition_behind_the_others_changes_none_of_their_names() {
    let before = "module M { struct fooBar { int i; } struct foo_bar { int i; } }";
    let after =
        format!("{before} module M {{ struct FooBar2 {{ int i; }} struct Foo_Bar3 {{ int i; }} }}");
    let (before, _) = rust(before);
    let (after, _) = rust(&after);
    for line in before.lines().filter(|line| line.contains("pub struct")) {
        assert!(after.contains(line), "{line}\n{after}");
    }
}

#[test]
fn a_file_can_suppress_the_warnings() {
    let contract = "[[\"suppress-warning:all\"]] module M { struct S { int aB; int a_b; } }";
    let (text, warnings) = rust(contract);
    assert!(text.contains("pub a_b_: i32"), "{text}");
    assert_eq!(warnings, "");
}

/// The Rust of a contract, and the warnings about its names.
fn rust(contract: &str) -> (String, String) {
    let compilation = check_source(contract.as_bytes());
    assert!(!compilation.has_errors(), "{}", compilation.render());
    let options = RustOptions::new();
    let (generated, warnings) = generate_rust_with_warnings(&compilation.model, &options);
    let text = generated.expect("a legal contract");
    let warnings = warnings.iter().map(|it| it.render(&compilation.sources));
    (text, warnings.collect())
}

#[test]
fn an_identifier_in_metadata_ends_a_clash() {
    let contract =
        b"module M { struct S { int maxCost; [\"rust:identifier:other\"] int max_cost; } }";
    let compilation = check_source(contract);
    let text = generate_rust(&compilation.model, &RustOptions::new()).unwrap();
    assert!(text.contains("pub other: i32"));
}

#[test]
fn an_identifier_in_metadata_has_to_be_one() {
    for bad in ["1a", "a b", "type", ""] {
        let contract = format!("module M {{ struct S {{ [\"rust:identifier:{bad}\"] int i; }} }}");
        let text = findings(&contract);
        assert!(text.contains("expected a Rust identifier"), "{bad}: {text}");
    }
}
