//! `floe lab`; what it measures is tried in the lab itself.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::command::{Ran, floe, run};

#[test]
fn scenarios_are_listed_with_cases_and_contenders() {
    let json = run(&["lab", "list", "-o", "json"]).ended(0).json();
    assert_eq!(json[0]["scenario"], "rpc");
    let contenders = json[0]["contenders"].as_array().expect("a list");
    assert!(contenders.contains(&"floor".into()), "{json}");
    let missing = json[0]["missing"].as_array().expect("a list");
    assert!(!missing.contains(&"floe".into()), "{json}");
    let cases = json[0]["cases"].as_array().expect("a list");
    assert!(cases.contains(&"twoway".into()), "{json}");
    let table = run(&["lab", "list", "-o", "table"]).ended(0).stdout;
    let line = table.lines().find(|line| line.starts_with("durable "));
    let line = line.expect("a line for each scenario");
    assert!(
        line.contains("how many events a service stores in a second"),
        "{line}"
    );
    let ready = run(&["lab", "setup", "--contenders", "floor", "-o", "json"])
        .ended(0)
        .json();
    assert_eq!(ready[0]["ready"], true, "{ready}");
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
fn without_network_namespaces_a_relay_is_the_slow_line_and_a_note_says_so() {
    let chosen = [
        "lab",
        "run",
        "slow",
        "--contenders",
        "floe",
        "--rounds",
        "1",
    ];
    let cases = ["--case", "text/56k", "--case", "text/1m", "-o", "json"];
    let mut lab = floe();
    // Without `ip` there are no namespaces.
    lab.args(chosen).args(cases).env("PATH", "");
    let ran = Ran::from(lab.output().expect("it starts"));
    let json = ran.ended(0).json();
    let results = json["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2, "{json}");
    for result in results {
        let bytes = |name: &str| result["carried"][name].as_f64().expect("a number");
        // The messages are those that a device counts.
        assert!(
            (6_987.0..7_100.0).contains(&bytes("message_bytes")),
            "{json}"
        );
        assert!(bytes("line_bytes") > bytes("message_bytes"), "{json}");
        // A line of 56 kbit/s carries 7 bytes in a millisecond, but for the first burst.
        if result["case"] == "text/56k" {
            assert!(result["min"].as_f64() > Some(500_000.0), "{json}");
        }
    }
    let notes = json["notes"].to_string();
    assert!(
        notes.contains("text/56k, text/1m: this system makes no such line"),
        "{json}"
    );
}

#[test]
fn a_dry_run_says_what_would_be_measured_and_measures_nothing() {
    let folder = std::env::temp_dir().join(format!("floe-dry-run-{}", std::process::id()));
    let results = folder.to_str().expect("a path in UTF-8");
    let words = ["lab", "run", "--all", "--dry-run", "--results", results];
    let chosen = ["--contenders", "floe", "-o", "json"];
    let ran = run(&[&words[..], &chosen].concat()).ended(0);
    let json = ran.json();
    let rpc = &json[0];
    assert_eq!(rpc["scenario"], "rpc");
    assert_eq!(rpc["contenders"], serde_json::json!(["floe"]));
    let cases = rpc["cases"].as_array().expect("a list").len() as u64;
    let rounds = rpc["rounds"].as_u64().expect("a number");
    assert_eq!(rpc["measurements"].as_u64(), Some(cases * rounds), "{rpc}");
    assert!(rpc["minutes"].as_f64() > Some(0.0), "{rpc}");
    assert!(!folder.exists());
}

/// A file of its own with the results of a short run.
fn results(name: &str) -> PathBuf {
    let shortly = ["--rounds", "3", "--seconds", "0.01", "-o", "json"];
    let chosen = [
        "lab",
        "run",
        "codec",
        "--case",
        "text",
        "--contenders",
        "floor,floe",
    ];
    let ran = run(&[&chosen[..], &shortly].concat()).ended(0);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, ran.stdout).expect("the target folder can be written");
    path
}

#[test]
fn results_become_a_page_and_a_summary() {
    let results = results("lab-report.json");
    let results = results.to_str().expect("the path is UTF-8");
    let html = format!("{results}.html");
    run(&["lab", "report", results, "--html", &html]).ended(0);
    let page = std::fs::read_to_string(&html).expect("the page was written");
    assert!(
        page.contains("text/decode") && page.ends_with("</html>\n"),
        "{page}"
    );
    let summary = run(&["lab", "report", results]).ended(0).stdout;
    assert!(summary.starts_with("# Floe beside its peers\n\n## Where Floe is behind\n"));
    assert!(summary.contains("| text/decode | floe | us |"), "{summary}");
    run(&[
        "lab",
        "report",
        results,
        "--pictures",
        env!("CARGO_TARGET_TMPDIR"),
    ])
    .ended(2)
    .said("expected reports of rpc or pubsub-rtt for --pictures, got none");
}

#[test]
fn two_runs_are_compared_and_a_slower_one_ends_with_100() {
    let path = results("lab-compare.json");
    let text = std::fs::read_to_string(&path).expect("the file was written");
    let before = path.to_str().expect("the path is UTF-8");
    let same = run(&["lab", "compare", before, before, "-o", "json"])
        .ended(0)
        .json();
    assert_eq!(same["regressions"], 0);
    assert!(
        same["changes"].as_array().is_some_and(|all| all.len() == 4),
        "{same}"
    );
    let mut slower: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    for result in slower["results"].as_array_mut().expect("a list") {
        if result["contender"] == "floe" {
            for round in result["rounds"].as_array_mut().expect("a list") {
                *round = serde_json::json!(round.as_f64().expect("a number") * 50.0);
            }
        }
    }
    let after = format!("{before}.slower.json");
    std::fs::write(&after, slower.to_string()).expect("the target folder can be written");
    let worse = run(&["lab", "compare", before, &after, "-o", "table"]).ended(100);
    assert!(worse.stdout.contains("2 regressions of Floe"), "{worse:?}");
    run(&["lab", "compare", &after, before]).ended(0);
    let other = before.replace("lab-compare", "lab-compare-nothing");
    slower["scenario"] = "rpc".into();
    std::fs::write(&other, slower.to_string()).expect("the target folder can be written");
    run(&["lab", "compare", before, &other])
        .ended(2)
        .said("in common, got none");
}

/// Processes of the lab whose parent is this one.
fn contenders_of(parent: u32) -> Vec<String> {
    let processes = std::fs::read_dir("/proc")
        .expect("there is /proc")
        .flatten();
    let of_parent = |path: &Path| {
        // It may have ended meanwhile.
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default().to_owned();
        fields.split(' ').nth(1) == Some(&parent.to_string())
    };
    let children = processes
        .map(|entry| entry.path())
        .filter(|path| of_parent(path));
    let names = children.map(|path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    });
    names.collect()
}

