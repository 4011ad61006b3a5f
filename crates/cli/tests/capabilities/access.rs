//! `floe access check`: what the rules say, without a hub.

use serde_json::json;

use crate::command::{Ran, floe, run, slice_file};
use crate::hub::Running;

const RULES: &str = r#"
[access]
users = "@users@"
[access.networks]
lab = "10.1.0.0/16"
[access.groups]
operators = "ann"

[[access.rule]]
deny = "publish"
topics = "alarm"
users = "bob"

[[access.rule]]
allow = ["publish", "subscribe"]
topics = "telemetry.*"
users = "*"

[[access.rule]]
allow = "*"
groups = "operators"

[[access.rule]]
allow = "subscribe"
certificate = "O=ZeroC; !CN=Mallory"

[[access.rule]]
allow = "observe"
networks = ["lab", "loopback"]
"#;

/// Hash of a password, as `openssl passwd -5` writes it.
const USER: &str = "ann $5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA\n";

fn rules(name: &str) -> String {
    let users = slice_file(&format!("{name}.users"), USER);
    slice_file(&format!("{name}.toml"), &RULES.replace("@users@", &users))
}

fn check(file: &str, arguments: &[&str]) -> Ran {
    run(&[&["access", "check", "--config", file], arguments].concat())
}

#[test]
fn a_check_tells_the_rule_that_decides_and_ends_with_its_answer() {
    let file = rules("check");
    let told = check(&file, &["ann", "publish", "telemetry.cpu"])
        .ended(0)
        .json();
    assert_eq!(
        told,
        json!({
            "verdict": "allowed", "user": "ann", "action": "publish", "topic": "telemetry.cpu",
            "rule": 2, "line": 14, "reason": "rule 2 in line 14",
        })
    );
    let told = check(&file, &["bob", "publish", "alarm"]).ended(5).json();
    assert_eq!(
        (&told["verdict"], &told["line"]),
        (&json!("refused"), &json!(9))
    );
    let told = check(&file, &["bob", "create", "alarm"]).ended(5).json();
    assert_eq!(
        (&told["rule"], &told["reason"]),
        (&json!(null), &json!("no rule applies"))
    );
}

#[test]
fn certificates_groups_and_addresses_count() {
    let file = rules("who");
    let ann = [
        "anonymous",
        "subscribe",
        "x",
        "--certificate",
        "CN=ann,O=ZeroC",
    ];
    let mallory = [
        "anonymous",
        "subscribe",
        "x",
        "--certificate",
        "CN=Mallory,O=ZeroC",
    ];
    check(&file, &ann).ended(0);
    check(&file, &mallory).ended(5);
    check(&file, &["eve", "admin"]).ended(5);
    check(&file, &["eve", "admin", "--group", "operators"]).ended(0);
    for (from, exit) in [("10.1.2.3", 0), ("10.2.0.1", 5), ("::1", 0), ("local", 0)] {
        check(&file, &["anonymous", "observe", "x", "--from", from]).ended(exit);
    }
    check(&file, &["anonymous", "observe", "x"]).ended(5);
}

#[test]
fn a_table_names_the_file_and_a_mistyped_user_is_told_of() {
    let file = rules("table");
    let ran = check(&file, &["anne", "publish", "telemetry.cpu", "-o", "table"]).ended(0);
    assert!(
        ran.stdout.starts_with("allowed: rule 2 in line 14 of "),
        "{}",
        ran.stdout
    );
    ran.said("anne is not in the users' file");
}

#[test]
fn what_a_hub_would_not_take_ends_a_check_with_2() {
    let wrong = slice_file(
        "wrong-rules.toml",
        "[[access.rule]]\nallow = \"write\"\nusers = \"ann\"\n",
    );
    check(&wrong, &["ann", "publish", "x"])
        .ended(2)
        .said("wrong-rules.toml:2: allow: expected one of create");
    let lost = slice_file("lost-users.toml", "[access]\nusers = \"/nowhere\"\n");
    check(&lost, &["ann", "publish", "x"])
        .ended(2)
        .said("/nowhere: cannot read it");
    check("/nowhere.toml", &["ann", "publish", "x"]).ended(2);
    let file = rules("usage");
    check(&file, &["a b", "publish", "x"])
        .ended(2)
        .said("without blanks");
    check(&file, &["ann", "write", "x"])
        .ended(2)
        .said("expected one of create");
    check(&file, &["ann", "publish", "x", "--from", "home"]).ended(2);
}

