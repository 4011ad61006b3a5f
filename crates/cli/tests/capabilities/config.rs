//! `floe serve --config`: what a file says, and what happens when it changes.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

#[cfg(feature = "tls")]
use crate::certificates::Certificates;
use crate::command::{floe, run, slice_file};
use crate::hub::{Hub, Running};

const LISTEN: &str = "listen = \"tcp -h 127.0.0.1 -p 0\"\n";

/// A hub with a file of settings of this name, and what its topic manager is.
fn hub_with(name: &str, text: &str) -> (Hub, String) {
    let file = slice_file(name, text);
    let process = Running::start(&["serve", "--config", &file]);
    let line = process.line();
    let manager = line.strip_prefix("ready ").expect("it says ready first");
    let manager = manager.to_owned();
    (Hub { process, manager }, file)
}

#[test]
fn a_hub_is_as_its_file_says_and_the_command_line_goes_before_it() {
    let (hub, file) = hub_with(
        "config.toml",
        &format!("instance = \"Demo\"\n{LISTEN}[queue]\nevents = 10\noverflow = \"disconnect\"\n"),
    );
    assert!(
        hub.manager.starts_with("Demo/TopicManager "),
        "{}",
        hub.manager
    );
    hub.run(&["topic", "create", "t"]).ended(0);
    let other = Running::start(&["serve", "--config", &file, "--instance-name", "Other"]);
    assert!(other.line().starts_with("ready Other/TopicManager "));
}

#[cfg(feature = "tls")]
#[test]
fn a_certificate_on_the_command_line_changes_nothing_of_whom_a_file_lets_in() {
    let certificates = Certificates::make();
    let (ca, own) = (&certificates.ca, certificates.server_alone());
    let toml = format!("[tls]\nca = {ca:?}\n");
    let storm = format!(
        "S.TopicManager.Endpoints=ssl -h 127.0.0.1 -p 0\nS.Transient=1\nIceSSL.CAs={ca}\nIceSSL.VerifyPeer=2\n"
    );
    for (name, text) in [("lets-in.toml", toml), ("lets-in.cfg", storm)] {
        let file = slice_file(name, &text);
        let listen = ["--transient", "--listen", "ssl -h 127.0.0.1 -p 0"];
        let serve = [&["serve", "--config", &file], &listen[..], &own].concat();
        let hub = Running::start(&serve);
        let line = hub.line();
        let manager = line.strip_prefix("ready ").expect("it is ready");
        let list = ["topic", "list", "--hub", manager];
        run(&[&list[..], &certificates.mutual()].concat()).ended(0);
        run(&[&list[..], &certificates.ca_alone()].concat())
            .ended(1)
            .said("it requires a certificate from us");
    }
}

#[cfg(feature = "tls")]
#[test]
fn a_server_whose_certificate_has_expired_says_so_when_it_starts() {
    let certificates = Certificates::make_with(|params| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    });
    let listen = ["serve", "--transient", "--listen", "ssl -h 127.0.0.1 -p 0"];
    let hub = Running::start(&[&listen[..], &certificates.server_alone()].concat());
    assert!(hub.line().starts_with("ready "));
    hub.talk("our own certificate expired ");
}

#[test]
fn a_file_that_makes_no_sense_is_refused_with_every_line_of_it() {
    let file = slice_file("wrong.toml", "lisetn = \"x\"\n[queue]\nevents = \"many\"\n");
    run(&["serve", "--config", &file])
        .ended(2)
        .said("wrong.toml:1: unknown setting lisetn: did you mean listen?")
        .said("wrong.toml:3: queue.events: expected a whole number from 1, got \"many\"");
    run(&["serve", "--config", "/nowhere.toml"])
        .ended(2)
        .said("cannot read /nowhere.toml");
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark_and_have_comments_of_an_old_editor() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let serve = |name: &str, text: &[u8]| {
        let file = folder.join(name);
        fs::write(&file, text).expect("it can be written");
        Running::start(&["serve", "--config", &file.to_string_lossy()])
    };
    let properties =
        b"\xef\xbb\xbfStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0 # f\xfcr alle\r\n\
        # \xe4\r\nStorm.Transient=1\r\nStorm.InstanceName=Old\r\n";
    let hub = serve("marked.cfg", properties);
    assert!(hub.line().starts_with("ready Old/TopicManager "));
    let toml = format!("\u{feff}instance = \"New\"\r\n{LISTEN}");
    let hub = serve("marked.toml", toml.as_bytes());
    assert!(hub.line().starts_with("ready New/TopicManager "));

    let refused = |name: &str, text: &[u8]| {
        let file = folder.join(name);
        fs::write(&file, text).expect("it can be written");
        run(&["serve", "--config", &file.to_string_lossy()]).ended(2)
    };
    refused("latin.cfg", b"\nA.B=f\xfcr # \xfc").said("expected UTF-8, got byte 0xfc in line 2");
    refused("latin.toml", b"# \xfc").said("expected UTF-8, got byte 0xfc in line 1");
    refused("wide.toml", b"\xff\xfei\0").said("expected UTF-8, got UTF-16");
}

