//! The verdicts of the Slice compiler of Ice 3.7.8 about a corpus of sources.

use floe_slice::{Compilation, Language, MemoryLoader, Options, compile};
use serde_json::Value;

/// A case of `tests/vectors/slice-accept.json`.
struct Case {
    name: String,
    source: String,
    is_accepted: bool,
    has_warnings: bool,
}

/// Where Floe accepts what Ice 3.8.3 refuses: the crate's documentation says why.
const MORE_LENIENT_THAN_38: &[&str] = &["top_enumerator_of_reopened"];

#[test]
fn verdicts_are_those_of_ice_38() {
    let mut wrong = Vec::new();
    for case in cases_38() {
        let compilation = compile_as(&case.source, Language::V38);
        let is_accepted = !compilation.has_errors();
        let is_lenient = MORE_LENIENT_THAN_38.contains(&case.name.as_str());
        if is_accepted != (case.is_accepted || is_lenient) {
            let (name, verdict) = (&case.name, case.is_accepted);
            let (source, findings) = (&case.source, compilation.render());
            wrong.push(format!(
                "{name} (Ice 3.8 accepts: {verdict})\n{source}\n{findings}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_ice_38_warns_of_gets_a_warning() {
    for case in cases_38() {
        if case.is_accepted && case.has_warnings {
            let compilation = compile_as(&case.source, Language::V38);
            let (name, source) = (&case.name, &case.source);
            assert!(!compilation.diagnostics.is_empty(), "{name}: {source}");
        }
    }
}

#[test]
fn what_ice_38_accepts_is_accepted_by_default() {
    for case in cases_38().into_iter().filter(|case| case.is_accepted) {
        let compilation = compile_as(&case.source, Language::Any);
        let (name, findings) = (&case.name, compilation.render());
        assert!(!compilation.has_errors(), "{name}\n{findings}");
    }
}

/// Observed: slice2py of Ice 3.8.3 accepts the first list and refuses the second; see the
/// documentation of the crate.
#[test]
fn where_ice_38_is_followed_no_further() {
    let refused = [
        "module M { const float F = 1e39; }",
        "module M { interface A; interface a; }",
        "module M { const \\int N = 5; }",
        "module M { const string S = \"\\xc3\"; }",
        "module M { const string S = \"\\U00110000\"; }",
        "module M { } [[ ]]",
        "module M { enum E { a, , b } }",
    ];
    let accepted = [
        "#line 5 \"x.ice\"\nmodule M { }",
        "module M { const string S = \"//\"; }",
    ];
    for source in refused {
        let compilation = compile_as(source, Language::V38);
        assert!(compilation.has_errors(), "{source}");
    }
    for source in accepted {
        let compilation = compile_as(source, Language::V38);
        assert!(
            !compilation.has_errors(),
            "{source}\n{}",
            compilation.render()
        );
    }
}

#[test]
fn verdicts_are_those_of_ice_37() {
    let mut wrong = Vec::new();
    for case in cases() {
        let compilation = compile_as(&case.source, Language::V37);
        if compilation.has_errors() == case.is_accepted {
            wrong.push(format!(
                "{} (Ice 3.7 accepts: {})\n{}\n{}",
                case.name,
                case.is_accepted,
                case.source,
                compilation.render()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_ice_37_accepts_is_accepted_by_default() {
    for case in cases().into_iter().filter(|case| case.is_accepted) {
        let compilation = compile_as(&case.source, Language::Any);
        assert!(
            !compilation.has_errors(),
            "{}\n{}",
            case.name,
            compilation.render()
        );
    }
}

/// Observed: slice2cpp of Ice 3.7.8 accepts all of these, though they mean nothing.
#[test]
fn texts_that_ice_37_accepts_without_a_meaning_are_refused() {
    for source in [
        "module A { struct S { int i = Nowhere; } }",
        "module A { const float F = 1e39; }",
        "module A { const float F = 1e-50; }",
        "module A { struct S { float f = -3.4e39; } }",
        "module A { const double D = 1e300; const float F = D; }",
        "module A { enum E { x } struct S { int i = x; } }",
        "module A { sequence<int> Q; struct S { Q q = Nowhere; } }",
        "module A { interface I { void op(, int a); } }",
        "module A { class C { } class c; }",
        "module A { const int K = 1; module B { const int k = 2; const int L = K; } }",
        "module A { enum E { x } const int X = 1; class C(x) { } }",
        "module A { const string S = \"\\xff\"; }",
    ] {
        let compilation = compile_as(source, Language::V37);
        assert!(compilation.has_errors(), "{source}");
    }
}

/// Observed: verdicts of slice2cpp of Ice 3.7.8 about finer points, beside the corpus.
#[test]
fn finer_verdicts_are_those_of_ice_37() {
    let accepted = [
        "module A { struct S { int i; } struct T { S S; } }",
        "module A { struct S { int i; } interface T { void S(); S op(); } }",
        "module A { struct S { int i; } interface T { void op(S x); void S(); } }",
        "module A { const int N = 5; module C { const int M = N; const int N = 7; } }",
        "module A { const float N = 5; const double M = N; const float O = M; }",
        "module A { enum E { x } const E N = A::x; }",
        "module A { enum E { E } }",
        "module A { interface B { void op(); } interface I extends B, B { } }",
        "module A { exception E { } exception F extends E { } interface I { void op() throws E, F; } }",
        "module A { const int \\true = 5; const int X = \\true; }",
        "module A { } /* no end",
        // Names: keywords behind `::`, names of outer modules, reopened modules.
        "module A { struct \\int { int i; } struct T { A::int a; \\A::int b; } }",
        "module A { struct S { int i; } module N { sequence<S> Q; } module N { struct S { int j; } } }",
        "module A { enum E { x } module N { const E C = E::x; const int E = 1; } }",
        "module A { class C { } module N { class D extends C { } class C; } }",
        "module A { interface I { } module N { interface J extends I { } class I; } }",
        "module A { const int K = 1; module N { class D(K) { } const int K = 2; } }",
        // Commas without an enumerator.
        "module A { enum E { , a, , b = 7,, c, } const int N = 1; }",
        // Values: what hides a constant or an enumerator, and what does not.
        "module A { const int K = 1; struct S { int K = K; } struct T { int i = K; int K; } struct U { int K; int i = A::K; } }",
        "module A { const int K = 1; class B { int K; } class C extends B { int i = K; optional(K) int j; } }",
        "module A { const int K = 1; class B { void K(); } class C extends B { void f(optional(K) int i); } }",
        "module A { enum E { x } struct S { int x; E e = E::x; } class C { int E; optional(E::x) int i; } }",
        "module A { enum E { x } class C { E e = x; void x(); } }",
        "module A { const int K = 1; interface I { optional(K) int f(int K); } class C { void f(optional(K) int i); int K; } }",
        // Values: the first part of a name keeps its meaning in a module, if that is defined or declared.
        "module A { const int K = 1; } module B { class A; const int N = A::K; }",
        "module A { const int K = 1; } module B { const int A = 1; const int N = A::K; }",
        "module A { const int K = 1; } module B { interface A { } struct S { int i = A::K; } enum E { e = A::K } }",
        "module A { const int K = 1; } module B { interface A { } class C(A::K) { } }",
        "module A { enum E { x } } module B { interface A { } const ::A::E N = A::x; }",
        "module A { const int K = 1; } module B { interface A { } } module B { const int N = A::K; }",
        "module A { struct S { int i; } } module B { struct A { int i; } sequence<A::S> Q; }",
        "module A { enum E { x } module B { const int E = 1; struct S { ::A::E e = E::x; } class C(E::x) { } } }",
        "module A { struct S { int i; } module B { const int s = 1; sequence<S> Q; } }",
        // Names of sequences, dictionaries and constants in their own text.
        "module A { enum E { x } module B { sequence<E> E; } module C { sequence<E> e; } module D { dictionary<int, E> E; } }",
        "module A { const int K = 1; enum E { x } module B { const int K = K; const E E = E::x; } module C { const int k = K; } }",
        // Classes: operations and members in any order, diamonds, forward declarations.
        "module A { class C; class C; class C { C c; } class C; }",
        "module A { interface I { void f(); } interface J extends I { } interface K extends I { } class C implements J, K { } }",
        "module A { interface I { void x(); } class B { int x; } class C extends B implements I { } }",
        "module A { struct S { int i; } class C { void S(); S a; } class D { S a; int S; } }",
        "module A { class C { optional(1) C c; optional(2) Object o; } interface I { optional(1) C f(optional(2) C* c); } }",
        "module A { enum E { x, y } const E x = y; const E z = x; }",
        // Local types.
        "module A { exception X { } local exception Y extends X { } local interface I { void f() throws X; } }",
        "module A { local enum E { low } const E X = low; local interface I { } local struct S { I i; LocalObject o; } }",
        "module A { local enum E { low = 3 } class C(low) { } }",
        // The preprocessor.
        "#define F(...) __VA_ARGS__\nmodule A { struct S { F(int i; int j;) } }",
        "#line 7\nmodule A { const int L = __LINE__; const string F = __FILE__; }",
        "#undef defined\n#undef __VA_ARGS__\n#pragma = once\n#pragma 1\nmodule A { }",
        "#if __STDC__ != 1 || __STDC_HOSTED__ != 1 || __STDC_VERSION__ != 199409L\n#error no\n#endif\n",
        "mod\\\nule A { struct S { in\\\r\nt i; int \\in\\\n\\\nt; } const int N = 1\\\n2; }\n#def\\\nine X\n",
        "#if 18446744073709551615 && 0x8000000000000000\n#else\n#error no\n#endif\n",
    ];
    let rejected = [
        "module A { struct S { int i; } module B { sequence<S> Q; struct S { int j; } } }",
        "module A { struct S { int i; } interface T { S S(); } }",
        "module A { exception S { } interface T { void op() throws S; void S(); } }",
        "module A { exception S { } interface I { void S(); void op() throws S; } }",
        "module A { interface B { } module C { interface I extends B { } interface B { } } }",
        "module A { const int N = 300; const byte M = N; }",
        "module A { enum E { x } const int N = E::x; }",
        "module A { enum E { x } enum F { y } const F N = E::x; }",
        "module A { enum E { x, z = 3 } enum F { y = E::z } }",
        "module A { enum E { a = 1, b = 0, c } }",
        "module A { interface B { void op(); } interface C { void OP(); } interface I extends B, C { } }",
        "module A { interface I extends Object { } }",
        "module A { } module a { }",
        "module A { module B { module A { } } }",
        "module A { sequence<float> Q; dictionary<Q, int> E; }",
        "module A { const int N = - 5; }",
        "module A { const int I = 0X1F; }",
        "module A { interface I { idempotent [\"amd\"] void op(); } }",
        "module A { interface I { void op([\"y\"] out int a); } }",
        // Names.
        "module A { struct S { int i; } struct T { A:: S s; } }",
        "module A { struct S { int i; } struct T { A::\\S s; } }",
        "module A { struct S { int i; } module N { sequence<S> Q; struct s { int j; } } }",
        "module A { const int K = 1; module N { const int L = K; module K { } } }",
        "module A { const int K = 1; module N { class D(K) { } struct K { int i; } } }",
        "module A { const int K = 1; interface I { optional(K) int f(); void K(); } }",
        "module A { const int K = 1; interface I { void K(); void f(optional(K) int a); } }",
        "module A { struct S { int i; } class C { S a; void S(); } }",
        // Commas without an enumerator.
        "module A { enum E { , } }",
        "module A { enum E { , a = 2147483647, , b } }",
        "module A { enum E { a, = 3 } }",
        // Values.
        "module A { const int K = 1; class C { int K; int i = K; } }",
        "module A { const int K = 1; struct S { int k; int i = K; } }",
        "module A { const int K = 1; exception X { int K; optional(K) int i; } }",
        "module A { enum E { x } class C { optional(1) int x = 5; optional(3) E e = x; } }",
        "module A { const int K = 1; interface I { void f(int K, optional(K) int i); } }",
        "module A { const int K = 1; class C { void K(); int i = K; } }",
        "module A { const int K = 1; class C { int i = K; void K(); } }",
        "module A { const int K = 1; class C { int K; optional(K) int f(); } }",
        "module A { const int K = 1; } module B { interface A; const int N = A::K; }",
        "module A { const int K = 1; } module B { module a { } const int N = A::K; }",
        "module A { enum E { x } } module B { struct A { int i; } const ::A::E N = A::E::x; }",
        "module A { enum E { x } } module B { const ::A::E N = A::E::x; module A { } }",
        "module A { enum E { x } } module B { class C(A::E::x) { } interface A { } }",
        "module A { const int K = 1; } module B { class A; const int N = A::K; class A { } }",
        "module A { const int K = 1; } module B { module A { } } module B { const int N = A::K; module A { } }",
        // Names in other capitals nearer by.
        "module A { const int K = 1; module B { class k; const int N = K; } }",
        "module A { struct S { int i; } module B { struct s { int i; } sequence<S> Q; } }",
        "module A { exception X { } module B { const int x = 1; exception Y extends X { } } }",
        // Enumerators without their enum.
        "module A { enum E { x } exception X { } const E C = x; }",
        "module A { enum E { x } exception X { } struct S { E e = x; } }",
        "module A { enum E { x } enum F { X } class C(x) { } }",
        "module A { enum E { x } const E N = x; class C(N) { } }",
        "module A { const int K = 3; enum E { K, L = K } }",
        // Classes.
        "module A { interface I { void f(); } class C implements I { int f; } }",
        "module A { interface I { void f(); } class C implements I { int F; } }",
        "module A { interface I { void f(); } class B implements I { } class C extends B { void f(); } }",
        "module A { interface I { void f(); } class B { void f(); } class C extends B implements I { } }",
        "module A { interface I { void f(); } interface J { void f(); } class B implements I { } class C extends B implements J { } }",
        // Local types.
        "module A { interface I { } local interface J extends I { } }",
        "module A { class B { } local class C extends B { } }",
        "module A { interface I { } local class C implements I { } }",
        "module A { local interface I { } local struct S { I* i; } }",
        // The preprocessor.
        "#define F(a, a) a\n",
        "#define F(a) #b\n",
        "#define F ##\n",
        "#define defined 1\n",
        "#undef X Y\n",
        "#undef __LINE__\n",
        "#define __VA_ARGS__ 1\n",
        "#pragma once 1\n",
        "#if 1\n#endif X\n",
        "#line 0\n",
        "#pragma other\n",
        "# 5 \"x.ice\"\n",
    ];
    for source in accepted {
        let compilation = compile_as(source, Language::V37);
        assert!(!compilation.has_errors(), "{}", compilation.render());
    }
    for source in rejected {
        assert!(compile_as(source, Language::V37).has_errors(), "{source}");
    }
}

#[test]
fn every_error_in_the_corpus_says_where_and_what_to_do_or_why() {
    for case in cases().into_iter().filter(|case| !case.is_accepted) {
        for diagnostic in compile_as(&case.source, Language::V37).diagnostics {
            assert!(diagnostic.span.is_some(), "{}: {diagnostic:?}", case.name);
            assert!(
                !diagnostic.message.ends_with('.'),
                "{}: {diagnostic:?}",
                case.name
            );
        }
    }
}

fn compile_as(source: &str, language: Language) -> Compilation {
    let options = Options {
        language,
        ..Options::default()
    };
    let files = MemoryLoader::new().with("case.ice", source);
    compile(&options, &files, &["case.ice".into()])
}

fn cases() -> Vec<Case> {
    cases_of(
        include_str!("../../../../tests/vectors/slice-accept.json"),
        "ice37_accepts",
    )
}

fn cases_38() -> Vec<Case> {
    cases_of(
        include_str!("../../../../tests/vectors/slice-accept-38.json"),
        "ice38_accepts",
    )
}

fn cases_of(text: &str, verdict: &str) -> Vec<Case> {
    let corpus: Value = serde_json::from_str(text).expect("the corpus is JSON");
    let cases = corpus["cases"].as_array().expect("the corpus has cases");
    let count = cases.len();
    assert!(count > 140, "the corpus has shrunk to {count}");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    cases
        .iter()
        .map(|case| Case {
            name: text(&case["name"]),
            source: text(&case["source"]),
            is_accepted: case[verdict].as_bool().expect("a verdict"),
            has_warnings: case["warnings"].as_bool().expect("a fact"),
        })
        .collect()
}
