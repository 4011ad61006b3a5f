//! `floe slice`.

use crate::command::{run, slice_file};

const LEGAL: &str = "module Demo { interface Greeter { string greet(string name); } }";
const WRONG: &str = "module Demo {\n    struct Item { strin name; }\n    struct Empty { }\n}\n";

#[test]
fn legal_slice_is_checked_with_success() {
    let file = slice_file("legal.ice", LEGAL);
    let ran = run(&["slice", "check", &file]).ended(0);
    assert_eq!(ran.stdout, "");
    ran.said("0 errors");
}

#[test]
fn all_findings_are_shown_with_place_excerpt_and_help() {
    let file = slice_file("wrong.ice", WRONG);
    let ran = run(&["slice", "check", &file]).ended(100);
    for text in [
        "error[undefined-name]",
        "wrong.ice:2:19",
        "struct Item { strin name; }",
        "did you mean `string`?",
        "error[empty-definition]",
    ] {
        assert!(ran.stdout.contains(text), "expected `{text}` in {ran:?}");
    }
    ran.said("2 errors");
}

#[test]
fn findings_are_json_for_tools() {
    let file = slice_file("wrong-for-tools.ice", WRONG);
    let json = run(&["slice", "check", "-o", "json", &file])
        .ended(100)
        .json();
    assert_eq!(json["errors"], 2);
    let finding = &json["findings"][0];
    assert_eq!(finding["code"], "undefined-name");
    assert_eq!(
        (&finding["line"], &finding["column"]),
        (&2.into(), &19.into())
    );
    let lines = run(&["slice", "check", "-o", "jsonl", &file]).ended(100);
    assert_eq!(lines.stdout.lines().count(), 2);
}

#[test]
fn a_warning_is_no_finding_that_fails() {
    let file = slice_file("warned.ice", "[[\"odd:thing\"]]\nmodule M { enum E { a } }");
    let json = run(&["slice", "check", "-o", "json", &file])
        .ended(0)
        .json();
    assert_eq!((&json["errors"], &json["warnings"]), (&0.into(), &1.into()));
}

#[test]
fn the_language_of_one_release_can_be_asked_for() {
    let file = slice_file("late.ice", "module A::B { enum E { a } }");
    run(&["slice", "check", &file]).ended(0);
    run(&["slice", "check", "--language", "3.8", &file]).ended(0);
}

#[test]
fn a_macro_and_an_include_directory_reach_the_compiler() {
    let part = slice_file("part.ice", "module Part { enum E { a } }");
    let dir = part.strip_suffix("/part.ice").expect("it lies in a folder");
    let text =
        "#include <part.ice>\nmodule M { struct S { Part::E e; } }\n#if N != 3\n#error no\n#endif";
    let file = slice_file("whole.ice", text);
    run(&["slice", "check", &file, "-I", dir, "-D", "N=3"]).ended(0);
    run(&["slice", "check", &file, "-I", dir, "-D", "N"]).ended(100);
}

#[test]
fn rust_is_printed_or_written() {
    let file = slice_file("to-rust.ice", LEGAL);
    let printed = run(&["slice", "rust", &file]).ended(0).stdout;
    assert!(printed.contains("pub struct GreeterProxy"), "{printed}");
    let dir = format!("{file}.out");
    let ran = run(&["slice", "rust", &file, "--output-dir", &dir]).ended(0);
    assert_eq!(ran.stdout, "");
    let written = std::fs::read_to_string(format!("{dir}/to-rust.rs"));
    assert_eq!(written.expect("the file was written"), printed);
    let versioned = slice_file("to-rust.v2.ice", LEGAL);
    run(&["slice", "rust", &versioned, "--output-dir", &dir])
        .ended(0)
        .said("to-rust.v2.rs");
}

#[test]
fn wrong_slice_becomes_no_rust() {
    let file = slice_file("wrong-rust.ice", WRONG);
    let ran = run(&["slice", "rust", &file]).ended(100);
    assert_eq!(ran.stdout, "");
    ran.said("2 errors in the Slice files")
        .said("did you mean `string`?");
}

#[test]
fn definitions_are_json_for_tools() {
    let file = slice_file("to-json.ice", LEGAL);
    let json = run(&["slice", "json", &file]).ended(0).json();
    assert_eq!(json["definitions"][0]["name"], "::Demo::Greeter");
}

#[test]
fn a_file_that_is_not_there_is_a_mistake_of_the_caller() {
    run(&["slice", "check", "nowhere.ice"])
        .ended(2)
        .said("there is no Slice file `nowhere.ice`");
    run(&["slice", "check", env!("CARGO_TARGET_TMPDIR")])
        .ended(2)
        .said("it is a directory");
}

