//! `floe encode` and `floe decode`, with bytes recorded from Ice 3.7.8.

mod notation;
#[path = "../../../dynamic/tests/vectors/plain.rs"]
mod plain;

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use crate::command::{run, run_with_input, slice_file};
use notation::message_json;
use plain::{is_same, plain};

#[test]
fn values_of_every_type_are_decoded_and_encoded_as_by_ice() {
    let files = [
        ("primitives", 31),
        ("strings", 12),
        ("sizes", 7),
        ("sequences", 15),
        ("structs", 8),
        ("dictionaries", 11),
        ("enums", 30),
        ("proxies", 57),
        ("optionals", 39),
        ("classes", 63),
    ];
    for (file, count) in files {
        let vectors = load(file);
        assert_eq!(vectors.len(), count, "{file} has another number of vectors");
        for vector in vectors {
            check_value(file, &vector);
        }
    }
}

fn check_value(file: &str, vector: &Json) {
    let name = format!("{file}-{}", text(vector, "name"));
    let slice = slice_file(&format!("{name}.ice"), text(vector, "slice"));
    let mut arguments = vec!["--type", text(vector, "type"), "--slice", &slice];
    arguments.extend(["--encoding", text(vector, "encoding")]);
    let tag = vector["tag"].as_i64().map(|tag| tag.to_string());
    arguments.extend(tag.iter().flat_map(|tag| ["--tag", tag]));
    let format = vector["format"].as_str();
    let formats: Vec<&str> = format
        .iter()
        .flat_map(|format| ["--format", format])
        .collect();
    let hex = hex(vector);

    let decoded = run_with_input(&[&["decode"], &arguments[..]].concat(), &hex).ended(0);
    let expected = vector.get("decoded_value").unwrap_or(&vector["value"]);
    let expected = plain(expected);
    assert!(
        is_same(&decoded.json(), &expected),
        "{name}: expected {expected}, got {}",
        decoded.stdout
    );
    let encode = [&["encode"], &arguments[..], &formats].concat();
    let encoded = run_with_input(&encode, &decoded.stdout).ended(0);
    if vector["exact"] == true {
        assert_eq!(encoded.stdout.trim_end(), hex, "{name}");
    }
    let again = run_with_input(&[&["decode"], &arguments[..]].concat(), &encoded.stdout);
    assert_eq!(again.ended(0).stdout, decoded.stdout, "{name}");
}

#[test]
fn messages_of_ice_are_taken_apart() {
    let files = [
        "messages",
        "replies",
        "exceptions",
        "datagrams",
        "compressed",
    ];
    for file in files {
        let vectors = load(file);
        let all: Vec<String> = vectors.iter().map(hex).collect();
        let ran = run_with_input(&["decode", "--message"], &all.join("\n"));
        let is_compressed = |vector: &Json| vector["message"]["compression_status"] == 2;
        let ran = ran.ended(0);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines.len(), vectors.len(), "{file}");
        for (vector, line) in vectors.iter().zip(lines) {
            let message: Json = serde_json::from_str(line).expect("a line is JSON");
            let name = text(vector, "name");
            match is_compressed(vector) {
                true => check_decompressed(&message, &vector["message"], name),
                false => assert_eq!(message, message_json(&vector["message"]), "{name}"),
            }
        }
    }
}

/// Checks that the content of the message is there, beside both of its sizes.
fn check_decompressed(message: &Json, fields: &Json, name: &str) {
    for key in ["uncompressed_size", "request_id", "operation"] {
        assert_eq!(message.get(key), fields.get(key), "{name}: {key}");
    }
    assert_eq!(message["compression"], 2, "{name}");
    assert_eq!(message["size"], fields["message_size"], "{name}");
    let count = |json: &Json| json["requests"].as_array().map(Vec::len);
    assert_eq!(count(message), count(fields), "{name}");
    if let Some(len) = fields["encapsulation"]["length"].as_u64() {
        let payload = text(&message["encapsulation"], "payload");
        assert_eq!(payload.len() as u64 / 2 + 6, len, "{name}");
    }
}

