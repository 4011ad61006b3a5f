//! `floe status` and `floe doctor`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::command::{run, slice_file};
use crate::hub::{Hub, Running};

#[test]
fn a_hub_without_problems_says_so() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "t"]).ended(0);
    let status = hub
        .run(&["status", "--exit-code", "-o", "json"])
        .ended(0)
        .json();
    assert_eq!(
        (&status["topics"], &status["lost"]),
        (&1.into(), &0.into()),
        "{status}"
    );
    assert_eq!(status["problems"], serde_json::json!([]));
    let doctor = hub.run(&["doctor", "-o", "json"]).ended(0).json();
    let checks = doctor.as_array().expect("a list");
    assert!(checks.iter().all(|check| check["ok"] == true), "{doctor}");
    assert!(
        checks.iter().any(|check| check["check"] == "topic manager"),
        "{doctor}"
    );
}

#[test]
fn lost_events_are_a_problem() {
    let hub = Hub::with(&["--transient", "--queue-events", "1"]);
    let file = slice_file(
        "health.ice",
        "module M { interface I { void n(long number); } }",
    );
    // It subscribes and reads nothing.
    let subscriber = hub.running(&[
        "sub", "t", "--create", "--slice", &file, "--mode", "ordered",
    ]);
    subscriber.talk("subscribed");
    subscriber.stop();
    hub.run(&["pub", "t", "n", "[1]", "-n", "2000", "--slice", &file])
        .ended(0);
    hub.run(&["status"]).ended(0);
    let status = hub.run(&["status", "--exit-code"]).ended(100);
    assert!(
        status
            .stdout
            .contains("events were lost because the queue of a subscriber was full")
    );
    assert!(
        status.stdout.contains("topic `t`, subscriber `"),
        "{status:?}"
    );
    // It has lost nothing since now.
    hub.run(&["status", "--exit-code", "--since", "0s", "--lag-age", "1h"])
        .ended(0);
    let doctor = hub.run(&["doctor", "-o", "table"]).ended(100);
    assert!(
        doctor.stdout.contains("PROBLEM  health of the hub: "),
        "{doctor:?}"
    );
    subscriber.signal("CONT");
}

#[test]
fn a_hub_that_is_not_there_is_a_problem_with_what_to_do() {
    let doctor = run(&["doctor", "--hub", "127.0.0.1:1", "-o", "table"]).ended(100);
    let expected = "PROBLEM  endpoint of the hub: no hub: cannot connect to \"tcp -h 127.0.0.1 -p 1\": Connection refused";
    assert!(doctor.stdout.contains(expected), "{doctor:?}");
    let help = "start one with `floe serve`, or say with --hub where it listens";
    assert!(doctor.stdout.contains(help), "{doctor:?}");
    run(&["status", "--hub", "127.0.0.1:1"]).ended(5);
}

#[test]
fn a_hub_that_the_locator_does_not_find_is_a_problem() {
    let locator = ["--locator", "IceGrid/Locator:tcp -h 127.0.0.1 -p 1"];
    let doctor = ["doctor", "--hub", "IceStorm/TopicManager", "-o", "table"];
    let ran = run(&[&doctor[..], &locator].concat()).ended(100);
    let expected = "PROBLEM  endpoint of the hub: ";
    assert!(ran.stdout.contains(expected), "{ran:?}");
}

#[test]
fn an_endpoint_that_is_silent_is_named_however_the_wait_ends() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = silent.local_addr().expect("it has an address").port();
    let endpoint = format!("tcp -h 127.0.0.1 -p {port}");
    for (hub, timeout) in [
        (endpoint.clone(), "300ms"),
        (format!("{endpoint} -t 300"), "10s"),
    ] {
        let doctor =
            run(&["doctor", "--hub", &hub, "--timeout", timeout, "-o", "table"]).ended(100);
        let mut problems = doctor
            .stdout
            .lines()
            .skip_while(|line| !line.starts_with("PROBLEM"));
        let (problem, help) = (problems.next(), problems.next());
        assert!(
            problem.is_some_and(|line| line.contains(&endpoint)),
            "{doctor:?}"
        );
        assert!(help.is_some_and(|line| line.contains('?')), "{doctor:?}");
    }
}

/// The answer to a GET of this.
pub(crate) fn get(address: &str, path: &str) -> String {
    get_accepting(address, path, "*/*")
}

fn get_accepting(address: &str, path: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"
    )
    .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// Where it serves its metrics: `HOST:PORT`.
pub(crate) fn metrics_address(process: &Running) -> String {
    let line = process.talked("metrics are at http://");
    let (_, address) = line.split_once("http://").expect("it says where");
    address
        .strip_suffix("/metrics")
        .expect("it is a path")
        .to_owned()
}

