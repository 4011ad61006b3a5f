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
