//! The log of a topic: takes the events of publishers, and has the readers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use floe::SystemException;
use floe::forwarding::Events;

use super::arrivals::{Arrival, Arrivals};
use super::expiry_clock::ExpiryClock;
use super::folders::file_name;
use super::log_counts::LogCounts;
use super::log_source::LogSource;
use super::position_file::PositionFile;
use super::reader::Reader;
use crate::core::durable::{LogPublication, PublisherNames, Reading, publications};
use crate::core::log::{Append, EventTime, Level, Position, ReadLimits, Retention};
use crate::lock::{Mutex, RwLock};
use crate::log::{Contents, EventLog, LogError, MemoryLog, ReadBatch, appended, readable};
use crate::service::catch_up::CatchUp;
use crate::service::lifespan::DefaultLifespan;
use crate::service::user_accounts::UserName;
use crate::settings::DurableSettings;
use crate::store::StoreError;

/// The log of a durable topic, with the durable subscriptions of the topic.
#[derive(Debug)]
pub(crate) struct TopicLog {
    /// The name of the topic.
    topic: Arc<str>,
    log: Arc<dyn EventLog>,
    /// Its readers share them.
    settings: Arc<RwLock<DurableSettings>>,
    arrivals: Arrivals,
    /// For events whose publishers give none. Its readers share it.
    lifespan: Arc<DefaultLifespan>,
    /// Notified of each append; it lets readers catch up.
    catch_up: Arc<CatchUp>,
    /// Where positions are stored; `None` if the log is in memory.
    positions: Option<PathBuf>,
    /// The durable subscriptions by name, those without a subscriber included.
    readers: Mutex<BTreeMap<String, Arc<Reader>>>,
    is_closed: AtomicBool,
    /// Counts the log while it is open; `None` if it is in memory.
    counts: Option<Arc<LogCounts>>,
    /// The oldest event and its time, as an observer saw them last. It is not held during a read.
    oldest: Mutex<Option<(u64, EventTime)>>,
}

/// How events arrive.
#[derive(Clone, Copy)]
struct Arriving {
    level: Level,
    time: EventTime,
    is_forwarded: bool,
}

/// Events that are on their way into a log.
pub(crate) struct Appending {
    /// The events that have not come before. Subscribers that do not read the log get them now.
    pub(crate) fresh: Vec<Events>,
    /// Ends when all are as safe as their publisher wants, or says why they are not.
    pub(crate) outcome: Storing,
}

/// Ends when events are as safe as their publisher wants, or says why they are not.
pub(crate) type Storing = Pin<Box<dyn Future<Output = Result<(), SystemException>> + Send>>;

/// How many publishers with numbered events a topic knows.
const PUBLISHERS_MAX: usize = 10_000;
/// Events in one reply, in bytes, unless a single event is longer. Peers refuse messages of more than 1 MiB by default.
const REPLY_BYTES_MAX: usize = 256 * 1024;
/// The number of last events that are searched for numbered ones when a log is opened. If they are long, fewer are
/// searched, because it would take seconds, but never fewer than a publisher may have under way.
const SEARCHED_EVENTS: u64 = 16 * 1024;
const SEARCHED_EVENTS_MIN: u64 = 1024;
const SEARCHED_BYTES: u64 = 64 << 20;

