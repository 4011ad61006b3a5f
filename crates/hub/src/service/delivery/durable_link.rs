//! Delivery over a link of a durable topic. The link has a position in the log: what the other topic has not answered is
//! forwarded again, so no event is lost while the other hub is away.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use floe::InvokeError;
use floe::forwarding::{Events, EventsBuilder};
use tokio::time::{sleep, sleep_until};

use super::link::{CALL_BYTES_MAX, forward};
use crate::core::durable::{Absence, Members};
use crate::core::{Cost, DeliveryFailure};
use crate::service::directory::ObjectDirectory;
use crate::service::durable::{Batch, Delivery, HasRead, Readable, Reader};
use crate::service::failure::failure;
use crate::service::one_line::OneLine;
use crate::service::subscriber::Subscriber;

/// The maximum number of events in one call. They come again if it is not answered.
const CALL_EVENTS_MAX: usize = 1000;

/// Delivers until the link ends.
pub(super) async fn run(link: &Arc<Subscriber>, reader: &Arc<Reader>, directory: &ObjectDirectory) {
    let member = reader.join(link.identity(), false);
    // Where the log had no events when it was read last.
    let mut readable: Option<Readable> = None;
    loop {
        let mut changed = pin!(reader.changed());
        changed.as_mut().enable();
        let now = Instant::now();
        let save_at = reader.save_when_due(now);
        let may_read = match &readable {
            Some((from, _)) => !reader.reads_from(*from),
            None => true,
        };
        let step = async {
            match reader.poll(member, CALL_EVENTS_MAX, may_read, now) {
                Batch::Deliver(batch) => deliver(link, reader, directory, batch).await,
                Batch::Expired(count) => link.lock().subscription.handle_expired(count),
                Batch::Read(to_read) => match reader.read(to_read).await {
                    HasRead::Events => {}
                    HasRead::Nothing(from) => {
                        readable = Some((from, Box::pin(reader.readable(from))));
                    }
                    HasRead::Again(event) => deliver(link, reader, directory, vec![event]).await,
                    HasRead::Expired => link.lock().subscription.handle_expired(1),
                    HasRead::AfterLoss(missing) => {
                        if missing.count > 0 {
                            tracing::warn!("{} has {missing}", link.log_name());
                            link.lock().subscription.handle_missing(missing);
                        }
                    }
                },
                Batch::Wait(until) => {
                    let until = until.into_iter().chain(save_at).min();
                    let timer = async {
                        match until {
                            Some(until) => sleep_until(until.into()).await,
                            None => pending().await,
                        }
                    };
                    let has_events = async {
                        match &mut readable {
                            Some((_, readable)) => readable.await,
                            None => pending().await,
                        }
                    };
                    let has_events = tokio::select! {
                        () = changed => false,
                        () = timer => false,
                        () = has_events => true,
                    };
                    if has_events {
                        readable = None;
                    }
                }
            }
        };
        let ended = poll_fn(|context| link.poll_ended(context));
        let has_ended = tokio::select! {
            biased;
            () = step => false,
            () = ended => true,
        };
        if has_ended {
            break;
        }
        tokio::task::consume_budget().await;
    }
    reader.leave(member);
    reader.save();
}

/// Forwards events, one call after the other, each again until it is answered.
async fn deliver(
    link: &Arc<Subscriber>,
    reader: &Reader,
    directory: &ObjectDirectory,
    batch: Vec<Delivery>,
) {
    let cost = link.link().map_or(Cost(0), |it| it.cost());
    let position = reader.position_number();
    let mut unsent = Unanswered {
        reader,
        sequences: batch.iter().map(|delivery| delivery.sequence).collect(),
    };
    let mut batch = batch.into_iter().peekable();
    while batch.peek().is_some() {
        let (mut events, mut sequences) = (EventsBuilder::default(), Vec::new());
        let (mut count, mut bytes) = (0, 0);
        while let Some(next) =
            batch.next_if(|next| count == 0 || bytes + next.event.len() <= CALL_BYTES_MAX)
        {
            sequences.push(next.sequence);
            if next.is_forwarded {
                // It crosses one link only.
                continue;
            }
            let added = events.push_with(|buffer| {
                buffer.extend_from_slice(next.event.as_bytes());
                Ok(())
            });
            if added.is_ok() {
                (count, bytes) = (count + 1, bytes + next.event.len());
            }
        }
        let passing: Vec<Events> = match events.finish() {
            Some(events) => cost.passing(&events).collect(),
            None => Vec::new(),
        };
        if !passing.is_empty() {
            let (count, bytes) = passing.iter().fold((0, 0), |(count, bytes), it| {
                (count + it.len(), bytes + it.byte_len())
            });
            link.lock()
                .subscription
                .handle_read(count as u64, bytes as u64);
            let mut outstanding = UnderWayCall {
                link,
                count: count as u64,
            };
            if !forward_until_answered(link, reader, directory, &passing, position).await {
                return;
            }
            outstanding.count = 0;
            link.lock().subscription.handle_delivered(count as u64);
        }
        unsent.sequences.drain(..sequences.len());
        reader.handle_acknowledged(sequences.into_iter());
    }
}

/// Returns false if the events are no longer to be forwarded: the position was set, or the link ends.
async fn forward_until_answered(
    link: &Arc<Subscriber>,
    reader: &Reader,
    directory: &ObjectDirectory,
    events: &[Events],
    position: u64,
) -> bool {
    let mut absence = Absence::default();
    let mut missing_since = None;
    loop {
        // Boxed, because it takes 2 kB, which an idle link should not hold.
        let error = match Box::pin(forward(link, directory, events)).await {
            Ok(()) => {
                if absence.handle_success() {
                    link.set_absent(false);
                    tracing::info!("{} can be reached again", link.log_name());
                }
                return true;
            }
            Err(error) => error,
        };
        if is_missing(link, &error) {
            // The other topic is gone, or its hub has not finished its start.
            let since = *missing_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= Members::ABSENCE_MAX {
                tracing::warn!("ended {}: {}", link.log_name(), OneLine(&error));
                link.remove();
                return false;
            }
        } else {
            missing_since = None;
        }
        if !absence.is_absent() {
            let (name, error) = (link.log_name(), OneLine(&error));
            tracing::warn!("{name} does not take events, which wait in the log: {error}");
        }
        link.set_absent(true);
        reader.save();
        sleep(absence.handle_failure()).await;
        if reader.position_number() != position {
            return false;
        }
    }
}

/// Returns true if the other topic does not exist.
fn is_missing(link: &Subscriber, error: &InvokeError) -> bool {
    failure(error, link.proxy().reference().mode) == DeliveryFailure::Hard
}

/// Events that were taken from the log and not answered. When this is dropped, they are delivered again.
struct Unanswered<'a> {
    reader: &'a Reader,
    sequences: Vec<u64>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.sequences.is_empty() {
            self.reader.handle_undelivered(self.sequences.drain(..));
        }
    }
}

/// Events of a call that is not answered. When this is dropped, they count as not taken.
struct UnderWayCall<'a> {
    link: &'a Subscriber,
    count: u64,
}

impl Drop for UnderWayCall<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.link.lock().subscription.handle_unread(self.count);
        }
    }
}
