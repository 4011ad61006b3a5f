//! `floe serve`.

use std::process::Stdio;

#[cfg(feature = "tls")]
use crate::certificates::Certificates;
use crate::command::{floe, run, slice_file};
use crate::hub::{Hub, Running};

#[test]
fn it_says_where_it_listens_and_ends_cleanly_at_a_signal() {
    for signal in ["TERM", "INT"] {
        let hub = Hub::start();
        assert!(
            hub.manager
                .starts_with("IceStorm/TopicManager -t -e 1.1:tcp -h 127.0.0.1 -p ")
        );
        assert!(!hub.manager.contains("-p 0"), "{}", hub.manager);
        hub.process.signal(signal);
        hub.process.end().ended(0);
    }
}

/// A hub with an event for a subscriber that never takes it; and that subscriber.
fn hub_with_a_deaf_subscriber() -> (Hub, std::net::TcpListener) {
    let hub = Hub::start();
    hub.run(&["topic", "create", "news"]).ended(0);
    // It takes connections, and never says a word.
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let port = deaf.local_addr().expect("it is bound").port();
    let storm = slice_file("storm-deaf.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = hub.manager.replace("TopicManager", "topic.news");
    let subscriber = format!(r#"{{"qos": {{}}, "subscriber": "x:tcp -h 127.0.0.1 -p {port}"}}"#);
    run(&[
        "call",
        &topic,
        "subscribeAndGetPublisher",
        &subscriber,
        "--slice",
        &storm,
    ])
    .ended(0);
    let void = slice_file("deaf.ice", "module M { interface I { void f(); } }");
    hub.run(&["pub", "news", "f", "--slice", &void]).ended(0);
    (hub, deaf)
}

#[test]
fn a_subscriber_that_does_not_answer_does_not_keep_it_from_ending() {
    let (hub, _deaf) = hub_with_a_deaf_subscriber();
    hub.process.signal("TERM");
    hub.process.end().ended(0);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (hub, _deaf) = hub_with_a_deaf_subscriber();
    hub.process.signal("TERM");
    // Signals of one kind that come together may arrive as one.
    std::thread::sleep(std::time::Duration::from_millis(300));
    hub.process.signal("INT");
    hub.process
        .end()
        .ended(130)
        .said("stopped immediately by a second SIGINT");
}

#[test]
fn it_listens_on_several_endpoints() {
    let hub = Hub::with(&["--transient", "--listen", "tcp -h 127.0.0.1 -p 0"]);
    assert_eq!(
        hub.manager.matches("tcp -h 127.0.0.1").count(),
        2,
        "{}",
        hub.manager
    );
    for endpoint in hub.manager.split(':').skip(1) {
        run(&["topic", "list", "--hub", endpoint]).ended(0);
    }
}

#[test]
fn without_data_it_says_that_nothing_is_kept() {
    let hub = Hub::with(&[]);
    hub.process.talk(
        "topics, subscriptions and links are lost when this process ends; --data DIR stores them",
    );
}

#[test]
fn topics_outlive_a_hub_with_data() {
    let data = format!(
        "{}/hub-data-{}",
        env!("CARGO_TARGET_TMPDIR"),
        std::process::id()
    );
    let hub = Hub::with(&["--data", &data]);
    hub.run(&["topic", "create", "kept"]).ended(0);
    hub.process.signal("TERM");
    hub.process.end().ended(0);
    let hub = Hub::with(&["--data", &data]);
    assert_eq!(
        hub.run(&["topic", "list", "-o", "raw"]).ended(0).stdout,
        "kept\n"
    );
    let second = [
        "serve",
        "--listen",
        "tcp -h 127.0.0.1 -p 0",
        "--data",
        &data,
    ];
    run(&second).ended(1).said("--data");
    std::fs::remove_dir_all(&data).expect("it is there");
}

#[test]
fn a_port_that_is_taken_is_said_so() {
    let hub = Hub::start();
    let endpoint = hub.manager.split(':').nth(1).expect("it has an endpoint");
    run(&["serve", "--transient", "--listen", endpoint])
        .ended(1)
        .said("cannot listen on \"tcp -h 127.0.0.1 -p ")
        .said("another program listens there");
}

#[test]
fn a_hub_that_does_not_start_makes_no_directory() {
    let hub = Hub::start();
    let taken = hub.manager.split(':').nth(1).expect("it has an endpoint");
    let port = taken.split(' ').nth(4).expect("it has a port");
    let data = format!(
        "{}/never-{}",
        env!("CARGO_TARGET_TMPDIR"),
        std::process::id()
    );
    let address = format!("127.0.0.1:{port}");
    let free = "tcp -h 127.0.0.1 -p 0";
    for arguments in [
        &["--listen", taken][..],
        &["--listen", free, "--publish-listen", taken],
        &["--listen", free, "--metrics", &address],
    ] {
        let serve = [&["serve", "--data", &data], arguments].concat();
        run(&serve).ended(1).said("cannot listen on");
        assert!(!std::path::Path::new(&data).exists(), "{arguments:?}");
    }
}

#[test]
fn an_instance_without_a_name_is_refused() {
    run(&["serve", "--instance-name", ""])
        .ended(2)
        .said("a value is required for '--instance-name <NAME>'");
}

#[test]
fn what_is_no_endpoint_is_refused() {
    for endpoint in ["", "tcp -p x", "ssl -h 127.0.0.1 -p 0", "non sense"] {
        run(&["serve", "--listen", endpoint])
            .ended(2)
            .said("endpoint");
    }
    run(&["serve", "--data", "x", "--transient"])
        .ended(2)
        .said("cannot be used with");
}

#[test]
fn a_directory_that_cannot_be_written_is_said_so() {
    let file = slice_file("no-directory", "");
    run(&[
        "serve",
        "--listen",
        "tcp -h 127.0.0.1 -p 0",
        "--data",
        &file,
    ])
    .ended(1)
    .said("no-directory")
    .said("data (--data) needs a directory");
}

#[test]
fn it_serves_though_nobody_reads_its_output() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("there are free ports")
        .port();
    let endpoint = format!("tcp -h 127.0.0.1 -p {port}");
    let mut child = floe()
        .args(["serve", "--transient", "--listen", &endpoint])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command was built with this test");
    drop(child.stdout.take());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while run(&["topic", "list", "--hub", &endpoint]).code != Some(0) {
        assert!(std::time::Instant::now() < deadline, "it does not serve");
        assert_eq!(child.try_wait().expect("a child can be waited for"), None);
    }
    child.kill().expect("it runs");
    child.wait().expect("a child can be waited for");
}

#[test]
fn limits_of_queues_and_waits_are_told_with_their_defaults() {
    let help = run(&["serve", "--help"]).ended(0).stdout;
    for text in [
        "--queue-events <EVENTS>",
        "[default: 100000]",
        "--queue-bytes <SIZE>",
        "[default: 64M]",
        "--patience <TIME>",
        "[default: 1s]",
        "--rest-max <TIME>",
        "[default: 150us]",
        "--polling <TIME>",
        "[default: 100us]",
    ] {
        assert!(help.contains(text), "{help}");
    }
}

#[test]
fn what_is_for_a_hub_is_refused_where_there_is_none() {
    // It ends, also if it does not refuse the option: the port is taken.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it is bound").port();
    let alone = format!(
        "hub = false\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p {port}\"\nverifier = \"accept-all\"\n"
    );
    let config = slice_file("alone.toml", &alone);
    for option in [
        ["--patience", "1s"],
        ["--queue-events", "5"],
        ["--queue-bytes", "1k"],
    ] {
        run(&[&["serve", "--config", &config][..], &option].concat())
            .ended(2)
            .said(&format!("{} is for a hub", option[0]));
    }
}

#[test]
fn it_is_ready_in_json_if_that_is_asked_for() {
    let serve = [
        "serve",
        "--transient",
        "--listen",
        "tcp -h 127.0.0.1 -p 0",
        "-o",
        "json",
    ];
    let process = Running::start(&serve);
    let line = process.line();
    let json: serde_json::Value = serde_json::from_str(&line).expect("it is JSON");
    let endpoints = json["endpoints"].as_str().expect("it has endpoints");
    run(&["topic", "list", "--hub", endpoints]).ended(0);
}

#[cfg(feature = "tls")]
#[test]
fn it_serves_over_an_encrypted_endpoint_to_clients_with_a_certificate() {
    let certificates = Certificates::make();
    let tls = certificates.mutual();
    let listen = ["serve", "--transient", "--listen", "ssl -h 127.0.0.1 -p 0"];
    let hub = Running::start(&[&listen[..], &tls].concat());
    let manager = hub.line();
    let manager = manager.strip_prefix("ready ").expect("it is ready");
    let list = ["topic", "list", "--hub", manager];
    run(&[&list[..], &tls].concat()).ended(0);
    let ca_alone = certificates.ca_alone();
    run(&[&list[..], &ca_alone].concat()).said("it requires a certificate from us");
    run(&list)
        .ended(2)
        .said("it needs certificates")
        .said("--tls-ca FILE names the CAs to trust");
    let key_alone = ["--tls-ca", &certificates.ca, "--tls-key", &certificates.key];
    run(&[&list[..], &key_alone].concat())
        .ended(2)
        .said("add --tls-cert FILE");
    let missing = ["--tls-ca", "/nowhere.pem"];
    run(&[&list[..], &missing].concat())
        .ended(2)
        .said("/nowhere.pem: expected certificates in PEM");
}

#[test]
fn it_goes_on_after_it_had_no_descriptors_left_and_says_so_once_a_second() {
    let floe = floe();
    let mut limited = std::process::Command::new("sh");
    let script = "ulimit -n 40; exec \"$0\" serve --transient --listen 'tcp -h 127.0.0.1 -p 0'";
    limited.args(["-c", script]).arg(floe.get_program());
    let hub = Running::run(limited);
    let ready = hub.line();
    let manager = ready.strip_prefix("ready ").expect("it is ready");
    let port = manager
        .split(" -p ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let port = port
        .and_then(|port| port.parse::<u16>().ok())
        .expect("a port");
    let connect = |_| std::net::TcpStream::connect(("127.0.0.1", port)).expect("the system waits");
    let connections: Vec<_> = (0..60).map(connect).collect();
    hub.talk("could not accept a connection");
    // Twenty times as long as it waits before it tries again.
    std::thread::sleep(std::time::Duration::from_secs(1));
    drop(connections);
    run(&["topic", "list", "--hub", manager]).ended(0);
    hub.signal("TERM");
    let ended = hub.end();
    let logged = ended.stderr.matches("could not accept").count();
    assert!(logged <= 2, "{}", ended.stderr);
    ended.ended(0);
}

#[test]
fn a_damaged_store_starts_from_its_backup_and_without_one_only_when_told_to() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("damaged");
    let _ = std::fs::remove_dir_all(&folder);
    let data = folder.to_str().expect("its path is text");
    let hub = Hub::with(&["--data", data]);
    hub.run(&["topic", "create", "kept"]).ended(0);
    hub.process.signal("TERM");
    hub.process.end().ended(0);
    let cut = |name: &str| {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(folder.join(name));
        file.and_then(|file| file.set_len(100))
            .expect("the hub has made it");
    };
    cut("hub.redb");
    let hub = Hub::with(&["--data", data]);
    hub.process
        .talk("was restored from its backup, and lost nothing: hub.redb: ");
    let listed = hub.run(&["topic", "list", "-o", "raw"]).ended(0);
    assert_eq!(listed.stdout, "kept\n");
    hub.process.signal("TERM");
    hub.process.end().ended(0);
    cut("hub.redb");
    cut("hub.backup.redb");
    let serve = ["serve", "--listen", "tcp -h 127.0.0.1 -p 0", "--data", data];
    let ran = run(&serve)
        .ended(1)
        .said("is damaged: hub.redb: ")
        .said("start once with --accept-damage, which keeps the 0 records that verify");
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    let hub = Running::start(&[&serve[..], &["--accept-damage"]].concat());
    hub.talk("was damaged and starts with the 0 records that verify");
    hub.line();
}

/// Serves with the locator at this port of loopback, which is to be told of the hub.
fn serve_registered(port: u16) -> Running {
    let locator = format!("Floe/Locator:tcp -h 127.0.0.1 -p {port}");
    let file = std::env::temp_dir().join(format!("floe-registered-{port}.toml"));
    std::fs::write(&file, "adapter-id = \"Topics\"\n").expect("there is a place for it");
    let config = file.to_str().expect("its path is text");
    let listen = ["--listen", "tcp -h 127.0.0.1 -p 0"];
    let serve = ["serve", "--transient", "--config", config];
    Running::start(&[&serve[..], &listen, &["--locator", &locator]].concat())
}

#[test]
fn a_locator_that_cannot_be_told_of_a_hub_keeps_it_from_starting() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let port = nobody.local_addr().expect("it is bound").port();
    drop(nobody);
    let ran = serve_registered(port).end().ended(1);
    ran.said("cannot register the adapter \"Topics\" with the locator Floe/Locator ")
        .said("set the locator with --locator (Ice.Default.Locator)");
}

#[test]
fn a_hub_that_waits_for_a_locator_ends_at_a_signal() {
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let port = deaf.local_addr().expect("it is bound").port();
    let hub = serve_registered(port);
    let _connection = deaf.accept().expect("it is called");
    hub.signal("TERM");
    hub.end().ended(130).said("before the hub was ready");
}
