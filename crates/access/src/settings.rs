//! The table `[access]` of `floe.toml`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use toml::de::DeTable;

use crate::action::{Action, Actions};
use crate::caller::check_name;
use crate::network::{Network, Networks};
use crate::problem::{Problem, Problems};
use crate::rule::{Objects, Rule, Who};
use crate::rules::{Groups, RULES_MAX, Rules};
use crate::table::{Entry, TableReader, Texts};

/// The table `[access]` of `floe.toml`: the rules, and the files with users and keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The rules.
    pub rules: Rules,
    /// The users' file.
    pub users: Option<PathBuf>,
    /// Which tokens are accepted.
    pub tokens: Option<TokenSettings>,
    /// The audit log: a file in which each refusal is a line. It is not the log of the process.
    pub audit: Option<PathBuf>,
}

/// The settings for tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// A file with public keys.
    pub keys: PathBuf,
    /// The issuer that a token must name.
    pub issuer: Option<String>,
    /// The audience that a token must name, perhaps among others.
    pub audience: Option<String>,
}

/// The largest number of entries in a list: patterns of a rule, members of a group, addresses of a network.
pub const LIST_MAX: usize = 1000;

impl Settings {
    /// Reads the table `[access]` of a `floe.toml`. Ignores other tables.
    ///
    /// # Errors
    /// All problems of the table, by line.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        let mut reader = Reader {
            tables: TableReader::new(text),
            takes_tokens: false,
        };
        let document = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(0, |span| reader.tables.line_of(&span));
            Problem::new(line, error.message().trim().replace('\n', ", "))
        })?;
        let mut settings = None;
        for (key, value) in document.get_ref() {
            if key.get_ref() == "access" {
                let line = reader.tables.line_of(&key.span());
                settings = Some(reader.settings(Entry::new("access", line, value.get_ref())));
            }
        }
        let problems = reader.tables.into_problems();
        match problems.is_empty() {
            true => Ok(settings.unwrap_or_default()),
            false => Err(Problems(problems)),
        }
    }
}

/// A rule as it stands in the file.
#[derive(Default)]
struct RuleTable {
    line: usize,
    allow: Option<Texts>,
    deny: Option<Texts>,
    topics: Option<Texts>,
    identities: Option<Texts>,
    categories: Option<Texts>,
    adapters: Option<Texts>,
    operations: Option<Texts>,
    anyone: bool,
    users: Option<Texts>,
    groups: Option<Texts>,
    certificate: Option<Texts>,
    networks: Option<Texts>,
    callbacks: Option<Texts>,
    /// True if all keys are known, and all values have the right type. Otherwise it cannot be said which keys are
    /// missing.
    is_sound: bool,
}

struct Reader<'t> {
    tables: TableReader<'t>,
    /// If tokens are accepted, they may name groups that the file does not have.
    takes_tokens: bool,
}

/// Lists of texts with their names.
type Lists = Vec<(String, Texts)>;

impl<'t> Reader<'t> {
    fn settings(&mut self, entry: Entry<'_, 't>) -> Settings {
        let mut settings = Settings::default();
        let (mut networks, mut groups, mut rules) = (Lists::new(), Lists::new(), Vec::new());
        let Some(table) = self.tables.table(entry) else {
            return settings;
        };
        let known = ["users", "audit", "tokens", "networks", "groups", "rule"];
        let mut tokens = None;
        self.tables
            .entries("access.", table, &known, |tables, key, entry| {
                match key {
                    "users" => settings.users = tables.text(entry).map(PathBuf::from),
                    "audit" => settings.audit = tables.text(entry).map(PathBuf::from),
                    "tokens" => tokens = Some(token_settings(tables, entry)),
                    "networks" => networks = lists(tables, entry),
                    "groups" => groups = lists(tables, entry),
                    "rule" => rules = rule_tables(tables, entry),
                    _ => return false,
                }
                true
            });
        self.takes_tokens = tokens.is_some();
        settings.tokens = tokens.flatten();
        settings.rules = self.rules(networks, groups, rules);
        settings
    }