impl TopicLog {
    /// The log of a topic, with the positions of its subscriptions in this folder. It reads from the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses. A position that is damaged is logged, and its subscription begins anew.
    pub(super) fn open(
        topic: &str,
        log: Arc<dyn EventLog>,
        settings: DurableSettings,
        positions: PathBuf,
        catch_up: &Arc<CatchUp>,
        counts: Arc<LogCounts>,
    ) -> Result<Arc<Self>, StoreError> {
        let topic: Arc<str> = topic.into();
        let arrivals = Arrivals::new(PUBLISHERS_MAX, counts.publishers().clone());
        search(&*log, &arrivals)
            .map_err(|error| StoreError::because("cannot read the log of a topic", error))?;
        let read = |error| {
            let shown = positions.display();
            StoreError::because(format!("cannot read \"{shown}\""), error)
        };
        let lifespan = Arc::new(DefaultLifespan::default());
        let settings = Arc::new(RwLock::new(settings));
        let source = LogSource {
            topic: topic.clone(),
            log: log.clone(),
            settings: settings.clone(),
            lifespan: lifespan.clone(),
            catch_up: catch_up.clone(),
        };
        let mut readers = BTreeMap::new();
        for entry in std::fs::read_dir(&positions).map_err(read)? {
            let path = entry.map_err(read)?.path();
            match Reader::open(source.clone(), &path) {
                Ok(reader) if is_file_of(&path, reader.name()) => {
                    readers.insert(reader.name().to_owned(), reader);
                }
                Ok(reader) => tracing::error!(
                    "\"{}\" is not used: it holds the position of the durable subscription {:?}, which has a file of its own name; \
                     delete it",
                    path.display(),
                    reader.name()
                ),
                Err(error) => tracing::error!("{error}"),
            }
        }
        counts.add_topic();
        for reader in readers.values() {
            counts.add_subscription(reader.user().as_ref());
        }
        Ok(Arc::new(Self {
            topic,
            log,
            settings,
            arrivals,
            lifespan,
            catch_up: catch_up.clone(),
            positions: Some(positions),
            readers: Mutex::new(readers),
            is_closed: AtomicBool::new(false),
            counts: Some(counts),
            oldest: Mutex::default(),
        }))
    }

    /// The log of a topic that remembers events in memory.
    pub(crate) fn in_memory(
        topic: &str,
        settings: DurableSettings,
        catch_up: &Arc<CatchUp>,
        publishers: Arc<PublisherNames>,
    ) -> Arc<Self> {
        Arc::new(Self {
            topic: topic.into(),
            log: Arc::new(MemoryLog::new(settings.retention.clone())),
            settings: Arc::new(RwLock::new(settings)),
            arrivals: Arrivals::new(PUBLISHERS_MAX, publishers),
            lifespan: Arc::default(),
            catch_up: catch_up.clone(),
            positions: None,
            readers: Mutex::default(),
            is_closed: AtomicBool::new(false),
            counts: None,
            oldest: Mutex::default(),
        })
    }

    /// The clock by which its events expire for a reader without wishes of its own.
    pub(crate) fn clock(&self) -> ExpiryClock {
        ExpiryClock::new(self.lifespan.get(), None)
    }

    /// The lifespan of events whose publishers give none.
    pub(crate) fn lifespan(&self) -> &DefaultLifespan {
        &self.lifespan
    }

    /// Returns true if events and positions are on disk.
    pub(crate) fn is_durable(&self) -> bool {
        self.positions.is_some()
    }

    /// Appends events of a user, if the hub knows it. They are in the log in the order of these calls.
    pub(crate) fn append(&self, events: Events, user: Option<&str>) -> Appending {
        self.append_from(events, user, false)
    }

    /// Appends events that came over a link.
    pub(crate) fn append_forwarded(&self, events: Events) -> Appending {
        self.append_from(events, None, true)
    }

    fn append_from(&self, events: Events, user: Option<&str>, is_forwarded: bool) -> Appending {
        let publications = match publications(events, user) {
            Ok(publications) => publications,
            Err(reason) => return Appending::refused(reason),
        };
        self.catch_up.note_live();
        let default = self.settings().acknowledge;
        let time = EventTime::now();
        let mut fresh = Vec::new();
        let mut outcomes = Vec::new();
        for publication in publications {
            let level = publication.level.unwrap_or(default);
            let arriving = Arriving {
                level,
                time,
                is_forwarded,
            };
            self.append_one(publication, arriving, &mut fresh, &mut outcomes);
        }
        let all = async move {
            let mut result = Ok(());
            for outcome in outcomes {
                result = result.and(outcome.end().await);
            }
            result
        };
        Appending {
            fresh,
            outcome: Box::pin(all),
        }
    }

