//! The verdicts of the Slice compiler of Ice 3.7.8 about a corpus of sources.

use floe_slice::{Compilation, Language, MemoryLoader, Options, compile};
use serde_json::Value;

/// A case of `tests/vectors/slice-accept.json`.
struct Case {
    name: String,
    source: String,
    is_accepted: bool,
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
        "module A { enum E { a, , b } }",
        "module A { enum E { x } struct S { int i = x; } }",
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
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/vectors/slice-accept.json"
    );
    let text = std::fs::read_to_string(path).expect("the corpus is part of the repository");
    let corpus: Value = serde_json::from_str(&text).expect("the corpus is JSON");
    let cases = corpus["cases"].as_array().expect("the corpus has cases");
    assert!(
        cases.len() > 150,
        "the corpus has shrunk to {}",
        cases.len()
    );
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    cases
        .iter()
        .map(|case| Case {
            name: text(&case["name"]),
            source: text(&case["source"]),
            is_accepted: case["ice37_accepts"].as_bool().expect("a verdict"),
        })
        .collect()
}
