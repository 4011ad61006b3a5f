//! `floe ping`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::command::run;
use crate::echo::Echo;
use crate::hub::{Hub, Running};
use crate::usage::silent_listener;

/// Calls without a pause, three of each kind.
const SHORT: [&str; 6] = ["-n", "3", "--interval", "0", "--warm-up", "1"];

fn ping(proxy: &str, arguments: &[&str]) -> crate::command::Ran {
    run(&[&["ping", proxy], arguments].concat())
}

/// Lines of JSON.
fn rows(text: &str) -> Vec<Json> {
    let row = |line| serde_json::from_str(line).expect("each line is JSON");
    text.lines().map(row).collect()
}

#[test]
fn any_object_is_measured_with_what_every_object_has() {
    let hub = Hub::start();
    let ran = ping(&hub.manager, &["-n", "50", "--interval", "0"]).ended(0);
    let row = ran.json();
    assert_eq!(row["bytes"], 0);
    assert_eq!(row["count"], 50);
    let time = |key: &str| row[key].as_f64().expect("a number");
    let order = ["min_us", "p50_us", "p99_us", "max_us"].map(time);
    assert!(order.is_sorted() && order[0] > 0.0, "{row}");
    let mean = time("mean_us");
    assert!((order[0]..=order[3]).contains(&mean), "{row}");
}

#[test]
fn each_size_is_sent_and_comes_back() {
    let echo = Echo::start(&[]);
    let sizes = ["--sizes", "16..64,1M", "-o", "jsonl"];
    let ran = ping(&echo.proxy, &[&SHORT[..], &sizes].concat()).ended(0);
    let rows = rows(&ran.stdout);
    let bytes: Vec<_> = rows.iter().map(|row| row["bytes"].clone()).collect();
    assert_eq!(bytes, [16, 32, 64, 1_048_576]);
    assert!(rows.iter().all(|row| row["count"] == 3), "{rows:?}");
}

#[test]
fn every_format_has_the_same_figures() {
    let echo = Echo::start(&[]);
    let with = |format| {
        let arguments = ["--sizes", "16,32", "-o", format];
        let ran = ping(&echo.proxy, &[&SHORT[..], &arguments].concat());
        ran.ended(0).stdout
    };
    let table = with("table");
    let mut lines = table.lines();
    let heading = lines.next().expect("a heading");
    let columns = "BYTES  COUNT  MIN US  MEAN US  MAX US  STDDEV US  P50 US  P99 US";
    let words = |line: &str| line.split("  ").filter(|it| !it.is_empty()).count();
    assert_eq!(words(heading), words(columns), "{table}");
    assert_eq!(lines.map(words).collect::<Vec<_>>(), [8, 8], "{table}");
    let json: Json = serde_json::from_str(&with("json")).expect("one value");
    assert_eq!(json.as_array().map(Vec::len), Some(2), "{json}");
    let raw = with("raw");
    let means: Vec<f64> = raw.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(means.len(), 2, "{raw}");
}

#[test]
fn the_plot_has_a_mark_for_each_size_and_an_old_one_stays_until_there_is_a_new_one() {
    let echo = Echo::start(&[]);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ping.svg");
    std::fs::write(&path, "old ".repeat(100_000)).expect("the target folder can be written");
    let plot = ["--sizes", "16..128", "--svg", path.to_str().expect("text")];
    ping("x:tcp -h 127.0.0.1 -p 1", &plot).ended(5);
    let text = || std::fs::read_to_string(&path).expect("it is there");
    assert!(text().starts_with("old"));
    ping(&echo.proxy, &[&SHORT[..], &plot].concat()).ended(0);
    let svg = text();
    assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    assert!(svg.contains("floe ping Floe/Echo"), "{svg}");
}

#[test]
fn a_plot_that_cannot_be_written_is_said_before_anything_is_measured() {
    let missing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nowhere/ping.svg");
    let svg = missing.to_str().expect("text");
    ping("x:tcp -h 127.0.0.1 -p 1", &["--sizes", "16", "--svg", svg])
        .ended(2)
        .said("cannot write `")
        .said("nowhere/ping.svg");
    ping("x:tcp -p 1", &["--svg", svg]).ended(2).said("--sizes");
}

#[test]
fn a_signal_ends_it_with_what_was_measured_so_far() {
    let hub = Hub::start();
    let endless = ["-n", "1000000", "--interval", "0", "-o", "jsonl"];
    let process = Running::start(&[&["ping", &hub.manager], &endless[..]].concat());
    // Each call waits once; what it does before the first takes fewer waits than this.
    process.wait_for_switches(500);
    process.signal("INT");
    let ended = process.end().ended(130);
    let rows = rows(&ended.stdout);
    assert_eq!(rows.len(), 1, "{ended:?}");
    let count = rows[0]["count"].as_u64().expect("a number");
    assert!((1..1_000_000).contains(&count), "{count}");
}

#[test]
fn an_object_without_the_operation_is_told_what_it_must_have() {
    let hub = Hub::start();
    ping(&hub.manager, &["--sizes", "16"])
        .ended(4)
        .said("operation does not exist")
        .said("contracts/Floe/Echo.ice")
        .said("`floe echo` serves one");
}

#[test]
fn a_message_longer_than_the_peer_takes_is_explained_and_what_went_before_is_shown() {
    let echo = Echo::start(&["--max-size", "64k"]);
    let sizes = ["--sizes", "16,32k,128k"];
    let ran = ping(&echo.proxy, &[&SHORT[..], &sizes].concat())
        .ended(1)
        .said("a call with 128 kB: ")
        .said("Ice.MessageSizeMax")
        .said("--max-size");
    assert_eq!(rows(&ran.stdout).len(), 2, "{ran:?}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for mode in ["-o", "-O", "-d", "-D"] {
        ping(&format!("x {mode}:tcp -h 127.0.0.1 -p 1"), &[])
            .ended(2)
            .said("is not twoway");
    }
    for (sizes, problem) in [
        ("20", "a multiple of 8 B"),
        ("1M..16", "the smaller size first"),
        ("129M", "up to 128 MB"),
        ("many", "expected a size"),
    ] {
        ping("x:tcp -p 1", &["--sizes", sizes])
            .ended(2)
            .said(problem);
    }
    ping("x:tcp -p 1", &["-n", "0"]).ended(2).said("--count");
}

#[test]
fn a_peer_that_never_answers_is_waited_for_as_long_as_was_said() {
    let (_listener, proxy) = silent_listener();
    let start = Instant::now();
    ping(&proxy, &["--timeout", "200ms"]).ended(3);
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn the_interval_is_kept_between_calls_and_not_behind_the_last() {
    let hub = Hub::start();
    let start = Instant::now();
    let calls = ["-n", "3", "--interval", "100ms", "--warm-up", "0"];
    ping(&hub.manager, &calls).ended(0);
    assert!(start.elapsed() >= Duration::from_millis(200));
    let start = Instant::now();
    ping(&hub.manager, &["-n", "1", "--interval", "1h"]).ended(0);
    assert!(start.elapsed() < Duration::from_secs(600));
}
