//! How many instructions values of a type known at run time take to become JSON text, and to come back from it: a figure
//! that does not depend on what else the machine does.
//!
//! `cargo bench -p floe-dynamic --bench instructions` runs each case in callgrind (Debian package `valgrind`) and compares
//! with `counts.txt` beside this file; `UPDATE=1` writes that file instead.

#[path = "../../../wire/benches/instructions/counts.rs"]
mod counts;

use std::hint::black_box;
use std::process::ExitCode;

use floe_dynamic::{Contract, Operation, ValueWriter, parse_json};
use floe_slice::check_source;
use floe_wire::EncodingVersion;

use counts::Repetitions;

/// An event of a ticker, and a nested type as in a study of serializers: a struct with a sequence of structs, strings and
/// doubles.
const SLICE: &[u8] = b"module B {
    sequence<double> Doubles;
    struct Vector { double x; double y; double z; }
    struct Entry { string title; int year; bool isOpen; Vector place; Doubles weights; }
    sequence<Entry> Entries;
    struct Catalogue { string name; long id; Entries entries; }
    interface Feed { void tick(string symbol, double price); void nested(Catalogue catalogue); }
};";

const TICK: &str = r#"{"symbol":"ICE","price":101.25}"#;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, case, repetitions] = arguments.as_slice()
        && let Ok(repetitions) = repetitions.parse()
    {
        play(case, repetitions);
        return ExitCode::SUCCESS;
    }
    let repetitions = Repetitions {
        few: 10,
        many: 60,
        rounds: 1,
    };
    let cases = [
        "tick/to_json",
        "nested/to_json",
        "tick/from_json",
        "nested/from_json",
        "tick/field",
        "nested/field",
        "tick/to_tree",
        "nested/to_tree",
        "tick/to_value",
        "nested/to_value",
    ];
    let cases = cases.map(|case| (case.to_owned(), vec![case.to_owned()]));
    repetitions.count(cases.to_vec())
}

fn play(case: &str, repetitions: u64) {
    let contract = Contract::new(check_source(SLICE).model);
    let (name, direction) = case.split_once('/').expect("a value and a direction");
    let operation = contract.operation(name).expect("the contract has it");
    let text = match name {
        "tick" => TICK.to_owned(),
        _ => nested(),
    };
    let bytes = encode(&operation, &text);
    assert_eq!(
        to_json(&operation, &bytes),
        text,
        "the case is a round trip"
    );
    let path = match name {
        "tick" => "price",
        // Behind a string, a number and three entries.
        _ => "catalogue.entries[3].place.y",
    };
    let field = operation.field(path).expect("the path leads to a number");
    match direction {
        "field" => (0..repetitions).for_each(|_| {
            let found = black_box(&field).read(black_box(&bytes));
            black_box(found).expect("our own bytes");
        }),
        "to_tree" => (0..repetitions).for_each(|_| {
            let tree = operation.decode_request(black_box(&bytes));
            drop(black_box(tree.expect("our own bytes")));
        }),
        "to_value" => (0..repetitions).for_each(|_| {
            let mut writer = ValueWriter::default();
            let walked = operation.request_to(black_box(&bytes), &mut writer);
            walked.expect("our own bytes");
            drop(black_box(writer.into_value()));
        }),
        "to_json" => {
            (0..repetitions).for_each(|_| drop(black_box(to_json(&operation, black_box(&bytes)))))
        }
        _ => {
            (0..repetitions).for_each(|_| drop(black_box(encode(&operation, black_box(&text)))));
        }
    }
}

fn to_json(operation: &Operation, bytes: &[u8]) -> String {
    operation.request_text(bytes).expect("our own bytes")
}

fn encode(operation: &Operation, text: &str) -> Vec<u8> {
    let json = parse_json(text).expect("JSON");
    let bytes = operation.encode_request(&json, EncodingVersion::V1_1);
    bytes.expect("it fits the parameters")
}

/// A catalogue of 20 entries.
fn nested() -> String {
    let entries: Vec<String> = (0..20)
        .map(|index| {
            format!(
                r#"{{"title":"Entry number {index}","year":{},"isOpen":{},"place":{{"x":{index}.5,"y":-1.25,"z":0.001}},"weights":[0.1,0.25,1000.0,3.14159]}}"#,
                1990 + index,
                index % 2 == 0
            )
        })
        .collect();
    let entries = entries.join(",");
    format!(r#"{{"catalogue":{{"name":"Catalogue","id":123456789012,"entries":[{entries}]}}}}"#)
}
