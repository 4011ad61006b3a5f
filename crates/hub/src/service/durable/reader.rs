//! A durable subscription: its position in the log of its topic, and the events that it reads next.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use floe::Identity;
use floe::forwarding::Event;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::dead_letter_topic::DeadLetterTopic;
use super::delivery::{Batch, Delivery, HasRead, ToRead};
use super::expiry_clock::ExpiryClock;
use super::feed::Feed;
use super::log_source::LogSource;
use super::position_file::PositionFile;
use super::position_saver::PositionSaver;
use super::progress::{Progress, SubscriptionLag};
use super::reader_state::ReaderState;
use super::sticky_events::StickyEvents;
use crate::core::durable::{
    Chase, Member, Members, MembersReport, NotAcknowledged, Overtaking, OvertakingNotice,
    PENDING_LIMIT, Reading, Redelivery, SavedPosition, SubscriptionPosition, Turn,
};
use crate::core::log::{EventTime, ReadLimits};
use crate::lock::Mutex;
use crate::log::{LogError, ReadBatch};
use crate::service::user_accounts::UserName;
use crate::store::StoreError;

/// Reads the log of a topic for one subscriber, or for several that share a subscription.
///
/// Memory is bounded whatever the distance to the end of the log is: a reader holds the events of one read, or of two
/// if it is far behind.
#[derive(Debug)]
pub(crate) struct Reader {
    source: LogSource,
    /// The name of the durable subscription; empty if the position ends with the subscriber.
    name: String,
    /// Guards the position and the events that were read. It is held for a few moves, and while a position of a few bytes
    /// is written into the cache of the system.
    state: Mutex<ReaderState>,
    /// Notified when something has changed for the delivery tasks.
    changed: Notify,
    /// Held while the position is synced, which waits for the disk. It is taken before `state`.
    sync_lock: Mutex<()>,
    /// The time of an event of the log, as an observer saw it last. It is not held during a read.
    seen_time: Mutex<Option<(u64, EventTime)>>,
    /// Held by the program that waits for events to pull. The others wait for the lock.
    pull_lock: tokio::sync::Mutex<()>,
}

/// A read takes at most this many events.
const READ_EVENTS_MAX: usize = 1000;
/// A read takes at most this many bytes, unless a single event is longer.
pub(super) const READ_BYTES_MAX: usize = 256 * 1024;
/// A short turn takes at most this many bytes, unless a single event is longer.
const TURN_BYTES_MAX: usize = 64 * 1024;
/// The wait before a failed read is tried again.
const READ_PAUSE: Duration = Duration::from_secs(1);

impl Reader {
    /// A reader that begins at this sequence, and whose position is not kept.
    pub(super) fn transient(source: LogSource, from: u64) -> Arc<Self> {
        let (position, saver) = (SavedPosition::at(from), PositionSaver::new(None));
        Self::of(source, String::new(), &position, saver)
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
        let saver = PositionSaver::new(Some(file));
        Ok(Self::of(source, name.to_owned(), &position, saver))
    }

    /// A durable subscription whose position is in this file.
    pub(super) fn open(source: LogSource, file: &Path) -> Result<Arc<Self>, StoreError> {
        let (mut file, name, mut position) = PositionFile::open(file)?;
        let end = source.log.contents().next;
        if position.next > end {
            // After a loss of power, the log may have lost events that were not synced. Later events get their numbers.
            let lost = position.next - end;
            tracing::warn!(
                "the durable subscription {name:?} goes on at event {end}: the log has lost {lost} later events that it had \
                 acknowledged and that were not synced"
            );
            position.forget_from(end);
            // Before a later event gets one of their numbers.
            file.write(&name, &position)?;
            file.sync()?;
        }
        let saver = PositionSaver::new(Some(file));
        Ok(Self::of(source, name, &position, saver))
    }

