//! The task of a contender of the scenario `codec`: to encode or to decode a value.

use super::value::Value;
use crate::contender::Failure;
use crate::measure::Effort;
use crate::sample::{Encoded, Sample};

/// A case, taken apart.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) value: Value,
    pub(super) direction: Direction,
    pub(super) effort: Effort,
}

/// Which way a value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encode,
    Decode,
}

impl Task {
    /// # Errors
    /// If there is no such case.
    pub(super) fn new(case: &str, effort: Effort) -> Result<Self, Failure> {
        let (name, direction) = case.split_once('/').unwrap_or((case, ""));
        let direction = match direction {
            "encode" => Some(Direction::Encode),
            "decode" => Some(Direction::Decode),
            _ => None,
        };
        let (Some(value), Some(direction)) = (Value::named(name), direction) else {
            return Err(format!("expected a case such as text/encode, got \"{case}\"").into());
        };
        Ok(Self {
            value,
            direction,
            effort,
        })
    }

    /// Measures work with these bytes, which must hide its result from the compiler.
    pub(super) fn measure(&self, bytes: &[u8], work: impl FnMut()) -> Sample {
        let mut sample = self.effort.repeat(work);
        sample.encoded = Some(Encoded::of(bytes));
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_does_not_exist_is_shown() {
        let effort = Effort::from_millis("1").unwrap();
        let direction = |case: &str| Task::new(case, effort).map(|task| task.direction);
        assert_eq!(direction("text/encode").unwrap(), Direction::Encode);
        assert_eq!(direction("text/decode").unwrap(), Direction::Decode);
        for case in ["text", "text/recode", "words/encode"] {
            let error = direction(case).unwrap_err().to_string();
            assert!(error.contains(case), "{error}");
        }
    }
}
