//! Where and when events were lost, in bounded memory. It is told of losses from time to time, and not event by event.

use std::collections::{BTreeMap, VecDeque};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use super::accounts::Losses;

/// The losses of many subscribers over time.
#[derive(Debug, Default)]
pub(crate) struct LossHistory {
    places: BTreeMap<LossPlace, CountSeries<Losses>>,
    /// The losses of places that were forgotten.
    others: CountSeries<Losses>,
}

/// A subscriber of a topic. It may have left.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LossPlace {
    pub(crate) topic: String,
    pub(crate) subscriber: String,
}

/// The losses of one place since a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlaceLosses {
    pub(crate) place: LossPlace,
    pub(crate) lost: Losses,
    /// When the last of them were noted.
    pub(crate) last: Instant,
}

/// Counts by the time when they were noted, in this order.
#[derive(Debug, Default)]
pub(crate) struct CountSeries<T>(VecDeque<(Instant, T)>);

impl LossHistory {
    /// An operator reads a few places. A hub that loses events everywhere must not fill its memory with their names.
    pub(crate) const PLACES_MAX: usize = 1_000;

    /// Notes further losses of a place.
    pub(crate) fn note(&mut self, place: LossPlace, lost: Losses, now: Instant) {
        if let Some(series) = self.places.get_mut(&place) {
            return series.note(lost, now);
        }
        if self.places.len() >= Self::PLACES_MAX {
            self.forget_oldest();
        }
        self.places.entry(place).or_default().note(lost, now);
    }

    /// The places that lost events since a time, those that lost last first, and the sum of all losses since then.
    pub(crate) fn since(&self, since: Instant) -> (Vec<PlaceLosses>, Losses) {
        let of_place = |(place, series): (&LossPlace, &CountSeries<Losses>)| {
            let last = series.last().filter(|last| *last >= since)?;
            Some(PlaceLosses {
                place: place.clone(),
                lost: series.since(since),
                last,
            })
        };
        let mut found: Vec<_> = self.places.iter().filter_map(of_place).collect();
        found.sort_by_key(|found| std::cmp::Reverse(found.last));
        let mut sum = self.others.since(since);
        for place in &found {
            sum += place.lost;
        }
        (found, sum)
    }

    /// Forgets the place whose last loss is the oldest.
    fn forget_oldest(&mut self) {
        let last = |(place, series): (&LossPlace, &CountSeries<Losses>)| {
            Some((series.last()?, place.clone()))
        };
        let oldest = self.places.iter().filter_map(last).min();
        let removed = oldest.and_then(|(_, place)| self.places.remove(&place));
        for (time, lost) in removed.into_iter().flat_map(|series| series.0) {
            self.others.note(lost, time);
        }
    }
}

impl<T: Copy + Default + AddAssign> CountSeries<T> {
    /// More than a minute, noted every few seconds, and then ever longer times.
    const COUNT_MAX: usize = 32;

    pub(crate) fn note(&mut self, count: T, now: Instant) {
        let at = self.0.partition_point(|(time, _)| *time <= now);
        self.0.insert(at, (now, count));
        if self.0.len() > Self::COUNT_MAX {
            self.join_two();
        }
    }

    /// The sum of all that was noted since a time.
    pub(crate) fn since(&self, since: Instant) -> T {
        let mut sum = T::default();
        for (_, count) in self.0.iter().rev().take_while(|(time, _)| *time >= since) {
            sum += *count;
        }
        sum
    }

    fn last(&self) -> Option<Instant> {
        self.0.back().map(|(time, _)| *time)
    }

    /// Joins the two neighbours whose distance matters least: it is short, or they are old. Both then count at the time of the
    /// later one, so that no loss is missed.
    fn join_two(&mut self) {
        let Some(now) = self.last() else { return };
        let times: Vec<_> = self.0.iter().map(|(time, _)| *time).collect();
        let weight = |pair: &[Instant]| {
            let distance = pair[1] - pair[0];
            let age = now - pair[1] + Duration::from_secs(1);
            distance.as_secs_f64() / age.as_secs_f64()
        };
        let weights = times.windows(2).map(weight).enumerate();
        let least = weights.min_by(|(_, one), (_, other)| one.total_cmp(other));
        let Some((at, _)) = least else { return };
        if let Some((_, earlier)) = self.0.remove(at) {
            self.0[at].1 += earlier;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(subscriber: usize) -> LossPlace {
        LossPlace {
            topic: "t".to_owned(),
            subscriber: format!("{subscriber:05}"),
        }
    }

    fn overflow(count: u64) -> Losses {
        Losses {
            overflow: count,
            ..Losses::default()
        }
    }

    #[test]
    fn losses_count_in_the_time_in_which_they_were_noted() {
        let (start, mut history) = (Instant::now(), LossHistory::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        history.note(place(1), overflow(3), at(10));
        history.note(place(2), overflow(4), at(20));
        history.note(place(1), overflow(5), at(30));
        let (places, sum) = history.since(at(15));
        let found: Vec<_> = places
            .iter()
            .map(|it| (&it.place, it.lost.overflow))
            .collect();
        assert_eq!(found, [(&place(1), 5), (&place(2), 4)]);
        assert_eq!(sum, overflow(9));
        assert_eq!(history.since(at(31)), (Vec::new(), Losses::default()));
    }

    #[test]
    fn a_place_that_loses_for_days_takes_little_memory_and_no_loss_is_forgotten() {
        let (start, mut series) = (Instant::now(), CountSeries::<Losses>::default());
        for step in 0..50_000 {
            series.note(overflow(1), start + Duration::from_secs(5 * step));
        }
        assert_eq!(series.0.len(), CountSeries::<Losses>::COUNT_MAX);
        assert_eq!(series.since(start), overflow(50_000));
        let last_minute = series.since(start + Duration::from_secs(5 * 49_999 - 60));
        assert!((13..=26).contains(&last_minute.overflow), "{last_minute:?}");
    }

    #[test]
    fn more_places_than_are_remembered_are_summed_up() {
        let (start, mut history) = (Instant::now(), LossHistory::default());
        let count = LossHistory::PLACES_MAX + 500;
        for number in 0..count {
            history.note(
                place(number),
                overflow(1),
                start + Duration::from_secs(number as u64),
            );
        }
        let (places, sum) = history.since(start);
        assert_eq!(
            (places.len(), sum),
            (LossHistory::PLACES_MAX, overflow(count as u64))
        );
        assert_eq!(places[0].place, place(count - 1));
    }
}
