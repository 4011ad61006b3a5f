//! Counts on the command line.

use std::fmt::Display;
use std::str::FromStr;

/// A number from 1 on.
pub(crate) fn at_least_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| format!("expected a whole number of at least 1, got `{text}`"))
}

/// A number from 1 to `max`.
pub(crate) fn up_to<N: FromStr + PartialOrd + From<u8> + Display>(
    text: &str,
    max: N,
) -> Result<N, String> {
    let number = at_least_one(text).ok().filter(|number| *number <= max);
    number.ok_or_else(|| format!("expected a whole number from 1 to {max}, got `{text}`"))
}

/// Any number.
pub(crate) fn any<N: FromStr>(text: &str) -> Result<N, String> {
    let number = text.parse().ok();
    number.ok_or_else(|| format!("expected a whole number, got `{text}`"))
}
