//! The events that a subscriber has heard: how many, whether in order, whether without a gap.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use floe::hub::Interruption;
use floe::{Current, InvokeError};

use super::publishing::micros;
use crate::contract::feed::{Listener, ListenerDispatcher, ListenerEvent};

/// The events heard so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Events.
    pub(super) count: u64,
    /// Events that are missing between others, or before the first.
    pub(super) missing: u64,
    /// Events that came again, or after a later one of the same publisher.
    pub(super) disorders: u64,
    /// The last number of each publisher.
    last: BTreeMap<i32, i64>,
    /// How long each took, in microseconds, if that is wanted.
    latencies: Option<Vec<u32>>,
}

impl Heard {
    fn note(&mut self, publisher: i32, number: i64) {
        self.count += 1;
        let last = self.last.entry(publisher).or_default();
        if number <= *last {
            self.disorders += 1;
            return;
        }
        self.missing += (number - *last - 1).unsigned_abs();
        *last = number;
    }

    /// The last number that was heard of a publisher; 0 before the first.
    pub(super) fn last_of(&self, publisher: i32) -> i64 {
        self.last.get(&publisher).copied().unwrap_or_default()
    }
}

/// A subscriber's ear, shared with its servant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hearing(Arc<Mutex<Heard>>);

impl Hearing {
    /// The servant that hears.
    pub(crate) fn servant(&self) -> Arc<ListenerDispatcher<Self>> {
        Arc::new(ListenerDispatcher::new(self.clone()))
    }

    /// Returns the events heard so far.
    pub(super) fn heard(&self) -> Heard {
        let heard = self.lock();
        Heard {
            latencies: None,
            ..(*heard).clone()
        }
    }

    /// How many events were heard.
    pub(crate) fn count(&self) -> u64 {
        self.lock().count
    }

    /// Begins to note how long events take; those noted so far.
    pub(super) fn take_latencies(&self) -> Vec<u32> {
        let former = self.lock().latencies.replace(Vec::new());
        former.unwrap_or_default()
    }

    /// Hears an item of a stream. An interruption counts as an event that is missing.
    pub(super) fn take(&self, event: Result<ListenerEvent, Interruption>) {
        match event {
            Ok(ListenerEvent::Heard {
                publisher,
                number,
                sent,
                ..
            }) => self.note(publisher, number, sent),
            Err(_) => self.lock().missing += 1,
        }
    }

    fn note(&self, publisher: i32, number: i64, sent: i64) {
        let mut heard = self.lock();
        heard.note(publisher, number);
        if let Some(latencies) = &mut heard.latencies {
            let taken = micros().saturating_sub(sent);
            latencies.push(u32::try_from(taken).unwrap_or_default());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().expect("nobody panics with it")
    }
}

impl Listener for Hearing {
    async fn heard(
        &self,
        publisher: i32,
        number: i64,
        sent: i64,
        _load: Vec<u8>,
        _: &Current,
    ) -> Result<(), InvokeError> {
        self.note(publisher, number, sent);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Heard;

    #[test]
    fn gaps_and_disorders_are_told_apart_and_publishers_too() {
        let mut heard = Heard::default();
        for (publisher, number) in [(1, 1), (2, 1), (1, 2), (1, 5), (1, 4), (2, 2), (2, 2)] {
            heard.note(publisher, number);
        }
        assert_eq!((heard.count, heard.missing, heard.disorders), (7, 2, 2));
        assert_eq!(
            (heard.last_of(1), heard.last_of(2), heard.last_of(3)),
            (5, 2, 0)
        );
    }
}
