//! Changes of interfaces, and of what only people read.

use super::Case;

pub(super) const CASES: &[Case] = &[
    // ---- interfaces
    (
        "interface B { } interface I extends B { }",
        "interface B { } interface I { }",
        &["interface-base-removed"],
    ),
    (
        "interface B { } interface I { }",
        "interface B { } interface I extends B { }",
        &["interface-base-added"],
    ),
    (
        "interface I { void f(); void g(int a); }",
        "interface I { void f(); }",
        &["operation-removed"],
    ),
    (
        "interface I { void f(); }",
        "interface I { void f(); void g(int a); }",
        &["operation-added"],
    ),
    (
        "interface I { void f(int a); }",
        "interface I { void g(int a); }",
        &["operation-renamed"],
    ),
    (
        "interface B { } interface I extends B { void f(); }",
        "interface B { void f(); } interface I extends B { }",
        &["operation-added", "operation-moved"],
    ),
    // ---- operations
    (
        "interface I { void f(); }",
        "interface I { idempotent void f(); }",
        &["idempotent-added"],
    ),
    (
        "interface I { idempotent void f(); }",
        "interface I { void f(); }",
        &["idempotent-removed"],
    ),
    (
        "interface I { void f(); }",
        "interface I { int f(); }",
        &["return-type-changed"],
    ),
    (
        "interface I { int f(); }",
        "interface I { string f(); }",
        &["return-type-changed"],
    ),
    (
        "interface I { int f(); }",
        "interface I { optional(1) int f(); }",
        &["optionality-changed"],
    ),
    (
        "interface I { void f(int a); }",
        "interface I { void f(int a, int b); }",
        &["parameter-added"],
    ),
    (
        "interface I { void f(int a, out int b); }",
        "interface I { void f(int a); }",
        &["parameter-removed"],
    ),
    (
        "interface I { void f(int a); }",
        "interface I { void f(string a); }",
        &["parameter-type-changed"],
    ),
    (
        "interface I { void f(int a, string b); }",
        "interface I { void f(string b, int a); }",
        &["parameter-order-changed"],
    ),
    (
        "interface I { void f(int a); }",
        "interface I { void f(int b); }",
        &["parameter-renamed"],
    ),
    (
        "interface I { void f(int a); }",
        "interface I { void f(out int a); }",
        &["parameter-direction-changed"],
    ),
    (
        "interface I { void f(int a); }",
        "interface I { void f(int a, optional(1) int b); }",
        &["optional-added"],
    ),
    (
        "exception X { } interface I { void f(); }",
        "exception X { } interface I { void f() throws X; }",
        &["throws-added"],
    ),
    (
        "exception X { } interface I { void f() throws X; }",
        "exception X { } interface I { void f(); }",
        &["throws-removed"],
    ),
    (
        "exception X { } exception Y extends X { } interface I { void f() throws X; }",
        "exception X { } exception Y extends X { } interface I { void f() throws X, Y; }",
        &["throws-covered"],
    ),
    (
        "exception X { } interface I { void f() throws X; }",
        "exception X { } exception Y extends X { } interface I { void f() throws X, Y; }",
        &["throws-added", "definition-added"],
    ),
    (
        "exception X { } exception Y extends X { } interface I { void f() throws X, Y; }",
        "exception X { } exception Y extends X { } interface I { void f() throws X; }",
        &["throws-covered"],
    ),
    // ---- metadata and comments
    (
        "exception X { } [\"format:sliced\"] interface I { void f() throws X; }",
        "exception X { } interface I { void f() throws X; }",
        &["sliced-format-removed"],
    ),
    (
        "exception X { } interface I { void f() throws X; }",
        "exception X { } interface I { [\"format:sliced\"] void f() throws X; }",
        &["format-changed"],
    ),
    (
        "interface I { [\"format:sliced\"] void f(); }",
        "interface I { void f(); }",
        &["format-changed"],
    ),
    (
        "interface I { [\"nonmutating\"] idempotent void f(); }",
        "interface I { idempotent void f(); }",
        &["metadata-changed"],
    ),
    (
        "interface I { void f(); }",
        "interface I;",
        &["interface-removed"],
    ),
    ("interface I { }", "interface I;", &["interface-removed"]),
    ("interface I;", "interface I { void f(); }", &[]),
    ("class C { int a; }", "class C;", &["class-removed"]),
    (
        "interface I { void f(); }",
        "interface I { [\"amd\"] void f(); }",
        &["mapping-changed"],
    ),
    (
        "sequence<int> Q;",
        "[\"cpp:type:std::list\"] sequence<int> Q;",
        &["mapping-changed"],
    ),
    (
        "enum E { a }",
        "[\"deprecated:use F\"] enum E { a }",
        &["deprecated"],
    ),
    (
        "[\"deprecated:use F\"] enum E { a }",
        "enum E { a }",
        &["metadata-changed"],
    ),
    (
        "/** One. */ enum E { a }",
        "/** Two. */ enum E { /** A. */ a }",
        &["documentation-changed", "documentation-changed"],
    ),
];