    fn append_one(
        &self,
        publication: LogPublication,
        arriving: Arriving,
        fresh: &mut Vec<Events>,
        outcomes: &mut Vec<Outcome>,
    ) {
        let LogPublication { events, origin, .. } = publication;
        let Arriving {
            level,
            time,
            is_forwarded,
        } = arriving;
        let Some(origin) = origin else {
            fresh.push(events.clone());
            let append = Append {
                is_forwarded,
                events,
                time,
                origin,
            };
            let appending = appended(&*self.log, append, level);
            let appending = async move { appending.await.map(drop).map_err(refusal) };
            return outcomes.push(Outcome::Appending(Box::pin(appending)));
        };
        let arrived = self
            .arrivals
            .append(&*self.log, events, &origin, level, time, is_forwarded);
        for (events, arrival) in arrived {
            fresh.extend(events);
            outcomes.push(match arrival {
                Arrival::UnderWay(done) => Outcome::Appending(Box::pin(async move {
                    match done.await {
                        Ok(result) => result.map_err(refusal),
                        Err(_) => Err(refusal("the log of the topic is closed")),
                    }
                })),
                Arrival::Failed(error) => Outcome::Refused(refusal(error)),
                Arrival::TooOld => Outcome::Refused(refusal(TOO_OLD)),
                Arrival::TooFar => Outcome::Refused(refusal(TOO_FAR)),
                // It is written, perhaps at a lower level than its publisher now wants.
                Arrival::Duplicate => {
                    let last = self.log.contents().next.saturating_sub(1);
                    let stored = readable(&*self.log, last, level);
                    Outcome::Appending(Box::pin(async move {
                        stored.await;
                        Ok(())
                    }))
                }
            });
        }
    }

