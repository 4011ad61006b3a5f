//! The machine's own limit: the bytes of the records, written and synced.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use super::case::{Case, PAYLOAD_LEN};
use super::publishing::rate;
use super::{DurableContender, Publisher};
use crate::contender::events::Service;
use crate::contender::events::daemon::scratch;
use crate::contender::{Contender, Failure, Origin};
use crate::measure::Effort;

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Nobody,
        publisher: Publisher::Own(|case, effort, _| publish(case, effort)),
    }),
};

/// Bytes of a record in Floe's log: its head 34, the operation `store` 6, mode 1, context 1, the encapsulation's head 6, the
/// payload's size 1.
const RECORD_LEN: usize = 49 + PAYLOAD_LEN;

fn publish(case: Case, effort: Effort) -> Result<f64, Failure> {
    let mut file = File::create(scratch("floor"))?;
    let count = case.unanswered();
    let records = vec![0xA5; count * RECORD_LEN];
    rate(effort, |until| {
        let mut published = 0;
        loop {
            file.write_all(&records)?;
            file.sync_data()?;
            published += count as u64;
            if Instant::now() >= until {
                return Ok(published);
            }
        }
    })
}
