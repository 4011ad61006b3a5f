//! Where a new durable subscription begins.

use crate::core::log::{EventTime, Position};

/// Parses the position at which a new durable subscription begins.
///
/// It is `beginning`, `new`, `last`, `-10` for the last ten events, `seq:42`, or `time:` with a date such as
/// `2026-01-31T12:00:00Z`, or with seconds since 1970.
///
/// # Errors
/// What was expected.
pub(crate) fn parse_start(text: &str) -> Result<Position, String> {
    let parsed = match text {
        "beginning" => Some(Position::First),
        "new" | "end" => Some(Position::End),
        "last" => Some(Position::Last(1)),
        _ => None,
    };
    let parsed = parsed.or_else(|| {
        if let Some(count) = text.strip_prefix('-') {
            return digits(count).map(Position::Last);
        }
        if let Some(sequence) = text.strip_prefix("seq:") {
            return digits(sequence).map(Position::Sequence);
        }
        let micros = micros(text.strip_prefix("time:")?)?;
        // No event is older than 1970.
        Some(Position::Time(EventTime(
            u64::try_from(micros).unwrap_or(0),
        )))
    });
    parsed.ok_or_else(|| {
        format!(
            "expected beginning, new, last, -COUNT, seq:NUMBER or time:DATE, such as time:2026-01-31T12:00:00Z, got {text:?}"
        )
    })
}

/// A number of plain digits: no sign, no spaces.
fn digits(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// A time in microseconds since 1970: seconds, or a date of RFC 3339.
fn micros(text: &str) -> Option<i64> {
    if let Some(seconds) = digits(text) {
        return i64::try_from(seconds).ok()?.checked_mul(1_000_000);
    }
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let (clock, offset) = split_offset(time)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let [hour, minute, second] = numbers(clock, ':')?;
    let is_valid = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_valid {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let fraction = match fraction {
        "" => 0,
        fraction => {
            let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit());
            let micros = is_plain.then(|| format!("{fraction:0<6}"))?;
            i64::try_from(digits(micros.get(..6)?)?).ok()?
        }
    };
    Some((seconds - offset) * 1_000_000 + fraction)
}

/// Parses three numbers of plain digits with this separator between them.
fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let mut parts = text.split(between).map(|part| {
        let number = digits(part).filter(|_| part.len() <= 4)?;
        i64::try_from(number).ok()
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Parses the time of day, and its distance from UTC in seconds.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = i64::try_from(hours * 3600 + minutes * 60).ok()?;
    let is_behind = time.as_bytes()[at] == b'-';
    Some((&time[..at], if is_behind { -seconds } else { seconds }))
}

fn days_of(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The number of days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that a leap
/// day is the last one of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    // 719,468 days lie between March of the year 0 and 1970-01-01.
    year * 365 + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_a_position() {
        let time = |micros| Position::Time(EventTime(micros));
        let expected = [
            ("beginning", Position::First),
            ("new", Position::End),
            ("end", Position::End),
            ("last", Position::Last(1)),
            ("-10", Position::Last(10)),
            ("seq:42", Position::Sequence(42)),
            ("time:7", time(7_000_000)),
            ("time:1970-01-01T00:00:00Z", time(0)),
            ("time:1969-12-31T23:59:59Z", time(0)),
            (
                "time:2000-02-29T12:00:00.25+02:00",
                time(951_818_400_250_000),
            ),
            ("time:2026-11-24T21:48:17Z", time(1_795_556_897_000_000)),
        ];
        for (text, position) in expected {
            assert_eq!(parse_start(text), Ok(position), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_was_expected() {
        let bad = [
            "",
            "first",
            "-",
            "--1",
            "-x",
            "seq:",
            "seq:-1",
            "seq:99999999999999999999",
            "time:",
            "time:yesterday",
            "time:2026-13-01T00:00:00Z",
            "time:2026-02-29T00:00:00Z",
            "time:2026-01-01T24:00:00Z",
            "time:2026-01-01T00:00:00",
            "time:2026-01-01T00:00:00.äöü+00:00",
            "time:2026-01-01T00:00:00+é0:00",
            "time:2026-01-31T12:00:00.12345éZ",
            "time:2026-01-31T12:00:00.123456xZ",
        ];
        for text in bad {
            let error = parse_start(text).unwrap_err();
            assert!(error.contains(&format!("got {text:?}")), "{error}");
        }
    }
}
