//! `floe.toml`: the settings of a hub by Floe's names, and what it shares with a gateway.

use std::ops::Range;

use floe_hub::HubSettings;
use toml::de::{DeTable, DeValue};

use super::entry::{Entry, Problem, Value};
use super::setting::{Draft, Setting};
use super::views::Views;
use super::{Configuration, nearest, rows, views};

/// The settings, and all that is wrong with the text. The command line has its say when all is read that is not about
/// single topics and views.
pub(super) fn read(
    text: &str,
    configuration: &mut Configuration,
    command_line: &dyn Fn(&mut HubSettings),
) -> Vec<Problem> {
    let entries = match entries(text) {
        Ok(entries) => entries,
        Err(problems) => return problems,
    };
    let mut problems = Vec::new();
    let mut draft = Draft::new(configuration);
    // Last, those of single topics and views: what they do not say is as for all.
    let (single, common): (Vec<_>, Vec<_>) = entries
        .iter()
        .map(|entry| (entry, setting_at(&entry.path)))
        .partition(|(_, setting)| setting.is_some_and(Setting::has_placeholder));
    let mut apply = |entries: Vec<(&Entry, Option<&'static Setting>)>, draft: &mut Draft<'_>| {
        for (entry, setting) in entries {
            let applied = match setting {
                Some(setting) => setting.apply(entry, draft),
                None => Err(unknown(entry)),
            };
            problems.extend(applied.err());
        }
    };
    apply(common, &mut draft);
    command_line(draft.hub());
    apply(single, &mut draft);
    let (mut admin, views) = draft.finish(&mut problems);
    if admin.listen.is_none() {
        let of_nothing = entries
            .iter()
            .filter(|entry| entry.path == ["admin", "instance"]);
        configuration.warnings.extend(of_nothing.map(|entry| {
            let message = "admin.instance has no effect without admin.listen: there is no administrative object";
            Problem::new(entry.line, message)
        }));
    }
    admin.service_name = Some(configuration.hub.instance_name.clone());
    admin
        .instance_name
        .get_or_insert_with(|| configuration.hub.instance_name.clone());
    configuration.hub.admin = admin.finish();
    give(&views, configuration, &mut problems);
    problems.extend(super::access::read(text, configuration));
    if !configuration.has_hub && configuration.gateway.is_none() {
        let message =
            "expected a [gateway] if there is no hub, got none: the process would serve nothing";
        problems.push(Problem::new(0, message));
    }
    problems.sort_by_key(|problem| problem.line);
    problems
}

/// Gives the views of metrics to the administrative objects of the hub and of the gateway.
fn give(views: &Views, configuration: &mut Configuration, problems: &mut Vec<Problem>) {
    let gateway = configuration.gateway.as_mut();
    let gateway = gateway.and_then(|gateway| gateway.admin.as_mut());
    let hub = configuration.hub.admin.as_mut();
    if hub.is_none() && gateway.is_none() {
        views.refuse("admin.listen or gateway.admin.listen", problems);
    }
    if let Some(hub) = hub {
        hub.views = views.finish(&views::HUB, problems);
    }
    if let Some(gateway) = gateway {
        gateway.views = views.finish(&views::GATEWAY, problems);
    }
}

/// The setting of which this is the key.
fn setting_at(path: &[String]) -> Option<&'static Setting> {
    rows::ALL
        .iter()
        .copied()
        .find(|setting| setting.is_at(path))
}

/// The options of the command that a file cannot have.
const OPTIONS: [&str; 5] = [
    "metrics",
    "metrics-host",
    "metrics-subscribers",
    "threads",
    "offer",
];