#[test]
fn health_readiness_and_metrics_stand_side_by_side() {
    let hub = Hub::with(&["--transient", "--metrics", "127.0.0.1:0"]);
    hub.run(&["topic", "create", "t"]).ended(0);
    let address = &metrics_address(&hub.process);
    assert!(get(address, "/healthz").starts_with("HTTP/1.1 200 OK"));
    let ready = get(address, "/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 200 OK") && ready.ends_with("ready\n"),
        "{ready}"
    );
    let metrics = get(address, "/metrics");
    let version = format!(
        "floe_build_info{{version=\"{}\"}} 1\n",
        env!("CARGO_PKG_VERSION")
    );
    assert!(metrics.contains(&version), "{metrics}");
    assert!(
        metrics.contains("floe_topic_lag_seconds{topic=\"t\"} 0.0\n"),
        "{metrics}"
    );
    assert!(!metrics.contains("microseconds"), "{metrics}");
    assert!(get(address, "/elsewhere").starts_with("HTTP/1.1 404"));
}

/// `promtool check metrics` has nothing to say against either format.
#[test]
fn a_scraper_gets_the_format_that_it_asks_for() {
    let hub = Hub::with(&[
        "--transient",
        "--metrics",
        "127.0.0.1:0",
        "--metrics-subscribers",
    ]);
    hub.run(&["topic", "create", "t"]).ended(0);
    let address = &metrics_address(&hub.process);
    let open = get_accepting(
        address,
        "/metrics",
        "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
    );
    assert!(
        open.contains("content-type: application/openmetrics-text; version=1.0.0"),
        "{open}"
    );
    assert!(open.contains("# TYPE floe_topic_published counter\n") && open.ends_with("# EOF\n"));
    let plain = get(address, "/metrics");
    assert!(
        plain.contains("content-type: text/plain; version=0.0.4"),
        "{plain}"
    );
    let (_, plain) = plain.split_once("\r\n\r\n").expect("a body");
    let mut family = ("", "");
    for line in plain.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            family = typed.split_once(' ').expect("a name and a type");
        } else if let Some(helped) = line.strip_prefix("# HELP ") {
            assert!(helped.contains(' '), "{line}");
        } else {
            // Each sample belongs to the family above it, by its whole name.
            let name = line.split(['{', ' ']).next().expect("a name");
            let rest = name.strip_prefix(family.0);
            let is_of_family = match family.1 {
                "histogram" => {
                    rest.is_some_and(|rest| ["_bucket", "_sum", "_count"].contains(&rest))
                }
                "counter" => rest == Some("") && name.ends_with("_total"),
                "gauge" => rest == Some(""),
                _ => false,
            };
            assert!(is_of_family, "{line} is not of {family:?}");
        }
    }
    assert!(
        plain.contains("floe_topic_published_total{topic=\"t\"} 0\n"),
        "{plain}"
    );
}

