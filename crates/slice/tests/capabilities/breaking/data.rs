//! Changes of types: what is in the values that travel.

use super::Case;

pub(super) const CASES: &[Case] = &[
    // ---- nothing at all
    ("struct S { int x; }", "struct S {\n int x ; };", &[]),
    (
        "struct A { int x; } struct B { int x; }",
        "struct B { int x; } struct A { int x; }",
        &[],
    ),
    ("sequence<int> Q;", "sequence<int> Q;", &[]),
    // ---- definitions
    (
        "interface I { } enum E { a }",
        "enum E { a }",
        &["interface-removed"],
    ),
    (
        "exception X { } enum E { a }",
        "enum E { a }",
        &["exception-removed"],
    ),
    (
        "class C { } enum E { a }",
        "enum E { a }",
        &["class-removed"],
    ),
    (
        "struct S { int x; } enum E { a }",
        "enum E { a }",
        &["definition-removed"],
    ),
    (
        "enum E { a }",
        "enum E { a } const int N = 1;",
        &["definition-added"],
    ),
    (
        "interface I { void f(); }",
        "interface J { void f(); }",
        &["type-id-changed"],
    ),
    (
        "exception X { int code; }",
        "module N { exception X { int code; } }",
        &["type-id-changed"],
    ),
    (
        "struct S { int x; }",
        "struct T { int x; }",
        &["definition-renamed"],
    ),
    (
        "struct S { int x; } sequence<S> Q;",
        "struct T { int x; } sequence<T> Q;",
        &["definition-renamed"],
    ),
    ("struct S { int x; }", "enum S { x }", &["kind-changed"]),
    // ---- enumerations
    ("enum E { a, b }", "enum E { a }", &["enumerator-removed"]),
    ("enum E { a }", "enum E { a, b }", &["enumerator-added"]),
    (
        "enum E { a, b }",
        "enum E { a, c }",
        &["enumerator-renamed"],
    ),
    (
        "enum E { a, b }",
        "enum E { b, a }",
        &["enumerator-value-changed", "enumerator-value-changed"],
    ),
    ("enum E { a, b }", "enum E { b = 1, a = 0 }", &[]),
    (
        "enum E { a = 126 }",
        "enum E { a = 126, b = 127 }",
        &["enumerator-added", "enum-width-changed"],
    ),
    (
        "enum E { a = 127 }",
        "enum E { a = 127, b = 32766 }",
        &["enumerator-added"],
    ),
    (
        "enum E { a = 32766 }",
        "enum E { a = 32767 }",
        &["enumerator-value-changed", "enum-width-changed"],
    ),
    // ---- members
    (
        "struct S { int x; }",
        "struct S { int x; int y; }",
        &["member-added"],
    ),
    (
        "struct S { int x; int y; }",
        "struct S { int y; }",
        &["member-removed"],
    ),
    (
        "struct S { int x; }",
        "struct S { long x; }",
        &["member-type-changed"],
    ),
    (
        "struct S { int x; int y; }",
        "struct S { int y; int x; }",
        &["member-order-changed"],
    ),
    (
        "struct S { int x; int y; }",
        "struct S { int x; int z; }",
        &["member-renamed"],
    ),
    (
        "struct S { int x = 1; }",
        "struct S { int x = 2; }",
        &["default-changed"],
    ),
    (
        "sequence<int> P; sequence<int> Q; struct S { P x; }",
        "sequence<int> P; sequence<int> Q; struct S { Q x; }",
        &["type-renamed"],
    ),
    (
        "sequence<int> P; sequence<byte> Q; struct S { P x; }",
        "sequence<int> P; sequence<byte> Q; struct S { Q x; }",
        &["member-type-changed"],
    ),
    (
        "interface I { } struct S { Object* x; }",
        "interface I { } struct S { I* x; }",
        &["proxy-type-changed"],
    ),
    (
        "struct S { Object* x; }",
        "struct S { string x; }",
        &["member-type-changed"],
    ),
    (
        "exception X { int a; }",
        "exception X { int a; optional(1) int b; }",
        &["optional-added"],
    ),
    (
        "exception X { int a; optional(1) int b; }",
        "exception X { int a; }",
        &["optional-removed"],
    ),
    (
        "exception X { int a; }",
        "exception X { optional(1) int a; }",
        &["optionality-changed"],
    ),
    (
        "class C { optional(1) int a; }",
        "class C { optional(2) int a; }",
        &["tag-changed"],
    ),
    (
        "class C { optional(1) int a; }",
        "class C { optional(1) int b; }",
        &["member-renamed"],
    ),
    (
        "class C { optional(1) int a; }",
        "class C { optional(1) string b; }",
        &["member-renamed", "member-type-changed"],
    ),
    (
        "interface I { void f(optional(3) int a); }",
        "interface I { void f(optional(3) float b, optional(4) int c); }",
        &[
            "optional-added",
            "parameter-renamed",
            "parameter-type-changed",
        ],
    ),
    (
        "interface A { } interface B { } class C { optional(1) A* a; }",
        "interface A { } interface B { } class C { optional(1) B* b; }",
        &["member-renamed", "proxy-type-changed"],
    ),
    (
        "class C { optional(1) int a; optional(2) int b; }",
        "class C { optional(2) int b; optional(1) int a; }",
        &[],
    ),
    // ---- collections, constants, classes
    (
        "sequence<int> Q;",
        "sequence<long> Q;",
        &["element-type-changed"],
    ),
    (
        "dictionary<int, string> D;",
        "dictionary<string, string> D;",
        &["element-type-changed"],
    ),
    (
        "dictionary<int, string> D;",
        "dictionary<int, byte> D;",
        &["element-type-changed"],
    ),
    (
        "const int N = 1;",
        "const int N = 2;",
        &["constant-changed"],
    ),
    (
        "const int N = 1;",
        "const long N = 1;",
        &["constant-changed"],
    ),
    (
        "exception B { } exception X { }",
        "exception B { } exception X extends B { }",
        &["base-changed"],
    ),
    ("class C(1) { }", "class C(2) { }", &["compact-id-changed"]),
    (
        "[\"preserve-slice\"] class C { }",
        "class C { }",
        &["preserve-slice-removed"],
    ),
    (
        "[\"preserve-slice\"] class B { } [\"preserve-slice\"] class C extends B { }",
        "[\"preserve-slice\"] class B { } class C extends B { }",
        &["metadata-changed"],
    ),
    (
        "[\"preserve-slice\"] class B { } class C extends B { }",
        "class B { } [\"preserve-slice\"] class C extends B { }",
        &["preserve-slice-removed", "metadata-changed"],
    ),
    (
        "[\"preserve-slice\"] class B { } class C extends B { }",
        "class B { } class C extends B { }",
        &["preserve-slice-removed"],
    ),
    (
        "[\"preserve-slice\"] class B { } class C extends B { }",
        "[\"preserve-slice\"] class B { } class C { }",
        &["base-changed", "preserve-slice-removed"],
    ),
    ("class C { }", "class C(2) { }", &["compact-id-changed"]),
    ("class C(2) { }", "class C { }", &["compact-id-changed"]),
    (
        "class C(2) { }",
        "const int N = 2; class C(N) { }",
        &["definition-added"],
    ),
    (
        "class C { int a; }",
        "class C { int a; int b; }",
        &["member-added"],
    ),
    (
        "class C { int a; int b; }",
        "class C { int b; }",
        &["member-removed"],
    ),
    (
        "class C { int a; int b; }",
        "class C { int b; int a; }",
        &["member-order-changed"],
    ),
    (
        "class C { int a; }",
        "class C { string a; }",
        &["member-type-changed"],
    ),
    (
        "class C { int a; }",
        "class C { optional(1) int a; }",
        &["optionality-changed"],
    ),
    (
        "class C { optional(1) int a; }",
        "class C { int a; }",
        &["optionality-changed"],
    ),
    (
        "class C { int a; }",
        "class C { int a; optional(1) C next; }",
        &["optional-added"],
    ),
    (
        "class C { optional(1) int a; }",
        "class C { }",
        &["optional-removed"],
    ),
    (
        "class C { optional(1) int a; }",
        "class C { optional(1) string a; }",
        &["member-type-changed"],
    ),
    (
        "class C { optional(1) int a = 1; }",
        "class C { optional(1) int a = 2; }",
        &["default-changed"],
    ),
    (
        "class B { } class C { }",
        "class B { } class C extends B { }",
        &["base-changed"],
    ),
    (
        "class B { } class C extends B { }",
        "class B { } class C { }",
        &["base-changed"],
    ),
    (
        "class A { } class B { } class C extends A { }",
        "class A { } class B { } class C extends B { }",
        &["base-changed"],
    ),
    (
        "class C { Object a; }",
        "class C { C a; }",
        &["member-type-changed"],
    ),
    (
        "class C { }",
        "[\"preserve-slice\"] class C { }",
        &["metadata-changed"],
    ),
    ("class C;", "class C { int x; }", &[]),
    (
        "class C { int x; }",
        "struct C { int x; }",
        &["kind-changed"],
    ),
    ("local class C { } enum E { a }", "enum E { a }", &[]),
    (
        "class C { int x; }",
        "local class C { int x; } enum E { a }",
        &["class-removed", "definition-added"],
    ),
    (
        "class C { void f(); }",
        "class C { }",
        &["operation-removed"],
    ),
    ("class C { }", "class C { void f(); }", &["operation-added"]),
    (
        "class C { void f(); }",
        "class C { void f(int a); }",
        &["parameter-added"],
    ),
    (
        "class C { void f(); }",
        "class C { idempotent void f(); }",
        &["idempotent-added"],
    ),
    (
        "interface I { } class C implements I { }",
        "interface I { } class C { }",
        &["interface-base-removed"],
    ),
    (
        "interface I { void f(); } class C { void f(); }",
        "interface I { void f(); } class C implements I { }",
        &["interface-base-added", "operation-moved"],
    ),
    (
        "interface I { } struct S { I a; }",
        "interface I { } struct S { I* a; }",
        &["member-type-changed"],
    ),
    (
        "exception X { int a; }",
        "exception X { int a; int b; }",
        &["member-added"],
    ),
    (
        "exception X { int a; int b; }",
        "exception X { int b; int a; }",
        &["member-order-changed"],
    ),
    (
        "[\"preserve-slice\"] exception X { }",
        "exception X { }",
        &["preserve-slice-removed"],
    ),
    (
        "class C { } interface I { [\"format:sliced\"] void f(C c); }",
        "class C { } interface I { [\"format:compact\"] void f(C c); }",
        &["sliced-format-removed"],
    ),
    (
        "class C { } interface I { void f(optional(1) C c); }",
        "class C { } interface I { void f(optional(2) C c); }",
        &["tag-changed"],
    ),
    (
        "interface I { optional(1) int f(); }",
        "interface I { optional(2) int f(); }",
        &["tag-changed"],
    ),
];
