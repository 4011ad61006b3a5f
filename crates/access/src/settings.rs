//! The table `[access]` of `floe.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use crate::action::{Action, Actions};
use crate::caller::check_name;
use crate::network::{Network, Networks};
use crate::problem::{Problem, Problems};
use crate::rule::{Objects, Rule, Who};
use crate::rules::{Groups, RULES_MAX, Rules};

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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
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
    /// The problems of the table, by line.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        let line_of = |span: Range<usize>| {
            let before = text.as_bytes().iter().take(span.start);
            before.filter(|byte| **byte == b'\n').count() + 1
        };
        let document: Document = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, line_of);
            Problem::new(line, error.message().trim().replace('\n', ", "))
        })?;
        let Some(table) = document.access else {
            return Ok(Self::default());
        };
        let mut reader = Reader {
            line_of: &line_of,
            problems: Vec::new(),
            takes_tokens: table.tokens.is_some(),
        };
        let rules = reader.rules(table.networks, table.groups, table.rule);
        match reader.problems.is_empty() {
            true => Ok(Self {
                rules,
                users: table.users,
                tokens: table.tokens,
                audit: table.audit,
            }),
            false => Err(Problems(reader.problems)),
        }
    }
}

#[derive(Deserialize)]
struct Document {
    access: Option<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    users: Option<PathBuf>,
    audit: Option<PathBuf>,
    tokens: Option<TokenSettings>,
    #[serde(default)]
    networks: BTreeMap<String, Spanned<Texts>>,
    #[serde(default)]
    groups: BTreeMap<String, Spanned<Texts>>,
    #[serde(default)]
    rule: Vec<Spanned<RuleTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleTable {
    allow: Option<Texts>,
    deny: Option<Texts>,
    topics: Option<Texts>,
    identities: Option<Texts>,
    categories: Option<Texts>,
    adapters: Option<Texts>,
    operations: Option<Texts>,
    #[serde(default)]
    anyone: bool,
    users: Option<Texts>,
    groups: Option<Texts>,
    certificate: Option<String>,
    networks: Option<Texts>,
    callbacks: Option<Texts>,
}

/// One text, or a list of them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Texts {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

struct Reader<'a> {
    line_of: &'a dyn Fn(Range<usize>) -> usize,
    problems: Vec<Problem>,
    /// If tokens are accepted, they may name groups that the file does not have.
    takes_tokens: bool,
}

type Lists = BTreeMap<String, Spanned<Texts>>;

