//! The machine's own limit: the encoded bytes are copied once, between two buffers that stay.

use std::hint::black_box;

use super::ICE_ENCODING;
use super::task::Task;
use crate::contender::{Contender, Failure, Origin};
use crate::measure::Effort;
use crate::sample::Sample;

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    refusal: |_| None,
    encoding: ICE_ENCODING,
    origin: Origin::Alone(work),
};

/// Both directions are the same work, measured twice.
fn work(case: &str, effort: Effort) -> Result<Sample, Failure> {
    let task = Task::new(case, effort)?;
    let bytes = task.value.to_bytes()?;
    let mut copy = vec![0; bytes.len()];
    Ok(task.measure(&bytes, || {
        copy.copy_from_slice(black_box(&bytes));
        black_box(&mut copy);
    }))
}