#[test]
fn with_a_slice_file_what_is_in_the_messages_of_ice_is_decoded_too() {
    let vectors: Vec<Json> = ["messages", "exceptions"]
        .iter()
        .flat_map(|file| load(file))
        .collect();
    let slice = vectors
        .iter()
        .map(|vector| text(vector, "slice"))
        .find(|slice| !slice.is_empty());
    let slice = slice_file("messages-of-ice.ice", slice.expect("most vectors have one"));
    let all: Vec<String> = vectors.iter().map(hex).collect();
    let arguments = ["decode", "--message", "--slice", &slice];
    let ran = run_with_input(&arguments, &all.join("\n")).ended(0);

    let messages = ran.stdout.lines().map(|line| {
        let message: Json = serde_json::from_str(line).expect("a line is JSON");
        message
    });
    let messages: Vec<(&str, Json)> = vectors
        .iter()
        .map(|vector| text(vector, "name"))
        .zip(messages)
        .collect();
    assert_eq!(messages.len(), vectors.len());
    let message = |wanted| {
        &messages
            .iter()
            .find(|(name, _)| *name == wanted)
            .expect("it is there")
            .1
    };
    assert_eq!(
        message("request_greet")["parameters"],
        json!({"name": "Bob"})
    );
    assert_eq!(
        message("batch_3")["requests"][2]["parameters"],
        json!({"text": "two", "n": 2})
    );
    assert_eq!(
        message("exception_E3_7_e11_compact")["exception"],
        json!({"$exception": "::M::E3", "code": 7, "msg": "msg-7", "at": {"x": 1, "y": 2}})
    );
    assert_eq!(
        message("exception_EClass_3_e10")["exception"],
        json!({
            "$exception": "::M::EClass",
            "node": {"$class": "::M::Node", "$id": 1, "value": 3, "next": {"$ref": 1}},
        })
    );
    assert_eq!(
        message("request_tagged_set")["parameters"],
        json!({"a": 1, "b": 2})
    );
}

const SLICE: &str = "
    module M
    {
        class Node { int value; }
        struct Point { short x; short y; }
        exception Failure { int code; }
        exception Late extends Failure { string why; }
        interface Greeter
        {
            string greet(string name, out int length) throws Failure;
            void add(Node node);
        }
    }";

/// The file with [`SLICE`], written once: other tests may be reading it.
fn contract() -> &'static str {
    static FILE: LazyLock<String> = LazyLock::new(|| slice_file("codec.ice", SLICE));
    &FILE
}

/// Encodes, then decodes with the same arguments.
#[track_caller]
fn there_and_back(arguments: &[&str], json: &str) -> String {
    let slice = contract();
    let arguments = [arguments, &["--slice", slice]].concat();
    let encoded = run(&[&["encode", json], &arguments[..]].concat())
        .ended(0)
        .stdout;
    let decoded = run_with_input(&[&["decode"], &arguments[..]].concat(), &encoded);
    assert_eq!(decoded.ended(0).stdout.trim_end(), json);
    encoded.trim_end().to_owned()
}