#[test]
fn a_service_manager_is_told_when_the_hub_is_ready_and_when_it_ends() {
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("notify-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let socket = UnixDatagram::bind(&path).expect("the target folder can be written");
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("it is a socket");
    let mut command = crate::command::floe();
    command.args(["serve", "--transient", "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", &path);
    let hub = crate::hub::Running::run(command);
    let told = || {
        let mut buffer = [0; 64];
        let len = socket.recv(&mut buffer).expect("it says so");
        String::from_utf8_lossy(&buffer[..len]).into_owned()
    };
    assert_eq!(told(), "READY=1");
    hub.signal("TERM");
    assert_eq!(told(), "STOPPING=1");
    hub.end().ended(0);
    let _ = std::fs::remove_file(path);
}

#[test]
fn a_gateway_alone_has_metrics_and_is_ended_by_its_administrative_object() {
    let file = std::env::temp_dir().join(format!("floe-gateway-{}.toml", std::process::id()));
    let text = "hub = false\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p 0\"\nverifier = \"accept-all\"\n\
                admin.listen = \"tcp -h 127.0.0.1 -p 0\"\n";
    std::fs::write(&file, text).expect("the folder can be written");
    let config = file.to_str().expect("the path is text");
    let gateway = Running::start(&["serve", "--config", config, "--metrics", "127.0.0.1:0"]);
    let address = &metrics_address(&gateway);
    let told = gateway.talked("the administrative object of the gateway is ");
    let (_, admin) = told.split_once(" is ").expect("a proxy");
    let ready = gateway.line();
    let router = ready.strip_prefix("ready ").expect("it says where");
    assert!(get(address, "/readyz").starts_with("HTTP/1.1 200 OK"));
    run(&["ping", router, "-n", "1"]).ended(0);
    let metrics = get(address, "/metrics");
    for row in [
        "floe_gateway_sessions 0",
        "floe_gateway_refused_total{what=\"callback\"} 0",
        "floe_gateway_routes_evicted_total 0",
    ] {
        assert!(metrics.contains(&format!("{row}\n")), "{row}: {metrics}");
    }
    assert!(!metrics.contains("floe_hub"), "{metrics}");
    let process = slice_file(
        "process.ice",
        "module Ice { interface Process { void shutdown(); } }",
    );
    let shutdown = [
        "call", admin, "shutdown", "--facet", "Process", "--slice", &process,
    ];
    run(&shutdown).ended(0);
    gateway.end().ended(0);
    std::fs::remove_file(file).expect("it was written");
}

#[test]
fn an_event_does_not_end_the_process_through_its_administrative_object() {
    let file = std::env::temp_dir().join(format!("floe-both-{}.toml", std::process::id()));
    let text = "listen = \"tcp -h 127.0.0.1 -p 0\"\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p 0\"\n\
                verifier = \"accept-all\"\nadmin.listen = \"tcp -h 127.0.0.1 -p 0\"\n";
    std::fs::write(&file, text).expect("the folder can be written");
    let config = file.to_str().expect("the path is text");
    let both = Running::start(&["serve", "--transient", "--config", config]);
    let told = both.talked("the administrative object of the gateway is ");
    let (_, admin) = told.split_once(" is ").expect("a proxy");
    let ready = both.line();
    let manager = ready.strip_prefix("ready ").expect("it says where");
    let (_, endpoint) = manager.split_once(':').expect("an endpoint");
    run(&["topic", "create", "t", "--hub", endpoint]).ended(0);
    let storm = slice_file("storm-admin.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = manager.replace("TopicManager", "topic.t");
    let (identity, place) = admin.split_once(' ').expect("options");
    let (_, admin_endpoint) = place.split_once(':').expect("an endpoint");
    let port = admin_endpoint.rsplit(' ').next().expect("a port");
    for place in [
        format!(":{admin_endpoint}"),
        format!(":tcp -h 127.1 -p {port}"),
        String::new(),
    ] {
        let subscriber =
            format!(r#"{{"qos": {{}}, "subscriber": "{identity} -f Process{place}"}}"#);
        let subscribe = ["call", &topic, "subscribeAndGetPublisher", &subscriber];
        let refused = run(&[&subscribe[..], &["--slice", &storm]].concat());
        assert!(
            refused.stderr.contains("InvalidSubscriber"),
            "{place}: {refused:?}"
        );
    }
    let void = slice_file(
        "shutdown.ice",
        "module M { interface I { void shutdown(); } }",
    );
    run(&["pub", "t", "shutdown", "--slice", &void, "--hub", endpoint]).ended(0);
    run(&["topic", "list", "--hub", endpoint]).ended(0);
    both.signal("TERM");
    both.end().ended(0);
    std::fs::remove_file(file).expect("it was written");
}

#[test]
fn a_log_that_nobody_reads_does_not_stop_the_hub() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let mut command = crate::command::floe();
    command.args(["serve", "--transient", "--listen", "127.0.0.1:0"]);
    command.env("FLOE_LOG", "trace");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut hub = command.spawn().expect("the command is there");
    let mut ready = String::new();
    let stdout = hub.stdout.take().expect("a pipe");
    BufReader::new(stdout)
        .read_line(&mut ready)
        .expect("it says where");
    let (_, endpoint) = ready.trim().split_once(':').expect("an endpoint");
    // Lines of a pipe and of the hub's own queue.
    let create = |number: usize| {
        let name = format!("{number}-{}", "x".repeat(400));
        run(&["topic", "create", &name, "--hub", endpoint]).ended(0);
    };
    (0..150).for_each(create);
    hub.kill().expect("it runs");
    hub.wait().expect("it ends");
}

#[test]
fn every_metric_of_the_dashboard_is_one_that_the_hub_exports() {
    let dashboard = include_str!("../../../../packaging/grafana.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
    let mut queries = Vec::new();
    collect_queries(&dashboard, &mut queries);
    assert!(queries.len() > 10, "{queries:?}");

    let hub = Hub::with(&["--transient", "--metrics", "127.0.0.1:0"]);
    hub.run(&["topic", "create", "t"]).ended(0);
    let metrics = get(&metrics_address(&hub.process), "/metrics");
    // Durable topics have a test of their own.
    let is_of_log = |query: &String| query.contains("floe_log_") || query.contains("floe_durable_");
    queries.retain(|query| !is_of_log(query) && !query.contains("floe_topic_dead_letters"));
    for query in queries {
        let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names: Vec<_> = words
            .filter(|word| word.starts_with("floe_") || word.starts_with("process_"))
            .collect();
        assert!(!names.is_empty(), "{query} names no metric");
        for name in names {
            // A sample begins a line, and its labels or its value follow.
            let is_exported = metrics.lines().any(|line| {
                let rest = line.strip_prefix(name);
                rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
            });
            assert!(is_exported, "{query}: no {name} in {metrics}");
        }
    }
}

/// The queries of all panels and variables of a dashboard.
fn collect_queries(value: &serde_json::Value, queries: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str() {
                    Some(query) if key == "expr" => queries.push(query.to_owned()),
                    Some(query) if query.starts_with("label_values(") => {
                        queries.push(query.to_owned());
                    }
                    _ => collect_queries(value, queries),
                }
            }
        }
        serde_json::Value::Array(values) => {
            for value in values {
                collect_queries(value, queries);
            }
        }
        _ => {}
    }
}
