//! The table `[access]`: its content, and how its mistakes are told.

use super::*;

fn problems(text: &str) -> Vec<(usize, String)> {
    let problems = Settings::parse(text).expect_err(text).0;
    problems
        .into_iter()
        .map(|problem| (problem.line, problem.message))
        .collect()
}

#[test]
fn all_that_the_table_may_say_is_read() {
    let settings = Settings::parse(
        r#"
listen = "tcp -p 10000"
[access]
users = "users.txt"
audit = "audit.jsonl"
[access.tokens]
keys = "keys.pem"
issuer = "https://issuer.example"
audience = "floe"
[access.networks]
lab = "10.1.0.0/16"
[[access.rule]]
allow = ["subscribe", "observe"]
topics = "telemetry.*"
users = ["ann", "bob"]
groups = "any-of-the-token"
certificate = "O=ZeroC"
networks = ["lab", "loopback"]
callbacks = "lab"
[[access.rule]]
deny = "*"
anyone = true
"#,
    )
    .expect("settings");
    assert_eq!(settings.users, Some("users.txt".into()));
    assert_eq!(settings.audit, Some("audit.jsonl".into()));
    let tokens = settings.tokens.expect("tokens");
    assert_eq!(
        (tokens.keys, tokens.audience),
        ("keys.pem".into(), Some("floe".to_owned()))
    );
    let [first, second] = &settings.rules.rules[..] else {
        panic!("expected two rules");
    };
    assert_eq!(
        (first.allows, first.line, second.allows, second.line),
        (true, 12, false, 20)
    );
    assert!(first.actions.contains(Action::Observe) && !first.actions.contains(Action::Admin));
    assert_eq!(second.actions, Actions::all());
    assert_eq!(second.who, Who::default());
    assert_eq!(
        (
            first.who.users.len(),
            first.who.networks.len(),
            &first.callbacks[..]
        ),
        (2, 2, &["lab".to_owned()][..])
    );
}

#[test]
fn a_file_without_the_table_has_no_rules() {
    let settings =
        Settings::parse("listen = \"tcp -p 1\"\n[queue]\nevents = 3\n").expect("settings");
    assert_eq!(settings, Settings::default());
    assert!(settings.rules.is_open());
}

#[test]
fn a_rule_must_say_whom_it_speaks_of() {
    for who in ["", "anyone = false", "anyone = true\nusers = \"ann\""] {
        let text = format!("\n[[access.rule]]\nallow = \"publish\"\n{who}\n");
        let problems = problems(&text);
        assert!(
            matches!(&problems[..], [(2, message)] if message.contains("anyone = true")),
            "{problems:?}"
        );
    }
    // An empty list restricts nothing, so the rule would apply to everybody.
    let problems =
        problems("[[access.rule]]\nallow = \"publish\"\nusers = []\nnetworks = \"any\"\n");
    assert!(
        matches!(&problems[..], [(3, message)] if message.contains("users: expected 1 to")),
        "{problems:?}"
    );
}

#[test]
fn all_wrong_rules_are_named_by_their_lines() {
    let text = r#"[access.networks]
lab = ["10.1.2.3/16"]
loopback = "127.0.0.1"
[access.groups]
"a b" = "ann"
[[access.rule]]
anyone = true
[[access.rule]]
allow = "write"
users = ""
[[access.rule]]
allow = "publish"
deny = "publish"
networks = "west"
[[access.rule]]
deny = "subscribe"
groups = "unknown"
callbacks = "any"
[[access.rule]]
allow = "publish"
certificate = "ZeroC"
[[access.rule]]
allow = "publish"
identities = "a"
anyone = true
[[access.rule]]
allow = "*"
topics = "t"
operations = "a"
anyone = true
"#;
    let lines: Vec<_> = problems(text).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [2, 3, 5, 6, 9, 10, 11, 14, 17, 18, 21, 22, 26]);
}

#[test]
fn a_part_of_a_rule_that_would_never_apply_is_refused() {
    let rule = |lines: &str| format!("[[access.rule]]\n{lines}\nanyone = true\n");
    for (lines, part) in [
        (
            "deny = \"call\"\ntopics = \"secret.*\"",
            "no call is about a topic",
        ),
        (
            "deny = [\"publish\", \"call\"]\ntopics = \"secret.*\"",
            "no call is about a topic",
        ),
        (
            "deny = \"login\"\ntopics = \"secret.*\"",
            "no login is about a topic",
        ),
        (
            "deny = [\"call\", \"login\"]\ncategories = \"orders\"",
            "expected call alone, got login as well",
        ),
        (
            "allow = [\"publish\", \"call\"]\nidentities = \"a\"",
            "expected call alone, got publish as well",
        ),
    ] {
        let problems = problems(&rule(lines));
        assert!(
            matches!(&problems[..], [(1, message)] if message.contains(part)),
            "{lines}: {problems:?}"
        );
    }
    for lines in [
        "deny = \"*\"\ntopics = \"secret.*\"",
        "deny = \"*\"\nidentities = \"a\"",
        "deny = \"call\"\nidentities = \"a\"",
        "deny = [\"login\", \"call\", \"publish\"]",
    ] {
        assert!(Settings::parse(&rule(lines)).is_ok(), "{lines}");
    }
}

#[test]
fn unknown_settings_and_wrong_types_are_named() {
    for (text, line, part) in [
        (
            "[access]\n\nuser = \"x\"\n",
            3,
            "access.user: unknown setting, expected one of users, audit,",
        ),
        (
            "[[access.rule]]\nallow = \"publish\"\nwho = \"ann\"\n",
            3,
            "who: unknown setting, expected one of allow, deny,",
        ),
        (
            "[[access.rule]]\nallow = 7\n",
            2,
            "allow: expected a text or a list of texts, got a number",
        ),
        (
            "[[access.rule]]\nallow = [\"call\", 7]\n",
            2,
            "allow: expected a text or a list of texts, got a list of something else",
        ),
        (
            "[access.tokens]\nissuer = \"x\"\n",
            1,
            "access.tokens: expected keys",
        ),
        ("access = 7\n", 1, "access: expected a table, got a number"),
        (
            "[access]\nrule = \"x\"\n",
            2,
            "access.rule: expected a list of tables",
        ),
        ("[access\n", 1, "expected"),
    ] {
        let problems = problems(text);
        assert!(
            matches!(&problems[..], [(own, message)] if *own == line && message.contains(part)),
            "{problems:?}"
        );
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_in_one_go() {
    let text = r#"[access]
user = "users.txt"
[access.tokens]
keys = 7
[access.networks]
lab = true
[[access.rule]]
allow = "write"
who = "ann"
[[access.rule]]
allow = 7
users = ""
topics = ""
"#;
    let problems = problems(text);
    let lines: Vec<_> = problems.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 4, 6, 8, 9, 11, 12, 13], "{problems:?}");
    // No message speaks the language of a library.
    let told = format!("{problems:?}");
    assert!(
        !told.contains("field") && !told.contains("variant"),
        "{told}"
    );
}

#[test]
fn too_many_rules_are_refused() {
    let text = "[[access.rule]]\nallow = \"*\"\nanyone = true\n".repeat(RULES_MAX + 1);
    assert_eq!(
        problems(&text),
        [(
            3 * RULES_MAX + 1,
            format!("access.rule: expected at most {RULES_MAX} rules")
        )]
    );
}