    fn rules(&mut self, networks: Lists, groups: Lists, rules: Vec<RuleTable>) -> Rules {
        let mut all = Rules::default();
        for (name, texts) in networks {
            let what = format!("access.networks.{name}");
            let list: Vec<Network> = self.list(&what, Some(&texts));
            let inserted = check_name(&name).and_then(|()| all.networks.insert(&name, list));
            self.note(texts.line, &what, inserted);
        }
        for (name, texts) in groups {
            let what = format!("access.groups.{name}");
            self.note(texts.line, &what, check_name(&name));
            let members = self.list(&what, Some(&texts));
            all.groups.0.insert(name, members);
        }
        if let Some(surplus) = rules.get(RULES_MAX) {
            let expected = format_args!("expected at most {RULES_MAX} rules");
            self.tables.problem(surplus.line, "access.rule", expected);
            return all;
        }
        for rule in &rules {
            let rule = self.rule(rule, &all.networks, &all.groups);
            all.rules.push(rule);
        }
        all
    }

    fn rule(&mut self, table: &RuleTable, networks: &Networks, groups: &Groups) -> Rule {
        let line = table.line;
        let before = self.tables.count();
        let (allows, actions) = match (&table.allow, &table.deny) {
            (Some(actions), None) => (true, self.actions("allow", actions)),
            (None, Some(actions)) => (false, self.actions("deny", actions)),
            _ if table.is_sound => {
                let expected = "expected either allow or deny, with actions";
                self.tables.problem(line, "access.rule", expected);
                (false, Actions::default())
            }
            _ => (false, Actions::default()),
        };
        let has_actions = table.is_sound && self.tables.count() == before;
        let before = self.tables.count();
        let who = Who {
            users: self.list("users", table.users.as_ref()),
            groups: self.list("groups", table.groups.as_ref()),
            certificate: self.list("certificate", table.certificate.as_ref()).pop(),
            networks: self.list("networks", table.networks.as_ref()),
        };
        // A rule without callers would apply to every caller.
        let has_callers = self.tables.count() > before || who != Who::default();
        if table.is_sound && table.anyone == has_callers {
            let expected = "expected anyone = true, or else users, groups, certificate or networks";
            self.tables.problem(line, "access.rule", expected);
        }
        if !self.takes_tokens {
            let unknown = |name: &&String| !groups.0.contains_key(*name);
            if let Some(name) = who.groups.iter().find(unknown) {
                let expected = format_args!("there is no {name:?} in [access.groups]");
                self.tables
                    .problem(line_of(table.groups.as_ref()), "groups", expected);
            }
        }
        let callbacks: Vec<String> = self.list("callbacks", table.callbacks.as_ref());
        self.check_networks("networks", table.networks.as_ref(), &who.networks, networks);
        self.check_networks("callbacks", table.callbacks.as_ref(), &callbacks, networks);
        let objects = Objects {
            identities: self.list("identities", table.identities.as_ref()),
            categories: self.list("categories", table.categories.as_ref()),
            adapters: self.list("adapters", table.adapters.as_ref()),
            operations: self.list("operations", table.operations.as_ref()),
        };
        if has_actions {
            self.check_actions(table, allows, actions, &objects);
        }
        Rule {
            allows,
            actions,
            topics: self.list("topics", table.topics.as_ref()),
            objects,
            who,
            callbacks,
            line,
        }
    }

    /// Checks that the rule says only what its actions can be about.
    fn check_actions(
        &mut self,
        table: &RuleTable,
        allows: bool,
        actions: Actions,
        objects: &Objects,
    ) {
        let line = table.line;
        let calls = [Action::Subscribe, Action::Link]
            .into_iter()
            .any(|action| actions.contains(action));
        if !(allows && calls) && table.callbacks.is_some() {
            let expected = "expected a rule that allows subscribe or link: only for these does the hub call other programs";
            self.tables
                .problem(line_of(table.callbacks.as_ref()), "callbacks", expected);
        }
        if !objects.is_empty() && !actions.contains(Action::Call) {
            let expected = "expected a rule about call: identities, categories, adapters and operations are of calls";
            self.tables.problem(line, "access.rule", expected);
        }
        if !objects.is_empty() && table.topics.is_some() {
            let expected = "expected either topics or objects: no call is about a topic";
            self.tables.problem(line, "access.rule", expected);
        }
    }

    fn actions(&mut self, key: &str, texts: &Texts) -> Actions {
        if let [all] = &texts.texts[..]
            && all == "*"
        {
            return Actions::all();
        }
        let actions: Vec<Action> = self.list(key, Some(texts));
        actions.into_iter().collect()
    }

    fn check_networks(
        &mut self,
        key: &str,
        texts: Option<&Texts>,
        names: &[String],
        networks: &Networks,
    ) {
        let unknown = names.iter().filter(|name| !networks.is_known(name));
        for name in unknown {
            let known: Vec<_> = networks.names().collect();
            let known = known.join(", ");
            let expected = format_args!("expected the name of a network ({known}), got {name:?}");
            self.tables.problem(line_of(texts), key, expected);
        }
    }

