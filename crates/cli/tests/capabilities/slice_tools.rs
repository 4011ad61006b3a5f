//! `floe slice fmt`, `breaking`, `doc`, `idl` and `wsdl`.

use std::fs;
use std::path::Path;

use crate::command::{run, run_with_input, slice_file};

const MESSY: &str = "module Demo{\nstruct Tick{string symbol;double price;}//one\n}\n";
const TIDY: &str = "module Demo\n{\n    struct Tick { string symbol; double price; } //one\n}\n";

#[test]
fn a_file_is_laid_out_in_its_place() {
    let file = slice_file("messy.ice", MESSY);
    let ran = run(&["slice", "fmt", &file]).ended(0);
    assert_eq!(ran.stdout, "");
    ran.said("laid out");
    assert_eq!(fs::read_to_string(&file).unwrap(), TIDY);
    let again = run(&["slice", "fmt", &file]).ended(0);
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("", ""));
}

#[test]
fn a_check_names_files_that_would_change_and_changes_none() {
    let (messy, tidy) = (
        slice_file("messy-checked.ice", MESSY),
        slice_file("tidy-checked.ice", TIDY),
    );
    let ran = run(&["slice", "fmt", "--check", &messy, &tidy]).ended(100);
    assert_eq!(ran.stdout, format!("{messy}\n"));
    ran.said("2 files: 1 would change");
    assert_eq!(fs::read_to_string(&messy).unwrap(), MESSY);
    run(&["slice", "fmt", "--check", &tidy]).ended(0);
    let json = run(&["slice", "fmt", "--check", "-o", "json", &messy, &tidy])
        .ended(100)
        .json();
    assert_eq!(
        (&json["files"], &json["changed"][0]),
        (&2.into(), &messy.into())
    );
}

#[test]
fn standard_input_is_laid_out_on_standard_output() {
    let ran = run_with_input(&["slice", "fmt", "-"], MESSY).ended(0);
    assert_eq!(ran.stdout, TIDY);
    let ran = run_with_input(&["slice", "fmt", "--check", "-"], MESSY).ended(100);
    assert_eq!(ran.stdout, "<stdin>\n");
}

#[test]
fn a_file_that_cannot_be_laid_out_stays_and_the_others_do_not() {
    let text = "module M { const string s = \"x; }\n";
    let (broken, messy) = (
        slice_file("no-end.ice", text),
        slice_file("messy-beside.ice", MESSY),
    );
    run(&["slice", "fmt", &broken, &messy])
        .ended(100)
        .said("no-end.ice:1:29: this string has no closing quote on its line")
        .said("1 file cannot be laid out and stayed as they were");
    assert_eq!(fs::read_to_string(&broken).unwrap(), text);
    assert_eq!(fs::read_to_string(&messy).unwrap(), TIDY);
    run(&["slice", "fmt", "nowhere.ice"])
        .ended(2)
        .said("cannot read Slice file `nowhere.ice`");
}

#[cfg(unix)]
#[test]
fn the_mode_of_a_file_and_a_link_to_it_outlive_the_layout() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let file = slice_file("messy-linked.ice", MESSY);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let link = format!("{file}.link.ice");
    let _ = fs::remove_file(&link);
    symlink(&file, &link).unwrap();
    run(&["slice", "fmt", &link]).ended(0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), TIDY);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_change_that_breaks_peers_is_told_with_both_places() {
    let old = slice_file("old.ice", TIDY);
    let new = slice_file("new.ice", &TIDY.replace("double", "float"));
    let ran = run(&["slice", "breaking", &old, &new]).ended(100);
    for text in [
        "wire[member-type-changed]: ::Demo::Tick::price: the type was `double` and is `float`",
        "old.ice:3:41  struct Tick { string symbol; double price; }",
        "new.ice:3:40  struct Tick { string symbol; float price; }",
        "help: define a new type and a new operation",
    ] {
        assert!(ran.stdout.contains(text), "expected `{text}` in {ran:?}");
    }
    ran.said("1 change: 1 on the wire, 0 in source, 0 safe");
}