#[test]
fn without_rules_all_is_allowed() {
    let open = slice_file("open.toml", "listen = \"tcp -p 1\"\n");
    let told = check(&open, &["anonymous", "admin"]).ended(0).json();
    assert_eq!(told["reason"], "there are no rules");
}

#[test]
fn a_hub_refuses_by_its_rules_and_takes_other_rules_at_sighup() {
    let closed =
        "listen = \"tcp -h 127.0.0.1 -p 0\"\n[[access.rule]]\nanyone = true\nallow = \"observe\"\n";
    let file = slice_file("closed.toml", closed);
    let process = Running::start(&["serve", "--config", &file]);
    let line = process.line();
    let hub = line.strip_prefix("ready ").expect("it is ready");
    let create = ["topic", "create", "t", "--hub", hub];
    run(&create)
        .ended(5)
        .said("floe: error: access refused: anonymous may not create (topic \"t\")")
        .said("floe access check USER ACTION TOPIC");
    // A file that makes no sense keeps the rules as they were.
    std::fs::write(&file, closed.replace("observe", "write")).expect("the same file");
    process.signal("HUP");
    process.talk("allow: expected one of create");
    run(&create).ended(5);
    let more = closed.replace("\"observe\"", "[\"observe\", \"create\"]");
    std::fs::write(&file, more).expect("the same file");
    process.signal("HUP");
    process.talk("read the settings again because of SIGHUP");
    run(&create).ended(0);
}

#[test]
fn a_file_that_was_emptied_or_cut_off_leaves_the_rules_in_force() {
    let users = slice_file("kept-users", USERS);
    let rules = format!(
        "listen = \"tcp -h 127.0.0.1 -p 0\"\n[access]\nusers = \"{users}\"\n\
         [[access.rule]]\nanyone = true\nallow = \"*\"\ntopics = \"mine.*\"\n"
    );
    let file = slice_file("kept.toml", &rules);
    let process = Running::start(&["serve", "--transient", "--config", &file]);
    let line = process.line();
    let hub = line.strip_prefix("ready ").expect("it is ready");
    let create = ["topic", "create", "t", "--hub", hub];
    run(&create).ended(5);
    let (without_rules, _) = rules.split_once("[[access").expect("rules");
    let (without_topics, _) = rules.split_once("topics =").expect("a rule");
    for (text, lost) in [
        ("", "kept.toml no longer has all of its settings. If"),
        (
            "log = \"warn\"\n",
            "no longer has [access], [[access.rule]], access.users. If",
        ),
        (
            without_rules,
            "no longer has all that was behind the present end in line 3, [[access.rule]]",
        ),
        (
            without_topics,
            "no longer has all that was behind the present end in line 6",
        ),
    ] {
        std::fs::write(&file, text).expect("the same file");
        process.signal("HUP");
        let said = process.talked(lost);
        assert!(
            said.contains("the current settings stay in force"),
            "{said}"
        );
        assert!(said.contains("restart this process"), "{said}");
        run(&create).ended(5);
    }
    // A users' file that was emptied locks nobody out.
    std::fs::write(&file, &rules).expect("the same file");
    std::fs::write(&users, "").expect("the same file");
    process.signal("HUP");
    process.talk("no longer has all users of access.users");
    // A line of it that cannot be used is told of, and keeps nobody else out.
    std::fs::write(&users, format!("eve $1$a$b\n{USERS}")).expect("the same file");
    process.signal("HUP");
    process.talk("kept-users: line 1: eve: expected a hash that begins with $argon2id$, $y$");
    process.talk("read the settings again because of SIGHUP");
}

const USERS: &str = "bob $5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA\n";