#[test]
fn a_run_that_is_interrupted_prints_what_it_has_and_leaves_no_process() {
    let endless = [
        "lab",
        "run",
        "rpc",
        "--case",
        "twoway",
        "--contenders",
        "floor,floe",
    ];
    let rounds = ["--rounds", "60000", "--seconds", "0.01", "-o", "json"];
    let mut command = floe();
    let command = command.args(endless).args(rounds);
    let lab = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the command was built with this test");
    // A round has four processes: when there were more, one has been measured.
    let mut seen = std::collections::BTreeSet::new();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while seen.len() < 6 {
        assert!(std::time::Instant::now() < deadline, "{seen:?}");
        seen.extend(contenders_of(lab.id()));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let killed = std::process::Command::new("kill")
        .args(["-INT", &lab.id().to_string()])
        .status();
    assert!(killed.is_ok_and(|status| status.success()));
    let ran = Ran::from(lab.wait_with_output().expect("it was started"));
    let json = ran.ended(130).said("interrupted").json();
    assert!(
        json["results"]
            .as_array()
            .is_some_and(|all| !all.is_empty()),
        "{json}"
    );
    let notes = json["notes"].to_string();
    assert!(notes.contains("the run was interrupted"), "{notes}");
    let is_left = |pid: &&String| {
        let command = std::fs::read(Path::new("/proc").join(pid).join("cmdline"));
        command.is_ok_and(|command| String::from_utf8_lossy(&command).contains("contender"))
    };
    let left: Vec<_> = seen.iter().filter(is_left).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn all_scenarios_run_into_a_folder_which_becomes_a_page() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab-all");
    let _ = std::fs::remove_dir_all(&folder);
    let folder = folder.to_str().expect("the path is UTF-8");
    let all = ["lab", "run", "--all", "--quick", "--rounds", "1"];
    // The only scenario of this contender is `codec`, so that the test does not take minutes.
    let chosen = [
        "--seconds",
        "0.01",
        "--contenders",
        "floe-view",
        "--results",
        folder,
        "-o",
        "json",
    ];
    let first = run(&[&all[..], &chosen].concat()).ended(0).json();
    assert_eq!(first["scenario"], "codec");
    // A second run of the same measures nothing again.
    let ran = run(&[&all[..], &chosen].concat());
    assert_eq!(ran.ended(0).json(), first);
    let more = [
        "lab",
        "run",
        "codec",
        "--rounds",
        "2",
        "--contenders",
        "floe-view",
        "--results",
        folder,
    ];
    run(&more)
        .ended(2)
        .said("holds another run")
        .said("--fresh");
    let html = format!("{folder}/report.html");
    run(&["lab", "report", folder, "--html", &html]).ended(0);
    assert!(std::fs::read_to_string(html).is_ok_and(|page| page.contains("floe-view")));
    run(&["lab", "run", "codec", "--fresh"])
        .ended(2)
        .said("expected --results or --all with --fresh");
    let again = [
        "--fresh",
        "--case",
        "text",
        "--seconds",
        "0.01",
        "-o",
        "json",
    ];
    let again = run(&[&more[..], &again].concat()).ended(0).json();
    assert_eq!(
        again["results"][0]["rounds"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn events_fan_out_through_the_hub_in_every_quality_that_it_has() {
    let short = [
        "--rounds",
        "1",
        "--seconds",
        "0.02",
        "--contenders",
        "floe",
        "-o",
        "json",
    ];
    let scale = ["lab", "run", "scale", "--case", "fan-3-4,fan-1-200"];
    let json = run(&[&scale[..], &short].concat()).ended(0).json();
    let results = json["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2, "{json}");
    assert!(
        results[1]["service"]["subscriber_kb"]
            .as_f64()
            .is_some_and(|kb| kb > 0.0),
        "{json}"
    );
    let qos = ["lab", "run", "qos"];
    let json = run(&[&qos[..], &short].concat()).ended(0).json();
    assert_eq!(json["results"].as_array().map(Vec::len), Some(10), "{json}");
    assert_eq!(
        json["left_out"][0]["cases"],
        serde_json::json!(["priority-latency"])
    );
}

#[test]
fn calls_go_through_a_gateway_which_keeps_a_thousand_sessions() {
    let chosen = ["lab", "run", "gateway", "--contenders", "floe-gateway"];
    let short = ["--rounds", "1", "--seconds", "0.02", "-o", "json"];
    let json = run(&[&chosen[..], &short].concat()).ended(0).json();
    let results = json["results"].as_array().expect("a list");
    let cases: Vec<_> = results.iter().map(|result| &result["case"]).collect();
    assert_eq!(cases, ["twoway", "ami-1000", "oneway", "sessions-1000"]);
    let of_session = &results[3]["service"]["subscriber_kb"];
    assert!(of_session.as_f64().is_some_and(|kb| kb > 0.0), "{json}");
}

#[test]
fn what_is_no_result_is_refused_with_its_place() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab-report-wrong.json");
    std::fs::write(&path, "{\"scenario\": 5}").expect("the target folder can be written");
    let path = path.to_str().expect("the path is UTF-8");
    run(&["lab", "report", path])
        .ended(2)
        .said("expected a text in report.scenario, got 5");
    run(&["lab", "report", "no-such-file"])
        .ended(2)
        .said("no-such-file");
    run(&["lab", "report"]).ended(2);
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
fn messages_go_through_two_topics_of_the_hub_and_back() {
    let chosen = ["lab", "run", "pubsub-rtt", "--case", "bytes-1024,nested-32"];
    let shortly = ["--contenders", "floor,floe", "--rounds", "1", "-o", "json"];
    let json = run(&[&chosen[..], &shortly].concat()).ended(0).json();
    let results = json["results"].as_array().expect("a list");
    let counts: Vec<_> = results
        .iter()
        .map(|result| result["count"].as_u64())
        .collect();
    assert_eq!(counts, [Some(700); 4], "{json}");
    assert!(
        results
            .iter()
            .all(|result| result["min"].as_f64() > Some(0.0)),
        "{json}"
    );
}

#[test]
fn events_are_stored_by_a_durable_topic_of_the_hub_and_replayed() {
    let cases = "inflight-1,inflight-100,batch-1000,replay-2500";
    let chosen = ["lab", "run", "durable", "--case", cases];
    let shortly = ["--contenders", "floe", "--rounds", "1"];
    let ended = ["--seconds", "0.05", "-o", "json"];
    let json = run(&[&chosen[..], &shortly, &ended].concat())
        .ended(0)
        .json();
    let results = json["results"].as_array().expect("a list");
    let means: Vec<_> = results.iter().map(|result| &result["mean"]).collect();
    assert_eq!(means.len(), 4, "{json}");
    assert!(means.iter().all(|mean| mean.as_f64() > Some(0.0)), "{json}");
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

/// A machine on which there is but one peer of the scenario `rpc`, of which each client fails.
struct FailingPeer {
    folder: PathBuf,
}

impl FailingPeer {
    /// The name of the folder must be its own in all tests.
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Of an earlier run.
        let _ = std::fs::remove_dir_all(&folder);
        let programs = folder.join("bin");
        std::fs::create_dir_all(&programs).expect("the target folder can be written");
        for name in ["sh", "cat", "chmod", "readlink", "basename"] {
            let found = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
            let found = found.iter().find(|path| path.exists()).expect(name);
            symlink(found, programs.join(name)).expect("the folder is new");
        }
        let library = folder.join("libzmq.so");
        std::fs::write(&library, "").expect("the folder is new");
        let compiler = format!(
            "#!/bin/sh\n\
             case \"$*\" in\n\
             -print-file-name=libzmq.so) echo {} ;;\n\
             -print-file-name=*) echo none ;;\n\
             *) cat > fresh <<'END'\n{PEER}END\nchmod +x fresh ;;\n\
             esac\n",
            library.display()
        );
        let path = programs.join("g++");
        std::fs::write(&path, compiler).expect("the folder is new");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("the file is ours");
        Self { folder }
    }

    /// Runs a moment of calls there.
    fn measure(&self, arguments: &[&str]) -> Ran {
        let shortly = [
            "lab",
            "run",
            "rpc",
            "--case",
            "twoway",
            "--rounds",
            "2",
            "--seconds",
            "0.02",
        ];
        let output = floe()
            .args(shortly)
            .args(arguments)
            .env("PATH", self.folder.join("bin"))
            .env("XDG_CACHE_HOME", &self.folder)
            .output();
        Ran::from(output.expect("the command was built with this test"))
    }
}

/// The script that stands in for a compiler: its program for any source.
const PEER: &str = "\
#!/bin/sh
case $1 in
    server) echo here; cat ;;
    client) echo 'no luck today' >&2; exit 3 ;;
esac
";

/// The message about it.
const FAILED: &str = "left out zeromq: twoway: failed in round 1 of 2 of twoway, expected a line from its client, got: \
                      it ended: no luck today\n";

#[test]
fn a_peer_that_fails_is_left_out_and_the_others_are_reported() {
    let machine = FailingPeer::new("lab-failing-peer");
    let ran = machine.measure(&["-o", "json"]).ended(0).said(FAILED);
    let json = ran.json();
    let results = json["results"].as_array().expect("a list");
    let rounds = results.iter().map(|result| {
        let rounds = result["rounds"].as_array().map_or(0, Vec::len);
        (result["contender"].as_str().unwrap_or_default(), rounds)
    });
    let rounds: Vec<_> = rounds.collect();
    assert_eq!(rounds, [("floor", 2), ("floe", 2), ("floe-tuned", 2)]);
    let left_out = json["left_out"].as_array().expect("a list");
    let failed: Vec<_> = left_out
        .iter()
        .filter(|one| one["failed"] == true)
        .collect();
    assert_eq!(failed.len(), 1, "{json}");
    assert_eq!(failed[0]["contender"], "zeromq");
    let ratios = json["ratios"].as_array().expect("a list");
    assert!(ratios.iter().all(|ratio| ratio["of"] != "zeromq"), "{json}");
}

#[test]
fn a_peer_that_was_asked_for_and_fails_is_told_by_the_exit_code_too() {
    let machine = FailingPeer::new("lab-failing-peer-by-name");
    let chosen = ["--contenders", "floor,zeromq", "-o", "table"];
    let ran = machine.measure(&chosen).ended(1).said(FAILED);
    assert!(ran.stdout.contains("twoway  floor"), "{ran:?}");
    // Behind it there may be notes, such as of a machine that was busy.
    assert!(ran.stdout.contains(FAILED), "{ran:?}");
    assert!(!ran.stderr.contains("error"), "{ran:?}");
    machine
        .measure(&["--contenders", "zeromq"])
        .ended(1)
        .said("error: no contender is left: all have failed; left out zeromq");
}