#[test]
fn publishers_have_endpoints_of_their_own_where_nothing_else_is() {
    let (hub, _) = hub_with(
        "storm.cfg",
        "DemoIceStorm.InstanceName=DemoIceStorm
DemoIceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0
DemoIceStorm.Publish.Endpoints=tcp -h 127.0.0.1 -p 0
DemoIceStorm.Transient=1
DemoIceStorm.Trace.Topic=2
",
    );
    hub.process
        .talk("storm.cfg:5: DemoIceStorm.Trace.Topic: ignored");
    hub.run(&["topic", "create", "t"]).ended(0);
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    let publisher = info["publisher"].as_str().expect("it is a proxy");
    let endpoint_of = |proxy: &str| proxy.split_once(':').expect("it has one").1.to_owned();
    let (own, others) = (endpoint_of(publisher), endpoint_of(&hub.manager));
    assert_ne!(own, others);
    let manager = format!("DemoIceStorm/TopicManager:{own}");
    run(&["topic", "list", "--hub", &manager]).ended(4);
    let file = slice_file("publish.ice", "module M { interface I { void f(); } }");
    let subscriber = hub.running(&["sub", "t", "--slice", &file, "-n", "1"]);
    subscriber.talk("subscribed");
    hub.run(&["pub", "t", "f", "--slice", &file]).ended(0);
    subscriber.end().ended(0);
    assert_eq!(
        hub.run(&["topic", "info", "t"]).ended(0).json()["published"],
        1
    );
}

#[test]
fn a_hub_that_would_be_a_replica_does_not_start() {
    let file = slice_file(
        "replica.cfg",
        "IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0\nIceStorm.NodeId=1\n",
    );
    run(&["serve", "--config", &file])
        .ended(2)
        .said("replica.cfg:2: IceStorm.NodeId: a Floe hub has no replicas");
}

#[test]
fn settings_are_read_again_at_a_signal_and_hold_for_subscribers_that_are_there() {
    let start = format!("{LISTEN}[queue]\nevents = 100000\n");
    let (hub, file) = hub_with("reload.toml", &start);
    hub.run(&["topic", "create", "t"]).ended(0);
    // It takes connections, and never says a word: what is published to it waits.
    let deaf = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let port = deaf.local_addr().expect("it is bound").port();
    let storm = slice_file("reload-storm.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = hub.manager.replace("TopicManager", "topic.t");
    let subscriber = format!(r#"{{"qos": {{}}, "subscriber": "x:tcp -h 127.0.0.1 -p {port}"}}"#);
    let subscribe = "subscribeAndGetPublisher";
    run(&["call", &topic, subscribe, &subscriber, "--slice", &storm]).ended(0);
    fs::write(
        &file,
        "listen = \"tcp -h 127.0.0.1 -p 1\"\ndata = \"other\"\nlog = \"info\"\n[queue]\nevents = 3\n",
    )
    .expect("it can be written");
    hub.process.signal("HUP");
    hub.process
        .talk("these settings have changed and wait for a restart: listen, data");
    hub.process
        .talk("read the settings again because of SIGHUP");
    let slice = slice_file("reload.ice", "module M { interface I { void f(); } }");
    hub.run(&["pub", "t", "f", "--slice", &slice, "-n", "200"])
        .ended(0);
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    assert_eq!(info["subscribers"][0]["queued"], 3, "{info}");
    // The level of the log has changed, too.
    hub.run(&["topic", "create", "u"]).ended(0);
    hub.process.talk("created topic \"u\"");
}

#[test]
fn a_changed_file_is_noticed_and_one_that_makes_no_sense_changes_nothing() {
    let (hub, file) = hub_with("noticed.toml", LISTEN);
    fs::write(&file, "[queue]\nevents = 0\n").expect("it can be written");
    let said = hub
        .process
        .talked("noticed.toml:2: queue.events: expected a whole number from 1, got 0");
    let expected =
        "invalid configuration after a change of the file; the current settings stay in force: ";
    assert!(said.starts_with(expected), "{said}");
    hub.run(&["topic", "create", "t"]).ended(0);
    fs::write(&file, format!("{LISTEN}[queue]\nevents = 5\n")).expect("it can be written");
    hub.process
        .talk("read the settings again because of a change of the file");
}

#[test]
#[cfg(unix)]
fn a_named_pipe_in_the_place_of_the_file_is_refused_and_a_hub_that_runs_goes_on() {
    let (hub, file) = hub_with("pipe.toml", LISTEN);
    fs::remove_file(&file).expect("it is there");
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.expect("mkfifo runs").success());
    let expected = "expected a regular file, got a named pipe: put the file in its place";
    hub.process.signal("HUP");
    let said = hub.process.talked("invalid configuration");
    assert!(said.contains(expected), "{said}");
    hub.run(&["topic", "create", "t"]).ended(0);
    let refused = run(&["serve", "--config", &file]).ended(2);
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    let help = "write what a program or a pipe yields into a file, and name that";
    assert!(refused.stderr.contains(help), "{}", refused.stderr);
}

#[test]
fn a_hub_in_the_place_of_an_icestorm_says_that_it_does_not_read_its_database() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("storm-db");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    fs::write(folder.join("data.mdb"), "topics").expect("it can be written");
    let text = format!(
        "IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0\nIceStorm.LMDB.Path={}\n",
        folder.display()
    );
    let (hub, _) = hub_with("storm-db.cfg", &text);
    hub.process
        .talk("has the database of an IceStorm, which a hub does not read");
}