#[test]
fn a_hub_that_others_reach_without_rules_warns_unless_told_otherwise() {
    let everywhere = ["serve", "--transient", "--listen", "tcp -h 0.0.0.0 -p 0"];
    let here = ["serve", "--transient", "--listen", "tcp -h 127.0.0.1 -p 0"];
    let warns = |arguments: &[&str]| {
        let hub = Running::start(arguments);
        hub.line();
        hub.signal("TERM");
        let stderr = hub.end().stderr;
        assert!(!stderr.contains("-t 60000"), "{stderr}");
        stderr.contains("may do everything: an [[access.rule]]")
    };
    // Only where there is an address besides the loopback ones.
    let has_others = !warns(&here) && warns(&everywhere);
    assert!(has_others || !has_network(), "it listens at all addresses");
    assert!(!warns(&[&everywhere[..], &["--insecure"]].concat()));
}

/// Returns true if this computer has an address that others could reach.
fn has_network() -> bool {
    let routes = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
    routes.lines().count() > 1
}

#[cfg(feature = "tls")]
#[test]
fn the_command_shows_the_token_of_its_environment() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../access/tests/tokens");
    let rules = format!(
        "listen = \"tcp -h 127.0.0.1 -p 0\"\n[access.tokens]\nkeys = \"{folder}/keys.pem\"\n\
         [[access.rule]]\nusers = \"ann\"\nallow = \"*\"\n"
    );
    let process = Running::start(&["serve", "--config", &slice_file("by-token.toml", &rules)]);
    let line = process.line();
    let hub = line.strip_prefix("ready ").expect("it is ready");
    let tokens = std::fs::read_to_string(format!("{folder}/tokens.txt")).expect("tokens");
    let token = |name: &str| {
        let mut lines = tokens.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(own, _)| *own == name).expect("a token").1
    };
    for (name, exit) in [("ann", 0), ("bob", 5), ("expired", 5)] {
        let mut command = floe();
        command.args(["topic", "create", name, "--hub", hub]);
        let output = command
            .env("FLOE_TOKEN", token(name))
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(exit), "{name}: {output:?}");
    }
    // An empty list would hide that the token is not good.
    for token in [token("expired"), "garbage", "a.b.c"] {
        for command in [&["topic", "list"][..], &["status"]] {
            let mut list = floe();
            list.args(command).args(["--hub", hub]);
            let output = list.env("FLOE_TOKEN", token).output().expect("it runs");
            assert_eq!(output.status.code(), Some(5), "{command:?}: {output:?}");
        }
    }
}

/// The address is not one of this host alone, although a system may connect there to itself.
#[cfg(target_os = "linux")]
#[test]
fn the_command_does_not_send_its_token_in_the_clear_to_other_hosts() {
    let hub = crate::hub::Hub::start();
    let elsewhere = hub.manager.replace("127.0.0.1", "0.0.0.0");
    let told = |proxy: &str, arguments: &[&str]| {
        let mut command = floe();
        command
            .args(arguments)
            .arg(proxy)
            .env("FLOE_TOKEN", "SECRET");
        let output = command.output().expect("it runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let withheld = "floe.token is not sent, because everybody on the way could read it";
    for arguments in [
        &["ping", "--timeout", "2s"][..],
        &["topic", "list", "--timeout", "2s", "--hub"],
    ] {
        let said = told(&elsewhere, arguments);
        assert!(said.contains(withheld), "{arguments:?}: {said}");
        let said = told(&hub.manager, arguments);
        assert!(!said.contains("floe.token"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_subscriber_that_may_not_see_its_losses_is_told_that_they_are_not_known() {
    let config = slice_file(
        "unseen-losses.toml",
        "[[access.rule]]\nallow = [\"create\", \"publish\", \"subscribe\"]\nanyone = true\n",
    );
    let hub = crate::hub::Hub::with(&["--transient", "--config", &config]);
    let slice = slice_file(
        "unseen-losses.ice",
        "module M { interface I { void n(); } }",
    );
    let subscribe = ["sub", "t", "--create", "--slice", &slice, "-n", "1"];
    let subscriber = hub.running(&subscribe);
    subscriber.talk("subscribed");
    hub.run(&["pub", "t", "n", "--slice", &slice]).ended(0);
    subscriber
        .end()
        .ended(0)
        .said("how many events the hub lost for this subscriber is not known");
}
