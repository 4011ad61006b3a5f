//! A durable subscription: its position in the log of its topic, and the events that it reads next.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use floe::forwarding::Event;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::expiry_clock::ExpiryClock;
use super::held::{Keyed, KeyedTaken};
use super::position_file::PositionFile;
use super::position_saver::{PositionSaver, UnsyncedPosition};
use super::standing::Standing;
use crate::blocking_work::{self, WorkKind};
use crate::core::OUTSTANDING_LIMIT;
use crate::core::durable::{
    Chase, Member, NextEvent, NotAcknowledged, Reading, Redelivery, SavedPosition,
    SubscriptionPosition, Turn,
};
use crate::core::log::{EventTime, Level, ReadLimits, Stamp};
use crate::log::{EventLog, ReadBatch, readable};
use crate::service::catch_up::CatchUp;
use crate::service::lifespan::DefaultLifespan;
use crate::service::user_accounts::UserName;
use crate::store::StoreError;

/// Reads the log of a topic for one subscriber, or for several that share a subscription.
///
/// Memory is bounded whatever the distance to the end of the log: a reader holds the events of one read.
#[derive(Debug)]
pub(crate) struct Reader {
    source: LogSource,
    /// The name of the durable subscription; empty if the position ends with the subscriber.
    name: String,
    /// Guards the position and the events that were read. It is held for a few moves, and while a position of a few bytes
    /// is written into the cache of the system.
    state: Mutex<State>,
    /// Something has changed for the delivery tasks.
    changed: Notify,
    /// Held by the program that waits for events to pull. The others wait for their turn.
    pull_turn: tokio::sync::Mutex<()>,
}

/// What a reader reads.
#[derive(Debug, Clone)]
pub(super) struct LogSource {
    /// The name of the topic.
    pub(super) topic: Arc<str>,
    pub(super) log: Arc<dyn EventLog>,
    /// Only events that are this safe are delivered.
    pub(super) level: Level,
    /// For events whose publishers give none.
    pub(super) lifespan: Arc<DefaultLifespan>,
    /// Decides when a reader that is far behind reads.
    pub(super) catch_up: Arc<CatchUp>,
}

#[derive(Debug)]
struct State {
    position: SubscriptionPosition,
    /// The topic for events that cannot be delivered.
    dead_letters: Option<String>,
    /// The subscribers want no older events than this.
    lifespan: Option<Duration>,
    /// Events that were read and not delivered yet.
    feed: VecDeque<(Stamp, Event)>,
    /// What waits for its member, if the events of one key go to one member.
    held: Option<Keyed>,
    /// The number of the member that joins next.
    next_member: u64,
    /// The sequence from which to read next.
    feed_next: u64,
    /// Changes when the position is set: a read that began before that is of no use.
    feed_number: u64,
    is_reading: bool,
    /// How it comes nearer to the end of the log.
    chase: Chase,
    saver: PositionSaver,
    /// How many events expired before they were delivered, since the hub started.
    expired: u64,
}

/// An event that is to be delivered.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// Its number in the log.
    pub(crate) sequence: u64,
    /// When the hub got it.
    pub(crate) time: EventTime,
    /// Which attempt this is, from 1.
    pub(crate) attempt: u32,
    /// Its bytes.
    pub(crate) event: Event,
}

/// What a delivery task does next.
#[derive(Debug)]
pub(crate) enum Batch {
    /// It delivers these.
    Deliver(Vec<Delivery>),
    /// It reads from the log, with [`Reader::read`].
    Read(ToRead),
    /// It counts so many events as expired, and polls again.
    Expired(u64),
    /// It waits for [`Reader::changed`], or for this time.
    Wait(Option<Instant>),
}

/// What is to be read from the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToRead {
    /// The next events.
    Next {
        /// From this sequence.
        from: u64,
        /// The number of the feed that they are for.
        feed_number: u64,
    },
    /// An event that is delivered again.
    Again {
        /// Its sequence.
        sequence: u64,
        /// Which attempt this is.
        attempt: u32,
    },
    /// A pending event of a sticky subscription, for the member that gets its key.
    Keyed {
        /// Its sequence.
        sequence: u64,
    },
}

