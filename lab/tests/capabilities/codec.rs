//! The scenario `codec`, run for real and for a moment.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{LabError, Report, RunOptions, run};

fn options(contenders: &[&str], cases: &[&str]) -> RunOptions {
    RunOptions {
        contenders: contenders.iter().map(|&name| name.to_owned()).collect(),
        cases: cases.iter().map(|&name| name.to_owned()).collect(),
        rounds: 2,
        round_time: Duration::from_millis(10),
        quick: true,
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    }
}

/// Encoded lengths by case, after checking that every contender did every case.
fn lengths(report: &Report, contenders: &[&str]) -> Vec<(String, u64)> {
    let mut lengths = Vec::new();
    for results in report.results.chunks(contenders.len()) {
        let names: Vec<_> = results.iter().map(|result| &*result.contender).collect();
        assert_eq!(names, contenders);
        for result in results {
            assert_eq!((result.unit, result.rounds.len()), ("us", 2), "{result:?}");
            assert!(0.0 < result.p50 && result.p50 <= result.p99, "{result:?}");
            assert_eq!(result.encoded_len, results[0].encoded_len, "{result:?}");
        }
        let len = results[0]
            .encoded_len
            .expect("the length of what was encoded");
        lengths.push((results[0].case.clone(), len));
    }
    lengths
}

#[test]
fn floe_is_measured_beside_one_copy_of_the_same_bytes() {
    let options = options(&["floor", "floe"], &["text", "bytes-1000/decode"]);
    let report = run("codec", &options, &mut |_| ()).unwrap();
    assert_eq!(
        lengths(&report, &["floor", "floe"]),
        [
            ("bytes-1000/decode".to_owned(), 1_005),
            ("text/encode".to_owned(), 6_917),
            ("text/decode".to_owned(), 6_917),
        ]
    );
    let ratios = report.ratios.iter();
    let ratios: Vec<_> = ratios.map(|ratio| (&*ratio.of, &*ratio.to)).collect();
    assert_eq!(ratios, [("floe", "floor"); 3]);
}

#[test]
fn floe_reads_views_of_what_it_encodes() {
    let cases = [
        "bytes-1000",
        "doubles-1000",
        "nested",
        "text",
        "bibliography",
    ];
    let report = run("codec", &options(&["floe-view"], &cases), &mut |_| ()).unwrap();
    let lengths = lengths(&report, &["floe-view"]);
    let lengths: Vec<_> = lengths.iter().map(|(_, len)| *len).collect();
    assert_eq!(lengths, [1_005, 8_005, 66_565, 6_917, 13_251]);
}

#[test]
fn floe_and_ice_encode_every_type_to_the_same_bytes() {
    // A run fails if their bytes differ.
    let cases = [
        "bytes-1000/encode",
        "bytes-65536/encode",
        "doubles-1000/encode",
        "nested/encode",
        "text/encode",
        "bibliography/encode",
    ];
    match run("codec", &options(&["floe", "ice"], &cases), &mut |_| ()) {
        Ok(report) => {
            let lengths = lengths(&report, &["floe", "ice"]);
            let lengths: Vec<_> = lengths.iter().map(|(_, len)| *len).collect();
            assert_eq!(lengths, [1_005, 65_541, 8_005, 66_565, 6_917, 13_251]);
        }
        Err(LabError::Unavailable { contender, reason }) => {
            assert!(
                contender == "ice" && reason.contains("libzeroc-ice-dev"),
                "{reason}"
            );
            eprintln!("skipped: {reason}");
        }
        Err(error) => panic!("{error}"),
    }
}
