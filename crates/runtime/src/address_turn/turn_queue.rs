//! The turns of one address on one thread: how much of a turn is used, and which connections wait for the next one. It
//! knows neither clocks nor threads.

use std::collections::VecDeque;
use std::time::Duration;

/// The turns of an address, one after another. `W` wakes a connection.
#[derive(Debug)]
pub(super) struct TurnQueue<W> {
    /// Time that connections have used in this turn.
    used: Duration,
    /// True from the end of a turn until others have run.
    is_ending: bool,
    /// The connections that wait, by their tickets, which rise. Unless the turn is ending, the first one has been woken:
    /// it enters, or it leaves, and either wakes the next one.
    waiting: VecDeque<(Ticket, W)>,
    last_ticket: u64,
}

/// The place of a connection that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// The answer to a connection that wants to take part in a turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entering<W> {
    /// It takes part. Wake the next one.
    Entered(Option<W>),
    /// It waits until it is woken.
    Waits(Ticket),
}

impl<W> Default for TurnQueue<W> {
    fn default() -> Self {
        Self {
            used: Duration::ZERO,
            is_ending: false,
            waiting: VecDeque::new(),
            last_ticket: 0,
        }
    }
}

impl<W: Clone> TurnQueue<W> {
    /// Returns true if connections take part without waiting.
    pub(super) fn is_free(&self) -> bool {
        !self.is_ending && self.waiting.is_empty()
    }

    /// Lets a connection take part, or queues it. It shows its ticket if it waits already.
    pub(super) fn enter(&mut self, ticket: Option<Ticket>, wake: W) -> Entering<W> {
        let place = match ticket {
            Some(ticket) => self.place_of(ticket),
            None if self.is_free() => return Entering::Entered(None),
            None => Err(()),
        };
        match place {
            Ok(0) if !self.is_ending => {
                self.waiting.pop_front();
                Entering::Entered(self.first())
            }
            Ok(place) => {
                let (ticket, waiting) = &mut self.waiting[place];
                *waiting = wake;
                Entering::Waits(*ticket)
            }
            Err(()) => {
                self.last_ticket += 1;
                let ticket = Ticket(self.last_ticket);
                self.waiting.push_back((ticket, wake));
                Entering::Waits(ticket)
            }
        }
    }

    /// Takes a connection out that waits no more. Returns the one to wake.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<W> {
        let place = self.place_of(ticket).ok()?;
        self.waiting.remove(place);
        match place {
            0 if !self.is_ending => self.first(),
            _ => None,
        }
    }

    /// Notes that a connection has used this much of a turn. Returns true if that ends the turn. The caller then
    /// [begins](Self::begin) the next turn, after others have run.
    pub(super) fn spend(&mut self, used: Duration, whole: Duration) -> bool {
        self.used = self.used.saturating_add(used);
        let ends = !self.is_ending && self.used >= whole;
        self.is_ending |= ends;
        ends
    }

    /// Begins the next turn. Returns the one to wake.
    pub(super) fn begin(&mut self) -> Option<W> {
        self.used = Duration::ZERO;
        self.is_ending = false;
        self.first()
    }

    fn first(&self) -> Option<W> {
        self.waiting.front().map(|(_, wake)| wake.clone())
    }

    fn place_of(&self, ticket: Ticket) -> Result<usize, ()> {
        let place = self
            .waiting
            .binary_search_by_key(&ticket, |waiting| waiting.0);
        place.map_err(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Duration = Duration::from_millis(4);
    const HALF: Duration = Duration::from_millis(2);

    /// A queue whose turn is ending while connections wait, and their tickets.
    fn queue_of(names: &[&'static str]) -> (TurnQueue<&'static str>, Vec<Ticket>) {
        let mut queue = TurnQueue::default();
        assert!(queue.spend(WHOLE, WHOLE));
        let tickets = names.iter().map(|name| match queue.enter(None, *name) {
            Entering::Waits(ticket) => ticket,
            entered => panic!("{entered:?}"),
        });
        let tickets = tickets.collect();
        (queue, tickets)
    }

    #[test]
    fn all_connections_use_one_turn() {
        let mut queue = TurnQueue::default();
        assert_eq!(queue.enter(None, "a"), Entering::Entered(None));
        assert!(!queue.spend(HALF, WHOLE));
        assert_eq!(queue.enter(None, "b"), Entering::Entered(None));
        assert!(queue.spend(HALF, WHOLE));
        assert!(!queue.spend(HALF, WHOLE), "only one ends it");
        assert!(matches!(queue.enter(None, "c"), Entering::Waits(_)));
        assert_eq!(queue.begin(), Some("c"));
    }

    #[test]
    fn those_that_wait_have_their_turn_one_after_another() {
        let (mut queue, tickets) = queue_of(&["a", "b", "c"]);
        let wait = |queue: &mut TurnQueue<_>, place: usize| {
            assert_eq!(
                queue.enter(Some(tickets[place]), "again"),
                Entering::Waits(tickets[place])
            );
        };
        wait(&mut queue, 0);
        assert_eq!(queue.begin(), Some("again"));
        wait(&mut queue, 2);
        assert!(
            matches!(queue.enter(None, "d"), Entering::Waits(_)),
            "it must not overtake them"
        );
        assert_eq!(
            queue.enter(Some(tickets[0]), "a"),
            Entering::Entered(Some("b"))
        );
        assert!(queue.spend(WHOLE, WHOLE));
        wait(&mut queue, 1);
        assert_eq!(queue.begin(), Some("again"), "it has kept its place");
        for (ticket, next) in [(1, Some("again")), (2, Some("d"))] {
            let entered = queue.enter(Some(tickets[ticket]), "it");
            assert_eq!(entered, Entering::Entered(next));
        }
        assert!(!queue.is_free());
    }

    #[test]
    fn one_that_leaves_holds_nobody_up() {
        let (mut queue, tickets) = queue_of(&["a", "b", "c"]);
        assert_eq!(queue.leave(tickets[0]), None, "the turn is still ending");
        assert_eq!(queue.begin(), Some("b"));
        assert_eq!(queue.leave(tickets[2]), None);
        assert_eq!(queue.leave(tickets[2]), None);
        assert_eq!(queue.leave(tickets[1]), None);
        assert!(queue.is_free());

        let (mut queue, tickets) = queue_of(&["a", "b"]);
        assert_eq!(queue.begin(), Some("a"));
        assert_eq!(queue.leave(tickets[0]), Some("b"), "it was woken in vain");
    }

    #[test]
    fn a_turn_without_an_end_is_never_ended() {
        let mut queue = TurnQueue::<()>::default();
        assert!(!queue.spend(WHOLE, Duration::MAX));
        assert!(queue.spend(Duration::MAX, Duration::MAX));
    }
}