/// The sequence at which the log had no events yet, and a future that ends when it has.
pub(crate) type Readable = (u64, Pin<Box<dyn Future<Output = ()> + Send>>);

/// What a read brought.
#[derive(Debug)]
pub(crate) enum HasRead {
    /// There are events to deliver, or were: the task asks again.
    Events,
    /// The same, behind events that the log does not have any more.
    AfterLoss(u64),
    /// An event to deliver again.
    Again(Delivery),
    /// The lifespan of an event that was to be delivered again is over.
    Expired,
    /// There is nothing to read from this sequence yet.
    Nothing(u64),
}

/// A read takes at most this many events.
const READ_EVENTS_MAX: usize = 1000;
/// A read takes at most this many bytes, unless a single event is longer.
const READ_BYTES_MAX: usize = 256 * 1024;
/// A short turn takes at most this many bytes, unless a single event is longer.
const TURN_BYTES_MAX: usize = 64 * 1024;
/// The wait before a failed read is tried again.
const READ_PAUSE: Duration = Duration::from_secs(1);

impl Reader {
    /// A reader that begins at this sequence, and whose position is not kept.
    pub(super) fn transient(source: LogSource, from: u64) -> Arc<Self> {
        Self::of(source, String::new(), &SavedPosition::at(from), None)
    }

    /// A new durable subscription that begins at this sequence. Its position is on the disk when this returns.
    pub(super) fn create(
        source: LogSource,
        name: &str,
        user: Option<&UserName>,
        from: u64,
        file: &Path,
    ) -> Result<Arc<Self>, StoreError> {
        let position = SavedPosition::at(from);
        let file = PositionFile::create(file, name, user, &position)?;
        Ok(Self::of(source, name.to_owned(), &position, Some(file)))
    }

    /// A durable subscription whose position is in this file.
    pub(super) fn open(source: LogSource, file: &Path) -> Result<Arc<Self>, StoreError> {
        let (file, name, mut position) = PositionFile::open(file)?;
        let end = source.log.contents().next;
        if position.next > end {
            // After a loss of power, the log may have lost events that were not synced. Later events get their numbers.
            let lost = position.next - end;
            tracing::warn!(
                "the durable subscription {name:?} goes on at event {end}: the log has lost {lost} later events that it had \
                 acknowledged and that were not synced"
            );
            position.next = end;
            position.pending.retain(|sequence, _| *sequence < end);
        }
        Ok(Self::of(source, name, &position, Some(file)))
    }

    fn of(
        source: LogSource,
        name: String,
        saved: &SavedPosition,
        file: Option<PositionFile>,
    ) -> Arc<Self> {
        let (rules, now) = (Redelivery::default(), Instant::now());
        let position = SubscriptionPosition::restore(saved, rules, OUTSTANDING_LIMIT, now);
        Arc::new(Self {
            source,
            name,
            state: Mutex::new(State {
                feed_next: position.next(),
                position,
                dead_letters: None,
                lifespan: None,
                feed: VecDeque::new(),
                held: None,
                next_member: 0,
                feed_number: 0,
                is_reading: false,
                chase: Chase::default(),
                saver: PositionSaver::new(file),
                expired: 0,
            }),
            changed: Notify::new(),
            pull_turn: tokio::sync::Mutex::default(),
        })
    }

    /// The name of the durable subscription; empty if the position is not kept.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The user who began the durable subscription.
    pub(super) fn user(&self) -> Option<UserName> {
        self.lock().saver.user().cloned()
    }

