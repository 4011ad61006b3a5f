//! Publications that wait for room in a queue, in their order.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::lifespan::Timing;
use super::limits::QueueLimits;
use super::patience::Patience;
use super::queue::EventBatch;

/// The publications that one subscriber holds back. Meanwhile, the connections of their publishers are read only as far as
/// the limits of their dispatches allow.
#[derive(Debug)]
pub(super) struct HeldPublications<R> {
    /// In the order of their tickets, which is the order in which they came.
    held: VecDeque<Held<R>>,
    /// The number of held events.
    len: usize,
    /// The bytes of the held events.
    byte_len: usize,
    /// The part of the bytes that no other subscriber shares.
    exclusive_byte_len: usize,
    next: u64,
    /// How long publishers that did not ask to wait are held back.
    pub(super) patience: Patience,
    /// Since when at least one publication is held.
    since: Option<Instant>,
    /// The amount taken from the queue since the subscriber last took its share.
    taken: TakenAmount,
    /// True if a publication was released since the last call of [`HeldPublications::poll_released`].
    has_released: bool,
}

/// A publication that is held.
#[derive(Debug)]
pub(super) struct Held<R> {
    ticket: Ticket,
    pub(super) batch: R,
    pub(super) timing: Timing,
    /// True if it waits for room without a limit, because its publisher asked for that.
    pub(super) waits_for_room: bool,
}

/// Identifies a publication that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// An amount taken from a queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TakenAmount {
    pub(super) events: usize,
    pub(super) bytes: usize,
}

/// The share of its queue that a healthy subscriber takes within the patience: one part in a hundred. By default, this
/// is 1,000 events or 655 KiB in a second.
const SHARE_RATIO: usize = 100;

impl<R> Default for HeldPublications<R> {
    fn default() -> Self {
        Self {
            held: VecDeque::new(),
            len: 0,
            byte_len: 0,
            exclusive_byte_len: 0,
            next: 0,
            patience: Patience::default(),
            since: None,
            taken: TakenAmount::default(),
            has_released: false,
        }
    }
}

impl<R: EventBatch> HeldPublications<R> {
    /// Holds a publication behind all others.
    pub(super) fn push(&mut self, batch: R, waits_for_room: bool, timing: Timing) -> Ticket {
        let now = timing.came;
        if !waits_for_room {
            self.patience.hold(now);
        }
        self.since.get_or_insert(now);
        self.note_held(&batch);
        let ticket = Ticket(self.next);
        self.next += 1;
        self.held.push_back(Held {
            ticket,
            batch,
            timing,
            waits_for_room,
        });
        ticket
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The number of held events.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The bytes of the held events.
    pub(super) fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// The part of the bytes that no other subscriber shares.
    pub(super) fn exclusive_byte_len(&self) -> usize {
        self.exclusive_byte_len
    }

    /// When the publication came that was held last.
    pub(super) fn newest(&self) -> Option<Instant> {
        self.held.back().map(|held| held.timing.came)
    }

    fn note_held(&mut self, batch: &R) {
        self.len += batch.len();
        self.byte_len += batch.byte_len();
        self.exclusive_byte_len += batch.exclusive_byte_len();
    }

    fn note_taken_out(&mut self, batch: &R) {
        self.len -= batch.len();
        self.byte_len -= batch.byte_len();
        self.exclusive_byte_len -= batch.exclusive_byte_len();
    }

    /// Since when at least one publication is held.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Takes the first publication. The caller then either calls [`HeldPublications::note_released`], or gives back the
    /// part without room with [`HeldPublications::give_back`].
    pub(super) fn take_first(&mut self) -> Option<Held<R>> {
        let first = self.held.pop_front()?;
        self.note_taken_out(&first.batch);
        Some(first)
    }

    /// Takes the first publication that is held only as long as the patience lasts.
    pub(super) fn take_first_impatient(&mut self) -> Option<Held<R>> {
        let at = self.held.iter().position(|held| !held.waits_for_room)?;
        let held = self.held.remove(at)?;
        self.note_taken_out(&held.batch);
        Some(held)
    }

    /// A publication that was taken is held no longer.
    pub(super) fn note_released(&mut self) {
        self.has_released = true;
    }

    /// Forgets all publications. Returns for how long any was held.
    pub(super) fn clear(&mut self, now: Instant) -> Duration {
        self.has_released |= !self.held.is_empty();
        self.held.clear();
        (self.len, self.byte_len, self.exclusive_byte_len) = (0, 0, 0);
        self.end_if_empty(now)
    }

    /// Publications no longer wait without a limit.
    pub(super) fn limit_all(&mut self, now: Instant) {
        for held in &mut self.held {
            if std::mem::take(&mut held.waits_for_room) {
                self.patience.hold(now);
            }
        }
    }

    /// Notes that events were taken from the queue. Returns true if the subscriber has taken its share since it last
    /// did.
    pub(super) fn note_taken(&mut self, taken: TakenAmount, limits: &QueueLimits) -> bool {
        self.taken.events += taken.events;
        self.taken.bytes += taken.bytes;
        self.taken.events > 0
            && (self.taken.events >= limits.events / SHARE_RATIO
                || self.taken.bytes >= limits.bytes / SHARE_RATIO)
    }

    /// The subscriber has taken its share.
    pub(super) fn note_progress(&mut self, now: Instant) {
        self.taken = TakenAmount::default();
        self.patience.note_progress(now);
    }

    /// The rest of the first publication has no room yet.
    pub(super) fn give_back(&mut self, held: Held<R>) {
        self.note_held(&held.batch);
        self.held.push_front(held);
    }

    /// Ends the time for which publications were held, if none is held any more. Returns its length.
    pub(super) fn end_if_empty(&mut self, now: Instant) -> Duration {
        if self.held.iter().all(|held| held.waits_for_room) {
            self.patience.rest();
        }
        match self.held.is_empty() {
            true => self
                .since
                .take()
                .map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            false => Duration::ZERO,
        }
    }

    /// Until when a publication is held. `None` if it is not held, and `Some(None)` if it is held without a limit.
    pub(super) fn deadline(&self, ticket: Ticket, max: Duration) -> Option<Option<Instant>> {
        let at = self.held.binary_search_by_key(&ticket, |held| held.ticket);
        let held = &self.held[at.ok()?];
        Some(match held.waits_for_room {
            true => None,
            false => self.patience.deadline(max),
        })
    }

    /// Returns true if a publication was released since the last call.
    pub(super) fn poll_released(&mut self) -> bool {
        std::mem::take(&mut self.has_released)
    }
}
