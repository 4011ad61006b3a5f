//! Where and when events were lost. Nothing is noted as events are lost: the counts of all subscribers are looked at every
//! few seconds, and when somebody asks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::directory::ObjectDirectory;
use super::pace::Pace;
use super::subscriber::Subscriber;
use super::topic::Topic;
use crate::core::{CountSeries, LossHistory, LossPlace, Losses, PlaceLosses};
use crate::lock::Mutex;

/// Lost events and refused connections of late.
#[derive(Default)]
pub(crate) struct RecentLosses {
    /// Held while counts are looked at, so that no loss counts twice.
    seen: tokio::sync::Mutex<SeenCounts>,
    /// Held for one look-up or one change.
    noted: Mutex<NotedCounts>,
}

/// The counts at the last look.
#[derive(Default)]
struct SeenCounts {
    /// By the address of a subscriber, if it has lost events.
    losses: HashMap<usize, Losses>,
    refused: u64,
}

#[derive(Default)]
struct NotedCounts {
    losses: LossHistory,
    refused: CountSeries<u64>,
    /// Before anything was noted.
    first: Option<Instant>,
}

/// Lost events and refused connections since a time.
pub(crate) struct LossesSince {
    pub(crate) places: Vec<PlaceLosses>,
    pub(crate) sum: Losses,
    /// Connections that were refused.
    pub(crate) refused: u64,
}

impl RecentLosses {
    /// Notes the events that were lost since the last look, and the connections, of which so many were refused since the hub started. If this is cancelled, the next look goes on.
    pub(crate) async fn look(&self, directory: &ObjectDirectory, refused: u64) {
        let mut seen = self.seen.lock().await;
        self.noted.lock().first.get_or_insert_with(Instant::now);
        if let Some(more) = refused.checked_sub(seen.refused).filter(|more| *more > 0) {
            self.noted.lock().refused.note(more, Instant::now());
        }
        seen.refused = refused;
        let (mut present, mut pace) = (HashSet::new(), Pace::default());
        for topic in directory.topics() {
            let mut note = |subscriber: &Arc<Subscriber>| {
                let lost = subscriber.snapshot().accounts.lost;
                if lost.sum() > 0 {
                    let address = Arc::as_ptr(subscriber).addr();
                    present.insert(address);
                    let name = || subscriber.identity().to_string();
                    self.note(&mut seen, &topic, address, name, lost);
                }
            };
            for subscriber in topic.all_subscribers() {
                note(&subscriber);
                pace.yield_if_due(1).await;
            }
            // A subscriber that leaves meanwhile moves there, and then to the ended ones.
            topic.leaving_subscribers().iter().for_each(note);
            for ended in topic.take_ended_losers() {
                self.note(
                    &mut seen,
                    &topic,
                    ended.address,
                    || ended.identity,
                    ended.lost,
                );
                present.remove(&ended.address);
            }
            pace.yield_if_due(1).await;
        }
        seen.losses.retain(|address, _| present.contains(address));
    }

    /// Notes what a subscriber has lost since the last look.
    fn note(
        &self,
        seen: &mut SeenCounts,
        topic: &Topic,
        address: usize,
        subscriber: impl FnOnce() -> String,
        lost: Losses,
    ) {
        let earlier = seen.losses.insert(address, lost).unwrap_or_default();
        // If its counts are lower, another subscriber had this address before.
        let more = lost.since(&earlier).unwrap_or(lost);
        if more.sum() > 0 {
            let place = LossPlace {
                topic: topic.name().to_owned(),
                subscriber: subscriber(),
            };
            self.noted.lock().losses.note(place, more, Instant::now());
        }
    }

    /// Losses in this time until now, as far as they were noted.
    pub(crate) fn within(&self, time: Duration) -> LossesSince {
        let noted = self.noted.lock();
        // A time that lies before the start of this computer reaches back to the first thing that was noted.
        let now = Instant::now();
        let since = now.checked_sub(time).or(noted.first).unwrap_or(now);
        noted.since(since)
    }
}

impl NotedCounts {
    fn since(&self, since: Instant) -> LossesSince {
        let (places, sum) = self.losses.since(since);
        LossesSince {
            places,
            sum,
            refused: self.refused.since(since),
        }
    }
}