impl Reader<'_> {
    fn rules(&mut self, networks: Lists, groups: Lists, rules: Vec<Spanned<RuleTable>>) -> Rules {
        let mut all = Rules::default();
        for (name, texts) in networks {
            let line = (self.line_of)(texts.span());
            let what = format!("access.networks.{name}");
            let list: Vec<Network> = self.list(line, &what, Some(texts.as_ref()));
            let inserted = check_name(&name).and_then(|()| all.networks.insert(&name, list));
            self.note(line, &what, inserted);
        }
        for (name, texts) in groups {
            let line = (self.line_of)(texts.span());
            let what = format!("access.groups.{name}");
            self.note(line, &what, check_name(&name));
            let members = self.list(line, &what, Some(texts.as_ref()));
            all.groups.0.insert(name, members);
        }
        if rules.len() > RULES_MAX {
            let line = (self.line_of)(rules[RULES_MAX].span());
            self.problem(
                line,
                "access.rule",
                format_args!("expected at most {RULES_MAX} rules"),
            );
            return all;
        }
        for rule in rules {
            let line = (self.line_of)(rule.span());
            let rule = self.rule(line, rule.into_inner(), &all.networks, &all.groups);
            all.rules.push(rule);
        }
        all
    }

    fn rule(
        &mut self,
        line: usize,
        table: RuleTable,
        networks: &Networks,
        groups: &Groups,
    ) -> Rule {
        let (allows, actions) = match (&table.allow, &table.deny) {
            (Some(actions), None) => (true, self.actions(line, "allow", actions)),
            (None, Some(actions)) => (false, self.actions(line, "deny", actions)),
            _ => {
                self.problem(
                    line,
                    "access.rule",
                    "expected either allow or deny, with actions",
                );
                (false, Actions::default())
            }
        };
        let who = Who {
            users: self.list(line, "users", table.users.as_ref()),
            groups: self.list(line, "groups", table.groups.as_ref()),
            certificate: self.one(line, "certificate", table.certificate.as_deref()),
            networks: self.list(line, "networks", table.networks.as_ref()),
        };
        if !self.takes_tokens {
            let unknown = |name: &&String| !groups.0.contains_key(*name);
            if let Some(name) = who.groups.iter().find(unknown) {
                self.problem(
                    line,
                    "groups",
                    format_args!("there is no {name:?} in [access.groups]"),
                );
            }
        }
        let callbacks: Vec<String> = self.list(line, "callbacks", table.callbacks.as_ref());
        self.check_networks(line, "networks", &who.networks, networks);
        self.check_networks(line, "callbacks", &callbacks, networks);
        let calls = [Action::Subscribe, Action::Link]
            .into_iter()
            .any(|action| actions.contains(action));
        let calls_back = allows && calls;
        if !calls_back && !callbacks.is_empty() {
            self.problem(
                line,
                "callbacks",
                "expected a rule that allows subscribe or link: only for these does the hub call other programs",
            );
        }
        let objects = Objects {
            identities: self.list(line, "identities", table.identities.as_ref()),
            categories: self.list(line, "categories", table.categories.as_ref()),
            adapters: self.list(line, "adapters", table.adapters.as_ref()),
            operations: self.list(line, "operations", table.operations.as_ref()),
        };
        if !objects.is_empty() && !actions.contains(Action::Call) {
            let expected = "expected a rule about call: identities, categories, adapters and operations are of calls";
            self.problem(line, "access.rule", expected);
        }
        if !objects.is_empty() && table.topics.is_some() {
            let expected = "expected either topics or objects: no call is about a topic";
            self.problem(line, "access.rule", expected);
        }
        // A rule without callers would apply to every caller.
        if table.anyone == (who != Who::default()) {
            let expected = "expected anyone = true, or else users, groups, certificate or networks";
            self.problem(line, "access.rule", expected);
        }
        Rule {
            allows,
            actions,
            topics: self.list(line, "topics", table.topics.as_ref()),
            objects,
            who,
            callbacks,
            line,
        }
    }

    fn actions(&mut self, line: usize, key: &str, texts: &Texts) -> Actions {
        if let [all] = texts.as_slice()
            && all == "*"
        {
            return Actions::all();
        }
        let actions: Vec<Action> = self.list(line, key, Some(texts));
        actions.into_iter().collect()
    }

    fn check_networks(&mut self, line: usize, key: &str, names: &[String], networks: &Networks) {
        let unknown = names.iter().find(|name| !networks.is_known(name));
        if let Some(name) = unknown {
            let known: Vec<_> = networks.names().collect();
            let known = known.join(", ");
            self.problem(
                line,
                key,
                format_args!("expected the name of a network ({known}), got {name:?}"),
            );
        }
    }

    /// A list, with its entries parsed. An empty list is an error: it would restrict nothing, so the rule would apply
    /// to more than its author expects.
    fn list<T: FromStr<Err: fmt::Display>>(
        &mut self,
        line: usize,
        key: &str,
        texts: Option<&Texts>,
    ) -> Vec<T> {
        let texts = texts.map(Texts::as_slice);
        let Some(len) = texts.map(<[_]>::len) else {
            return Vec::new();
        };
        if !(1..=LIST_MAX).contains(&len) {
            self.problem(
                line,
                key,
                format_args!("expected 1 to {LIST_MAX} entries, got {len}"),
            );
            return Vec::new();
        }
        let each = texts.unwrap_or_default().iter();
        each.filter_map(|text| self.one(line, key, Some(text)))
            .collect()
    }

    fn one<T: FromStr<Err: fmt::Display>>(
        &mut self,
        line: usize,
        key: &str,
        text: Option<&str>,
    ) -> Option<T> {
        match text?.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(line, key, error);
                None
            }
        }
    }

    fn note(&mut self, line: usize, key: &str, result: Result<(), String>) {
        if let Err(error) = result {
            self.problem(line, key, error);
        }
    }

    fn problem(&mut self, line: usize, key: &str, message: impl fmt::Display) {
        self.problems
            .push(Problem::new(line, format_args!("{key}: {message}")));
    }
}

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
            matches!(&problems[..], [(1, message)] if message.contains("users: expected 1 to")),
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
        assert_eq!(lines, [2, 3, 5, 6, 8, 8, 8, 11, 11, 15, 15, 19, 19, 22, 26]);
    }

    #[test]
    fn unknown_settings_and_wrong_types_are_named() {
        for (text, line, part) in [
            ("[access]\n\nuser = \"x\"\n", 3, "unknown field `user`"),
            (
                "[[access.rule]]\nallow = \"publish\"\nwho = \"ann\"\n",
                3,
                "unknown field `who`",
            ),
            ("[[access.rule]]\nallow = 7\n", 2, "a text or a list"),
            ("[access.tokens]\nissuer = \"x\"\n", 1, "keys"),
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