    /// The reader for a subscriber of this user. The reader of this name continues at its position; if there is none,
    /// it is created. This may wait for the disk. The caller ensures that only one subscription begins at a time.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(crate) fn reader(
        &self,
        reading: &Reading,
        user: Option<&UserName>,
    ) -> Result<Arc<Reader>, StoreError> {
        let name = reading.name.as_deref();
        if let Some(known) = name.and_then(|name| self.named(name)) {
            return Ok(known);
        }
        // The readers are locked only while nothing waits for the disk.
        let (from, source) = (self.locate(reading.start)?, self.source());
        let Some((name, positions)) = name.zip(self.positions.as_ref()) else {
            return Ok(Reader::transient(source, from));
        };
        let reader = match place_for(positions, name)? {
            PositionPlace::Taken(file) => Reader::open(source, &file)?,
            PositionPlace::Free(file) => Reader::create(source, name, user, from, &file)?,
        };
        let mut readers = self.readers();
        readers.insert(name.to_owned(), reader.clone());
        if let Some(counts) = self.open_counts() {
            counts.add_subscription(reader.user().as_ref());
        }
        Ok(reader)
    }

    /// The durable subscription of this name.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<Reader>> {
        self.readers().get(name).cloned()
    }

    /// All durable subscriptions, in the order of their names.
    pub(crate) fn all_named(&self) -> Vec<Arc<Reader>> {
        self.readers().values().cloned().collect()
    }

    /// Forgets the position of a durable subscription. It waits for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(crate) fn forget(&self, name: &str) -> Result<(), StoreError> {
        let Some(file) = self.named(name).and_then(|reader| reader.file()) else {
            return Ok(());
        };
        let remove = || {
            std::fs::remove_file(&file)?;
            // A loss of power must not bring it back.
            file.parent()
                .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        };
        remove().map_err(|error: io::Error| {
            StoreError::because(format!("cannot remove \"{}\"", file.display()), error)
        })?;
        let mut readers = self.readers();
        let removed = readers.remove(name);
        if let Some((counts, reader)) = self.open_counts().zip(removed) {
            counts.remove_subscription(reader.user().as_ref());
        }
        Ok(())
    }

    /// A summary of the log.
    pub(crate) fn contents(&self) -> Contents {
        self.log.contents()
    }

    /// Why the last events could not be stored; `None` if they were.
    pub(crate) fn failure(&self) -> Option<LogError> {
        self.log.failure()
    }

    /// How long events are kept.
    pub(crate) fn retention(&self) -> Retention {
        self.settings().retention.clone()
    }

    /// The age of its oldest event. It may wait for the disk.
    ///
    /// # Errors
    /// [`LogError`] if the operating system failed.
    pub(crate) fn age(&self, now: EventTime) -> Result<Duration, LogError> {
        let first = self.log.contents().first;
        let seen = *self.oldest.lock();
        let oldest = match seen.filter(|(at, _)| *at == first) {
            Some((_, time)) => Some(time),
            None => {
                let limits = ReadLimits {
                    events: 1,
                    level: Level::Accepted,
                    ..ReadLimits::default()
                };
                let batch = self.log.read(first, &limits)?;
                batch.stamps.first().map(|stamp| stamp.time)
            }
        };
        *self.oldest.lock() = oldest.map(|time| (first, time));
        let age = oldest.map_or(0, |oldest| now.0.saturating_sub(oldest.0));
        Ok(Duration::from_micros(age))
    }

    /// About how many bytes [`TopicLog::read`] takes.
    pub(crate) fn bytes_of_read(&self, count: usize) -> u64 {
        self.log.contents().bytes_of_read(&self.reply_limits(count))
    }

    fn reply_limits(&self, count: usize) -> ReadLimits {
        ReadLimits {
            events: count,
            bytes: REPLY_BYTES_MAX,
            level: self.settings().acknowledge,
        }
    }

    /// Reads events. From behind the end of the log, it reads from the end on, because a reader that waits there would miss the
    /// events up to there. It may wait for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(crate) fn read(&self, from: u64, count: usize) -> Result<ReadBatch, StoreError> {
        let limits = self.reply_limits(count);
        let read = self.log.read(from.min(self.log.contents().next), &limits);
        read.map_err(|error| StoreError::because("cannot read the log of a topic", error))
    }

    /// The sequence at a position. It may wait for the disk.
    ///
    /// # Errors
    /// [`StoreError`] if the system refuses.
    pub(crate) fn locate(&self, position: Position) -> Result<u64, StoreError> {
        let located = self.log.locate(position);
        located.map_err(|error| StoreError::because("cannot read the log of a topic", error))
    }

    /// Puts other settings in force.
    pub(crate) fn reconfigure(&self, settings: DurableSettings) {
        self.log.set_retention(settings.retention.clone());
        *self.settings.write() = settings;
    }

    /// Does the work that is due about once a second: drops old events, and syncs the others. It may wait for the disk.
    pub(crate) fn maintain(&self) {
        if self.is_closed.load(Ordering::Acquire) {
            // Its files may be gone.
            return;
        }
        let now = EventTime::now();
        if let Err(error) = self.log.maintain(now) {
            tracing::error!("{error}");
        }
        for reader in self.all_named() {
            // It has been logged.
            let _ = reader.check_overtaking(now);
            // An error is logged, and the next one tries again.
            let _ = reader.sync();
        }
    }

    /// Refuses further events, and syncs all others. It waits for the disk.
    pub(crate) fn close(&self) {
        let readers = self.readers();
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            self.leave_counts(&readers);
        }
        drop(readers);
        for reader in self.all_named() {
            // An error is logged, and the next one tries again.
            let _ = reader.sync();
        }
        self.log.close();
    }

    /// The source for a new reader.
    fn source(&self) -> LogSource {
        LogSource {
            topic: self.topic.clone(),
            log: self.log.clone(),
            settings: self.settings.clone(),
            lifespan: self.lifespan.clone(),
            catch_up: self.catch_up.clone(),
        }
    }

    /// Returns the counts while the log is open. Call this with the readers locked, because the log is closed under
    /// their lock.
    fn open_counts(&self) -> Option<&LogCounts> {
        let is_open = !self.is_closed.load(Ordering::Acquire);
        self.counts.as_deref().filter(|_| is_open)
    }

    fn leave_counts(&self, readers: &BTreeMap<String, Arc<Reader>>) {
        if let Some(counts) = &self.counts {
            counts.remove_topic();
            for reader in readers.values() {
                counts.remove_subscription(reader.user().as_ref());
            }
        }
    }

    fn settings(&self) -> std::sync::RwLockReadGuard<'_, DurableSettings> {
        self.settings.read()
    }

    fn readers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Reader>>> {
        self.readers.lock()
    }
}