    /// A list, with its entries parsed. An empty list is an error: it would restrict nothing, so the rule would apply
    /// to more than its author expects.
    fn list<T: FromStr<Err: fmt::Display>>(&mut self, key: &str, texts: Option<&Texts>) -> Vec<T> {
        let Some(Texts { texts, line }) = texts else {
            return Vec::new();
        };
        let len = texts.len();
        if !(1..=LIST_MAX).contains(&len) {
            let expected = format_args!("expected 1 to {LIST_MAX} entries, got {len}");
            self.tables.problem(*line, key, expected);
            return Vec::new();
        }
        let mut parsed = Vec::with_capacity(len);
        for text in texts {
            match text.parse() {
                Ok(value) => parsed.push(value),
                Err(error) => self.tables.problem(*line, key, error),
            }
        }
        parsed
    }

    fn note(&mut self, line: usize, key: &str, result: Result<(), String>) {
        if let Err(error) = result {
            self.tables.problem(line, key, error);
        }
    }
}

fn line_of(texts: Option<&Texts>) -> usize {
    texts.map_or(0, |texts| texts.line)
}

fn token_settings<'t>(tables: &mut TableReader<'t>, entry: Entry<'_, 't>) -> Option<TokenSettings> {
    let table = tables.table(entry)?;
    let (mut keys, mut issuer, mut audience) = (None, None, None);
    let mut has_keys = false;
    let known = ["keys", "issuer", "audience"];
    tables.entries("access.tokens.", table, &known, |tables, key, entry| {
        match key {
            "keys" => {
                has_keys = true;
                keys = tables.text(entry);
            }
            "issuer" => issuer = tables.text(entry),
            "audience" => audience = tables.text(entry),
            _ => return false,
        }
        true
    });
    if !has_keys {
        let expected = "expected keys, the file with the public keys of the issuer";
        tables.problem(entry.line, entry.name, expected);
    }
    Some(TokenSettings {
        keys: keys?.into(),
        issuer,
        audience,
    })
}

fn lists<'t>(tables: &mut TableReader<'t>, entry: Entry<'_, 't>) -> Lists {
    let mut lists = Lists::new();
    let Some(table) = tables.table(entry) else {
        return lists;
    };
    let prefix = format!("{}.", entry.name);
    tables.entries(&prefix, table, &[], |tables, key, entry| {
        lists.extend(tables.texts(entry).map(|texts| (key.to_owned(), texts)));
        true
    });
    lists
}

fn rule_tables<'t>(tables: &mut TableReader<'t>, entry: Entry<'_, 't>) -> Vec<RuleTable> {
    let each = tables.tables(entry).into_iter();
    each.map(|(line, table)| rule_table(tables, line, table))
        .collect()
}

fn rule_table<'t>(tables: &mut TableReader<'t>, line: usize, table: &DeTable<'t>) -> RuleTable {
    let before = tables.count();
    let mut rule = RuleTable {
        line,
        ..RuleTable::default()
    };
    tables.entries("", table, &RULE_KEYS, |tables, key, entry| {
        let texts = match key {
            "anyone" => {
                rule.anyone = tables.flag(entry).unwrap_or_default();
                return true;
            }
            // A name has commas, so one is all that there may be.
            "certificate" => {
                let text = tables.text(entry);
                rule.certificate = text.map(|text| Texts {
                    texts: vec![text],
                    line: entry.line,
                });
                return true;
            }
            "allow" => &mut rule.allow,
            "deny" => &mut rule.deny,
            "topics" => &mut rule.topics,
            "identities" => &mut rule.identities,
            "categories" => &mut rule.categories,
            "adapters" => &mut rule.adapters,
            "operations" => &mut rule.operations,
            "users" => &mut rule.users,
            "groups" => &mut rule.groups,
            "networks" => &mut rule.networks,
            "callbacks" => &mut rule.callbacks,
            _ => return false,
        };
        *texts = tables.texts(entry);
        true
    });
    rule.is_sound = tables.count() == before;
    rule
}

/// The keys that a rule may have.
const RULE_KEYS: [&str; 13] = [
    "allow",
    "deny",
    "topics",
    "identities",
    "categories",
    "adapters",
    "operations",
    "anyone",
    "users",
    "groups",
    "certificate",
    "networks",
    "callbacks",
];

#[cfg(test)]
mod tests {
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
}