    /// Where its position is kept; `None` if it is not.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.lock().saver.path().map(Path::to_owned)
    }

    /// The name of the topic.
    pub(crate) fn topic(&self) -> &str {
        &self.source.topic
    }

    /// The name of the topic for events that cannot be delivered.
    pub(crate) fn dead_letters(&self) -> Option<String> {
        self.lock().dead_letters.clone()
    }

    /// Puts the rules of a subscriber in force.
    pub(super) fn configure(&self, reading: &Reading, pending_max: usize) {
        let mut state = self.lock();
        state.position.reconfigure(reading.redelivery, pending_max);
        state.dead_letters = reading.dead_letters_of(&self.source.topic);
        state.lifespan = reading.lifespan;
        let known = state.held.as_ref().map(Keyed::context_key);
        if known != reading.sticky.as_deref() {
            state.held = reading.sticky.as_deref().map(Keyed::new);
            state.position.forget_partitions();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// A new member of those that share the subscription.
    pub(crate) fn join(&self) -> Member {
        let mut state = self.lock();
        state.next_member += 1;
        Member(state.next_member)
    }

    /// A member has left or cannot be reached. It joins again when it polls.
    pub(crate) fn leave(&self, member: Member) {
        let mut state = self.lock();
        if let Some(held) = &mut state.held {
            held.leave(member);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Whether the events of one key go to one member.
    pub(crate) fn is_sticky(&self) -> bool {
        self.lock().held.is_some()
    }

    /// What to do next, for the task of a member that may deliver this many events. What it delivers counts as delivered from
    /// now on.
    ///
    /// Without `may_read`, it does not say to read new events: a task that has found none waits until there are some.
    pub(crate) fn poll(&self, member: Member, room: usize, may_read: bool, now: Instant) -> Batch {
        let mut state = self.lock();
        let clock = self.clock(&state);
        if state.held.is_some() {
            return state.poll_held(member, room, may_read, now, &clock);
        }
        let mut batch = Vec::new();
        while batch.len() < room {
            match state.position.poll_next(now) {
                Some(NextEvent::Again { .. }) if !batch.is_empty() => break,
                Some(NextEvent::Again { sequence }) => {
                    let attempt = state.position.handle_delivery(sequence, now);
                    return Batch::Read(ToRead::Again { sequence, attempt });
                }
                Some(NextEvent::New { .. }) if clock.is_over_first(&state.feed) => {
                    if !batch.is_empty() {
                        break;
                    }
                    return Batch::Expired(state.expire(&clock));
                }
                Some(NextEvent::New { .. }) => {
                    let Some((stamp, event)) = state.feed.pop_front() else {
                        break;
                    };
                    let attempt = state.position.handle_delivery(stamp.sequence, now);
                    state.saver.is_unsaved = true;
                    batch.push(Delivery {
                        sequence: stamp.sequence,
                        time: stamp.time,
                        attempt,
                        event,
                    });
                }
                None => break,
            }
        }
        if !batch.is_empty() {
            return Batch::Deliver(batch);
        }
        let wants_new = may_read
            && room > 0
            && matches!(state.position.poll_next(now), Some(NextEvent::New { .. }));
        state.read_or_wait(wants_new, now)
    }

    /// Reads from the log. If it is cancelled, the next events are read again.
    pub(crate) async fn read(self: &Arc<Self>, to_read: ToRead) -> HasRead {
        let reading = ReadGuard {
            reader: self,
            to_read: Some(to_read),
        };
        let (from, limits) = match to_read {
            ToRead::Next { from, .. } => (from, self.turn().await),
            ToRead::Again { sequence, .. } | ToRead::Keyed { sequence } => {
                (sequence, self.limits(1, READ_BYTES_MAX))
            }
        };
        let log = self.source.log.clone();
        let read = blocking_work::run(WorkKind::Read, move || {
            let began = Instant::now();
            (log.read(from, &limits), began.elapsed(), limits)
        });
        match read.await {
            Ok((Ok(batch), took, limits)) => {
                self.note_read(to_read, &batch, took, &limits);
                reading.end(batch)
            }
            Ok((Err(error), ..)) => {
                let (name, topic) = (self.name(), self.topic());
                tracing::error!(
                    "cannot read the log of topic {topic:?} for the durable subscription {name:?}; trying again in \
                     {READ_PAUSE:?}: {error}"
                );
                tokio::time::sleep(READ_PAUSE).await;
                HasRead::Events
            }
            // The runtime is shutting down.
            Err(_) => std::future::pending().await,
        }
    }

    /// How much it reads next. If it is far behind, it waits for its turn beside live traffic.
    async fn turn(&self) -> ReadLimits {
        loop {
            match self.poll_turn() {
                Turn::Free => return self.limits(READ_EVENTS_MAX, READ_BYTES_MAX),
                Turn::Short => return self.limits(Chase::TURN_EVENTS, TURN_BYTES_MAX),
                Turn::At(time) => tokio::time::sleep_until(time.into()).await,
            }
        }
    }

    fn poll_turn(&self) -> Turn {
        if !self.lock().chase.is_far_behind() {
            return Turn::Free;
        }
        let end = self.source.log.contents().next;
        let chase = &mut self.lock().chase;
        chase.handle_end(end);
        self.source.catch_up.poll(chase, Instant::now())
    }

    fn limits(&self, events: usize, bytes: usize) -> ReadLimits {
        ReadLimits {
            events,
            bytes,
            level: self.source.level,
        }
    }

    /// Notes what a read of new events says about the distance to the end of the log.
    fn note_read(&self, to_read: ToRead, batch: &ReadBatch, took: Duration, limits: &ReadLimits) {
        if !matches!(to_read, ToRead::Next { .. }) {
            return;
        }
        let len = batch.events.as_ref().map_or(0, |events| events.byte_len());
        // The next event may not have fitted.
        let is_full = batch.stamps.len() >= limits.events || len >= limits.bytes / 2;
        self.lock().chase.handle_read(is_full, took);
    }

    /// Its sends or replies have kept a processor busy since then.
    pub(crate) fn note_busy(&self, since: Instant) {
        let chase = &mut self.lock().chase;
        if chase.is_far_behind() {
            chase.handle_busy(since.elapsed());
        }
    }

    /// Waits for the turn of a program that waits for events. Turns come in the order of the calls.
    pub(super) async fn pull_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.pull_turn.lock().await
    }

    /// Waits until something has changed for the delivery tasks. It notes changes from the moment when it is enabled.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Wakes the delivery tasks.
    pub(crate) fn notify(&self) {
        self.changed.notify_waiters();
    }

    /// An event of the log, and when the hub got it; `None` if the log does not have it any more.
    ///
    /// # Errors
    /// Why the log cannot be read.
    pub(crate) async fn event(&self, sequence: u64) -> Result<Option<(EventTime, Event)>, String> {
        let limits = self.limits(1, READ_BYTES_MAX);
        let log = self.source.log.clone();
        let read = blocking_work::run(WorkKind::Read, move || log.read(sequence, &limits)).await;
        let batch = read.map_err(|error| error.to_string())?;
        let batch = batch.map_err(|error| error.to_string())?;
        let stamp = batch.stamps.first();
        let stamp = stamp.filter(|stamp| stamp.sequence == sequence);
        let event = batch.events.and_then(|events| events.each().next());
        Ok(stamp.map(|stamp| stamp.time).zip(event))
    }

    /// Whether the next read of new events begins at this sequence. It does not any more if the position was set.
    pub(crate) fn reads_from(&self, sequence: u64) -> bool {
        self.lock().feed_next == sequence
    }

    /// Waits until the log has an event from this sequence on.
    pub(crate) fn readable(&self, from: u64) -> impl Future<Output = ()> + Send + use<> {
        readable(&*self.source.log, from, self.source.level)
    }

    /// Events were acknowledged.
    pub(crate) fn handle_acknowledged(&self, sequences: impl Iterator<Item = u64>) {
        let mut state = self.lock();
        for sequence in sequences {
            state.saver.is_unsaved |= state.position.handle_acknowledged(sequence);
        }
        state.drop_settled();
        drop(state);
        self.changed.notify_waiters();
    }

    /// An event, and all delivered ones before it, were acknowledged.
    pub(crate) fn handle_acknowledged_to(&self, sequence: u64) {
        let mut state = self.lock();
        state.saver.is_unsaved |= state.position.handle_acknowledged_to(sequence) > 0;
        state.drop_settled();
        drop(state);
        self.changed.notify_waiters();
    }

    /// An event was refused, or not answered in time.
    pub(crate) fn handle_refused(&self, sequence: u64) -> NotAcknowledged {
        let mut state = self.lock();
        let now = Instant::now();
        let verdict = state.position.handle_refused(sequence, now);
        state.saver.is_unsaved = true;
        drop(state);
        self.changed.notify_waiters();
        verdict
    }

    /// An event could not become a dead letter. It is delivered again after this time.
    pub(crate) fn handle_undead(&self, sequence: u64, wait: Duration) {
        let now = Instant::now();
        let until = now.checked_add(wait).unwrap_or(now);
        self.lock().position.handle_undead(sequence, until);
        self.changed.notify_waiters();
    }

    /// Events were not delivered, or perhaps not.
    pub(crate) fn handle_undelivered(&self, sequences: impl Iterator<Item = u64>) {
        let mut state = self.lock();
        let now = Instant::now();
        for sequence in sequences {
            state.position.handle_undelivered(sequence, now);
            state.saver.is_unsaved = true;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// The delivered events whose acknowledgement is late.
    pub(crate) fn late(&self, now: Instant) -> Vec<u64> {
        self.lock().position.late(now)
    }

    /// Writes the position, if it has changed. It then survives the end of the process.
    pub(crate) fn save(&self) {
        let state = &mut *self.lock();
        state.saver.save(&self.name, &state.position);
    }

    /// Makes the position survive a loss of power. It waits for the disk.
    pub(crate) fn sync(&self) {
        self.save();
        let unsynced = self.lock().saver.begin_sync();
        // Without the lock, because a disk may be slow.
        if let Some(Err(error)) = unsynced.map(UnsyncedPosition::sync) {
            self.lock().saver.handle_unsynced();
            tracing::error!("{error}");
        }
    }

    /// Where the subscription is, and what happened to its events.
    pub(crate) fn standing(&self) -> Standing {
        let end = self.source.log.contents().next;
        let state = self.lock();
        Standing {
            floor: state.position.floor(),
            next: state.position.next(),
            end,
            pending: state.position.pending() as u64,
            acknowledged: state.position.acknowledged(),
            expired: state.expired,
        }
    }

    /// Sets the position: events from this sequence on are delivered next, again if they were delivered before.
    pub(crate) fn set_position(&self, next: u64) {
        let mut state = self.lock();
        state.position.set(next);
        state.drop_settled();
        state.feed.clear();
        state.feed_next = next;
        state.feed_number += 1;
        state.is_reading = false;
        state.saver.is_unsaved = true;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Takes what was read. Returns what the task does next.
    fn handle_read(&self, to_read: ToRead, batch: ReadBatch) -> HasRead {
        let mut state = self.lock();
        let events = batch.events.iter().flat_map(|events| events.each());
        let mut read = batch.stamps.into_iter().zip(events);
        match to_read {
            ToRead::Next { feed_number, .. } if feed_number != state.feed_number => HasRead::Events,
            ToRead::Next { from, .. } => {
                state.is_reading = false;
                let lost = batch
                    .gap
                    .map_or(0, |gap| state.position.handle_trimmed(gap.sequences.end));
                state.saver.is_unsaved |= lost > 0;
                state.drop_settled();
                state.feed.extend(read);
                state.feed_next = batch.next;
                let has_moved = batch.next > from;
                drop(state);
                self.changed.notify_waiters();
                match (lost, has_moved) {
                    (0, true) => HasRead::Events,
                    (0, false) => HasRead::Nothing(from),
                    (lost, _) => HasRead::AfterLoss(lost),
                }
            }
            ToRead::Again { sequence, attempt } => match read.next() {
                Some((stamp, event))
                    if stamp.sequence == sequence && self.clock(&state).is_over(&stamp, &event) =>
                {
                    state.expired += state.handle_missing(sequence);
                    HasRead::Expired
                }
                Some((stamp, event)) if stamp.sequence == sequence => HasRead::Again(Delivery {
                    sequence,
                    time: stamp.time,
                    attempt,
                    event,
                }),
                _ => HasRead::AfterLoss(state.handle_missing(sequence)),
            },
            ToRead::Keyed { sequence } => match read.next() {
                Some((stamp, event)) if stamp.sequence == sequence => {
                    let state = &mut *state;
                    if let Some(held) = &mut state.held {
                        held.insert(stamp, event, &mut state.position);
                    }
                    HasRead::Events
                }
                _ => HasRead::AfterLoss(state.handle_missing(sequence)),
            },
        }
    }

    /// The clock by which events expire.
    fn clock(&self, state: &State) -> ExpiryClock {
        ExpiryClock::new(self.source.lifespan.get(), state.lifespan)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The changes under this lock move events between places, so a panic leaves none half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// As [`Reader::poll`], for a sticky subscription: events wait for the members that get their keys.
    fn poll_held(
        &mut self,
        member: Member,
        room: usize,
        may_read: bool,
        now: Instant,
        clock: &ExpiryClock,
    ) -> Batch {
        let Some(held) = &mut self.held else {
            return Batch::Wait(None);
        };
        self.saver.is_unsaved |= held.fill(&mut self.feed, &mut self.position, now);
        match held.take(&mut self.position, member, room, now, clock) {
            KeyedTaken::Unread(sequence) => return Batch::Read(ToRead::Keyed { sequence }),
            KeyedTaken::Events(events) if !events.is_empty() => {
                self.saver.is_unsaved = true;
                return Batch::Deliver(events);
            }
            KeyedTaken::Expired(count) => {
                (self.expired, self.saver.is_unsaved) = (self.expired + count, true);
                return Batch::Expired(count);
            }
            KeyedTaken::Events(_) => {}
        }
        let wants_new = may_read && room > 0 && held.has_room(&self.position);
        self.read_or_wait(wants_new, now)
    }

    /// Reads new events if they are wanted, there are none, and no other task reads.
    fn read_or_wait(&mut self, wants_new: bool, now: Instant) -> Batch {
        if wants_new && self.feed.is_empty() && !self.is_reading {
            self.is_reading = true;
            return Batch::Read(ToRead::Next {
                from: self.feed_next,
                feed_number: self.feed_number,
            });
        }
        Batch::Wait(self.position.next_deadline(now))
    }

    /// Leaves out the next events, up to the first one whose lifespan is not over. Returns how many.
    fn expire(&mut self, clock: &ExpiryClock) -> u64 {
        let mut count = 0;
        while clock.is_over_first(&self.feed)
            && let Some((stamp, _)) = self.feed.pop_front()
        {
            self.position.handle_skipped(stamp.sequence);
            count += 1;
        }
        self.expired += count;
        self.saver.is_unsaved |= count > 0;
        count
    }

    /// The log has dropped a pending event, or the disk has lost it. Returns how many events are lost.
    fn handle_missing(&mut self, sequence: u64) -> u64 {
        let is_lost = self.position.handle_acknowledged(sequence);
        self.saver.is_unsaved |= is_lost;
        self.drop_settled();
        is_lost.into()
    }

    /// Drops the events that are not pending any more.
    fn drop_settled(&mut self) {
        if let Some(held) = &mut self.held {
            held.drop_settled(&self.position);
        }
    }
}

/// Lets others read if a read is cancelled or fails.
struct ReadGuard<'a> {
    reader: &'a Reader,
    to_read: Option<ToRead>,
}

impl ReadGuard<'_> {
    fn end(mut self, batch: ReadBatch) -> HasRead {
        match self.to_read.take() {
            Some(to_read) => self.reader.handle_read(to_read, batch),
            None => HasRead::Events,
        }
    }
}

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        match self.to_read {
            Some(ToRead::Next { feed_number, .. }) => {
                let mut state = self.reader.lock();
                if state.feed_number == feed_number {
                    state.is_reading = false;
                }
                drop(state);
                self.reader.changed.notify_waiters();
            }
            Some(ToRead::Again { sequence, .. }) => {
                self.reader.handle_undelivered([sequence].into_iter());
            }
            Some(ToRead::Keyed { .. }) | None => {}
        }
    }
}
