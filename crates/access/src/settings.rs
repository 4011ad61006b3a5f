//! The table `[access]` of `floe.toml`.
//!
//! - `settings/rule_table.rs`: a rule as the file has it

mod rule_table;
#[cfg(test)]
mod tests;

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
use rule_table::RuleTable;

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
                    "rule" => rules = RuleTable::read_all(tables, entry),
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
        // "*" is all that the rest of the rule can be about.
        if actions != Actions::all() {
            self.check_listed(table, actions, objects);
        }
        if !objects.is_empty() && table.topics.is_some() {
            let expected = "expected either topics or objects: no call is about a topic";
            self.tables.problem(line, "access.rule", expected);
        }
    }

    /// Checks that the rule can be about each action that it lists: it would never apply to the others.
    fn check_listed(&mut self, table: &RuleTable, actions: Actions, objects: &Objects) {
        let listed = |action: &Action| actions.contains(*action);
        let mut all = Action::ALL.into_iter().filter(listed);
        if !objects.is_empty() && actions.contains(Action::Call) {
            if let Some(other) = all.find(|action| *action != Action::Call) {
                let expected = format_args!(
                    "expected call alone, got {other} as well: identities, categories, adapters and operations are of calls"
                );
                self.tables.problem(table.line, "access.rule", expected);
            }
        } else if table.topics.is_some() {
            for action in all.filter(|action| action.is_of_gateway()) {
                let expected = format_args!(
                    "expected a rule of its own for {action}: no {action} is about a topic"
                );
                self.tables.problem(table.line, "access.rule", expected);
            }
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
