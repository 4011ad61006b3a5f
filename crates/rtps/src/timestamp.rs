//! Points in time and spans as RTPS writes them: seconds, and fractions of 2^-32.

use std::time::Duration;

use crate::codec::{DecodeError, Decoder, Encoder};

/// A point in time, since 1970.
///
/// ```text
/// 0              4               8
/// | seconds: u32 | fraction: u32 |
/// ```
///
/// Source: DDSI-RTPS 2.5, 9.3.2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds.
    pub seconds: u32,
    /// The rest, in units of 2^-32 s.
    pub fraction: u32,
}

impl Timestamp {
    /// The point in time so long after 1970; the last one if that is later than year 2106.
    pub fn since_1970(elapsed: Duration) -> Self {
        Self {
            seconds: u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX),
            fraction: fraction(elapsed),
        }
    }

    /// The time from 1970.
    pub fn elapsed(self) -> Duration {
        Duration::new(u64::from(self.seconds), nanoseconds(self.fraction))
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            seconds: from.u32("timestamp")?,
            fraction: from.u32("timestamp")?,
        })
    }

    pub(crate) fn encode(self, into: &mut Encoder<'_>) {
        into.u32(self.seconds);
        into.u32(self.fraction);
    }
}

/// Reads a span, `None` if it is infinite.
///
/// ```text
/// 0              4               8
/// | seconds: i32 | fraction: u32 |
/// ```
///
/// Infinite is 0x7fffffff and 0xffffffff; some peers write another fraction. Source: DDSI-RTPS 2.5, 9.3.2.4.
pub(crate) fn decode_span(
    from: &mut Decoder<'_>,
    what: &'static str,
) -> Result<Option<Duration>, DecodeError> {
    let seconds = from.i32(what)?;
    let rest = from.u32(what)?;
    if seconds == i32::MAX {
        return Ok(None);
    }
    match u64::try_from(seconds) {
        Ok(seconds) => Ok(Some(Duration::new(seconds, nanoseconds(rest)))),
        Err(_) => Err(from.invalid(what, seconds)),
    }
}

/// Writes a span, infinite if it is `None` or above 68 years.
pub(crate) fn encode_span(span: Option<Duration>, into: &mut Encoder<'_>) {
    let seconds = span.and_then(|span| i32::try_from(span.as_secs()).ok());
    match (seconds, span) {
        (Some(seconds), Some(span)) if seconds < i32::MAX => {
            into.i32(seconds);
            into.u32(fraction(span));
        }
        _ => {
            into.i32(i32::MAX);
            into.u32(u32::MAX);
        }
    }
}

/// The part below a second, rounded up, so that a peer that rounds down gets the nanosecond back.
fn fraction(span: Duration) -> u32 {
    let scaled = (u64::from(span.subsec_nanos()) << 32).div_ceil(1_000_000_000);
    u32::try_from(scaled).unwrap_or(u32::MAX)
}

fn nanoseconds(fraction: u32) -> u32 {
    // Below 10^9, as the fraction is below 2^32.
    ((u64::from(fraction) * 1_000_000_000) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::ByteOrder;

    #[test]
    fn a_nanosecond_survives() {
        for nanoseconds in [0, 1, 2, 999, 500_000_000, 999_999_999] {
            let elapsed = Duration::new(7, nanoseconds);
            assert_eq!(Timestamp::since_1970(elapsed).elapsed(), elapsed);
        }
    }

    #[test]
    fn a_span_comes_back_and_infinite_stays_infinite() {
        for span in [
            None,
            Some(Duration::ZERO),
            Some(Duration::from_millis(100)),
            Some(Duration::from_secs(100)),
        ] {
            let mut bytes = Vec::new();
            encode_span(span, &mut Encoder::new(&mut bytes, ByteOrder::Little));
            let mut decoder = Decoder::new(&bytes, ByteOrder::Little);
            assert_eq!(decode_span(&mut decoder, "span"), Ok(span));
        }
    }
}
