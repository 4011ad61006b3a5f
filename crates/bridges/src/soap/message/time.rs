//! Dates and durations of XML schema.
//!
//! Source: XML Schema 1.0, part 2, 3.2.6 "duration" and 3.2.7 "dateTime".

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When a lease shall end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lease {
    /// At a time.
    Until(SystemTime),
    /// After a while.
    For(Duration),
}

impl Lease {
    /// Reads a date or a duration. A year is taken for 365 days and a month for 30, and a date without a zone for UTC.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.starts_with('P') {
            true => duration(text).map(Self::For),
            false => self::time(text).map(Self::Until),
        }
    }

    /// How long it is from now on; zero if its end has passed.
    pub(crate) fn remaining(self, now: SystemTime) -> Duration {
        match self {
            Self::Until(time) => time.duration_since(now).unwrap_or_default(),
            Self::For(duration) => duration,
        }
    }
}

/// A time as text, in seconds: `2026-11-28T20:00:00Z`.
pub(crate) fn date_time(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Reads `PnYnMnDTnHnMnS`, of which each part may be missing, but not all. Parts of a second are rounded down to
/// milliseconds.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let rest = text.strip_prefix('P')?;
    let (date, time) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    const DAY: u64 = 86_400;
    let units = [('Y', 365 * DAY), ('M', 30 * DAY), ('D', DAY)];
    let days = parts(date, &units)?;
    let seconds = parts(time, &[('H', 3600), ('M', 60), ('S', 1)])?;
    days.checked_add(seconds)
}

/// Adds up numbers with a letter behind each, in the order of the units.
fn parts(mut text: &str, units: &[(char, u64)]) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    let mut units = units.iter();
    while !text.is_empty() {
        let end = text.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let letter = text[end..].chars().next()?;
        let (_, seconds) = units.find(|(unit, _)| *unit == letter)?;
        let (whole, part) = match text[..end].split_once('.') {
            Some((whole, part)) if letter == 'S' => (whole, part),
            Some(_) => return None,
            None => (&text[..end], ""),
        };
        let whole = whole.parse::<u64>().ok()?.checked_mul(*seconds)?;
        sum = sum.checked_add(Duration::from_secs(whole))?;
        sum = sum.checked_add(Duration::from_millis(millis(part)?))?;
        text = &text[end + 1..];
    }
    Some(sum)
}

/// The milliseconds of the digits behind a point.
fn millis(part: &str) -> Option<u64> {
    let digits: String = part.chars().chain("000".chars()).take(3).collect();
    let is_number = part.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Reads `YYYY-MM-DDThh:mm:ss`, with parts of a second, and a zone.
fn time(text: &str) -> Option<SystemTime> {
    let (date, clock) = text.split_once('T')?;
    let (clock, offset) = zone(clock)?;
    let (year, month, day) = numbers(date, '-')?;
    let (clock, _) = clock.split_once('.').unwrap_or((clock, ""));
    let (hour, minute, second) = numbers(clock, ':')?;
    let is_time = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour <= 24
        && minute < 60
        && second <= 60;
    if !is_time || !(1970..=9999).contains(&year) {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let seconds = i64::try_from(seconds).ok()? - offset;
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    UNIX_EPOCH.checked_add(since)
}

/// Takes the zone off the end of a time: in front of it, and its seconds east of Greenwich.
fn zone(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else {
        return Some((clock, 0));
    };
    let (hour, minute) = clock[at + 1..].split_once(':')?;
    let (hour, minute) = (number(hour)?, number(minute)?);
    let seconds = i64::try_from(hour * 3600 + minute * 60).ok()?;
    let is_zone = hour <= 14 && minute < 60;
    let sign = if clock[at..].starts_with('-') { -1 } else { 1 };
    is_zone.then_some((&clock[..at], sign * seconds))
}

fn numbers(text: &str, separator: char) -> Option<(u64, u64, u64)> {
    let mut parts = text.split(separator).map(number);
    let all = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(all)
}

fn number(text: &str) -> Option<u64> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// The days from 1970-01-01 to a day; years begin in March, so that the leap day is the last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    (365 * year + year / 4 - year / 100 + year / 400 + of_year).saturating_sub(719_468)
}

/// The year, month and day that so many days after 1970-01-01 are.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_written_and_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_896_000, "2026-11-28T20:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date_time(at(seconds)), text);
            assert_eq!(Lease::parse(text), Some(Lease::Until(at(seconds))));
        }
        let half = Lease::Until(at(1_795_896_000));
        for text in [
            "2026-11-28T21:30:00.125+01:30",
            "2026-11-28T20:00:00",
            "2026-11-28T12:00:00-08:00",
        ] {
            assert_eq!(Lease::parse(text), Some(half), "{text}");
        }
    }

    #[test]
    fn durations_are_read() {
        for (text, millis) in [
            ("PT1S", 1000),
            ("PT0.5S", 500),
            ("PT1H30M", 5_400_000),
            ("P1DT0.0009S", 86_400_000),
            ("P1Y", 31_536_000_000),
            ("P1M", 2_592_000_000),
        ] {
            let expected = Lease::For(Duration::from_millis(millis));
            assert_eq!(Lease::parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_none() {
        for text in [
            "",
            "P",
            "PT",
            "P1",
            "1D",
            "-PT1S",
            "PT1S1M",
            "PT1M1M",
            "P1.5D",
            "PT.S",
            "PTéS",
            "P99999999999999999999Y",
            "P1000000000000000Y",
            "2026-11-28",
            "2026-13-01T00:00:00Z",
            "2026-1é-01T00:00:00Z",
            "2026-11-28T20:00Z",
            "T",
            "-+",
            "1-1-1T1:1:1+99:00",
        ] {
            assert_eq!(Lease::parse(text), None, "{text}");
        }
    }
}
