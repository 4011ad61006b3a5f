//! Finds what a file of settings has lost since it was read last: one that was emptied or cut off must not open a hub.

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

use super::Configuration;

/// At most so many losses are told; the first show what has happened.
const TOLD_MAX: usize = 8;

impl Configuration {
    /// Describes what `next` takes away that only a restart takes away: the rest of a file that was cut off, a table, the
    /// last rule, or the last user. Empty if nothing was lost.
    pub(crate) fn lost(&self, next: &Self) -> Vec<String> {
        let mut lost: Vec<String> = Vec::new();
        lost.extend(cut_off(&self.text, &next.text));
        if next.text.trim().is_empty() {
            return lost;
        }
        // Those of a property file are the same for both.
        let tables = tables(&next.text);
        let missing = tables_of(&self.text).filter(|table| !tables.contains(table));
        lost.extend(missing);
        let (own, others) = (&self.hub.access, &next.hub.access);
        if !own.is_open() && others.is_open() && !lost.iter().any(|lost| lost == RULES) {
            lost.push("all rules of access".to_owned());
        }
        let has_users_file = lost.iter().all(|lost| lost != "access.users");
        if has_users_file && !own.users().is_empty() && others.users().is_empty() {
            lost.push("all users of access.users".to_owned());
        }
        let more = lost.len().saturating_sub(TOLD_MAX);
        lost.truncate(TOLD_MAX);
        if more > 0 {
            lost.push(format!("{more} more"));
        }
        lost
    }
}

/// Where the text ends too early, if it is the beginning of what it was.
fn cut_off(old: &str, new: &str) -> Option<String> {
    let rest = old.strip_prefix(new.trim_end())?;
    let is_remark = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    };
    // A line that ends early has lost its end, and a comment behind a value is one.
    let is_cut = rest.lines().any(|line| !is_remark(line));
    let line = new.trim_end().lines().count();
    is_cut.then(|| match line {
        0 => "all of its settings".to_owned(),
        line => format!("all that was behind the present end in line {line}"),
    })
}

const RULES: &str = "[[access.rule]]";

/// Settings that say, as a table does, what is in force.
const LIKE_TABLES: [&str; 2] = ["access.users", "access.audit"];

fn tables(text: &str) -> BTreeSet<String> {
    tables_of(text).collect()
}

/// The tables of a text, as their headers name them. None if it is no TOML.
fn tables_of(text: &str) -> impl Iterator<Item = String> + use<> {
    let mut tables = Vec::new();
    if let Ok(table) = DeTable::parse(text) {
        collect(table.get_ref(), "", &mut tables);
    }
    tables.into_iter()
}

fn collect(table: &DeTable<'_>, prefix: &str, tables: &mut Vec<String>) {
    for (key, value) in table {
        let name = match prefix {
            "" => key.get_ref().to_string(),
            prefix => format!("{prefix}.{}", key.get_ref()),
        };
        match value.get_ref() {
            DeValue::Table(table) => {
                tables.push(format!("[{name}]"));
                collect(table, &name, tables);
            }
            DeValue::Array(values) if values.iter().any(|value| value.get_ref().is_table()) => {
                tables.push(format!("[[{name}]]"));
            }
            _ if LIKE_TABLES.contains(&name.as_str()) => tables.push(name),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use floe::Settings;
    use floe_access::Access;

    use super::*;

    fn read(text: &str) -> Configuration {
        let mut configuration = Configuration::new(Settings::default());
        configuration.text = text.to_owned();
        let settings = floe_access::Settings::parse(text).unwrap_or_default();
        let users = |_: &std::path::Path, _: usize| {
            Ok(b"bob $5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA".to_vec())
        };
        let access = Access::load(&settings, &users).expect("good rules");
        configuration.hub.access = Arc::new(access);
        configuration
    }

    const FULL: &str = "listen = \"tcp -p 1\"\n[queue]\nevents = 5\n[access]\nusers = \"u\"\naudit = \"a\"\n\
                        [topic.news]\n[[access.rule]]\nallow = \"*\"\nusers = \"ann\"\ntopics = \"t\" # only these\n";

    #[test]
    fn a_file_that_was_cut_off_anywhere_has_lost_its_end() {
        let full = read(FULL);
        let end = FULL.find(" # only").expect("a comment");
        for at in (0..end).filter(|at| FULL.is_char_boundary(*at)) {
            let mut cut = Configuration::new(Settings::default());
            cut.text = FULL[..at].to_owned();
            assert!(!full.lost(&cut).is_empty(), "{at}");
        }
        assert_eq!(full.lost(&read(FULL)), [""; 0]);
        assert_eq!(full.lost(&read(&FULL[..FULL.len() - 1])), [""; 0]);
        assert_eq!(full.lost(&read(&format!("{FULL}\n# more\n"))), [""; 0]);
    }

    #[test]
    fn each_table_that_is_gone_is_named_and_an_empty_one_is_none_that_is_gone() {
        let full = read(FULL);
        let without = FULL
            .replace("[topic.news]\n", "")
            .replace("audit = \"a\"\n", "");
        assert_eq!(
            full.lost(&read(&without)),
            ["access.audit", "[topic]", "[topic.news]"]
        );
        let empty = FULL.replace("events = 5\n", "");
        assert_eq!(full.lost(&read(&empty)), [""; 0]);
        let (without, _) = FULL.split_once("[[access").expect("rules");
        let moved = format!("log = \"info\"\n{without}");
        assert_eq!(full.lost(&read(&moved)), [RULES]);
    }

    #[test]
    fn rules_that_a_property_file_no_longer_has_are_lost() {
        let properties = |text: &str| {
            let mut configuration = Configuration::new(Settings::default());
            configuration.text = text.to_owned();
            let problems = super::super::properties::read(text, &mut configuration);
            assert_eq!(problems, []);
            configuration
        };
        let start = "IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0\n";
        let now = properties(&format!("IceSSL.TrustOnly.Server=CN=ann,O=Z\n{start}"));
        assert_eq!(now.lost(&properties(start)), ["all rules of access"]);
        let last = properties(&format!("{start}IceSSL.TrustOnly.Server=CN=ann,O=Z\n"));
        let cut = properties(&format!("{start}IceSSL.TrustOnly.Server=CN=ann"));
        assert_eq!(
            last.lost(&cut),
            ["all that was behind the present end in line 2"]
        );
    }

    #[test]
    fn a_users_file_that_was_emptied_has_lost_its_users() {
        let full = read(FULL);
        let mut without = read(FULL);
        let settings = floe_access::Settings::parse(FULL).expect("settings");
        let access = Access::load(&settings, &|_, _| Ok(Vec::new())).expect("no users");
        without.hub.access = Arc::new(access);
        assert_eq!(full.lost(&without), ["all users of access.users"]);
    }
}
