//! Names that are two in Slice and one in Rust.

use floe_codegen::{RustOptions, generate_rust};
use floe_slice::check_source;

use crate::findings;

#[test]
fn names_that_become_one_are_both_named() {
    let text = findings("module M { struct S { int maxCost; int max_cost; } }");
    assert!(
        text.contains("`maxCost` and `max_cost` both become the Rust member `max_cost`"),
        "{text}"
    );
    assert!(text.contains("rust:identifier"), "{text}");
}

#[test]
fn a_clash_is_found_wherever_names_meet() {
    let contracts = [
        "module M { enum E { fooBar, FooBar2, foo_bar } }",
        "module M { const int fooBar = 1; const int foo_bar = 2; }",
        "module M { struct fooBar { int i; } struct foo_bar { int i; } }",
        "module M { interface I { void fooBar(); void foo_bar(); } }",
        "module M { interface I { void f(int fooBar, int foo_bar); } }",
        "module M { exception A { int fooBar; } exception B extends A { int foo_bar; } }",
        "module M { interface A { void fooBar(); } interface B extends A { void foo_bar(); } }",
        "module M { module fooBar { const int a = 1; } module foo_bar { const int b = 1; } }",
        "module M { interface Tool { void f(); } struct ToolProxy { int i; } }",
        "module M { exception E { } interface Tool { void f() throws E; } struct ToolFError { int i; } }",
    ];
    for contract in contracts {
        let text = findings(contract);
        assert!(text.contains("[mapped-name-clash]"), "{contract}\n{text}");
    }
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
