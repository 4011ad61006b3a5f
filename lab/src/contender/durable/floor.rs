//! The machine's own limit: the bytes of the records, written and synced, or read and relayed as `floor_replay.rs` does.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use super::case::{Case, PAYLOAD_LEN};
use super::publishing::rate;
use super::{DurableContender, Publisher, floor_replay};
use crate::contender::events::daemon::scratch;
use crate::contender::events::{Service, announce_service};
use crate::contender::{Contender, Failure, Origin, end_with_stdin};
use crate::measure::Effort;

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Durable(&DurableContender {
        service: Service::Own(|case| serve(Case::parse(case)?)),
        publisher: Publisher::Own(|case, effort, address| match case {
            Case::Replay(count) => floor_replay::replay(count, address),
            _ => publish(case, effort),
        }),
    }),
};

/// Bytes of an event in Floe's log: the operation `store` 6, mode 1, context 1, the encapsulation's head 6, the payload's size 1.
pub(super) const EVENT_LEN: usize = 15 + PAYLOAD_LEN;

/// Bytes of a record in Floe's log: the event and what stands before it.
pub(super) const RECORD_LEN: usize = 34 + EVENT_LEN;

fn serve(case: Case) -> Result<(), Failure> {
    end_with_stdin();
    match case {
        Case::Replay(count) => floor_replay::serve(count),
        // Who only stores needs no service.
        Case::InFlight(_) | Case::Batch(_) => {
            announce_service("", std::process::id())?;
            loop {
                std::thread::park();
            }
        }
    }
}

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
