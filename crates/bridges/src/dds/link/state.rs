//! The state of a running participant, for lists and for its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use floe_rtps::guid::{Guid, GuidPrefix};

use crate::world::{PEERS_LISTED_MAX, WorldState};

/// What others see of a running participant.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    /// Guards both; held only for a moment.
    seen: Mutex<Seen>,
    /// Datagrams that were not heard or not sent, because of their addresses.
    out_of_reach: AtomicU64,
    /// When a warning about what a peer does was last logged.
    warned: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Seen {
    peers: BTreeMap<GuidPrefix, String>,
    /// The readers and writers of others that are matched, each with our topic.
    matched: BTreeMap<Guid, String>,
    /// Why events cannot be published, by topic.
    trouble: BTreeMap<String, String>,
}

impl LinkState {
    pub(crate) fn find(&self, prefix: GuidPrefix, name: String) {
        self.seen().peers.insert(prefix, name);
    }

    pub(crate) fn lose(&self, prefix: GuidPrefix) {
        self.seen().peers.remove(&prefix);
    }

    /// Notes that a reader or a writer takes part in a topic.
    pub(crate) fn join(&self, endpoint: Guid, topic: &str) {
        self.seen().matched.insert(endpoint, topic.to_owned());
    }

    pub(crate) fn leave(&self, endpoint: Guid) {
        self.seen().matched.remove(&endpoint);
    }

    /// Notes why events of a topic cannot be published, or that they can.
    pub(crate) fn set_trouble(&self, topic: &str, trouble: Option<String>) {
        let mut seen = self.seen();
        match trouble {
            Some(trouble) => seen.trouble.insert(topic.to_owned(), trouble),
            None => seen.trouble.remove(topic),
        };
    }

    pub(crate) fn count_out_of_reach(&self) {
        self.out_of_reach.fetch_add(1, Ordering::Relaxed);
    }

    /// True if a warning about what a peer does may be logged: not more often than in [`WARNING_PAUSE`], because peers choose how
    /// often there is a reason.
    pub(crate) fn may_warn(&self) -> bool {
        let now = Instant::now();
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = warned.is_none_or(|last| now.duration_since(last) >= WARNING_PAUSE);
        if is_time {
            *warned = Some(now);
        }
        is_time
    }

    pub(crate) fn state(&self) -> WorldState {
        let seen = self.seen();
        let first = seen.peers.iter().take(PEERS_LISTED_MAX);
        WorldState {
            peers: first
                .map(|(prefix, name)| seen.described(*prefix, name))
                .collect(),
            peer_count: seen.peers.len(),
            trouble: seen.trouble.values().next().cloned(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// A participant: `name 0110…  at 127.0.0.1:7410: reads ticks; writes ticks`.
    fn described(&self, prefix: GuidPrefix, name: &str) -> String {
        let mut text = name.to_owned();
        let mut separator = ": ";
        for (verb, is_reader) in [("reads", true), ("writes", false)] {
            let all = self.matched.iter();
            let topics: BTreeSet<&str> = all
                .filter(|(guid, _)| guid.prefix == prefix && guid.entity.is_reader() == is_reader)
                .map(|(_, topic)| topic.as_str())
                .collect();
            if !topics.is_empty() {
                let topics: Vec<_> = topics.into_iter().collect();
                text.push_str(&format!("{separator}{verb} {}", topics.join(", ")));
                separator = "; ";
            }
        }
        text
    }
}

/// The shortest time between two warnings about what peers do.
const WARNING_PAUSE: Duration = Duration::from_secs(1);
