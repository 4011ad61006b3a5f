//! Times as people write them: a number and a unit.

use std::time::Duration;

/// A time as people write it: a number and `us`, `ms`, `s`, `m` or `h`. Only 0 needs no unit: the number alone does not
/// say of what.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let number_len = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(number_len);
    let expected = |hint: &str| {
        format!(
            "expected a time with its unit (us, ms, s, m or h), such as 500ms or 5s, got `{text}`{hint}"
        )
    };
    let number: f64 = number.parse().map_err(|_| expected(""))?;
    let seconds = match unit {
        "us" => 0.000_001,
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "" if number == 0.0 => 0.0,
        "" => return Err(expected(&format!("; `{text}s` means seconds"))),
        _ => return Err(expected("")),
    };
    let time = Duration::try_from_secs_f64(number * seconds).ok();
    time.filter(|time| *time <= TIME_MAX)
        .ok_or_else(|| format!("expected a time of at most 100 years, got `{text}`"))
}

/// A time, or `none` for no time at all, as files of settings have it.
pub fn parse_time_or_none(text: &str) -> Result<Duration, String> {
    match text {
        "none" => Ok(Duration::ZERO),
        text => parse_time(text).map_err(|error| format!("{error}; `none` means no time")),
    }
}

/// The longest time that can be said: a clock knows when it is over.
const TIME_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let times = [
            ("20us", 20),
            ("500ms", 500_000),
            ("5s", 5_000_000),
            ("1.5m", 90_000_000),
            ("0", 0),
            ("0s", 0),
        ];
        for (text, micros) in times {
            assert_eq!(
                parse_time(text),
                Ok(Duration::from_micros(micros)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_an_example() {
        for text in [
            "",
            "s",
            "5 s",
            "5d",
            "1e400",
            "-1s",
            "99999999999999999999h",
            "876001h",
            "5",
            "1.5",
            ".",
            "0.1",
        ] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_told_how_to_say_seconds() {
        let error = parse_time("5").unwrap_err();
        assert_eq!(
            error,
            "expected a time with its unit (us, ms, s, m or h), such as 500ms or 5s, got `5`; `5s` means seconds"
        );
    }
}