fn unknown(entry: &Entry) -> Problem {
    let name = entry.name();
    let keys: Vec<_> = rows::ALL
        .iter()
        .map(|setting| setting.key_beside(entry))
        .collect();
    let keys: Vec<_> = keys.iter().map(String::as_str).collect();
    let table = entry.path.first().map_or("", String::as_str);
    let of_table = keys
        .iter()
        .filter(|key| key.split('.').next() == Some(table));
    let of_table: Vec<_> = of_table.copied().collect();
    let help = match nearest(&name, &keys) {
        _ if OPTIONS.contains(&name.as_str()) => {
            format!("it is a command-line option: floe serve --{name}")
        }
        _ if entry.path.len() == 1 && !of_table.is_empty() => {
            format!("it is a table: write [{name}] on a line of its own, with its settings below")
        }
        Some(nearest) => format!("did you mean {nearest}?"),
        None if of_table.is_empty() => "`floe config list` shows all settings".to_owned(),
        None => format!("expected one of {}", of_table.join(", ")),
    };
    Problem::new(entry.line, format_args!("unknown setting {name}: {help}"))
}

/// All settings of a text, with their lines.
///
/// # Errors
/// Each line that is not TOML.
fn entries(text: &str) -> Result<Vec<Entry>, Vec<Problem>> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problem = |error: &toml::de::Error| {
            let line = error.span().map_or(0, |span| line_of(span.start));
            let message = error.message().trim().replace('\n', ", ");
            if message.contains("duplicate key")
                && let Some(repeated) = error.span().and_then(|span| repeated(text, span, line))
            {
                return Problem::new(line, repeated);
            }
            let help =
                quoted_line(text, line).map(|quoted| format!("; a text needs quotes: {quoted}"));
            let help = help.unwrap_or_default();
            Problem::new(line, format_args!("expected TOML: {message}{help}"))
        };
        let mut problems: Vec<_> = errors.iter().map(problem).collect();
        problems.sort_by_key(|problem| problem.line);
        // A mistake may have others on its line as a consequence.
        problems.dedup_by_key(|problem| problem.line);
        return Err(problems);
    }
    let mut table = table.into_inner();
    // These have lists of tables, and readers of their own.
    table.remove("access");
    super::bridges::TABLES.iter().for_each(|name| {
        table.remove(*name);
    });
    let mut entries = Vec::new();
    flatten(&table, &[], &line_of, &mut entries);
    Ok(entries)
}

/// Describes a key that its table has already, with the line that has it.
fn repeated(text: &str, span: Range<usize>, line: usize) -> Option<String> {
    let key = text.get(span)?.trim();
    let key_of = |line: &str| Some(line.split_once('=')?.0.trim() == key);
    let lines: Vec<&str> = text.lines().take(line.checked_sub(1)?).collect();
    let own_table = lines.iter().enumerate().rev();
    let mut own_table = own_table.take_while(|(_, line)| !line.trim_start().starts_with('['));
    let (first, _) = own_table.find(|(_, line)| key_of(line) == Some(true))?;
    Some(format!(
        "{key} is set twice: line {} sets it first",
        first + 1
    ))
}

/// A line that sets a key to a bare word, with its value in quotes.
fn quoted_line(text: &str, line: usize) -> Option<String> {
    let (key, value) = text.lines().nth(line.checked_sub(1)?)?.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let is_bare = !value.is_empty() && !value.contains(['"', '\'', '[', ']', '{', '}', '=']);
    is_bare.then(|| format!("{} = \"{value}\"", key.trim()))
}

fn flatten(
    table: &DeTable<'_>,
    path: &[String],
    line_of: &dyn Fn(usize) -> usize,
    entries: &mut Vec<Entry>,
) {
    for (key, value) in table {
        let mut path = path.to_vec();
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(table) => flatten(table, &path, line_of, entries),
            other => entries.push(Entry {
                path,
                value: value_of(other),
                line: line_of(key.span().start),
            }),
        }
    }
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Array(values) => Value::List(
            values
                .iter()
                .map(|value| value_of(value.get_ref()))
                .collect(),
        ),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number that is too large"), Value::Integer),
        DeValue::Float(_) => Value::Other("a number with a fraction"),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Table(_) => Value::Other("a table"),
    }
}
