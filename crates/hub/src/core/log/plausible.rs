//! The times of a log whose clock was wrong for a while: between the times around them.

use super::{Catalog, EventTime};
use std::time::Duration;

/// A time that is this far ahead of now comes from a clock that was wrong. Less is put right by waiting.
const AHEAD_MAX: Duration = Duration::from_secs(60);

/// Returns true if a time is so far ahead of now that the clock must have been wrong.
pub(crate) fn is_ahead(time: EventTime, now: EventTime) -> bool {
    time.before(AHEAD_MAX) > now
}

/// The bounds of the times of a segment, as readers see them. So the times of a log never go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlausibleTimes {
    earliest: EventTime,
    latest: EventTime,
}

impl PlausibleTimes {
    /// The time as readers see it.
    pub(crate) fn of(self, time: EventTime) -> EventTime {
        time.min(self.latest).max(self.earliest)
    }
}

impl Catalog {
    /// The bounds of the times of each segment. A time that is ahead of now is none; it is before the next time that is
    /// plausible. A time that lies before an earlier one is that of the earlier one.
    pub(crate) fn plausible_times(&self, now: EventTime) -> Vec<PlausibleTimes> {
        let mut latest = now;
        let mut bounds: Vec<_> = self
            .segments
            .iter()
            .rev()
            .map(|segment| {
                let is_plausible = !is_ahead(segment.last_time, now);
                let bounds = PlausibleTimes {
                    earliest: EventTime::default(),
                    latest: match is_plausible {
                        true => segment.last_time,
                        false => latest,
                    },
                };
                if !is_ahead(segment.first_time, now) {
                    latest = segment.first_time;
                }
                bounds
            })
            .collect();
        bounds.reverse();
        let mut earliest = EventTime::default();
        for (bound, segment) in bounds.iter_mut().zip(&self.segments) {
            bound.earliest = earliest;
            bound.latest = bound.latest.max(earliest);
            if segment.events > 0 {
                earliest = bound.latest;
            }
        }
        bounds
    }

    /// The bounds of the times of the segment at this place; `None` if they are as they are written, which is quick to see.
    pub(crate) fn corrected_times(&self, at: usize, now: EventTime) -> Option<PlausibleTimes> {
        let segment = self.segments.get(at)?;
        let mut before = self.segments.iter().take(at);
        let is_right = !is_ahead(segment.last_time, now)
            && before.all(|it| it.events == 0 || it.last_time <= segment.first_time);
        match is_right {
            true => None,
            false => self.plausible_times(now).get(at).copied(),
        }
    }

    /// Returns true if the last event is dated so far ahead that the log must begin another segment, with right times.
    pub(crate) fn is_last_ahead(&self, now: EventTime) -> bool {
        let last = self.segments.back();
        last.is_some_and(|last| last.events > 0 && is_ahead(last.last_time, now))
    }
}
