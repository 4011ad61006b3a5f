//! A look for all that would be deleted together with dead letters.

use floe_hub::contracts::floe::{
    DurableTopicsProxy, IceStormNoSuchTopicOrNotDurableError as LogError, LogContents, LoggedEvent,
};

use super::{DeadLetters, READ_COUNT, is_replay};

/// Looks for something besides the dead letters that their topic has and would lose if it were made anew; `None` if there is
/// nothing. The topic has so many subscribers and links that are not durable.
///
/// # Errors
/// The log cannot be read.
pub async fn more_than_letters(
    letters: &DeadLetters,
    topics: &DurableTopicsProxy,
    contents: &LogContents,
    subscribers: usize,
) -> Result<Option<String>, LogError> {
    let mut durable = contents.subscriptions.iter();
    if let Some(own) = durable.find(|own| !is_replay(&own.name)) {
        return Ok(Some(format!("durable subscription `{}`", own.name)));
    }
    match subscribers {
        0 => {}
        1 => return Ok(Some("1 subscriber or link".to_owned())),
        count => return Ok(Some(format!("{count} subscribers and links"))),
    }
    let mut from = contents.first;
    while from < contents.next {
        let (events, next) = topics.read(&letters.dead, from, READ_COUNT).await?;
        let is_other = |event: &&LoggedEvent| !letters.has(event);
        if let Some(other) = events.iter().find(is_other) {
            return Ok(Some(match other.context.get("floe.deadTopic") {
                Some(origin) => format!("dead letters of topic `{origin}`"),
                None => format!("event {}, which is no dead letter", other.number),
            }));
        }
        if next <= from {
            break;
        }
        from = next;
    }
    Ok(None)
}
