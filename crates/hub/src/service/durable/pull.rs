//! Programs that pull the events of a durable subscription.

use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Instant;

use tokio::time::{sleep_until, timeout_at};

use super::delivery::{Batch, Delivery, HasRead, Readable};
use super::reader::Reader;
use crate::core::durable::{Member, MissingEvents};

/// Takes events for a program that asks for them. Waits for at least one, but no longer than `until`. An event whose
/// acknowledgement does not come is delivered again. If acknowledgements are late, this returns early with no events:
/// the caller refuses the late events, and pulls again.
///
/// If several programs wait, one of them waits for events, and the others wait for its lock, so that an event wakes
/// only one. Returns `None` if the program is `gone`, so that it takes no event from the others, and if the topic is
/// destroyed.
pub(crate) async fn pull(
    reader: &Arc<Reader>,
    count: usize,
    until: Instant,
    mut gone: Pin<&mut impl Future<Output = ()>>,
) -> Option<Vec<Delivery>> {
    let waits = until > Instant::now();
    let lock = async {
        match waits {
            true => Some(reader.pull_lock().await),
            false => None,
        }
    };
    let lock = tokio::select! {
        biased;
        () = &mut gone, if waits => return None,
        lock = timeout_at(until.into(), lock) => lock,
    };
    let Ok(_lock) = lock else {
        return Some(Vec::new());
    };
    let pulled = pull_unsaved(reader, count, until, gone).await;
    reader.save();
    pulled
}

async fn pull_unsaved(
    reader: &Arc<Reader>,
    count: usize,
    until: Instant,
    mut gone: Pin<&mut impl Future<Output = ()>>,
) -> Option<Vec<Delivery>> {
    // Where the log had no events when it was read last.
    let mut readable: Option<Readable> = None;
    loop {
        let mut changed = pin!(reader.changed());
        changed.as_mut().enable();
        if reader.is_closed() {
            return None;
        }
        let now = Instant::now();
        if !reader.late(Member::PULLING, now).is_empty() {
            return Some(Vec::new());
        }
        let may_read = match &readable {
            Some((from, _)) => !reader.reads_from(*from),
            None => true,
        };
        let wake_at = match reader.poll(Member::PULLING, count, may_read, now) {
            Batch::Deliver(batch) => return Some(batch),
            Batch::Expired(count) => {
                log_expired(reader, count);
                continue;
            }
            Batch::Read(to_read) => {
                match reader.read(to_read).await {
                    HasRead::Again(delivery) => return Some(vec![delivery]),
                    HasRead::Nothing(from) => {
                        readable = Some((from, Box::pin(reader.readable(from))));
                    }
                    HasRead::Events | HasRead::AfterLoss(MissingEvents { count: 0, .. }) => {}
                    HasRead::Expired => log_expired(reader, 1),
                    HasRead::AfterLoss(missing) => {
                        let (name, topic) = (reader.name(), reader.topic());
                        tracing::warn!(
                            "the durable subscription {name:?} of topic {topic:?} has {missing}"
                        );
                    }
                }
                continue;
            }
            Batch::Wait(wake_at) => wake_at,
        };
        if now >= until {
            return Some(Vec::new());
        }
        let wake_at = wake_at.map_or(until, |wake_at| wake_at.min(until));
        let is_waiting = readable.is_some();
        let has_events = async {
            match &mut readable {
                Some((_, readable)) => readable.await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = changed => {}
            () = sleep_until(wake_at.into()) => {}
            () = has_events, if is_waiting => readable = None,
            () = &mut gone => return None,
        }
    }
}

/// Logs events that no program has pulled in time.
fn log_expired(reader: &Reader, count: u64) {
    let (name, topic) = (reader.name(), reader.topic());
    tracing::debug!(
        "{count} events expired before they were pulled from the durable subscription {name:?} of topic {topic:?}"
    );
}
