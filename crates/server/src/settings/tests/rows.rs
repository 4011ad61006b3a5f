//! Each setting and each property is read as its row says, and the reference, the schema and the tables of the guide to
//! access are those of the code.
//!
//! To accept a change of the page or the schema, run with `FLOE_BLESS=1`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use floe_access::Action;
use serde_json::{Value as Json, json};

use super::super::*;
use super::{read_properties, read_toml, told};
use crate::settings::known_properties::{
    KnownProperty, OF_ADMIN, OF_GLACIER2, OF_ICE, OF_ICESTORM,
};
use crate::settings::setting::{Effect, Setting};

/// A file in which this setting has this value.
fn file(setting: &Setting, value: &str) -> String {
    let key = setting.key.replace("VIEW", "V").replace("NAME", "N");
    format!("{key} = {value}\n{}", surroundings(setting))
}

/// The settings without which a setting is invalid.
fn surroundings(setting: &Setting) -> &'static str {
    match setting.table() {
        _ if setting.key == "hub" => "gateway.listen = \"127.0.0.1:4063\"\n",
        _ if setting.key == "gateway.instance" => "gateway.session-limit = 10000\n",
        "metrics.VIEW" if setting.key == "metrics.VIEW.group" => "admin.listen = \"tcp\"\n",
        "metrics.VIEW" => "admin.listen = \"tcp\"\nmetrics.V.group = \"id\"\n",
        "admin" if setting.key != "admin.listen" => "admin.listen = \"tcp\"\n",
        "topic.NAME" if !["topic.NAME.durable", "topic.NAME.lifespan"].contains(&setting.key) => {
            "topic.N.durable = true\n"
        }
        "topic.NAME.retention" if setting.key == "topic.NAME.retention.per-key" => {
            "topic.N.durable = true\ntopic.N.retention.key = \"k\"\n"
        }
        "topic.NAME.retention" => "topic.N.durable = true\n",
        "topic.NAME.history" if setting.key == "topic.NAME.history.events" => {
            "topic.N.history.bytes = 5\n"
        }
        "topic.NAME.history" if setting.key == "topic.NAME.history.per-key" => {
            "topic.N.history.key = \"k\"\n"
        }
        "topic.NAME.history" => "topic.N.history.events = 5\n",
        table if table.starts_with("gateway") => "gateway.instance = \"Glacier2\"\n",
        _ => "",
    }
}

fn of_floe_toml() -> impl Iterator<Item = &'static Setting> {
    let settings = rows::ALL.iter().copied();
    let has_own_reader = |setting: &Setting| {
        let table = setting.key.split('.').next();
        ["access", "contracts", "bridge"].map(Some).contains(&table)
    };
    settings.filter(move |setting| !has_own_reader(setting))
}

fn shown(text: &str) -> String {
    let (configuration, problems) = read_toml(text);
    assert_eq!(problems, [], "{text}");
    format!("{configuration:?}")
}

/// It names a file, and is refused without one.
fn needs_a_file(key: &str) -> bool {
    ["gateway.passwords", "CryptPasswords"].contains(&key)
}

#[test]
fn each_setting_does_something_and_has_the_default_that_is_said() {
    let of_file = |setting: &&Setting| !needs_a_file(setting.key);
    for setting in of_floe_toml().filter(of_file) {
        let without = shown(surroundings(setting));
        let example = shown(&file(setting, setting.example));
        assert_ne!(example, without, "{} has no effect", setting.key);
        if let Some(default) = setting.default() {
            let is_same = shown(&file(setting, &default)) == without;
            assert!(is_same, "the default of {} is not {default}", setting.key);
        }
    }
    assert!(of_floe_toml().count() > 80);
}

#[test]
fn a_setting_waits_for_a_restart_if_it_says_so() {
    let of_file = |setting: &&Setting| !needs_a_file(setting.key);
    for setting in of_floe_toml().filter(of_file) {
        let (without, _) = read_toml(surroundings(setting));
        let (example, _) = read_toml(&file(setting, setting.example));
        let mut waiting = without.fixed_differences(&example);
        waiting.extend(without.hub.fixed_differences(&example.hub));
        let waits = setting.effect == Effect::Restart;
        assert_eq!(!waiting.is_empty(), waits, "{}: {waiting:?}", setting.key);
    }
}

