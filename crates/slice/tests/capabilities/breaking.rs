//! Old programs with new contracts.

mod data;
mod interfaces;

use std::collections::BTreeSet;

use floe_slice::breaking::{Change, ChangeCode, Impact, compare};
use floe_slice::{Compilation, MemoryLoader, Options, check_source, compile};

/// Members of module `M` before and after, and the codes of all changes between them.
type Case = (&'static str, &'static str, &'static [&'static str]);

fn cases() -> impl Iterator<Item = &'static Case> {
    data::CASES.iter().chain(interfaces::CASES)
}

#[test]
fn every_change_has_its_codes() {
    let mut wrong = Vec::new();
    for (old, new, expected) in cases() {
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
    let cases: BTreeSet<&str> = cases().flat_map(|case| case.2).copied().collect();
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
fn an_order_that_a_macro_changes_counts() {
    let with = |macros: &str| {
        let text = format!("#define MEMBERS {macros}\nmodule M {{ struct S {{ MEMBERS }} }}");
        check_source(text.as_bytes())
    };
    let (old, new) = (with("int a; int b;"), with("int b; int a;"));
    let codes: Vec<ChangeCode> = compare(&old.model, &new.model)
        .iter()
        .map(|change| change.code)
        .collect();
    assert_eq!(codes, [ChangeCode::MemberOrderChanged]);
}

#[test]
fn a_body_that_stands_in_a_file_that_is_no_longer_included_is_not_missed() {
    let with = |common: &str, main: &str| {
        let files = MemoryLoader::new()
            .with("common.ice", common)
            .with("main.ice", main);
        compile(&Options::default(), &files, &["main.ice".into()])
    };
    let uses = "module M { interface I; interface J { void f(I* i); } }";
    let old = with(
        "module M { interface I { void f(); } }",
        &format!("#include \"common.ice\"\n{uses}"),
    );
    let new = with("", uses);
    assert_eq!(compare(&old.model, &new.model), []);
    assert_eq!(compare(&new.model, &old.model), []);
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