#[test]
fn parameters_results_and_exceptions_go_there_and_back() {
    let greet = "::M::Greeter::greet";
    let request = there_and_back(&["--operation", greet, "--request"], r#"{"name":"Ada"}"#);
    assert_eq!(request, "03416461");
    let results = r#"{"returnValue":"hi","length":2}"#;
    let reply = there_and_back(&["--operation", "greet", "--reply"], results);
    assert_eq!(reply, "02000000026869");

    let late = r#"{"$exception":"::M::Late","code":1,"why":"rain"}"#;
    let thrown = there_and_back(&["--operation", greet, "--exception"], late);
    let both = there_and_back(&["--operation", greet, "--reply", "--exception"], late);
    let named = there_and_back(&["--type", "M::Failure"], late);
    assert_eq!((&both, &named), (&thrown, &thrown));
    let compact = there_and_back(&["--type", "::M::Late", "--format", "compact"], late);
    assert!(compact.len() < thrown.len());
    let old = there_and_back(&["--type", "::M::Late", "--encoding", "1.0"], late);
    assert!(old.starts_with("0009"), "{old}");
}

#[test]
fn built_in_types_need_no_slice_file() {
    assert_eq!(
        run(&["encode", "--type", "int", "-5"]).ended(0).stdout,
        "fbffffff\n"
    );
    assert_eq!(
        run(&["decode", "--type", "int", "FB ff\nff FF"])
            .ended(0)
            .stdout,
        "-5\n"
    );
    let proxy = r#""hello -t -e 1.1:tcp -h localhost -p 10000 -t 60000""#;
    let encoded = run(&["encode", "--type", "Object*", proxy]).ended(0).stdout;
    let decoded = run(&["decode", "--type", "Object*", &encoded])
        .ended(0)
        .stdout;
    assert_eq!(decoded.trim_end(), proxy);
    let raw = run(&["decode", "--type", "string", "026869", "-o", "raw"]);
    assert_eq!(raw.ended(0).stdout, "hi\n");
}

#[test]
fn raw_bytes_are_written_and_read() {
    let encoded = run(&["encode", "--binary", "--type", "string", r#""hi""#])
        .ended(0)
        .stdout;
    assert_eq!(encoded, "\u{2}hi");
    let decoded = run_with_input(&["decode", "--binary", "--type", "string", "-"], &encoded);
    assert_eq!(decoded.ended(0).stdout, "\"hi\"\n");
    run(&["decode", "--binary", "--type", "string", "026869"])
        .ended(2)
        .said("expected raw bytes on standard input, got an argument");
}

#[test]
fn bytes_that_are_something_else_are_refused_with_offset_and_type() {
    let slice = contract();
    let decode =
        |arguments: &[&str]| run(&[&["decode", "--slice", slice], arguments].concat()).ended(2);
    decode(&["--type", "::M::Point", "01 00 02"])
        .said("value.y: cannot decode short at byte 2: expected 2 more bytes, 1 are left");
    decode(&["--type", "::M::Point", "01 00 02 00 03"])
        .said("at byte 4: 1 byte is left after the last value");
    decode(&["--operation", "greet", "--request", "0541"])
        .said("params.name: cannot decode string at byte 1");
    decode(&["--type", "bool", "0g"]).said("got 'g' where byte 0 should stand");
    decode(&["--type", "bool", "010"]).said("got 3 digits");
    decode(&["--type", "string", "0a000000010103416461"])
        .said("the first six bytes look like the header of the encapsulation");
    let close = "496365500100010004000e000000";
    decode(&["--type", "bool", close]).said("use --message");
    decode(&["--message", &close[..20]])
        .said("message at byte 0: expected a message header of 14 bytes, got 10");
    let two = format!("{close}{}", close.replace("00010004", "00020004"));
    decode(&["--message", &two]).said("message at byte 14: expected protocol");
}

#[test]
fn json_that_is_something_else_is_refused_with_its_path() {
    let slice = contract();
    let encode =
        |arguments: &[&str]| run(&[&["encode", "--slice", slice], arguments].concat()).ended(2);
    encode(&["--type", "::M::Point", r#"{"x": 1, "z": 70000}"#])
        .said("value.z: expected a member of ::M::Point (x, y), got \"z\"")
        .said("value.y: expected a short (-32768 to 32767), got nothing");
    encode(&["--type", "string", "Ada"])
        .said("argument JSON: expected JSON, got `Ada`")
        .said("a string needs its double quotes");
    encode(&[
        "--type",
        "::M::Late",
        r#"{"$exception": "::M::Failure", "code": 1}"#,
    ])
    .said("expected ::M::Late or an exception that extends it, got \"::M::Failure\"");
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_the_way_out() {
    let slice = contract();
    let encode = |arguments: &[&str]| {
        run(&[&["encode", "1", "--slice", slice], arguments].concat()).ended(2)
    };
    encode(&[]).said("add --type TYPE, or --operation NAME");
    encode(&["--operation", "greet"]).said("expected --request, --reply or --exception");
    encode(&["--type", "int", "--operation", "greet"]).said("cannot be used with");
    encode(&["--operation", "greet", "--request", "--reply"]).said("cannot be used with");
    encode(&["--type", "int", "--encoding", "2.0"]).said("[possible values: 1.0, 1.1]");
    encode(&["--type", "::M::Piont"]).said("did you mean `::M::Point`?");
    encode(&["--type", "::M::Greeter"]).said("a proxy to it is '::M::Greeter*'");
    encode(&["--type", "::M::Late", "--tag", "1"]).said("::M::Late is no data type");
    encode(&["--operation", "gret", "--reply"]).said("did you mean `greet`?");
    run(&["encode", "1", "--type", "::M::Point"])
        .ended(2)
        .said("add --slice FILE");
    run(&["decode", "--message", "--type", "int", "00"])
        .ended(2)
        .said("cannot be used with");
    let broken = slice_file("broken-codec.ice", "module M { struct S { strin x; } }");
    run(&["encode", "1", "--type", "int", "--slice", &broken]).ended(100);
}

#[test]
fn class_instances_and_optional_values_go_there_and_back() {
    let node = r#"{"$class":"::M::Node","value":7}"#;
    let request = there_and_back(
        &["--operation", "add", "--request"],
        &format!(r#"{{"node":{node}}}"#),
    );
    let sliced = there_and_back(
        &["--operation", "add", "--request", "--format", "sliced"],
        &format!(r#"{{"node":{node}}}"#),
    );
    assert!(sliced.len() > request.len());
    assert_eq!(there_and_back(&["--type", "M::Node"], node), request);
    assert_eq!(there_and_back(&["--type", "Value"], "null"), "00");
    assert_eq!(
        there_and_back(&["--type", "int", "--tag", "3"], "5"),
        "1a05000000"
    );
    assert_eq!(
        there_and_back(&["--type", "int", "--tag", "3"], r#"{"$unset":true}"#),
        ""
    );
    for tag in ["-1", "x", "2147483648"] {
        run(&["decode", "--type", "int", "--tag", tag, "00"])
            .ended(2)
            .said("expected a tag from 0 to 2147483647");
    }
}

#[test]
fn slices_of_classes_that_are_not_known_come_back_as_they_were() {
    let derived = slice_file(
        "codec-derived.ice",
        "module M { class Node { int value; } class More extends Node { optional(1) Node next; string s; } }",
    );
    let json =
        r#"{"$class": "::M::More", "$id": "a", "value": 1, "s": "x", "next": {"$ref": "a"}}"#;
    let arguments = ["--type", "M::Node", "--format", "sliced", "--slice"];
    let encoded = run(&[&["encode", json], &arguments[..], &[&derived]].concat()).ended(0);
    let slice = contract();
    let decoded = run_with_input(
        &["decode", "--type", "M::Node", "--slice", slice],
        &encoded.stdout,
    );
    let decoded = decoded.ended(0).stdout;
    assert!(
        decoded.contains(r#""$slices":[{"class":"::M::More""#),
        "{decoded}"
    );
    let again = run_with_input(&[&["encode"], &arguments[..], &[slice]].concat(), &decoded);
    assert_eq!(again.ended(0).stdout, encoded.stdout);
}

/// The vectors of a file.
fn load(name: &str) -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
    let path = folder.join(name).with_extension("json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut file: Json = serde_json::from_str(&text).expect("a vector file is JSON");
    let Json::Array(vectors) = file["vectors"].take() else {
        panic!("{path:?} has no list of vectors");
    };
    vectors
}

fn text<'a>(vector: &'a Json, key: &str) -> &'a str {
    let text = vector[key].as_str();
    text.unwrap_or_else(|| panic!("no {key} in {vector}"))
}

fn hex(vector: &Json) -> String {
    let Some(parts) = vector["hex_parts"].as_array() else {
        return text(vector, "hex").to_owned();
    };
    let part = |part: &Json| match part["repeat"].as_str() {
        Some(hex) => hex.repeat(part["count"].as_u64().expect("a count") as usize),
        None => text(part, "hex").to_owned(),
    };
    parts.iter().map(part).collect()
}

#[test]
fn parameters_that_are_optional_may_be_left_out() {
    let file = slice_file(
        "optional-left-out.ice",
        "module M { interface I { void f(int a, optional(1) int b, optional(2) string c); } }",
    );
    let nobody = "x:tcp -h 127.0.0.1 -p 1";
    for json in ["5", "[5]", "[5, 6]", r#"{"a": 5}"#] {
        // Only the connection is missing.
        run(&["call", nobody, "f", json, "--slice", &file]).ended(5);
    }
    run(&["call", nobody, "f", "[]", "--slice", &file])
        .ended(2)
        .said("expected an array of 1 to 3 (a, b, c), got an array of 0");
}