/// A running hub may apply the settings of a table, and yet not the table itself when it comes.
#[test]
fn a_table_that_comes_with_a_restart_says_so() {
    let (without, _) = read_toml("");
    let (with, problems) = read_toml("[topic.news.history]\nevents = 3\n");
    assert_eq!(problems, []);
    let waiting = without.hub.fixed_differences(&with.hub);
    let says_so = |setting: &Setting| setting.meaning.contains("comes and goes with a restart");
    let of_history = of_floe_toml().filter(|it| it.key.starts_with("topic.NAME.history."));
    let told = of_history.filter(|setting| says_so(setting)).count();
    assert_eq!((waiting, told), (vec!["histories"], 1));
}

#[test]
fn a_setting_has_one_row_and_a_meaning() {
    let mut keys: Vec<_> = rows::ALL.iter().map(|setting| setting.key).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    for setting in rows::ALL.iter() {
        let meaning = setting.meaning;
        assert!(
            meaning.ends_with('.') && !meaning.contains("  ") && !meaning.contains('|'),
            "{}: {meaning}",
            setting.key
        );
    }
}

#[test]
fn the_settings_of_access_are_those_that_are_read() {
    // A wrong name is answered with all right ones.
    for (table, text) in [
        ("access", "[access]\nx = 1\n"),
        ("access.tokens", "[access.tokens]\nx = 1\n"),
        ("access.rule[]", "[[access.rule]]\nx = 1\n"),
    ] {
        let (_, problems) = read_toml(text);
        let known = problems
            .iter()
            .find_map(|(_, message)| message.split_once("unknown setting, expected one of "));
        let (_, known) = known.expect("a wrong name");
        let read: Vec<_> = known.split(", ").collect();
        let rows = rows::ALL.iter().filter_map(|setting| {
            let (within, rest) = setting.key.split_at_checked(table.len())?;
            let key = rest.strip_prefix('.')?.split(['.', '[']).next()?;
            (within == table).then_some(key)
        });
        let mut rows: Vec<_> = rows.collect();
        rows.dedup();
        let sorted = |mut names: Vec<&str>| {
            names.sort_unstable();
            names.join(" ")
        };
        assert_eq!(sorted(rows), sorted(read), "{table}");
    }
    let text: String = [
        "[access]\nusers = \"u\"\naudit = \"a\"\n[access.tokens]\nkeys = \"k\"\n",
        "[access.networks]\nN = \"10.1.0.0/16\"\n[access.groups]\nN = [\"ann\", \"bob\"]\n",
    ]
    .concat();
    assert!(floe_access::Settings::parse(&text).is_ok());
}

#[cfg(all(feature = "amqp", feature = "corba", feature = "dds", feature = "soap"))]
#[test]
fn the_settings_of_bridges_are_those_that_are_read() {
    use floe_bridges::settings::Settings as BridgeSettings;

    // A wrong name is answered with all right ones.
    for world in ["amqp", "corba", "dds", "soap"] {
        for (table, text) in [
            (
                format!("bridge.{world}"),
                format!("[bridge.{world}]\nx = 1\n"),
            ),
            (
                format!("bridge.{world}.topic[]"),
                format!("[[bridge.{world}.topic]]\ntopic = \"t\"\ninterface = \"::A\"\nx = 1\n"),
            ),
        ] {
            let settings = BridgeSettings::parse(&text).expect("it is TOML");
            let error = settings.plan(Path::new("")).expect_err("a wrong name");
            let error = error.to_string();
            let (_, known) = error
                .split_once("unknown field `x`, expected one of ")
                .expect("names");
            let known = known.lines().next().expect("a line");
            let mut read: Vec<_> = known
                .split(", ")
                .map(|name| name.trim_matches('`'))
                .collect();
            let rows = rows::ALL.iter().filter_map(|setting| {
                let rest = setting.key.strip_prefix(&table)?.strip_prefix('.')?;
                rest.split(['.', '[']).next()
            });
            let mut rows: Vec<_> = rows.collect();
            read.sort_unstable();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows, read, "{table}");
        }
    }
}