#[test]
fn changes_are_json_for_tools() {
    let old = slice_file("old-for-tools.ice", TIDY);
    let text = TIDY
        .replace("price", "cost")
        .replace("struct", "/** It. */ struct");
    let new = slice_file("new-for-tools.ice", &text);
    let json = run(&["slice", "breaking", "-o", "json", &old, &new])
        .ended(100)
        .json();
    let counts = [&json["wire"], &json["source"], &json["safe"]];
    assert_eq!(
        counts,
        [&0, &1, &1]
            .map(|it| serde_json::Value::from(*it))
            .each_ref()
    );
    let change = &json["changes"][0];
    assert_eq!(change["code"], "member-renamed");
    assert_eq!(change["impact"], "source");
    assert_eq!(
        (&change["old"]["line"], &change["new"]["line"]),
        (&3.into(), &3.into())
    );
    let lines = run(&["slice", "breaking", "-o", "jsonl", &old, &new]).ended(100);
    assert_eq!(lines.stdout.lines().count(), 2);
    run(&["slice", "breaking", "--allow-source", &old, &new]).ended(0);
}

#[test]
fn the_same_contract_breaks_nothing() {
    let old = slice_file("same.ice", TIDY);
    let ran = run(&["slice", "breaking", &old, &old]).ended(0);
    assert_eq!(ran.stdout, "");
}

#[test]
fn classes_and_optionals_are_compared_and_documented_too() {
    let old = slice_file("old-class.ice", "module M { class C { int x; } }");
    let text = "module M { class C { int x; optional(1) int y; } }";
    let new = slice_file("new-class.ice", text);
    let ran = run(&["slice", "breaking", &old, &new]).ended(100);
    assert!(ran.stdout.contains("source[optional-added]"), "{ran:?}");
    let ran = run(&["slice", "doc", &new]).ended(0);
    assert!(ran.stdout.contains("id=\"M.C.y\""), "{ran:?}");
}

#[test]
fn a_contract_with_errors_is_neither_compared_nor_documented() {
    let old = slice_file("legal-old.ice", TIDY);
    let new = slice_file("illegal-new.ice", &TIDY.replace("double", "doubel"));
    for arguments in [
        &["slice", "breaking", &old, &new][..],
        &["slice", "doc", &new],
    ] {
        let ran = run(arguments).ended(100);
        assert_eq!(ran.stdout, "");
        ran.said("did you mean `double`?");
    }
}

#[test]
fn a_reference_is_printed_or_written() {
    let file = slice_file("to-html.ice", TIDY);
    let printed = run(&["slice", "doc", "--title", "A <b>", &file])
        .ended(0)
        .stdout;
    assert!(printed.starts_with("<!doctype html>"), "{printed}");
    assert!(printed.contains("<title>A &lt;b&gt;</title>"), "{printed}");
    let dir = format!("{file}.out");
    let ran = run(&["slice", "doc", &file, "--output-dir", &dir]).ended(0);
    assert_eq!(ran.stdout, "");
    let written = fs::read_to_string(Path::new(&dir).join("to-html.html")).unwrap();
    assert!(written.contains("<title>Demo</title>"), "{written}");
}

#[test]
fn a_contract_is_printed_or_written_in_the_languages_of_other_worlds() {
    let text = "module Demo { struct Tick { double price; } interface Ticker { void tick(Tick tick); string ask(); } }";
    let file = slice_file("worlds.ice", text);
    let dds = run(&["slice", "idl", &file]).ended(0);
    assert!(dds.stdout.contains("@final struct Tick {"), "{dds:?}");
    dds.said("`::Demo::Ticker` is left out: its operation `ask` answers");
    let corba = run(&["slice", "idl", "--corba", &file]).ended(0);
    assert!(corba.stdout.contains("interface Ticker {"), "{corba:?}");
    let dir = format!("{file}.out");
    let options = ["--address", "http://a/?b&c", "--namespace", "urn:mine"];
    let wsdl = [
        &["slice", "wsdl", &file, "--output-dir", &dir],
        &options[..],
    ]
    .concat();
    assert_eq!(run(&wsdl).ended(0).stdout, "");
    let written = fs::read_to_string(Path::new(&dir).join("worlds.wsdl")).unwrap();
    for part in [
        "location=\"http://a/?b&amp;c\"",
        "targetNamespace=\"urn:mine:Demo\"",
    ] {
        assert!(written.contains(part), "expected `{part}` in {written}");
    }
    run(&["slice", "idl", &file, "--output-dir", &dir]).ended(0);
    assert!(Path::new(&dir).join("worlds.idl").is_file());
}

#[test]
fn a_class_has_no_form_in_other_worlds() {
    let file = slice_file("class-worlds.ice", "module M { class C { int x; } }");
    for arguments in [
        &["slice", "idl", &file][..],
        &["slice", "idl", "--corba", &file],
        &["slice", "wsdl", &file],
    ] {
        let ran = run(arguments).ended(100);
        assert_eq!(ran.stdout, "");
        ran.said("error[no-foreign-form]: `::M::C` is a class")
            .said("make it a struct");
    }
}