#[test]
fn a_macro_can_be_removed_again() {
    let file = slice_file("undefined.ice", "#ifdef ICE_VERSION\n#error no\n#endif\n");
    run(&["slice", "check", &file]).ended(100);
    run(&["slice", "check", &file, "-U", "ICE_VERSION"]).ended(0);
    run(&["slice", "check", &file, "-D", "X", "-U", "ICE_VERSION"]).ended(0);
    for [flag, wrong] in [["-D", "1x=2"], ["-D", "=2"], ["-U", "a-b"], ["-U", ""]] {
        run(&["slice", "check", &file, flag, wrong])
            .ended(2)
            .said("expected the name of a macro");
    }
}

#[test]
fn a_macro_may_have_parameters() {
    let file = slice_file("parameters.ice", "#if LAST(1, 2) != 2\n#error no\n#endif\n");
    run(&["slice", "check", &file, "-D", "LAST(a, b)=b"]).ended(0);
    run(&["slice", "check", &file, "-D", "LAST(a, b)=a"]).ended(100);
    for wrong in [
        "F(1)=2",
        "F(a",
        "F(a)b=2",
        "F(a, a)=a",
        "F (a)=a",
        "F(a=b)=a",
    ] {
        run(&["slice", "check", &file, "-D", wrong])
            .ended(2)
            .said("expected the name of a macro");
    }
    run(&["slice", "check", &file, "-U", "F(a)"])
        .ended(2)
        .said("expected the name of a macro");
}

#[test]
fn the_findings_of_several_files_are_told_together() {
    let wrong = slice_file("several-wrong.ice", WRONG);
    let warned = slice_file(
        "several-warned.ice",
        "[[\"odd:thing\"]]\nmodule M { enum E { a } }",
    );
    let empty = slice_file("several-empty.ice", "");
    let json = run(&["slice", "check", "-o", "json", &warned, &empty, &wrong])
        .ended(100)
        .json();
    assert_eq!((&json["errors"], &json["warnings"]), (&2.into(), &1.into()));
    let findings = json["findings"].as_array().expect("a list");
    let paths: Vec<&str> = findings
        .iter()
        .filter_map(|it| it["path"].as_str())
        .collect();
    assert_eq!(paths, [&*warned, &*wrong, &*wrong]);
    run(&["slice", "check", &warned, &empty])
        .ended(0)
        .said("2 files: 0 errors, 1 warning");
}

#[test]
fn the_second_place_of_a_clash_is_in_the_json() {
    let text = "module M {\n class A(3) { }\n class B(3) { }\n}";
    let file = slice_file("clash.ice", text);
    let json = run(&["slice", "check", "-o", "json", &file])
        .ended(100)
        .json();
    let finding = &json["findings"][0];
    assert_eq!(
        (&finding["code"], &finding["line"]),
        (&"bad-compact-id".into(), &3.into())
    );
    let label = &finding["labels"][0];
    assert_eq!((&label["line"], &label["column"]), (&2.into(), &8.into()));
}

#[test]
fn a_file_that_is_no_text_gets_one_finding() {
    let file = slice_file("binary.ice", "");
    let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
    std::fs::write(&file, bytes).expect("the file can be written");
    let json = run(&["slice", "check", "-o", "json", &file])
        .ended(100)
        .json();
    assert_eq!(json["errors"], 1);
    assert_eq!(json["findings"][0]["code"], "invalid-utf8");
}

#[test]
fn classes_optionals_and_local_types_are_legal() {
    let text = "module M { class Node(1) { optional(1) Node next; } class Leaf extends Node { }\n\
                local interface Log { void line(string text); }\n\
                interface I { optional(1) Node get(optional(2) Leaf leaf, out Object any); } }";
    let file = slice_file("classes.ice", text);
    run(&["slice", "check", "--language", "3.7", &file]).ended(0);
    let json = run(&["slice", "check", "-o", "json", &file])
        .ended(0)
        .json();
    assert_eq!(json["findings"][0]["code"], "deprecated-feature");
    run(&["slice", "check", "--language", "3.8", &file]).ended(100);
}

#[test]
fn alternatives_of_one_contract_are_recognised() {
    let one = slice_file("alternative-1.ice", "module M { struct S { int a; } }");
    let other = slice_file("alternative-2.ice", "module M { struct S { long a; } }");
    let ran = run(&["slice", "check", &one, &other]).ended(100);
    ran.said(&format!(
        "`floe slice breaking {one} {other}` compares them"
    ));
    let twice = slice_file(
        "twice.ice",
        "module M { struct S { int a; } struct S { int b; } }",
    );
    let ran = run(&["slice", "check", &twice]).ended(100);
    assert!(!ran.stderr.contains("alternatives"), "{ran:?}");
}
