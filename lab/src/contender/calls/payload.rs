//! The values that calls carry, and what shows that they came: the same for every contender.
//!
//! They are those of the scenario `codec`. Of the first and the last echo, which are not measured, a
//! client compares every number; of each one between, their count and the last one.

use std::fmt::Debug;

use floe::PackedBytes;

use crate::contender::Failure;
use crate::contender::codec::contract::floe_lab::Inner;

pub(crate) use crate::contender::codec::value::{bytes, doubles, records};

/// The acknowledgement of bytes: 256 times their number, plus the last one.
pub(crate) fn ack_of_bytes(bytes: &[u8]) -> i64 {
    256 * bytes.len() as i64 + i64::from(bytes.last().copied().unwrap_or_default())
}

/// The acknowledgement of records: the sum of all numbers in them. It is exact in whatever order, since all
/// are small multiples of a quarter.
pub(crate) fn ack_of_records(records: impl Iterator<Item = Inner>) -> f64 {
    records.map(|inner| inner.l as f64 + inner.d).sum()
}

/// Compares an answer.
///
/// # Errors
/// What came instead.
pub(crate) fn expect<T: PartialEq + Debug>(
    what: &str,
    expected: T,
    came: T,
) -> Result<(), Failure> {
    if expected == came {
        return Ok(());
    }
    Err(format!("expected {what} to be {expected:?}, got {came:?}").into())
}

/// Compares every number of an echo.
///
/// # Errors
/// The first one that differs, or the count.
pub(crate) fn expect_echo(sent: &PackedBytes<f64>, came: &PackedBytes<f64>) -> Result<(), Failure> {
    expect("the count of an echo", sent.len(), came.len())?;
    let mut pairs = sent.iter().zip(came.iter()).enumerate();
    match pairs.find(|(_, (sent, came))| sent != came) {
        None => Ok(()),
        Some((index, (sent, came))) => expect(&format!("number {index} of an echo"), sent, came),
    }
}

/// Compares the count and the last number of an echo: what costs nothing.
///
/// # Errors
/// As [`expect_echo`].
pub(crate) fn expect_end_of_echo(
    sent: &PackedBytes<f64>,
    came: &PackedBytes<f64>,
) -> Result<(), Failure> {
    let end = |values: &PackedBytes<f64>| (values.len(), values.iter().next_back());
    expect("the end of an echo", end(sent), end(came))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_differs_is_shown() {
        let numbers = |numbers: &[f64]| PackedBytes::from(numbers);
        let sent = numbers(&doubles(3));
        expect_echo(&sent, &sent).unwrap();
        let error = expect_echo(&sent, &numbers(&[0.0, 5.0, 0.002])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected number 1 of an echo to be 0.001, got 5.0"
        );
        assert!(expect_echo(&sent, &numbers(&[0.0, 0.001])).is_err());
        assert!(expect_end_of_echo(&sent, &numbers(&[0.001, 0.002])).is_err());
        assert!(expect_end_of_echo(&sent, &numbers(&[0.0, 0.0, 0.0])).is_err());
        expect_end_of_echo(&sent, &numbers(&[9.0, 9.0, 0.002])).unwrap();
    }

    #[test]
    fn acknowledgements_show_that_the_values_came() {
        assert_eq!(ack_of_bytes(&bytes(3)), 3 * 256 + 62);
        let ack = |count| ack_of_records(records(count).into_iter().flat_map(|outer| outer.inner));
        assert_eq!(ack(1), 6.0 + 1.5);
        assert_eq!(ack(1_024), 1.25 * 2_047.5 * 4_096.0);
    }
}
