//! Figures of durable topics as people say them.

use std::time::Duration;

use floe_hub::contracts::floe::DurableSubscriptionStatus;

/// Events that a subscription has not acknowledged.
pub fn lag_events(own: &DurableSubscriptionStatus) -> i64 {
    own.pending.saturating_add(own.behind)
}

/// For how long nobody has been there, as people say it.
pub fn away_text(own: &DurableSubscriptionStatus) -> Option<String> {
    let text = time(own.away);
    match own.away {
        ..=0 => None,
        _ if own.is_away_since_start => Some(format!(
            "nobody has been there for {text}, since the hub started or longer"
        )),
        _ => Some(format!("nobody has been there for {text}")),
    }
}

/// Microseconds as people say them, in their two largest units: `3d 4h`, `5m 6s`.
pub fn time(microseconds: i64) -> String {
    let time = Duration::from_micros(u64::try_from(microseconds).unwrap_or(0));
    let seconds = time.as_secs();
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {seconds}s"),
        (0, ..) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

/// A number of events.
pub fn counted_events(count: i64) -> String {
    match count {
        1 => "1 event".to_owned(),
        count => format!("{count} events"),
    }
}

/// Bytes as people say them.
pub fn bytes(count: i64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, shift)| count >= 1 << shift);
    match unit {
        Some((unit, shift)) => format!("{:.1} {unit}", count as f64 / f64::from(1 << shift)),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_two_largest_units() {
        let texts = [5_000_000, 306_000_000, 7_260_000_000, 300_000_000_000];
        assert_eq!(texts.map(time), ["5s", "5m 6s", "2h 1m", "3d 11h"]);
    }

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        let texts = [0, 1023, 1536, 3 << 30];
        assert_eq!(texts.map(bytes), ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]);
    }
}
