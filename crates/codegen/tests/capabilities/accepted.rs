//! Every contract of the corpus that the Slice compiler accepts becomes Rust.

use floe_codegen::{RustOptions, generate_rust};
use floe_slice::check_source;
use serde_json::Value;

use crate::repository;

#[test]
fn an_accepted_contract_becomes_rust() {
    let mut generated = 0;
    for (name, source) in sources() {
        let compilation = check_source(source.as_bytes());
        if compilation.has_errors() {
            continue;
        }
        let text = generate_rust(&compilation.model, &RustOptions::new());
        let text = text.unwrap_or_else(|findings| panic!("{name}: {findings:?}"));
        assert!(syn::parse_file(&text).is_ok(), "{name}");
        generated += 1;
    }
    assert!(generated > 80, "only {generated} contracts became Rust");
}

#[test]
fn structs_of_structs_take_no_more_time_than_lines() {
    let mut source = "module M { struct S0 { double a; }\n".to_owned();
    for depth in 1..60 {
        let inner = depth - 1;
        source.push_str(&format!(
            "struct S{depth} {{ S{inner} a; S{inner} b; S{inner} c; }}\n"
        ));
    }
    source.push('}');
    let compilation = check_source(source.as_bytes());
    // Looking into each member anew would take 3^59 steps.
    let text = generate_rust(&compilation.model, &RustOptions::new()).expect("a legal contract");
    assert!(!text.contains("Eq, Hash"), "a double is in all of them");
}

#[test]
fn views_of_structs_of_structs_take_no_more_time_than_lines() {
    for (member, wants_view) in [("int a;", false), ("Object* a;", true), ("string a;", true)] {
        let view = if wants_view { "[\"rust:view\"] " } else { "" };
        let mut source = format!("module M {{ {view}struct S0 {{ {member} }} sequence<S0> Q0;\n");
        for depth in 1..45 {
            let inner = depth - 1;
            source.push_str(&format!(
                "{view}struct S{depth} {{ S{inner} a; Q{inner} b; S{inner} c; }} sequence<S{depth}> Q{depth};\n"
            ));
        }
        source.push_str("[\"rust:view\"] sequence<S44> Viewed; }");
        let compilation = check_source(source.as_bytes());
        assert!(!compilation.has_errors());
        // Looking into each member anew would take 3^44 steps.
        let generated = generate_rust(&compilation.model, &RustOptions::new());
        assert_eq!(generated.is_ok(), member == "string a;", "{member}");
    }
}

#[test]
fn contracts_with_errors_do_not_make_the_generator_panic() {
    for (_, source) in sources() {
        let compilation = check_source(source.as_bytes());
        let _ = generate_rust(&compilation.model, &RustOptions::new());
    }
}

/// Names and texts of the vectors that Ice's own compiler has judged.
fn sources() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(repository("tests/vectors/slice-accept.json")).unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    let field = |case: &Value, name| case[name].as_str().unwrap().to_owned();
    cases
        .iter()
        .map(|case| (field(case, "name"), field(case, "source")))
        .collect()
}
