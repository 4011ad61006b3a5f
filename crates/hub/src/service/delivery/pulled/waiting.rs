//! The programs that wait for the events of a queue.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::service::subscriber::Pull;

/// Programs in the order in which they came. There may be a hundred thousand, so no step looks at all of them.
#[derive(Debug, Default)]
pub(super) struct WaitingPrograms {
    by_number: BTreeMap<u64, Pull>,
    by_deadline: BTreeSet<(Instant, u64)>,
    /// The number of the program that comes next.
    next: u64,
}

impl WaitingPrograms {
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// Adds a program behind the others.
    pub(super) fn push(&mut self, pull: Pull) {
        self.put_back(self.next, pull);
        self.next += 1;
    }

    /// Takes the first program that is still there, with its number. Forgets the programs before it, which have gone.
    pub(super) fn take_first(&mut self) -> Option<(u64, Pull)> {
        loop {
            let (number, pull) = self.by_number.pop_first()?;
            self.by_deadline.remove(&(pull.until, number));
            if !pull.taker.is_closed() {
                return Some((number, pull));
            }
        }
    }

    /// Puts a program back at its place.
    pub(super) fn put_back(&mut self, number: u64, pull: Pull) {
        self.by_deadline.insert((pull.until, number));
        self.by_number.insert(number, pull);
    }

    /// When the first wait is over.
    pub(super) fn first_deadline(&self) -> Option<Instant> {
        self.by_deadline.first().map(|(until, _)| *until)
    }

    /// Tells some of the programs whose waits are over that there are no events.
    pub(super) fn end_late(&mut self, now: Instant) {
        for _ in 0..ENDED_AT_A_TIME {
            let Some((until, number)) = self.by_deadline.pop_first() else {
                return;
            };
            if until > now {
                self.by_deadline.insert((until, number));
                return;
            }
            if let Some(pull) = self.by_number.remove(&number) {
                // If the program has gone, it needs no answer.
                let _ = pull.taker.send(Vec::new());
            }
        }
    }

    /// Ends the waits of all programs, because there will be no more events. Others run after every few of them: each
    /// program that is woken runs before anyone who comes later.
    pub(super) async fn end_all(mut self) {
        while !self.is_empty() {
            for _ in 0..ENDED_AT_A_TIME {
                self.by_number.pop_first();
            }
            tokio::task::yield_now().await;
        }
    }
}

/// How many programs may be told at a time that their wait is over.
const ENDED_AT_A_TIME: usize = 256;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use floe::forwarding::Events;
    use tokio::sync::oneshot::{self, error::TryRecvError};

    use super::*;
    use crate::service::pace::tests::pauses;

    fn pull(until: Instant) -> (Pull, oneshot::Receiver<Vec<Events>>) {
        let (taker, events) = oneshot::channel();
        let pull = Pull {
            count: 1,
            until,
            taker,
        };
        (pull, events)
    }

    #[test]
    fn programs_have_their_turn_in_order_and_those_that_have_gone_have_none() {
        let now = Instant::now();
        let mut waiting = WaitingPrograms::default();
        let mut programs = Vec::new();
        for seconds in [3, 1, 2] {
            let (pull, events) = pull(now + Duration::from_secs(seconds));
            waiting.push(pull);
            programs.push(Some(events));
        }
        assert_eq!(waiting.first_deadline(), Some(now + Duration::from_secs(1)));
        programs[0] = None;
        let (number, second) = waiting.take_first().unwrap();
        assert_eq!((number, second.until), (1, now + Duration::from_secs(1)));
        waiting.put_back(number, second);
        waiting.end_late(now + Duration::from_secs(1));
        let ended = programs[1].as_mut().unwrap().try_recv().unwrap();
        assert!(ended.is_empty());
        assert_eq!(waiting.first_deadline(), Some(now + Duration::from_secs(2)));
        assert_eq!(waiting.take_first().unwrap().0, 2);
        assert!(waiting.take_first().is_none() && waiting.is_empty());
        assert_eq!(waiting.first_deadline(), None);
    }

    #[test]
    fn many_programs_come_and_go_without_a_look_at_all() {
        const COUNT: usize = 200_000;
        let now = Instant::now();
        let mut waiting = WaitingPrograms::default();
        let mut programs = Vec::new();
        for number in 0..COUNT {
            let (pull, events) = pull(now + Duration::from_millis((number % 1_000) as u64));
            waiting.push(pull);
            programs.push(events);
            assert_eq!(waiting.first_deadline(), Some(now));
        }
        let last = now + Duration::from_millis(499);
        let mut steps = 0;
        while waiting.first_deadline().is_some_and(|until| until <= last) {
            waiting.end_late(last);
            steps += 1;
        }
        assert_eq!(steps, (COUNT / 2).div_ceil(ENDED_AT_A_TIME));
        let ended = programs.iter_mut().filter_map(|it| it.try_recv().ok());
        assert_eq!(ended.count(), COUNT / 2);
    }

    #[tokio::test]
    async fn others_run_while_the_waits_of_many_programs_end() {
        const COUNT: usize = 10 * ENDED_AT_A_TIME;
        let mut waiting = WaitingPrograms::default();
        let mut programs = Vec::new();
        for _ in 0..COUNT {
            let (pull, events) = pull(Instant::now());
            waiting.push(pull);
            programs.push(events);
        }
        assert!(pauses(waiting.end_all()).await >= 10);
        for mut program in programs {
            assert!(matches!(program.try_recv(), Err(TryRecvError::Closed)));
        }
    }
}
