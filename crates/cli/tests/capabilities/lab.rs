//! `floe lab`; what it measures is tried in the lab itself.

use crate::command::run;

#[test]
fn scenarios_are_listed_with_cases_and_contenders() {
    let json = run(&["lab", "list", "-o", "json"]).ended(0).json();
    assert_eq!(json[0]["scenario"], "rpc");
    let contenders = json[0]["contenders"].as_array().expect("a list");
    assert!(contenders.contains(&"floor".into()), "{json}");
}

#[test]
fn a_scenario_runs_and_reports_figures_and_ratios() {
    let quick = [
        "lab",
        "run",
        "rpc",
        "--quick",
        "--seconds",
        "0.02",
        "--rounds",
        "2",
    ];
    let chosen = [
        "--contenders",
        "floor,floe",
        "--case",
        "twoway",
        "-o",
        "json",
    ];
    let json = run(&[&quick[..], &chosen].concat()).ended(0).json();
    assert_eq!(json["scenario"], "rpc");
    let names: Vec<_> = json["results"].as_array().expect("a list").iter().collect();
    assert_eq!(names.len(), 2, "{json}");
    for result in names {
        assert_eq!(result["rounds"].as_array().map(Vec::len), Some(2), "{json}");
    }
    assert_eq!(json["ratios"][0]["of"], "floe");
}

#[test]
fn what_the_lab_does_not_have_is_refused_with_what_it_has() {
    run(&["lab", "run", "rcp"])
        .ended(2)
        .said("expected a scenario of rpc");
    run(&["lab", "run", "rpc", "--contenders", "flow"])
        .ended(2)
        .said("floor, floe");
    run(&["lab", "run", "rpc", "--rounds", "0"])
        .ended(2)
        .said("--rounds");
    run(&["lab", "run", "rpc", "--seconds", "0"])
        .ended(2)
        .said("--seconds");
}

/// Runs a round of a case of events, and gives the results.
fn events(case: &str, contenders: &str) -> Vec<serde_json::Value> {
    let command = [
        "lab",
        "run",
        "events",
        "--case",
        case,
        "--contenders",
        contenders,
        "--rounds",
        "1",
        "--seconds",
        "0.05",
        "-o",
        "json",
    ];
    let json = run(&command).ended(0).json();
    json["results"].as_array().expect("a list").clone()
}

#[test]
fn events_reach_every_subscriber_of_the_hub_in_order() {
    for case in ["latency-1-2", "twoway-2-2", "batched-2-2"] {
        let results = events(case, "floor,floe");
        assert_eq!(results.len(), 2, "{results:?}");
        for result in results {
            let unit = if case.starts_with("latency") {
                "us"
            } else {
                "events/s"
            };
            assert_eq!(result["unit"], unit);
            assert!(result["mean"].as_f64() > Some(0.0), "{result}");
            assert!(
                result["service"]["resident_mb"].as_f64() > Some(0.1),
                "{result}"
            );
        }
    }
}

#[test]
fn events_reach_every_subscriber_of_icestorm_in_order() {
    let available = std::process::Command::new("icebox")
        .arg("--version")
        .output();
    if !available.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: there is no icebox: cargo xtask install");
        return;
    }
    for case in ["latency-1-2", "twoway-2-2", "batched-2-2"] {
        let results = events(case, "icestorm");
        assert!(results[0]["mean"].as_f64() > Some(0.0), "{results:?}");
    }
}
