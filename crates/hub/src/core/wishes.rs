//! Reads the wishes of a subscriber: the values of Floe's keys in its quality of service.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

/// The keys that a subscriber may set: those of IceStorm, and Floe's own. Others are ignored, as in IceStorm.
pub const QOS_KEYS: [&str; 23] = [
    "connectionCached",
    "locatorCacheTimeout",
    "reliability",
    "retryCount",
    "floe.attempts",
    "floe.backOff",
    "floe.deadLetters",
    "floe.deadline",
    "floe.durable",
    "floe.from",
    "floe.group",
    "floe.idle",
    "floe.lifespan",
    "floe.lostFacet",
    "floe.outstanding",
    "floe.overflow",
    "floe.patience",
    "floe.pull",
    "floe.queueBytes",
    "floe.queueEvents",
    "floe.shared",
    "floe.stamps",
    "floe.sticky",
];

/// The quality of service as a subscriber gave it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes<'a>(pub(super) &'a BTreeMap<String, String>);

impl<'a> Wishes<'a> {
    /// The value of a key, if it is set.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        debug_assert!(QOS_KEYS.contains(&key), "{key} is not in the list of keys");
        self.0.get(key).map(String::as_str)
    }

    /// Parses the value of a key, if it is set.
    ///
    /// # Errors
    /// That the value is invalid, and the error of `parse`.
    pub(super) fn parsed<T>(
        self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let parsed = self.text(key).map(parse).transpose();
        parsed.map_err(|reason| format!("invalid {key}: {reason}"))
    }

    /// The value of a switch, which is off if it is not set.
    ///
    /// # Errors
    /// That the value is invalid.
    pub(super) fn is_on(self, key: &str) -> Result<bool, String> {
        Ok(self.parsed(key, switch)?.unwrap_or(false))
    }
}

/// Parses a number of at least 1.
pub(super) fn count<N: FromStr + Default + PartialOrd>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number > N::default());
    number.ok_or_else(|| format!("expected a number of at least 1, got {:?}", shown(text)))
}

/// Parses a time of any length.
pub(super) fn milliseconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().map(Duration::from_millis);
    number.map_err(|_| format!("expected a number of milliseconds, got {:?}", shown(text)))
}

/// Parses a time that is not 0.
pub(super) fn positive_milliseconds(text: &str) -> Result<Duration, String> {
    let millis = text.parse().ok().filter(|millis| *millis > 0);
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| format!("expected milliseconds, at least 1, got {:?}", shown(text)))
}

/// Parses a name of up to this many bytes.
pub(super) fn name(len_max: usize) -> impl FnOnce(&str) -> Result<String, String> {
    move |text| match text.len() {
        len if (1..=len_max).contains(&len) => Ok(text.to_owned()),
        len => Err(format!(
            "expected a name of 1 to {len_max} bytes, got {len}"
        )),
    }
}

/// Parses a text that is not empty; `what` describes it.
pub(super) fn not_empty(what: &str) -> impl FnOnce(&str) -> Result<String, String> + '_ {
    move |text| match text {
        "" => Err(format!("expected {what}, got none")),
        text => Ok(text.to_owned()),
    }
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "no" | "0" | "false" => Ok(false),
        "yes" | "1" | "true" => Ok(true),
        other => Err(format!("expected yes or no, got {:?}", shown(other))),
    }
}

/// The beginning of a value, for an error.
pub(super) fn shown(value: &str) -> String {
    value.chars().take(SHOWN_MAX).collect()
}

/// A longer value is cut in an error.
const SHOWN_MAX: usize = 64;
