//! How small messages get: the table of `docs/guides/compression.md`, worked out again.

use std::fmt::Write;
use std::{fs, iter};

use floe_dynamic::{Contract, PayloadType};
use floe_slice::check_source;
use floe_tests::workspace;
use floe_wire::EncodingVersion;
use floe_wire::compression::{Compression, Compressor, LEN_MIN_DEFAULT, StreamCompressor};
use floe_wire::message::{
    BatchWriter, Context, OperationMode, RequestHead, RequestId, RequestTarget,
};
use floe_wire::reference::Identity;
use serde_json::Value as Json;

/// How often the same value is sent.
const COUNT: usize = 20;

#[test]
fn the_sizes_in_the_guide_are_what_comes_out() {
    let rows = [("text", text()), ("bibliography", bibliography())]
        .map(|(name, value)| row(name, &value))
        .concat();
    let ticks = ticks();
    let lens = ticks.iter().map(|len| format!(" {} |", grouped(*len)));
    let lens = lens.collect::<String>();
    let rows = format!("{rows}| 1,000 events, in batches of {TICKS_IN_BATCH} |{lens}\n");
    let [plain, bzip2, .., columns] = ticks;
    assert!(columns * 8 < plain && columns * 3 < bzip2, "{ticks:?}");
    println!("{rows}");
    let guide = read("docs/guides/compression.md");
    assert!(
        guide.contains(&rows),
        "put these rows into the guide:\n{rows}"
    );
}

#[test]
fn a_bibliography_with_one_entry_changed_takes_few_bytes_of_a_stream() {
    let mut entries = bibliography_entries();
    let mut versions = vec![encoded_bibliography(&entries)];
    for number in 0..8 {
        let entry = &mut entries[9 * number];
        entry["title"] = format!("Another Title of Edition {number}").into();
        entry["year"] = (2001 + number).into();
        versions.push(encoded_bibliography(&entries));
    }
    let versions = versions.iter().map(Vec::as_slice);
    let lens = sent(versions, Some(Compression::ZstdStream));
    assert!(lens[1..].iter().all(|len| *len < 200), "{lens:?}");
}

/// Two lines of the table: the first message, and all of them.
fn row(name: &str, value: &[u8]) -> String {
    let all = [
        None,
        Some(Compression::Bzip2),
        Some(Compression::Zstd),
        Some(Compression::Brotli),
        Some(Compression::ZstdStream),
        Some(Compression::ZstdBatch),
    ]
    .map(|compression| sent(iter::repeat_n(value, COUNT), compression));
    let mut row = format!("| {name}, one message |");
    for sizes in &all {
        write!(row, " {} |", grouped(sizes[0])).expect("a text grows");
    }
    write!(row, "\n| {name}, {COUNT} messages |").expect("a text grows");
    for sizes in &all {
        write!(row, " {} |", grouped(sizes.iter().sum())).expect("a text grows");
    }
    writeln!(row, "\n| {name}, a batch of {COUNT} | {} |", batches(value)).expect("a text grows");
    row
}

/// The lengths of the messages with these values, one after another on a connection.
fn sent<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    compression: Option<Compression>,
) -> Vec<usize> {
    let mut stream = StreamCompressor::default();
    let ids = (1..).map(RequestId);
    ids.zip(values)
        .map(|(id, value)| {
            let mut message = Vec::new();
            with_header(|header| header.write_with(&mut message, id, |it| encapsulate(it, value)))
                .expect("short enough");
            if let Some(compression) = compression {
                Compressor::new(compression).compress(&mut message, 0);
                stream.compress(&mut message, 0, LEN_MIN_DEFAULT);
            }
            message.len()
        })
        .collect()
}

/// How many events share a message on a slow line, more or less.
const TICKS_IN_BATCH: i64 = 250;

/// The lengths of all events `tick(long number)` to a client of a gateway together, with no compression and with each.
fn ticks() -> [usize; 6] {
    let identity = Identity::with_category("listener", "5p`:s~[gX0R4i(Q&w8/T");
    let batch = |numbers: std::ops::Range<i64>| {
        let mut batch = BatchWriter::default();
        for number in numbers {
            let header = RequestHead {
                target: &RequestTarget::new(&identity, ""),
                operation: "tick",
                mode: OperationMode::Normal,
                context: &Context::new(),
            };
            let pushed = batch.push(&header, usize::MAX, |encoder| {
                encapsulate(encoder, &number.to_le_bytes());
            });
            pushed.expect("short enough");
        }
        batch.finish().expect("some requests")
    };
    let starts = (0..1000).step_by(TICKS_IN_BATCH as usize);
    let batches: Vec<_> = starts
        .map(|start| batch(start..start + TICKS_IN_BATCH))
        .collect();
    let mut lens = [0; 6];
    lens[0] = batches.iter().map(Vec::len).sum();
    for (len, compression) in lens[1..].iter_mut().zip(Compression::ALL) {
        let mut stream = StreamCompressor::default();
        let mut all = batches.concat();
        Compressor::new(compression).compress(&mut all, 0);
        stream.compress(&mut all, 0, LEN_MIN_DEFAULT);
        *len = all.len();
    }
    lens
}

/// All in one batch, with each compression.
fn batches(value: &[u8]) -> String {
    let mut batch = BatchWriter::default();
    for _ in 0..COUNT {
        with_header(|header| batch.push(header, usize::MAX, |it| encapsulate(it, value)))
            .expect("short enough");
    }
    let message = batch.finish().expect("some requests");
    let mut lens = vec![grouped(message.len())];
    for compression in Compression::ALL {
        let mut message = message.clone();
        Compressor::new(compression).compress(&mut message, 0);
        StreamCompressor::default().compress(&mut message, 0, LEN_MIN_DEFAULT);
        lens.push(grouped(message.len()));
    }
    lens.join(" | ")
}

fn with_header<T>(write: impl FnOnce(&RequestHead<'_>) -> T) -> T {
    write(&RequestHead {
        target: &RequestTarget::new(&Identity::new("sink"), ""),
        operation: "take",
        mode: OperationMode::Normal,
        context: &Context::new(),
    })
}

fn encapsulate(encoder: &mut floe_wire::Encoder<'_>, value: &[u8]) {
    encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(value));
}

/// The text, as a sequence of its lines.
fn text() -> Vec<u8> {
    let text = read("lab/data/christmas-carol.txt");
    encoded("FloeLab::Lines", &text.lines().collect())
}

/// The bibliography, as a sequence of its entries.
fn bibliography() -> Vec<u8> {
    encoded_bibliography(&bibliography_entries())
}

fn bibliography_entries() -> Vec<Json> {
    let json = read("lab/data/bibliography.json");
    serde_json::from_str(&json).expect("the data file is a JSON array")
}

fn encoded_bibliography(entries: &[Json]) -> Vec<u8> {
    encoded("FloeLab::Bibliography", &entries.into())
}

fn encoded(type_name: &str, json: &Json) -> Vec<u8> {
    let slice = read("lab/contracts/Codec.ice");
    let contract = Contract::new(check_source(slice.as_bytes()).model);
    let payload = PayloadType::named(&contract, type_name, None).expect("a type of the contract");
    let encoded = payload.encode(json, EncodingVersion::V1_1, None);
    encoded.expect("the data fits the contract")
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace::root().join(path)).expect(path)
}

/// 13251 as 13,251.
fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}
