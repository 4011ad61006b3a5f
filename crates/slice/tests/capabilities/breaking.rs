//! What an old program makes of a new contract.

use std::collections::BTreeSet;

use floe_slice::breaking::{Change, ChangeCode, Impact, compare};
use floe_slice::{Compilation, MemoryLoader, Options, check_source, compile};

/// Members of module `M` before and after, and the codes of all changes between them.
const CASES: &[(&str, &str, &[&str])] = &[
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
        &["optional-added", "optional-removed"],
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

#[test]
fn every_change_has_its_codes() {
    let mut wrong = Vec::new();
    for (old, new, expected) in CASES {
        let (old, new) = (module(old), module(new));
        let changes = compare(&old.model, &new.model);
        let mut found: Vec<&str> = changes.iter().map(|change| change.code.as_str()).collect();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        if found != expected {
            wrong.push(format!("{expected:?} for {found:?}: {changes:#?}"));
        }
        let worst_first = changes.iter().map(Change::impact);
        assert!(worst_first.is_sorted(), "{changes:?}");
    }
    assert!(wrong.is_empty(), "expected {}", wrong.join("\nexpected "));
}

#[test]
fn every_code_has_a_case_and_says_why() {
    let cases: BTreeSet<&str> = CASES.iter().flat_map(|case| case.2).copied().collect();
    let codes: BTreeSet<&str> = ChangeCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(cases, codes);
    for code in ChangeCode::ALL {
        assert!(!code.why().is_empty() && !code.why().ends_with('.'));
        let has_help = !code.help().is_empty();
        assert_eq!(has_help, code.impact() != Impact::Safe, "{}", code.as_str());
    }
}

#[test]
fn a_new_name_of_a_module_is_told_at_the_definitions_and_not_at_their_uses() {
    let text = "{ struct S { int x; } exception X { S s; } exception Y extends X { int y; }
        interface B { void f(); } interface I extends B { B* g(S s) throws X, Y; } }";
    let old = check_source(format!("module Old {text}").as_bytes());
    let new = check_source(format!("module New {text}").as_bytes());
    let changes = compare(&old.model, &new.model);
    let mut found: Vec<String> = changes
        .iter()
        .map(|change| format!("{} {}", change.code.as_str(), change.subject))
        .collect();
    found.sort();
    let expected = [
        "definition-renamed ::Old::S",
        "type-id-changed ::Old::B",
        "type-id-changed ::Old::I",
        "type-id-changed ::Old::X",
        "type-id-changed ::Old::Y",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_change_points_at_both_places() {
    let old = module("struct S { int x; }");
    let new = module("struct T { int y; } struct S { int z; string x; }");
    let changes = compare(&old.model, &new.model);
    let change = &changes[1];
    assert_eq!(change.code, ChangeCode::MemberTypeChanged);
    assert_eq!(change.subject, "::M::S::x");
    assert_eq!(change.message, "the type was `int` and is `string`");
    let (was, is) = (change.old.unwrap(), change.new.unwrap());
    assert_eq!(old.sources.position(was).column, 27);
    assert_eq!(new.sources.position(is).column, 57);
}

#[test]
fn a_change_in_an_included_file_counts_and_a_missing_include_does_not() {
    let with = |common: &str, main: &str| {
        let files = MemoryLoader::new()
            .with("common.ice", common)
            .with("main.ice", main);
        compile(&Options::default(), &files, &["main.ice".into()])
    };
    let main = "#include \"common.ice\"\nmodule M { sequence<C::S> Q; }";
    let old = with("module C { struct S { int x; } }", main);
    let new = with("module C { struct S { long x; } }", main);
    let codes = |old: &Compilation, new: &Compilation| -> Vec<&str> {
        let changes = compare(&old.model, &new.model);
        changes.iter().map(|change| change.code.as_str()).collect()
    };
    assert_eq!(codes(&old, &new), ["member-type-changed"]);
    let main = "#include \"common.ice\"\nmodule M { enum E { a } }";
    let old = with("module C { struct S { int x; } }", main);
    let new = with("", "module M { enum E { a } }");
    assert!(codes(&old, &new).is_empty());
    assert!(codes(&new, &old).is_empty());
}

#[test]
fn a_contract_is_compatible_with_itself() {
    let text = include_str!("../../../../contracts/Ice/Identity.ice");
    let (old, new) = (check_source(text.as_bytes()), check_source(text.as_bytes()));
    assert_eq!(compare(&old.model, &new.model), []);
}

/// The members in a module `M`.
fn module(members: &str) -> Compilation {
    let compilation = check_source(format!("module M {{ {members} }}").as_bytes());
    assert!(!compilation.has_errors(), "{}", compilation.render());
    compilation
}