#[test]
fn each_property_is_read_and_names_a_setting() {
    let storm = "S.TopicManager.Endpoints=tcp\n";
    let of_storm = |known: &KnownProperty| (storm, format!("S.{}", known.name));
    let of_admin = |known: &KnownProperty| {
        let more = match known.name.contains(".Map.Session.") {
            true => "Glacier2.Client.Endpoints=tcp\nIce.Admin.Endpoints=tcp\n",
            false => "S.TopicManager.Endpoints=tcp\nIce.Admin.Endpoints=tcp\n",
        };
        (more, known.name.replace("VIEW", "V"))
    };
    let of_ice = |known: &KnownProperty| (storm, known.name.to_owned());
    let of_glacier2 = |known: &KnownProperty| {
        (
            "Glacier2.Client.Endpoints=tcp\n",
            format!("Glacier2.{}", known.name),
        )
    };
    let all = OF_ICESTORM.iter().map(|known| (known, of_storm(known)));
    let all = all.chain(OF_ADMIN.iter().map(|known| (known, of_admin(known))));
    let all = all.chain(OF_ICE.iter().map(|known| (known, of_ice(known))));
    let all = all.chain(OF_GLACIER2.iter().map(|known| (known, of_glacier2(known))));
    for (known, (others, name)) in all.filter(|(known, _)| !needs_a_file(known.name)) {
        let (configuration, problems) =
            read_properties(&format!("{others}{name}={}\n", known.example));
        assert_eq!(problems, [], "{name}");
        let warns = !configuration.warnings.is_empty();
        let expected = ["IceSSL.TrustOnly", "IceSSL.TrustOnly.Client"].contains(&known.name);
        assert_eq!(warns, expected, "{name}");
        let mut keys = rows::ALL.iter().map(|setting| setting.key);
        assert!(
            known.setting.is_empty() || keys.any(|key| key == known.setting),
            "{name}: there is no setting {}",
            known.setting
        );
        assert!(
            !known.note.is_empty() || !known.setting.is_empty(),
            "{name} is not explained"
        );
    }
}

#[test]
fn the_page_of_all_settings_is_that_of_the_code() {
    expect("guides/settings.md", &reference::page());
}

#[test]
fn the_tables_of_the_guide_to_access_are_those_of_the_code() {
    let path = "guides/access.md";
    let mut page = std::fs::read_to_string(docs().join(path)).expect("the guide");
    for part in access_tables() {
        let Some(put) = part.put_into(&page) else {
            panic!("{path} has no place for the {}", part.name);
        };
        page = put;
    }
    expect(path, &page);
}

#[test]
fn the_schema_is_that_of_the_code() {
    expect("floe.schema.json", &format!("{:#}\n", schema::schema()));
}

/// A part of a page that follows from the code, with its name there.
struct Part {
    name: &'static str,
    text: String,
}

impl Part {
    /// The page with this part as it is now; `None` if the page has no place for it.
    fn put_into(&self, page: &str) -> Option<String> {
        let (begin, end) = (
            format!("<!-- generated: {} -->\n", self.name),
            "<!-- end -->",
        );
        let (before, rest) = page.split_once(&begin)?;
        let (_, after) = rest.split_once(end)?;
        Some(format!("{before}{begin}\n{}\n{end}{after}", self.text))
    }
}