impl Drop for TopicLog {
    fn drop(&mut self) {
        // The topic was not created.
        if !*self.is_closed.get_mut() {
            self.leave_counts(&self.readers());
        }
    }
}

impl Appending {
    fn refused(reason: String) -> Self {
        Self {
            fresh: Vec::new(),
            outcome: Box::pin(std::future::ready(Err(refusal(reason)))),
        }
    }
}

/// The place of the position of a subscription that has no reader.
enum PositionPlace {
    /// A new file, or one without a position.
    Free(PathBuf),
    /// It has the position already: it could not be read when the topic was opened.
    Taken(PathBuf),
}

/// The place of the position of a subscription of this name. Long names share the name of a file if their checks are
/// equal, and an attacker can find such names. So the file of another subscription is never taken.
///
/// # Errors
/// [`StoreError`] if a file cannot be read that may have the position.
fn place_for(positions: &Path, name: &str) -> Result<PositionPlace, StoreError> {
    let mut file = positions.join(file_name(name));
    let mut number = 1;
    loop {
        if std::fs::symlink_metadata(&file).is_err_and(|it| it.kind() == ErrorKind::NotFound) {
            return Ok(PositionPlace::Free(file));
        }
        match PositionFile::open(&file) {
            Ok((_, owner, _)) if owner == name => return Ok(PositionPlace::Taken(file)),
            Ok(_) => {}
            Err(error) if error.is_damage() => return Ok(PositionPlace::Free(file)),
            Err(error) => return Err(error),
        }
        number += 1;
        file = positions.join(format!("{}-{number}", file_name(name)));
    }
}

/// Returns true if this may be the file of a subscription. A copy under another name could take its place.
fn is_file_of(path: &Path, name: &str) -> bool {
    let own = file_name(name);
    let found = path.file_name().and_then(|found| found.to_str());
    let rest = found.and_then(|found| found.strip_prefix(&own[..]));
    let number = rest.and_then(|rest| rest.strip_prefix('-'));
    let is_number = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    rest == Some("") || number.is_some_and(is_number)
}

enum Outcome {
    Appending(Pin<Box<dyn Future<Output = Result<(), SystemException>> + Send>>),
    Refused(SystemException),
}

impl Outcome {
    async fn end(self) -> Result<(), SystemException> {
        match self {
            Self::Appending(appending) => appending.await,
            Self::Refused(exception) => Err(exception),
        }
    }
}

/// The publisher of an event that is too old must not believe that it is stored.
const TOO_OLD: &str = "its number is more than 1024 below the highest of its publisher: the hub cannot tell whether it came before";

const TOO_FAR: &str = "its number is absurd: expected at most 4,294,967,296 more than the highest of its publisher, or \
                       2^62 for the first event of a name";

fn refusal(reason: impl std::fmt::Display) -> SystemException {
    SystemException::UnknownException(format!("the event is not stored: {reason}"))
}

/// How many of the last events of a log are searched.
fn searched_count(contents: &Contents) -> u64 {
    let len = contents.bytes / contents.events.max(1);
    (SEARCHED_BYTES / len.max(1)).clamp(SEARCHED_EVENTS_MIN, SEARCHED_EVENTS)
}

/// Notes the numbered ones among the last events of a log.
fn search(log: &dyn EventLog, arrivals: &Arrivals) -> Result<(), crate::log::LogError> {
    let mut from = log.locate(Position::Last(searched_count(&log.contents())))?;
    let limits = ReadLimits {
        level: Level::Accepted,
        ..ReadLimits::default()
    };
    loop {
        let batch = log.read(from, &limits)?;
        for origin in batch
            .stamps
            .iter()
            .filter_map(|stamp| stamp.origin.as_ref())
        {
            arrivals.note(origin);
        }
        if batch.next <= from {
            return Ok(());
        }
        from = batch.next;
    }
}

#[cfg(test)]
mod tests;