    fn of(
        source: LogSource,
        name: String,
        saved: &SavedPosition,
        saver: PositionSaver,
    ) -> Arc<Self> {
        let (rules, now) = (Redelivery::default(), Instant::now());
        let position = SubscriptionPosition::restore(saved, rules, PENDING_LIMIT, now);
        Arc::new(Self {
            source,
            name,
            state: Mutex::new(ReaderState {
                feed: Feed::new(position.next()),
                position,
                dead_letters: None,
                lifespan: None,
                sticky_events: None,
                members: Members::new(Instant::now()),
                chase: Chase::default(),
                saver,
                overtaking: Overtaking::default(),
                suspects: BTreeSet::new(),
                expired: 0,
                dead_letter_count: 0,
            }),
            changed: Notify::new(),
            sync_lock: Mutex::default(),
            seen_time: Mutex::default(),
            pull_lock: tokio::sync::Mutex::default(),
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
        let topic = self.dead_letter_topic()?;
        Some(topic.name().to_owned())
    }

    /// The topic for events that cannot be delivered, and who has chosen it.
    pub(crate) fn dead_letter_topic(&self) -> Option<DeadLetterTopic> {
        self.lock().dead_letters.clone()
    }

    /// Puts the rules of a subscriber in force.
    pub(crate) fn configure(
        &self,
        reading: &Reading,
        pending_max: usize,
        dead_letters: Option<DeadLetterTopic>,
    ) {
        let mut state = self.lock();
        state.position.reconfigure(reading.redelivery, pending_max);
        state.dead_letters = dead_letters;
        state.lifespan = reading.lifespan;
        let known = state.sticky_events.as_ref().map(StickyEvents::context_key);
        if known != reading.sticky.as_deref() {
            state.sticky_events = reading.sticky.as_deref().map(StickyEvents::new);
            state.position.forget_partitions();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// A new member of those that share the subscription; one of an earlier run of the hub may be gone.
    pub(crate) fn join(&self, identity: &Identity, is_restored: bool) -> Member {
        self.lock().members.join(identity.to_string(), is_restored)
    }

    /// A program pulls, until the result is dropped.
    pub(crate) fn begin_pull(self: &Arc<Self>) -> Pulling {
        self.lock().members.begin_pull();
        Pulling(self.clone())
    }

    /// The members that are there to receive its events.
    pub(crate) fn members(&self) -> MembersReport {
        self.lock().members.report(Instant::now())
    }

    /// A member can be reached.
    pub(crate) fn handle_presence(&self, member: Member) {
        self.lock().members.handle_presence(member);
    }

    /// A member cannot be reached, perhaps because its program has certainly ended. Others get its events until it polls
    /// again. Returns true if it is to be forgotten.
    pub(crate) fn handle_absence(&self, member: Member, has_ended: bool) -> bool {
        let now = Instant::now();
        let is_forgotten = self.lock().members.handle_absence(member, has_ended, now);
        self.give_keys_back(member);
        is_forgotten
    }

    /// A member has left.
    pub(crate) fn leave(&self, member: Member) {
        self.lock().members.leave(member, Instant::now());
        self.give_keys_back(member);
    }

    /// Others get the keys of a member.
    fn give_keys_back(&self, member: Member) {
        let mut state = self.lock();
        if let Some(waiting) = &mut state.sticky_events {
            waiting.leave(member);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// An event became a dead letter.
    pub(crate) fn note_dead_letter(&self) {
        self.lock().dead_letter_count += 1;
    }

    /// How many events became dead letters since the hub started.
    pub(crate) fn dead_letter_count(&self) -> u64 {
        self.lock().dead_letter_count
    }

    /// How far it is behind. It may wait for the disk, unless the position has not moved since the last call.
    ///
    /// # Errors
    /// [`LogError`] if the operating system failed.
    pub(crate) fn lag(&self, now: EventTime) -> Result<SubscriptionLag, LogError> {
        let progress = self.progress();
        let log = &self.source.log;
        let first = log.contents().first;
        let (again_gone, waiting_in_memory, read_until) = {
            let state = self.lock();
            let waiting = state.feed.events.iter();
            let gone_from_log = waiting.take_while(|(stamp, _)| stamp.sequence < first);
            (
                state.position.waiting_before(first) as u64,
                gone_from_log.count() as u64,
                state.feed.next(),
            )
        };
        let behind = log.behind(progress.next.max(first));
        let mut lag = SubscriptionLag {
            behind: behind.events + waiting_in_memory,
            pending: progress.pending.saturating_sub(again_gone),
            dropped: first.saturating_sub(progress.next.max(read_until)) + again_gone,
            bytes: 0,
            age: Duration::ZERO,
            progress,
        };
        if lag.behind + lag.pending > 0 {
            lag.bytes = log.behind(progress.floor.max(first)).bytes;
            let oldest = self.time_from(progress.floor.max(first))?;
            let age = oldest.map_or(0, |oldest| now.0.saturating_sub(oldest.0));
            lag.age = Duration::from_micros(age);
        }
        Ok(lag)
    }

    /// The time of the first event from a sequence on.
    fn time_from(&self, sequence: u64) -> Result<Option<EventTime>, LogError> {
        let seen = *self.seen_time.lock();
        if let Some((_, time)) = seen.filter(|(at, _)| *at == sequence) {
            return Ok(Some(time));
        }
        let limits = ReadLimits {
            events: 1,
            ..self.source.limits(1, READ_BYTES_MAX)
        };
        let batch = self.source.log.read(sequence, &limits)?;
        let time = batch.stamps.first().map(|stamp| stamp.time);
        if let Some(time) = time {
            *self.seen_time.lock() = Some((sequence, time));
        }
        Ok(time)
    }

    /// Returns true if the events of one key go to one member.
    pub(crate) fn is_sticky(&self) -> bool {
        self.lock().sticky_events.is_some()
    }

    /// Returns the next step of the task of a member that may deliver this many events. Events that it returns count as
    /// delivered from now on.
    ///
    /// Without `may_read`, it does not return a read of new events: a task that has found none waits until there are
    /// some.
    pub(crate) fn poll(&self, member: Member, room: usize, may_read: bool, now: Instant) -> Batch {
        let mut state = self.lock();
        let clock = self.clock(&state);
        state.poll(member, room, may_read, now, &clock)
    }

    /// Returns a read to run while the events of the last one are delivered, if the reader is far behind and need not
    /// wait for live traffic. Call [`Reader::read`] with it.
    pub(crate) fn begin_read_ahead(&self) -> Option<ToRead> {
        let state = &mut *self.lock();
        let may_read = state.sticky_events.is_none() && state.chase.may_read_ahead();
        may_read.then(|| state.feed.begin_read_ahead()).flatten()
    }

    /// Reads from the log. If it is cancelled, the next events are read again.
    pub(crate) async fn read(self: &Arc<Self>, to_read: ToRead) -> HasRead {
        let reading = ReadGuard {
            reader: self,
            to_read: Some(to_read),
        };
        let (from, limits) = match to_read {
            ToRead::Next { from, .. } => (from, self.turn().await),
            ToRead::Again { sequence, .. } | ToRead::Sticky { sequence, .. } => {
                (sequence, self.source.limits(1, READ_BYTES_MAX))
            }
        };
        match self.source.read(from, limits).await {
            (Ok(batch), took) => {
                self.note_read(to_read, &batch, took, &limits);
                reading.end(batch)
            }
            (Err(error), _) => {
                let (name, topic) = (self.name(), self.topic());
                tracing::error!(
                    "cannot read the log of topic {topic:?} for the durable subscription {name:?}; trying again in \
                     {READ_PAUSE:?}: {error}"
                );
                tokio::time::sleep(READ_PAUSE).await;
                HasRead::Events
            }
        }
    }

    /// Decides how much it reads next. If it is far behind, waits for its turn beside live traffic.
    async fn turn(&self) -> ReadLimits {
        loop {
            match self.poll_turn() {
                Turn::Free => {
                    return self.source.limits(READ_EVENTS_MAX, READ_BYTES_MAX);
                }
                Turn::Short => {
                    return self.source.limits(Chase::TURN_EVENTS, TURN_BYTES_MAX);
                }
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

    /// Notes that its sends or replies have kept a processor busy since then.
    pub(crate) fn note_busy(&self, since: Instant) {
        let chase = &mut self.lock().chase;
        if chase.is_far_behind() {
            chase.handle_busy(since.elapsed());
        }
    }

    /// Waits until no other program waits for events. Programs get the lock in the order of their calls.
    pub(super) async fn pull_lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.pull_lock.lock().await
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
        self.source.event(sequence).await
    }

    /// Returns true if the next read of new events begins at this sequence. It does not any more if the position was set.
    pub(crate) fn reads_from(&self, sequence: u64) -> bool {
        self.lock().feed.next() == sequence
    }

    /// Waits until the log has an event from this sequence on.
    pub(crate) fn readable(&self, from: u64) -> impl Future<Output = ()> + Send + use<> {
        self.source.readable(from)
    }

    /// Returns true if the log was closed: it gets no more events.
    pub(super) fn is_closed(&self) -> bool {
        self.source.is_closed()
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

    /// The connection ended before the answer to an event, which may have been alone in flight.
    pub(crate) fn handle_broken(&self, sequence: u64, is_alone: bool) -> NotAcknowledged {
        let mut state = self.lock();
        let now = Instant::now();
        let verdict = state.position.handle_broken(sequence, is_alone, now);
        state.suspects.insert(sequence);
        state.saver.is_unsaved = true;
        drop(state);
        self.changed.notify_waiters();
        verdict
    }

    /// Events that were in flight when a connection ended, to a subscriber that may be gone, and that are not settled.
    pub(crate) fn suspects(&self) -> BTreeSet<u64> {
        let state = &mut *self.lock();
        let position = &state.position;
        state
            .suspects
            .retain(|sequence| position.is_pending(*sequence));
        state.suspects.clone()
    }

    /// Keeps those of the events that are still pending.
    pub(crate) fn retain_pending(&self, sequences: &mut BTreeSet<u64>) {
        let position = &self.lock().position;
        sequences.retain(|sequence| position.is_pending(*sequence));
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

    /// The events that this member, or programs that pull, have got, and whose acknowledgements are late.
    pub(crate) fn late(&self, member: Member, now: Instant) -> Vec<u64> {
        self.lock().position.late(member, now)
    }

    /// Refuses the events that programs have pulled and not acknowledged in time, up to the first that is to become a
    /// dead letter. Returns that event, and the number of its attempts.
    pub(crate) fn refuse_late_pulls(&self, now: Instant) -> Option<(u64, u32)> {
        let mut state = self.lock();
        let late = state.position.late(Member::PULLING, now);
        if late.is_empty() {
            return None;
        }
        let refuse = |sequence| match state.position.handle_refused(sequence, now) {
            NotAcknowledged::Dead { attempts } => Some((sequence, attempts)),
            NotAcknowledged::Again { .. } | NotAcknowledged::Settled => None,
        };
        let dead = late.into_iter().find_map(refuse);
        state.saver.is_unsaved = true;
        drop(state);
        self.changed.notify_waiters();
        dead
    }

    /// Writes the position if it has changed. It then survives the end of the process.
    pub(crate) fn save(&self) {
        let state = &mut *self.lock();
        // An error is logged, and the next acknowledgement tries again.
        let _ = state
            .saver
            .save(&self.name, &state.position, Instant::now());
    }

    /// Writes the position if it has changed. If only attempts have changed, they may wait for an acknowledgement: it
    /// then returns when to call this again.
    pub(crate) fn save_when_due(&self, now: Instant) -> Option<Instant> {
        let state = &mut *self.lock();
        state.saver.save_when_due(&self.name, &state.position, now)
    }

    /// Makes the position survive a loss of power. It waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses. It is logged, too.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        let _lock = self.sync_lock.lock();
        let unsynced = {
            let state = &mut *self.lock();
            let now = Instant::now();
            state.saver.save(&self.name, &state.position, now)?;
            state.saver.begin_sync()
        };
        let Some(unsynced) = unsynced else {
            return Ok(());
        };
        // Without the lock, because a disk may be slow.
        let synced = unsynced.sync();
        self.lock().saver.end_sync(synced.is_ok());
        synced.inspect_err(|error| tracing::error!("{error}"))
    }

    /// Warns if the retention is about to overtake the subscription, once each time it comes near.
    pub(super) fn check_overtaking(&self, now: EventTime) -> Option<OvertakingNotice> {
        let next = self.lock().position.floor();
        let first = self.source.log.contents().first;
        let percent = self.source.log.percent_kept_from(next, now);
        let notice = self.lock().overtaking.handle_share(percent);
        let (name, topic) = (self.name(), self.topic());
        match notice {
            Some(OvertakingNotice::Near(_)) if next < first => tracing::warn!(
                "the retention of topic {topic:?} has overtaken the durable subscription {name:?}: it is at event {next}, and the log begins \
                 at event {first}, so events are lost unread; let its program run faster, keep more events, or remove the position if \
                 nobody needs it"
            ),
            Some(OvertakingNotice::Near(percent)) => tracing::warn!(
                "the durable subscription {name:?} of topic {topic:?} is at event {next}, so far behind that it needs {percent} % of \
                 what the retention keeps: beyond 100 %, events are lost unread; let its program run faster, keep more events, or \
                 remove the position if nobody needs it"
            ),
            Some(OvertakingNotice::Relieved) => tracing::info!(
                "the durable subscription {name:?} of topic {topic:?} is no longer near the end of what the retention keeps"
            ),
            None => {}
        }
        notice
    }

    /// The progress of the subscription.
    pub(crate) fn progress(&self) -> Progress {
        let contents = self.source.log.contents();
        let state = self.lock();
        let next = state.position.next();
        // Sequences without events lie between the newest events of each key.
        let waiting = contents.next.saturating_sub(next.max(contents.first));
        Progress {
            waiting: waiting.min(contents.events),
            floor: state.position.floor(),
            next,
            pending: state.position.pending() as u64,
            acknowledged: state.position.acknowledged(),
            expired: state.expired,
        }
    }

    /// The bytes of the events that were read and are not delivered yet.
    pub(crate) fn buffered_bytes(&self) -> u64 {
        let state = self.lock();
        (state.feed.byte_len()
            + state
                .sticky_events
                .as_ref()
                .map_or(0, StickyEvents::byte_len)) as u64
    }

    /// A number that changes when the position is set.
    pub(crate) fn position_number(&self) -> u64 {
        self.lock().feed.number()
    }

    /// Sets the position: events from this sequence on are delivered next, again if they were delivered before.
    pub(crate) fn set_position(&self, next: u64) {
        let mut state = self.lock();
        state.position.set(next);
        state.drop_settled();
        state.feed.set(next);
        state.saver.is_unsaved = true;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Takes the result of a read. Returns the next step of the task.
    fn handle_read(&self, to_read: ToRead, batch: ReadBatch) -> HasRead {
        let mut state = self.lock();
        let events = batch.events.iter().flat_map(|events| events.each());
        let mut read = batch.stamps.into_iter().zip(events);
        match to_read {
            ToRead::Next { feed_number, .. } if !state.feed.end_read(feed_number) => {
                HasRead::Events
            }
            ToRead::Next { .. } if batch.gap.is_some() && state.feed.defer_gap() => HasRead::Events,
            ToRead::Next { from, .. } => {
                let missing = batch.gap.map(|gap| state.handle_gap(&gap));
                state.drop_settled();
                state.feed.extend(read, batch.next);
                let has_moved = batch.next > from;
                drop(state);
                self.changed.notify_waiters();
                match missing {
                    Some(missing) if missing.count > 0 => HasRead::AfterLoss(missing),
                    _ if has_moved => HasRead::Events,
                    _ => HasRead::Nothing(from),
                }
            }
            ToRead::Again { sequence, attempt } => match read.next() {
                Some((stamp, event))
                    if stamp.sequence == sequence && self.clock(&state).is_over(&stamp, &event) =>
                {
                    state.expired += state.handle_missing(sequence, None).count;
                    HasRead::Expired
                }
                Some((stamp, event)) if stamp.sequence == sequence => HasRead::Again(Delivery {
                    sequence,
                    is_forwarded: stamp.is_forwarded,
                    time: stamp.time,
                    attempt,
                    event,
                }),
                _ => HasRead::AfterLoss(state.handle_missing(sequence, batch.gap.as_ref())),
            },
            ToRead::Sticky {
                sequence,
                is_wanted,
            } => match read.next() {
                Some((stamp, event)) if stamp.sequence == sequence => {
                    let state = &mut *state;
                    if let Some(waiting) = &mut state.sticky_events {
                        waiting.insert(stamp, event, is_wanted, &mut state.position);
                    }
                    HasRead::Events
                }
                _ => HasRead::AfterLoss(state.handle_missing(sequence, batch.gap.as_ref())),
            },
        }
    }

    /// The clock by which events expire.
    fn clock(&self, state: &ReaderState) -> ExpiryClock {
        ExpiryClock::new(self.source.lifespan.get(), state.lifespan)
    }

    fn lock(&self) -> MutexGuard<'_, ReaderState> {
        // The changes under this lock move events between places, so a panic leaves no change half done.
        self.state.lock()
    }
}

/// Lets others read if a read is cancelled or fails.
struct ReadGuard<'a> {
    reader: &'a Reader,
    to_read: Option<ToRead>,
}

/// A program pulls as long as this exists.
pub(crate) struct Pulling(Arc<Reader>);

impl Drop for Pulling {
    fn drop(&mut self) {
        self.0.lock().members.end_pull(Instant::now());
    }
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
                self.reader.lock().feed.end_read(feed_number);
                self.reader.changed.notify_waiters();
            }
            Some(ToRead::Again { sequence, .. }) => {
                self.reader.handle_undelivered([sequence].into_iter());
            }
            Some(ToRead::Sticky { .. }) | None => {}
        }
    }
}
