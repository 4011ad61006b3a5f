//! Metadata for Rust: what they make of a contract, and what is wrong with them.

use floe_codegen::{RustOptions, generate_rust};
use floe_slice::check_source;

use crate::findings;

/// The Rust of a module with these definitions.
fn rust(definitions: &str) -> String {
    let compilation = check_source(format!("module M {{ {definitions} }}").as_bytes());
    assert_eq!(compilation.render(), "");
    let text = generate_rust(&compilation.model, &RustOptions::new());
    text.unwrap_or_else(|findings| panic!("{findings:?}"))
}

#[test]
fn a_view_borrows_what_has_one_and_owns_the_rest() {
    let cases = [
        ("string s;", "pub s: &'a str,"),
        ("Data data;", "pub data: &'a [u8],"),
        (
            "Numbers numbers;",
            "pub numbers: encoding::Packed<'a, f64>,",
        ),
        ("Points points;", "pub points: encoding::Packed<'a, Point>,"),
        ("Names names;", "pub names: Vec<&'a str>,"),
        ("Names table;", "table: decoder.view()? }"),
        ("Inner inner;", "pub inner: InnerView<'a>,"),
        ("Inners inners;", "pub inners: Vec<InnerView<'a>>,"),
        (
            "Labels labels;",
            "pub labels: ::std::collections::BTreeMap<&'a str, i32>,",
        ),
        ("Plain plain;", "pub plain: Plain,"),
        ("Kind kind;", "kind: decoder.get()? }"),
        ("Shared shared;", "pub shared: Shared,"),
    ];
    for (member, expected) in cases {
        let text = rust(&format!(
            "enum Kind {{ a }} struct Point {{ int x; bool y; }} struct Plain {{ string s; }}
             [\"rust:view\"] struct Inner {{ string s; }}
             sequence<byte> Data; sequence<double> Numbers; sequence<Point> Points;
             sequence<string> Names; sequence<Inner> Inners; dictionary<string, int> Labels;
             [\"rust:bytes\"] sequence<byte> Shared;
             [\"rust:view\"] struct Outer {{ string first; {member} }}"
        ));
        let (_, view) = text.split_once("pub struct OuterView<'a>").expect("a view");
        assert!(view.contains(expected), "{member}\n{view}");
    }
}

#[test]
fn derives_are_added_to_those_that_a_type_has() {
    let cases = [
        (
            "[\"rust:derive:serde::Serialize, my::Other\"] struct S { double d; }",
            "#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, my::Other)]\n    pub struct S",
        ),
        (
            "[\"rust:derive:Eq\", \"rust:derive:Clone\"] class C { int i; }",
            "#[derive(Debug, Clone, PartialEq, Default, Eq)]\n    pub struct C",
        ),
        (
            "[\"rust:derive:A\"] exception E { int i = 1; }",
            "#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, A)]\n    pub struct E",
        ),
    ];
    for (contract, expected) in cases {
        let text = rust(contract);
        assert!(text.contains(expected), "{text}");
    }
    let text = rust("[\"rust:derive:A\"] enum E { a }");
    assert!(
        text.contains("    A,\n") || text.contains(", A)]"),
        "{text}"
    );
}

#[test]
fn what_is_deprecated_is_so_in_rust_with_its_text() {
    let text = rust(
        "[\"deprecated:a\"] class C { [\"deprecate:b\"] int i; }
         [\"deprecated:c\"] interface I { [\"deprecated\"] void op(); }
         enum E { x, [\"deprecated:d\"] y }
         [\"deprecated:e\"] sequence<int> Q;
         [\"deprecated:f\"] const int n = 1;
         [\"deprecated:g\"] exception X { }",
    );
    for note in ["a", "b", "d", "e", "f", "g"] {
        let attribute = format!("#[deprecated(note = \"{note}\")]");
        assert_eq!(text.matches(&attribute).count(), 1, "{note}: {text}");
    }
    assert_eq!(
        text.matches("(note = \"c\")").count(),
        2,
        "proxy and servant: {text}"
    );
    assert_eq!(
        text.matches("#[deprecated]").count(),
        2,
        "proxy and servant: {text}"
    );
    assert!(
        text.contains("#[allow(deprecated, "),
        "the generated code itself may use it"
    );
}

#[test]
fn a_parameter_in_a_chosen_container_is_borrowed_as_it_is() {
    let text = rust(
        "[\"rust:type:std::collections::VecDeque\"] sequence<int> Window;
         [\"rust:bytes\"] sequence<byte> Data;
         interface I { void op(Window window, optional(1) Data data); }",
    );
    assert!(
        text.contains("pub type Window = std::collections::VecDeque<i32>;"),
        "{text}"
    );
    assert!(text.contains("pub type Data = Bytes;"), "{text}");
    let parameters = "(&'call self, window: &'call Window, data: Option<&'call Data>)";
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.replace("( ", "(")
            .replace(", )", ")")
            .contains(parameters),
        "{text}"
    );
}

#[test]
fn an_unordered_container_takes_the_order_of_what_holds_it() {
    let text = rust(
        "[\"rust:type:std::collections::HashMap\"] dictionary<int, int> Map;
         struct Holds { Map map; } struct Plain { int i; }",
    );
    assert!(text.contains("#[derive(Debug, Clone, PartialEq, Default)]\n    pub struct Holds"));
    assert!(text.contains("Ord, Default)]\n    pub struct Plain"));
}

#[test]
fn what_would_not_compile_is_refused_with_its_place() {
    let cases = [
        (
            "[\"rust:derive:1\"] struct S { int i; }",
            "expected the path of a derive macro, got `1`",
        ),
        (
            "[\"rust:derive:A,,B\"] struct S { int i; }",
            "expected the path of a derive macro, got ``",
        ),
        (
            "[\"rust:derive:A<B>\"] enum E { a }",
            "expected the path of a derive macro, got `A<B>`",
        ),
        (
            "[\"rust:type:a b\"] sequence<int> S;",
            "expected the path of a Rust container, got `a b`",
        ),
        (
            "[\"rust:bytes\"] sequence<int> S;",
            "`rust:bytes` on `::M::S`, which is no sequence of bytes",
        ),
        (
            "[\"rust:view\"] struct S { int i; }",
            "`rust:view` on `::M::S`, in which there is nothing to borrow",
        ),
        (
            "struct S { string s; } [\"rust:view\"] sequence<S> Q;",
            "`rust:view` on `::M::Q`, in which there is nothing to borrow",
        ),
        (
            "interface I { [\"rust:nonnull\"] void f(); }",
            "`rust:nonnull` excludes nil, and this operation returns nothing",
        ),
        (
            "interface I { [\"rust:nonnull\"] string f(); }",
            "`rust:nonnull` excludes nil, and only a proxy can be nil",
        ),
        (
            "interface I { void f([\"rust:nonnull\"] optional(1) I* i); }",
            "`rust:nonnull` excludes nil, and an optional proxy may be unset",
        ),
        (
            "[\"rust:nonnull\"] sequence<int> S;",
            "`rust:nonnull` excludes nil, and only a proxy can be nil",
        ),
        (
            "interface I; exception E { [\"rust:nonnull\"] I* i; }",
            "`i` has no default because of `rust:nonnull`, and a member of an exception needs one",
        ),
        (
            "interface I; struct S { [\"rust:nonnull\"] I* i; } class C { S inner; }",
            "`inner` has no default because of `rust:nonnull`, and a member of a class needs one",
        ),
        (
            "[\"rust:type:std::collections::HashSet\"] sequence<int> S; dictionary<S, int> D;",
            "the keys of `::M::D` hold a container that has no order",
        ),
    ];
    for (contract, expected) in cases {
        let text = findings(&format!("module M {{ {contract} }}"));
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("input.ice:1:"), "{text}");
        assert!(text.contains("help: "), "{text}");
    }
}

#[test]
fn members_elements_and_values_that_are_never_nil_are_no_options() {
    let text = rust(
        "interface I; struct S { [\"rust:nonnull\"] I* i; int j = 7; } struct T { S inner; } sequence<S> Q;
         struct U { Q some; } [\"rust:nonnull\"] sequence<I*> L; [\"rust:nonnull\"] dictionary<int, Object*> D;",
    );
    for expected in [
        "pub i: IProxy,",
        "pub type L = Vec<IProxy>;",
        "pub type D = ::std::collections::BTreeMap<i32, Proxy>;",
    ] {
        assert!(text.contains(expected), "expected `{expected}` in {text}");
    }
    // There is no proxy that a default could have.
    for (name, has_default) in [("S", false), ("T", false), ("U", true)] {
        let (before, _) = text
            .split_once(&format!("pub struct {name} "))
            .expect("it is there");
        let derives = before.trim_end().lines().last().expect("its derives");
        assert_eq!(
            derives.contains("Default"),
            has_default,
            "{name}: {derives}"
        );
    }
    assert!(!text.contains("defaults!"), "{text}");
}

#[test]
fn a_container_that_nothing_imports_is_an_error_with_the_path_to_write() {
    let text = findings("module M { [\"rust:type:HashMap\"] dictionary<int, int> D; }");
    assert!(text.contains("input.ice:1:"), "{text}");
    assert!(text.contains("expected a path, got `HashMap`"), "{text}");
    assert!(text.contains("write `std::collections::HashMap`"), "{text}");
    let text = rust(
        "struct Local { int i; } [\"rust:type:Vec\"] sequence<int> V;
                     [\"rust:type:my::Set<Local>\"] sequence<Local> W;",
    );
    assert!(text.contains("pub type V = Vec<i32>;"), "{text}");
    assert!(text.contains("pub type W = my::Set<Local>;"), "{text}");
}
