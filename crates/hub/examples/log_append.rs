//! How fast a log on disk takes events, beside the floor: the same bytes by `write` and `fdatasync` on the same file system.
//!
//! ```text
//! cargo run --release -p floe-hub --example log_append -- FOLDER [GIGABYTES]
//! ```
//!
//! Each figure is the median of interleaved rounds, with the ratio to the floor. With GIGABYTES it also fills a log of that
//! size, and opens and reads it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use floe::encoding::Encoder;
use floe::forwarding::{Events, EventsBuilder};
use floe::{EncodingVersion, OperationMode};
use floe_hub::log::{Append, EventLog, EventTime, Level, LogSettings, ReadLimits, SegmentLog};
use tokio::runtime::Runtime;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(
        arguments
            .next()
            .expect("usage: log_append FOLDER [GIGABYTES]"),
    );
    let gigabytes: Option<u64> = arguments.next().map(|text| text.parse().expect("a number"));
    let runtime = Runtime::new().expect("there are threads");
    fs::create_dir_all(&folder).expect("the folder can be made");
    for (name, count, batch, in_flight) in [
        ("one at a time", 1000, 1, 1),
        ("100 in flight", 30_000, 1, 100),
        ("batches of 1000", 300, 1000, 1),
    ] {
        compare(&folder, &runtime, name, count, batch, in_flight);
    }
    if let Some(gigabytes) = gigabytes {
        fill_and_open(&folder, &runtime, gigabytes);
    }
}

/// Compares the log with its floor: as many writes as the log has turns at most, of the bytes of as many records.
fn compare(folder: &Path, runtime: &Runtime, name: &str, count: u64, batch: u64, in_flight: u64) {
    let mut rates = Vec::new();
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        let place = folder.join(format!("round-{round}"));
        let log = open(&place, runtime);
        let start = Instant::now();
        append_all(&log, count, batch, in_flight);
        let elapsed = start.elapsed();
        let bytes = log.contents().bytes;
        log.close();
        drop(log);
        let _ = fs::remove_dir_all(&place);
        let floor = floor(folder, bytes * in_flight / count, count / in_flight);
        let rate = |elapsed: Duration| (count * batch) as f64 / elapsed.as_secs_f64();
        rates.push((rate(elapsed), rate(floor)));
        ratios.push(rate(elapsed) / rate(floor));
    }
    ratios.sort_by(f64::total_cmp);
    rates.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (log, floor) = rates[ROUNDS / 2];
    println!(
        "{name}: {log:.0} events/s, floor {floor:.0}; ratio {:.2} ({:.2} to {:.2})",
        ratios[ROUNDS / 2],
        ratios[0],
        ratios[ROUNDS - 1]
    );
}

/// So many writes of so many bytes, each followed by a sync.
fn floor(folder: &Path, len: u64, count: u64) -> Duration {
    let path = folder.join("floor");
    let mut file = File::create(&path).expect("the file can be made");
    let bytes = vec![0xA5; len as usize];
    file.sync_all().expect("it can be synced");
    let start = Instant::now();
    for _ in 0..count {
        file.write_all(&bytes).expect("there is room");
        file.sync_data().expect("it can be synced");
    }
    let elapsed = start.elapsed();
    let _ = fs::remove_file(&path);
    elapsed
}

fn append_all(log: &SegmentLog, count: u64, batch: u64, in_flight: u64) {
    let events = events(batch);
    let (sender, receiver) = mpsc::channel();
    for at in 0..count {
        if at >= in_flight {
            receiver.recv().expect("it is answered");
        }
        let sender = sender.clone();
        let append = Append {
            is_forwarded: false,
            events: events.clone(),
            time: EventTime::now(),
            origin: None,
        };
        let done = move |result: Result<_, _>| {
            result.expect("it is kept");
            let _ = sender.send(());
        };
        log.append(append, Level::Synced, Box::new(done));
    }
    for _ in 0..in_flight.min(count) {
        receiver.recv().expect("it is answered");
    }
}

fn fill_and_open(folder: &Path, runtime: &Runtime, gigabytes: u64) {
    let place = folder.join("filled");
    let log = open(&place, runtime);
    let start = Instant::now();
    while log.contents().bytes < gigabytes << 30 {
        append_all(&log, 1000, 1000, 4);
    }
    let events = log.contents().next - 1;
    println!(
        "filled {gigabytes} GiB with {events} events in {:.1?}",
        start.elapsed()
    );
    // The process ends here as far as the log is concerned: it is not closed.
    drop(log);
    let start = Instant::now();
    let log = open(&place, runtime);
    println!(
        "opened it in {:.1?}, the last file is {} bytes",
        start.elapsed(),
        last_len(&place)
    );
    assert_eq!(log.contents().next - 1, events);
    let start = Instant::now();
    let (mut from, mut bytes) = (1, 0);
    while from <= events {
        let batch = log.read(
            from,
            &ReadLimits {
                events: 100_000,
                ..ReadLimits::default()
            },
        );
        let batch = batch.expect("it can be read");
        bytes += batch.events.map_or(0, |events| events.byte_len());
        from = batch.next;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "read it with {:.0} events/s, {:.0} MB/s",
        events as f64 / seconds,
        bytes as f64 / seconds / 1e6
    );
    let start = Instant::now();
    let _ = log.read(events / 2, &ReadLimits::default());
    println!("found an event in the middle in {:.1?}", start.elapsed());
    drop(log);
    let _ = fs::remove_dir_all(&place);
}

fn last_len(place: &Path) -> u64 {
    let names = fs::read_dir(place).expect("it is there").flatten();
    let last = names
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some())
        .max();
    let last = last.and_then(|path| OpenOptions::new().read(true).open(path).ok());
    last.and_then(|file| file.metadata().ok())
        .map_or(0, |metadata| metadata.len())
}

fn open(place: &Path, runtime: &Runtime) -> SegmentLog {
    let handle = runtime.handle().clone();
    SegmentLog::open(place, LogSettings::default(), handle).expect("it can be opened")
}

/// Events with 100 bytes of parameters each.
fn events(count: u64) -> Events {
    let mut builder = EventsBuilder::default();
    for _ in 0..count {
        let write = |buffer: &mut Vec<u8>| {
            let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
            encoder.string("tick");
            encoder.put(&OperationMode::Normal);
            encoder.size(0);
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(&[7; 100]));
            encoder.finish().expect("it is short");
            Ok(())
        };
        builder.push_with(write).expect("it is an event");
    }
    builder.finish().expect("there is an event")
}

const ROUNDS: usize = 7;
