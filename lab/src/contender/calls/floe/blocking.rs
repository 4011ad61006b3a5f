//! The blocking face: the thread that calls sends and receives by itself.

use floe::Bytes;
use floe::PackedBytes;
use floe::blocking::Communicator;

use super::contract::floe_calls::{CallsDispatcher, CallsProxy};
use super::servant::{ReadingInPlace, Servant};
use super::{IDENTITY, endpoint, settings};
use crate::contender::calls::case::{Case, Work};
use crate::contender::calls::payload::{
    ack_of_bytes, ack_of_records, bytes, doubles, expect, expect_echo, expect_end_of_echo, records,
};
use crate::contender::{Failure, announce};
use crate::measure::Effort;
use crate::sample::Sample;

pub(super) fn serve(case: Case) -> Result<(), Failure> {
    let communicator = Communicator::with_settings(settings(case));
    let adapter = communicator.adapter(&endpoint(case))?;
    let calls = CallsDispatcher::new(Servant::default());
    let proxy = match case.work {
        Work::AckNested(_) => adapter.add(IDENTITY, ReadingInPlace::new(calls)),
        _ => adapter.add(IDENTITY, calls),
    }?;
    adapter.activate();
    announce(&proxy.to_string())?;
    communicator.wait_for_shutdown();
    Ok(())
}

pub(super) fn call(case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
    let communicator = Communicator::with_settings(settings(case));
    let calls: CallsProxy = communicator.proxy(address)?;
    match case.work {
        Work::Echo(count) => echo(&calls, &doubles(count).into(), case, effort),
        Work::AckBytes(count) => {
            let payload = Bytes::from(bytes(count));
            let expected = ack_of_bytes(&payload);
            repeat(case, effort, || {
                expect(
                    "the acknowledgement",
                    expected,
                    calls.take_bytes(&payload).wait()?,
                )
            })
        }
        Work::AckNested(count) => {
            let records = records(count);
            let inner = records.iter().flat_map(|outer| outer.inner.iter().cloned());
            let expected = ack_of_records(inner);
            repeat(case, effort, || {
                expect(
                    "the acknowledgement",
                    expected,
                    calls.take_records(&records).wait()?,
                )
            })
        }
        _ => twoway(&calls, case, effort),
    }
}

fn twoway(calls: &CallsProxy, case: Case, effort: Effort) -> Result<Sample, Failure> {
    let mut made = 0;
    let sample = repeat(case, effort, || {
        made += 1;
        Ok(calls.nothing().wait()?)
    })?;
    expect("the count of calls", made, calls.count().wait()?)?;
    Ok(sample)
}

fn echo(
    calls: &CallsProxy,
    values: &PackedBytes<f64>,
    case: Case,
    effort: Effort,
) -> Result<Sample, Failure> {
    expect_echo(values, &calls.echo(values).wait()?)?;
    let sample = repeat(case, effort, || {
        expect_end_of_echo(values, &calls.echo(values).wait()?)
    })?;
    expect_echo(values, &calls.echo(values).wait()?)?;
    Ok(sample)
}

fn repeat(
    case: Case,
    effort: Effort,
    mut call: impl FnMut() -> Result<(), Failure>,
) -> Result<Sample, Failure> {
    call()?;
    let mut stopwatch = case.stopwatch(effort);
    loop {
        call()?;
        if !stopwatch.lap() {
            return Ok(stopwatch.into_sample());
        }
    }
}
