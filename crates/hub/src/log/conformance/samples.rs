//! Events for the tests of logs, and how they are appended and read.

use std::sync::mpsc;
use std::time::Duration;

use floe::encoding::Encoder;
use floe::forwarding::EventsBuilder;
use floe::{EncodingVersion, OperationMode};

use crate::log::*;

/// The time limit of a wait in a test.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Events with these payloads, each with this key in its context.
pub(crate) fn events(payloads: &[&[u8]], key: &str) -> Events {
    let mut builder = EventsBuilder::default();
    for payload in payloads {
        let write = |buffer: &mut Vec<u8>| {
            let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
            encoder.string("tick");
            encoder.put(&OperationMode::Normal);
            encoder.size(1);
            encoder.string("key");
            encoder.string(key);
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(payload));
            encoder.finish().expect("it is short");
            Ok(())
        };
        builder.push_with(write).expect("it is an event");
    }
    builder.finish().expect("there is an event")
}

/// The payload of an event that [`events`] made.
pub(super) fn payload(event: &[u8]) -> &[u8] {
    let parts = floe::forwarding::EventParts::parse(event).expect("it is an event");
    &parts.parameters[6..]
}

/// An append of events with these payloads, at a time.
pub(super) fn append(payloads: &[&[u8]], time: u64) -> Append {
    Append {
        is_forwarded: false,
        events: events(payloads, "k"),
        time: EventTime(time),
        origin: None,
    }
}

/// Appends, and waits for the answer.
pub(super) fn stored(
    log: &dyn EventLog,
    append: Append,
    level: Level,
) -> Result<Range<u64>, AppendError> {
    let (sender, receiver) = mpsc::channel();
    log.append(
        append,
        level,
        Box::new(move |result| _ = sender.send(result)),
    );
    match receiver.recv_timeout(PATIENCE).expect("it is answered")? {
        Acknowledged::Stored(sequences) => Ok(sequences),
        Acknowledged::Accepted => panic!("expected sequences at the level {level}"),
    }
}

/// All that a log has from a sequence on: payloads with their stamps.
pub(crate) fn read_all(
    log: &dyn EventLog,
    mut from: u64,
    limits: &ReadLimits,
) -> (Vec<(Vec<u8>, Stamp)>, Vec<Gap>) {
    let (mut all, mut gaps) = (Vec::new(), Vec::new());
    loop {
        let batch = log.read(from, limits).expect("it can be read");
        gaps.extend(batch.gap);
        let count = batch.events.as_ref().map_or(0, Events::len);
        assert_eq!(count, batch.stamps.len());
        assert!(count <= limits.events.max(1));
        let events = batch.events.iter().flat_map(Events::iter);
        all.extend(
            events
                .map(|event| payload(event).to_vec())
                .zip(batch.stamps),
        );
        if batch.next == from {
            return (all, gaps);
        }
        assert!(batch.next > from, "a reader never goes back");
        from = batch.next;
    }
}

/// Waits until a reader is woken.
pub(super) fn woken<T>(woken: impl Future<Output = T>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().expect("a runtime");
    let woken = runtime.block_on(async { tokio::time::timeout(PATIENCE, woken).await });
    woken.expect("the reader is woken");
}