#[test]
#[cfg(unix)]
fn a_property_file_with_a_password_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let text = "IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0\nIceStorm.Transient=1\nIceSSL.Password=secret\n";
    for (mode, warns) in [(0o644, true), (0o600, false)] {
        let file = slice_file("password.cfg", text);
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
        let process = Running::start(&["serve", "--config", &file]);
        process.line();
        process.signal("TERM");
        let told = process.end().ended(0).stderr;
        let expected = "password.cfg has secrets, and other users of this computer can read it";
        assert_eq!(told.contains(expected), warns, "{told}");
        assert!(!told.contains("=secret"), "{told}");
    }
}

#[test]
fn without_a_file_to_read_again_the_end_of_its_terminal_ends_a_hub_in_order() {
    let mut environment = Command::new("env");
    // The tests themselves may be run so that they outlive their terminal.
    environment
        .arg("--default-signal=HUP")
        .arg(floe().get_program());
    environment.args(["serve", "--transient", "--listen", "tcp -h 127.0.0.1 -p 0"]);
    let hub = Running::run(environment);
    hub.line();
    hub.signal("HUP");
    hub.end().ended(0);
}

#[test]
fn a_hub_that_is_to_outlive_its_terminal_does() {
    let mut shell = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" serve --transient -v --listen 'tcp -h 127.0.0.1 -p 0'";
    shell.args(["-c", script]).arg(floe().get_program());
    let hub = Running::run(shell);
    hub.line();
    hub.signal("HUP");
    hub.signal("TERM");
    assert!(hub.talked("stopping on ").contains("SIGTERM"));
    hub.end().ended(0);
}

#[test]
fn the_log_says_how_long_a_subscriber_gets_no_events() {
    let text = format!("{LISTEN}[delivery]\ndiscard-interval = \"7s\"\n");
    let (hub, _) = hub_with("pause.toml", &text);
    hub.run(&["topic", "create", "t"]).ended(0);
    let storm = slice_file("pause-storm.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = hub.manager.replace("TopicManager", "topic.t");
    // Nobody listens at port 1.
    let subscriber = r#"{"qos": {"retryCount": "-1"}, "subscriber": "x:tcp -h 127.0.0.1 -p 1"}"#;
    let subscribe = "subscribeAndGetPublisher";
    run(&["call", &topic, subscribe, subscriber, "--slice", &storm]).ended(0);
    let slice = slice_file("pause.ice", "module M { interface I { void f(); } }");
    hub.run(&["pub", "t", "f", "--slice", &slice]).ended(0);
    hub.process
        .talk("no events for \"x\" of topic \"t\" for 7s, then it is tried again: cannot connect");
}

#[test]
fn the_command_lists_all_settings_and_prints_their_schema() {
    let listed = run(&["config", "list", "queue.ev", "-o", "json"])
        .ended(0)
        .json();
    let keys: Vec<_> = listed.as_array().expect("rows").iter().collect();
    let keys: Vec<_> = keys.iter().map(|row| &row["key"]).collect();
    assert_eq!(keys, ["queue.events", "topic.NAME.queue.events"]);
    assert_eq!(listed[0]["default"], "100000");
    run(&["config", "list", "colour"])
        .ended(4)
        .said("no setting of floe.toml contains \"colour\"");
    let schema = run(&["config", "schema"]).ended(0).json();
    let events = &schema["properties"]["queue"]["properties"]["events"];
    assert_eq!(
        (&events["type"], events["default"].as_u64()),
        (&"integer".into(), Some(100_000))
    );
    let page = run(&["config", "reference"]).ended(0).stdout;
    let committed = include_str!("../../../../docs/guides/settings.md");
    assert_eq!(page.trim_end(), committed.trim_end());
}