/// The tables of the page `docs/guides/access.md`: the keys of a rule, and the actions.
fn access_tables() -> [Part; 2] {
    let mut keys = String::from("| key of a rule | value | meaning |\n|---|---|---|\n");
    let of_rules = |setting: &&Setting| setting.table() == "access.rule[]";
    for setting in rows::ALL.iter().copied().filter(of_rules) {
        let (key, value) = (setting.key_in_table(), setting.value());
        let _ = writeln!(keys, "| `{key}` | {value} | {} |", setting.meaning);
    }
    let mut actions = String::from("| action | what it covers |\n|---|---|\n");
    for action in Action::ALL {
        let _ = writeln!(actions, "| `{action}` | {} |", action.meaning());
    }
    [("keys of a rule", keys), ("actions", actions)].map(|(name, text)| Part { name, text })
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn expect(path: &str, text: &str) {
    let path = docs().join(path);
    if std::env::var_os("FLOE_BLESS").is_some() {
        std::fs::write(&path, text).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is out of date: run this test with FLOE_BLESS=1",
        path.display()
    );
}

#[test]
fn the_schema_accepts_each_setting_and_no_other() {
    let schema = schema::schema();
    for setting in rows::ALL.iter() {
        let default = setting.default();
        for value in [Some(setting.example), default.as_deref()]
            .into_iter()
            .flatten()
        {
            let value = serde_json::from_str(value).expect("it is JSON, too");
            let file = nested(setting.key, value);
            assert!(accepts(&schema, &file), "{}: {file}", setting.key);
        }
        let wrong = nested(setting.key, json!({}));
        assert!(!accepts(&schema, &wrong), "{}", setting.key);
        let mistyped = nested(&format!("{}x", setting.key), json!(1));
        let has_names = setting.key.ends_with("NAME");
        assert!(has_names || !accepts(&schema, &mistyped), "{}", setting.key);
    }
}

/// A file with one setting.
fn nested(key: &str, value: Json) -> Json {
    key.rsplit('.')
        .fold(value, |inner, segment| match segment.strip_suffix("[]") {
            Some(list) => json!({ list: [inner] }),
            None => json!({ segment: inner }),
        })
}

/// Returns true if a schema accepts a value, apart from patterns of texts.
fn accepts(schema: &Json, value: &Json) -> bool {
    if let Some(any) = schema["anyOf"].as_array() {
        return any.iter().any(|schema| accepts(schema, value));
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.contains(value);
    }
    if schema["const"].is_string() {
        return schema["const"] == *value;
    }
    match schema["type"].as_str() {
        Some("object") => value.as_object().is_some_and(|table| {
            table.iter().all(|(name, inner)| {
                match (&schema["properties"][name], &schema["additionalProperties"]) {
                    (Json::Null, Json::Bool(false)) => false,
                    (Json::Null, others) => accepts(others, inner),
                    (known, _) => accepts(known, inner),
                }
            })
        }),
        Some("array") => value
            .as_array()
            .is_some_and(|values| values.iter().all(|value| accepts(&schema["items"], value))),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_u64() >= Some(schema["minimum"].as_u64().expect("a minimum")),
        other => panic!("expected a type, got {other:?} in {schema}"),
    }
}

#[test]
fn a_setting_that_is_there_twice_is_told_with_its_first_line() {
    let (_, problems) = read_toml("[limits]\nevents = 1\n[queue]\nevents = 3\n\nevents = 4\n");
    let told = "events is set twice: line 4 sets it first".to_owned();
    assert_eq!(problems, [(6, told)]);
}

#[test]
fn a_text_without_quotes_is_shown_with_them() {
    let (_, problems) = read_toml(
        "listen = tcp -p 10000  # here\n[queue]\nevents = 10\npatience = 5s\n[access]\nusers = [\n",
    );
    let lines: Vec<_> = problems.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines[..2], [1, 4], "{problems:?}");
    let told: Vec<_> = problems.iter().map(|(_, message)| message).collect();
    assert!(
        told[0].ends_with("; a text needs quotes: listen = \"tcp -p 10000\""),
        "{told:?}"
    );
    assert!(
        told[1].ends_with("; a text needs quotes: patience = \"5s\""),
        "{told:?}"
    );
    assert!(!told[2].contains("needs quotes"), "{told:?}");
}

#[test]
fn an_administrative_object_that_listens_nowhere_is_told() {
    let (configuration, problems) = read_toml("[admin]\ninstance = \"DemoAdmin\"\n");
    assert_eq!(problems, []);
    let expected =
        "admin.instance has no effect without admin.listen: there is no administrative object";
    assert_eq!(told(configuration.warnings), [(2, expected.to_owned())]);
    let text = "[admin]\nlisten = \"tcp -p 1\"\ninstance = \"DemoAdmin\"\n";
    assert_eq!(told(read_toml(text).0.warnings), []);
}
