//! Floe: generated types, encoded into a buffer that is reused, decoded to values that own what is in them.

use std::hint::black_box;

use floe::encoding::{Decode, Encode};

use super::ICE_ENCODING;
use super::task::{Direction, Task};
use super::value::{Value, decode, encode};
use crate::contender::{Contender, Failure, Origin};
use crate::measure::Effort;
use crate::sample::Sample;

pub(crate) const FLOE: Contender = Contender {
    name: "floe",
    refusal: |_| None,
    encoding: ICE_ENCODING,
    origin: Origin::Alone(work),
};

fn work(case: &str, effort: Effort) -> Result<Sample, Failure> {
    let task = Task::new(case, effort)?;
    match &task.value {
        Value::Bytes(value) => measure(&task, value),
        Value::Doubles(value) => measure(&task, value),
        Value::Nested(value) => measure(&task, value),
        Value::Text(value) => measure(&task, value),
        Value::Bibliography(value) => measure(&task, value),
    }
}

fn measure<T: Encode + Decode + PartialEq>(task: &Task, value: &T) -> Result<Sample, Failure> {
    let bytes = task.value.to_bytes()?;
    if decode::<T>(&bytes)? != *value {
        return Err("expected to decode what was encoded, got another value".into());
    }
    let mut buffer = Vec::new();
    Ok(match task.direction {
        Direction::Encode => task.measure(&bytes, || {
            let encoded = encode(black_box(value), &mut buffer);
            black_box((&buffer, &encoded));
        }),
        Direction::Decode => task.measure(&bytes, || {
            // By reference: it ends here, and not out of the compiler's sight.
            black_box(&decode::<T>(black_box(&bytes)));
        }),
    })
}
