//! How many instructions values take to become bytes and to come back: a figure that does not depend
//! on what else the machine does, so that a regression of a few per cent is seen.
//!
//! `cargo bench -p floe-wire --bench instructions` runs each case in callgrind (Debian package
//! `valgrind`) and compares with `counts.txt` beside this file; `UPDATE=1` writes that file instead,
//! as a new compiler asks for. The process runs itself with a case and a number of repetitions: the
//! difference of two numbers leaves out what a process does besides.

#[path = "../codec/values.rs"]
mod values;

mod counts;

use std::hint::black_box;
use std::process::ExitCode;

use floe_wire::encoding::Packed;
use floe_wire::{Decode, Encode};

use counts::Repetitions;
use values::{EntryView, OuterView, decode, decode_into, encode, encoded, view};

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
    let cases = cases().into_iter();
    repetitions.count(cases.map(|case| (case.clone(), vec![case])).collect())
}

fn cases() -> Vec<String> {
    let directions = ["encode", "decode", "decode_into", "view"];
    let values = ["bytes", "doubles", "nested", "text", "bibliography"];
    let cases = values.map(|value| directions.map(|direction| format!("{value}/{direction}")));
    cases.into_iter().flatten().collect()
}

fn play(case: &str, repetitions: u64) {
    let (value, direction) = case.split_once('/').unwrap_or((case, ""));
    match value {
        "bytes" => repeat(direction, repetitions, &values::bytes(), |bytes| {
            black_box(view::<&[u8]>(bytes));
        }),
        "doubles" => repeat(direction, repetitions, &values::doubles(), |bytes| {
            black_box(view::<Packed<'_, f64>>(bytes));
        }),
        "nested" => repeat(direction, repetitions, &values::nested(), |bytes| {
            black_box(view::<Vec<OuterView<'_>>>(bytes));
        }),
        "text" => repeat(direction, repetitions, &values::text(), |bytes| {
            black_box(view::<Vec<&str>>(bytes));
        }),
        "bibliography" => repeat(direction, repetitions, &values::bibliography(), |bytes| {
            black_box(view::<Vec<EntryView<'_>>>(bytes));
        }),
        other => panic!("expected a case of this benchmark, got {other}"),
    }
}

fn repeat<T: Encode + Decode>(direction: &str, repetitions: u64, value: &T, view: impl Fn(&[u8])) {
    let bytes = encoded(value);
    let mut buffer = bytes.clone();
    let mut old: T = decode(&bytes);
    for _ in 0..repetitions {
        match direction {
            "encode" => encode(black_box(value), &mut buffer),
            "decode" => drop(black_box(decode::<T>(black_box(&bytes)))),
            "decode_into" => decode_into(&mut old, black_box(&bytes)),
            _ => view(black_box(&bytes)),
        }
        black_box((&buffer, &old));
    }
}
