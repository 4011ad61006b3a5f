//! Recordings of `floe record`, read by the `mcap` package of Python, which is not ours. `cargo xtask test` and
//! `cargo xtask interop-mcap` provide it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::process::Command;

use floe_tests::hub::Hub;
use floe_tests::peer::Peer;
use floe_tests::skip;
use floe_tests::workspace;
use serde_json::{Value as Json, json};

const SLICE: &str = "module Demo { interface Sensor { void sampled(int number); } };\n";

#[test]
fn python_reads_what_floe_records() {
    let Some(python) = python_or_skip() else {
        return;
    };
    let folder = env::temp_dir().join(format!("floe-mcap-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("there is room");
    let slice = folder.join("Sensor.ice");
    fs::write(&slice, SLICE).expect("there is room");
    let file = folder.join("sensor.mcap");
    let hub = Hub::start(&[]);
    let floe = |arguments: &[&str]| {
        let mut command = Command::new(workspace::program("floe"));
        command
            .args(arguments)
            .args(["--hub", &hub.manager(), "--slice"])
            .arg(&slice);
        command
    };
    let record = [
        "record",
        "heat",
        "wind",
        "--create",
        "-n",
        "3",
        "--interface",
        "::Demo::Sensor",
        "--as",
        "ice",
        "-o",
        "jsonl",
    ];
    let mut recorder = Peer::start("floe record", floe(&record).arg("--file").arg(&file));
    recorder.errors_with("recording topic");
    for (topic, number) in [("heat", 1), ("wind", 2), ("heat", 3)] {
        let json = json!({"number": number}).to_string();
        let published = floe(&[
            "pub",
            topic,
            "sampled",
            &json,
            "--request-context",
            "unit=K",
        ])
        .output();
        let published = published.expect("it was built");
        assert!(published.status.success(), "{published:?}");
    }
    let summary: Json = serde_json::from_str(&recorder.line()).expect("it is JSON");
    assert_eq!(summary["recorded"], 3);
    let read = Command::new(python)
        .arg(workspace::root().join("tests/interop/mcap/read.py"))
        .arg(&file)
        .output()
        .expect("the Python can be started");
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    let lines = String::from_utf8(read.stdout).expect("it is JSON");
    let lines: Vec<Json> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect();
    let message = |topic: &str, sequence: u32, number: u8| {
        // The operation, its mode, one entry of the context, and an encapsulation of a number.
        let data = format!(
            "0773616d706c6564{mode}0104756e6974014b0a000000{encoding}{number:02x}000000",
            mode = "00",
            encoding = "0101"
        );
        json!({
            "topic": topic, "sequence": sequence, "data": data, "encoding": "ice-event",
            "schema": ["::Demo::Sensor", "slice"],
        })
    };
    assert_eq!(
        lines[..3],
        [
            message("heat", 0, 1),
            message("wind", 0, 2),
            message("heat", 1, 3)
        ]
    );
    assert!(
        lines[3]["text"]
            .as_str()
            .is_some_and(|text| text.contains(SLICE)),
        "{lines:?}"
    );
    assert_eq!(lines[3]["lost"], json!({"heat": "0", "wind": "0"}));
    assert_eq!(
        (
            lines[3]["count"].as_u64(),
            lines[3]["is_in_order"].as_bool()
        ),
        (Some(3), Some(true))
    );
    let _ = fs::remove_dir_all(&folder);
}

/// The Python that can import mcap. The gate says by an empty name that PyPI is out of reach, which fails nothing.
fn python_or_skip() -> Option<OsString> {
    let python = env::var_os("FLOE_MCAP_PYTHON");
    if python.is_none() {
        skip::report(
            "mcap",
            "FLOE_MCAP_PYTHON names no Python: cargo xtask interop-mcap provides one",
        );
    }
    python.filter(|python| !python.is_empty())
}
