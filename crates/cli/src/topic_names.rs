//! The names of topics as arguments: names, and patterns for the names of those that the hub has.

use floe::Communicator;
use floe_access::Pattern;

use crate::exit::Failure;
use crate::hub::HubArgument;

/// Returns true if a word is a pattern: `*` stands for any characters, and `?` for one.
pub(crate) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?'])
}

/// The topics that these words name, sorted, each once. The hub is asked if there is a pattern among them. A topic whose name has a `*`
/// or `?` is one that the pattern matches.
///
/// # Errors
/// No topic matches a pattern, or the hub does not answer.
pub(crate) async fn named(
    words: &[String],
    hub: &HubArgument,
    communicator: &Communicator,
) -> Result<Vec<String>, Failure> {
    let (patterns, mut names): (Vec<_>, Vec<_>) =
        words.iter().cloned().partition(|word| is_pattern(word));
    let known = match patterns.is_empty() {
        true => Vec::new(),
        false => hub.topic_names(communicator).await?,
    };
    for pattern in &patterns {
        let parsed: Pattern = pattern.parse().map_err(Failure::usage)?;
        let before = names.len();
        names.extend(known.iter().filter(|name| parsed.matches(name)).cloned());
        if names.len() == before {
            let message = format_args!("no topic matches `{pattern}`");
            return Err(Failure::not_found(message).help("`floe topic list` shows the topics"));
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Topics for people: the names of a few, or how many there are.
pub(crate) fn shown(names: &[String]) -> String {
    match names.len() {
        0..=SHOWN_MAX => format!("topic `{}`", names.join("`, `")),
        count => format!("{count} topics"),
    }
}

const SHOWN_MAX: usize = 10;
