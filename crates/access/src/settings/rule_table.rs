//! A rule as a table of the file: which keys it has, before anything is made of them.

use toml::de::DeTable;

use crate::table::{Entry, TableReader, Texts};

/// A rule as it stands in the file.
#[derive(Default)]
pub(super) struct RuleTable {
    pub(super) line: usize,
    pub(super) allow: Option<Texts>,
    pub(super) deny: Option<Texts>,
    pub(super) topics: Option<Texts>,
    pub(super) identities: Option<Texts>,
    pub(super) categories: Option<Texts>,
    pub(super) adapters: Option<Texts>,
    pub(super) operations: Option<Texts>,
    pub(super) anyone: bool,
    pub(super) users: Option<Texts>,
    pub(super) groups: Option<Texts>,
    pub(super) certificate: Option<Texts>,
    pub(super) networks: Option<Texts>,
    pub(super) callbacks: Option<Texts>,
    /// True if all keys are known, and all values have the right type. Otherwise it cannot be said which keys are
    /// missing.
    pub(super) is_sound: bool,
}

impl RuleTable {
    /// Reads a list of rules.
    pub(super) fn read_all<'t>(tables: &mut TableReader<'t>, entry: Entry<'_, 't>) -> Vec<Self> {
        let each = tables.tables(entry).into_iter();
        each.map(|(line, table)| rule_table(tables, line, table))
            .collect()
    }
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
