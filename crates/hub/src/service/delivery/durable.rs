//! The delivery task of a subscriber that reads the log of its topic.
//!
//! It keeps a window of events in flight, as the task of any twoway subscriber does. But no event is lost here: a
//! failed event is read again, and while the subscriber is absent, all events wait in the log.

use std::collections::{BTreeSet, VecDeque};
use std::future::{pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use floe::forwarding::{Event, Events};
use floe::{InvokeError, TypedProxy};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use super::durable_window::DurableWindow;
use crate::core::Subscription;
use crate::core::durable::{
    Absence, AttemptFailure, Member, MissingEvents, NotAcknowledged, PENDING_LIMIT, stamped,
};
use crate::core::log::GapReason;
use crate::service::dead_letters::{self, DeadLetter};
use crate::service::directory::ObjectDirectory;
use crate::service::durable::{Batch, Delivery, HasRead, Readable, Reader, ToRead};
use crate::service::failure::is_refused;
use crate::service::one_line::OneLine;
use crate::service::subscriber::Subscriber;

/// How long the replies of a removed subscriber count. After that, its events go to others.
const LAST_REPLIES_MAX: Duration = Duration::from_secs(1);
/// The maximum number of events that leave together: a part of the largest window, so that the subscriber works on some
/// events while the hub prepares others.
const TOGETHER_MAX: usize = PENDING_LIMIT / 8;

/// Delivers until the subscription ends, and then waits for the last replies.
pub(super) async fn run(
    subscriber: &Arc<Subscriber>,
    reader: &Arc<Reader>,
    directory: &ObjectDirectory,
) {
    let reading = subscriber.qos().reading.as_ref();
    let is_restored = reading.is_some_and(|reading| reading.is_restored);
    let member = reader.join(subscriber.identity(), is_restored);
    let mut delivery = DurableDelivery {
        subscriber,
        reader,
        directory,
        member,
        window: DurableWindow::new(subscriber, reader, member),
        ahead: JoinSet::new(),
        readable: None,
        absence: Absence::default(),
        is_reached: false,
        was_reached: false,
        closed: None,
        look_at: Instant::now(),
        // A program that dies of an event may subscribe anew each time.
        suspects: reader.suspects(),
    };
    delivery.run().await;
}

struct DurableDelivery<'a> {
    subscriber: &'a Arc<Subscriber>,
    reader: &'a Arc<Reader>,
    directory: &'a ObjectDirectory,
    /// The subscriber, as one of those that share the subscription.
    member: Member,
    window: Arc<DurableWindow>,
    /// The read that goes on beside deliveries, if there is one. It is a task of its own: the events that it reads are
    /// for all that share the subscription, and must not wait for this delivery task.
    ahead: JoinSet<HasRead>,
    /// Where the log had no events when it was read last. `None` if it is worth reading.
    readable: Option<Readable>,
    absence: Absence,
    /// True if the last attempt to connect succeeded.
    is_reached: bool,
    /// True if any did.
    was_reached: bool,
    /// Ends when the connection of the subscriber has closed; `None` if there is none.
    closed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// While there are no events, it does not connect before this: a subscriber that closes each connection is not called without
    /// a pause.
    look_at: Instant,
    /// Events that were in flight when a connection ended, and are not settled. As long as there are any, events are delivered
    /// one by one, so that the one of which the subscriber dies is known.
    suspects: BTreeSet<u64>,
}

/// The reason why a waiting delivery task continues.
enum Woken {
    /// Something has changed.
    Changed,
    /// A read beside deliveries has ended.
    HasRead(HasRead),
    /// Events came for this subscriber alone.
    Own,
    /// The subscription has ended.
    Ended,
}

impl DurableDelivery<'_> {
    async fn run(&mut self) {
        let (subscriber, reader) = (self.subscriber, self.reader);
        loop {
            let mut changed = pin!(reader.changed());
            // From here on, every change is noticed.
            changed.as_mut().enable();
            self.settle_attempts().await;
            if self.absence.is_absent() && self.is_shared() && !subscriber.proxy().is_connected() {
                reader.save();
                // Others have its events now. It gets some of them once it can be reached.
                let back = self.come_back();
                if has_ended_before(subscriber, back).await {
                    break;
                }
                if !self.is_reached {
                    continue;
                }
            }
            if let Some(Ok(has_read)) = self.ahead.try_join_next() {
                let handled = self.handle_read(has_read);
                if has_ended_before(subscriber, handled).await {
                    break;
                }
            }
            let now = Instant::now();
            let save_at = reader.save_when_due(now);
            let room = self.room();
            let may_read = match &self.readable {
                _ if !self.ahead.is_empty() => false,
                Some((from, _)) => !reader.reads_from(*from),
                None => true,
            };
            let has_ended = match reader.poll(self.member, room, may_read, now) {
                Batch::Deliver(batch) => {
                    if may_read {
                        self.read_ahead();
                    }
                    has_ended_before(subscriber, self.deliver(batch)).await
                }
                Batch::Read(to_read) => {
                    // This may take long.
                    reader.save();
                    has_ended_before(subscriber, self.read(to_read)).await
                }
                Batch::Expired(count) => has_ended_before(subscriber, self.expire(count)).await,
                Batch::Wait(_) if self.has_to_look(now) => {
                    self.look_at = now + Absence::WAIT_MAX;
                    let back = self.come_back();
                    has_ended_before(subscriber, back).await
                }
                Batch::Wait(until) => match self
                    .wait(changed, until.into_iter().chain(save_at).min())
                    .await
                {
                    Woken::Changed => false,
                    Woken::HasRead(has_read) => {
                        has_ended_before(subscriber, self.handle_read(has_read)).await
                    }
                    Woken::Own => {
                        self.deliver_own().await;
                        false
                    }
                    Woken::Ended => true,
                },
            };
            if has_ended {
                break;
            }
        }
        self.wait_for_last_replies().await;
        reader.save();
    }

    fn is_shared(&self) -> bool {
        let reading = self.subscriber.qos().reading.as_ref();
        reading.is_some_and(|reading| reading.is_shared)
    }

    /// Returns true if there is no connection that would tell if the subscriber ends. It is then looked for, so that the hub
    /// knows who is there although no events come.
    fn has_to_look(&self, now: Instant) -> bool {
        let proxy = self.subscriber.proxy();
        let keeps_position = !self.reader.name().is_empty();
        keeps_position && now >= self.look_at && !proxy.is_fixed() && !proxy.is_connected()
    }

    /// How many events may be sent now.
    fn room(&mut self) -> usize {
        let room = self.window.room().min(TOGETHER_MAX);
        if self.suspects.is_empty() {
            return room;
        }
        self.reader.retain_pending(&mut self.suspects);
        match self.suspects.is_empty() {
            true => room,
            false => room.min(usize::from(self.window.is_empty())),
        }
    }

    async fn wait(
        &mut self,
        changed: Pin<&mut tokio::sync::futures::Notified<'_>>,
        until: Option<Instant>,
    ) -> Woken {
        let subscriber = self.subscriber;
        let keeps_position = !self.reader.name().is_empty();
        if self.closed.is_none()
            && keeps_position
            && let Some(connection) = subscriber.proxy().ice_cached_connection()
        {
            self.closed = Some(Box::pin(async move { connection.closed().await }));
        }
        // Without a connection, the subscriber is looked for at this time.
        let look_at = (keeps_position && self.closed.is_none()).then_some(self.look_at);
        let until = until.into_iter().chain(look_at).min();
        let Self {
            readable,
            ahead,
            closed,
            ..
        } = self;
        let has_closed = async {
            match closed {
                Some(closed) => closed.await,
                None => pending().await,
            }
        };
        let (is_waiting, is_reading) = (readable.is_some(), !ahead.is_empty());
        let has_events = async {
            match readable {
                Some((_, readable)) => readable.await,
                None => pending().await,
            }
        };
        let timer = async {
            match until {
                Some(until) => sleep_until(until.into()).await,
                None => pending().await,
            }
        };
        tokio::select! {
            has_own = poll_fn(|context| subscriber.poll_bytes(context, 1)) => match has_own {
                true => Woken::Own,
                false => Woken::Ended,
            },
            () = changed => Woken::Changed,
            () = has_closed => {
                self.closed = None;
                Woken::Changed
            }
            () = timer => Woken::Changed,
            has_read = ahead.join_next(), if is_reading => match has_read {
                Some(Ok(has_read)) => Woken::HasRead(has_read),
                // The read was cancelled. The task reads again.
                _ => Woken::Changed,
            },
            () = has_events, if is_waiting => {
                self.readable = None;
                Woken::Changed
            }
        }
    }

    /// Begins to read new events beside deliveries, if the reader wants that.
    fn read_ahead(&mut self) {
        if let Some(next) = self.reader.begin_read_ahead() {
            let reader = self.reader.clone();
            begin_task(&mut self.ahead, async move { reader.read(next).await });
        }
    }

    async fn read(&mut self, to_read: ToRead) {
        let has_read = self.reader.read(to_read).await;
        self.handle_read(has_read).await;
    }

    async fn handle_read(&mut self, has_read: HasRead) {
        match has_read {
            HasRead::Events => {}
            HasRead::Nothing(from) => {
                self.readable = Some((from, Box::pin(self.reader.readable(from))));
            }
            HasRead::Again(delivery) => self.deliver(vec![delivery]).await,
            HasRead::Expired => self.expire(1).await,
            HasRead::AfterLoss(missing) => {
                if missing.count > 0 {
                    let name = self.subscriber.log_name();
                    tracing::warn!("{name} has {missing}");
                    self.subscriber.lock().subscription.handle_missing(missing);
                    tell_losses(self.subscriber).await;
                }
            }
        }
    }

    /// Counts events whose lifespan was over.
    async fn expire(&mut self, count: u64) {
        self.subscriber.lock().subscription.handle_expired(count);
        tell_losses(self.subscriber).await;
    }

    /// Delivers events, and waits only until they have left. If the subscriber is absent, they wait for the next attempt.
    async fn deliver(&mut self, batch: Vec<Delivery>) {
        let batch = self.without_loops(batch);
        if batch.is_empty() {
            return;
        }
        let mut unsent = Unsent::new(self.subscriber, self.reader, &batch);
        let mut events: Vec<Event> = batch.into_iter().map(|it| self.event(it)).collect();
        tell_losses(self.subscriber).await;
        if self.window.send(unsent.sequences(), &mut events) {
            return unsent.clear();
        }
        // They need a wait: for a connection, or for room in it. The events before these come first.
        self.reader.save();
        self.wait_for_replies().await;
        if let Err(error) = self.connect().await {
            drop(unsent);
            return self.handle_absence(&error).await;
        }
        tell_losses(self.subscriber).await;
        if self.window.send(unsent.sequences(), &mut events) {
            return unsent.clear();
        }
        for event in &events {
            let Some(sequence) = unsent.first() else {
                return;
            };
            let answer = Box::pin(self.subscriber.proxy().forward(event)).await;
            unsent.pop();
            let has_failed = answer.is_err();
            self.window.note(sequence, answer);
            if has_failed {
                // The other members of the subscription need not wait for the rest while this one settles the failure.
                drop(unsent);
                return self.settle_attempts().await;
            }
            self.settle_attempts().await;
            if self.absence.is_absent() {
                return;
            }
        }
    }

    /// Leaves out the events that have gone round too often. They count as lost, and the log need not keep them.
    fn without_loops(&self, batch: Vec<Delivery>) -> Vec<Delivery> {
        if !self.subscriber.has_loop_guard() {
            return batch;
        }
        let (mut passing, mut ended) = (Vec::new(), Vec::new());
        for delivery in batch {
            match self.subscriber.with_next_hop(delivery.event) {
                Some(event) => passing.push(Delivery { event, ..delivery }),
                None => ended.push(delivery.sequence),
            }
        }
        self.reader.handle_acknowledged(ended.into_iter());
        passing
    }

    /// The event as the subscriber gets it.
    fn event(&self, delivery: Delivery) -> Event {
        let reading = self.subscriber.qos().reading.as_ref();
        if !reading.is_some_and(|reading| reading.is_stamped) {
            return delivery.event;
        }
        let Delivery {
            sequence,
            time,
            attempt,
            event,
            ..
        } = delivery;
        // An event that is in a log was checked before.
        stamped(event.as_bytes(), sequence, time, attempt).unwrap_or(event)
    }

    /// Connects to a subscriber that was absent, or waits before the next attempt.
    async fn come_back(&mut self) {
        let connected = self.connect().await;
        self.is_reached = connected.is_ok();
        match connected {
            Ok(()) => self.handle_reached(),
            Err(error) => self.handle_absence(&error).await,
        }
    }

    /// The subscriber can be reached. If it then fails again, the waits go on as before.
    fn handle_reached(&mut self) {
        self.was_reached = true;
        self.subscriber.set_absent(false);
        self.reader.handle_presence(self.member);
    }

    async fn connect(&mut self) -> Result<(), InvokeError> {
        match self.subscriber.proxy().is_connected() {
            true => Ok(()),
            false => Box::pin(self.subscriber.connect()).await.map(drop),
        }
    }

    /// Settles the events that were refused, not answered in time, or not delivered, and those that programs have pulled and
    /// forgotten.
    async fn settle_attempts(&mut self) {
        if self.window.give_up_late() {
            Box::pin(dead_letters::refuse_late_pulls(self.reader, self.directory)).await;
        }
        let mut broken = None;
        for (sequence, attempt) in self.window.take_attempts() {
            match attempt {
                Ok(()) => self.handle_presence(),
                Err(AttemptFailure::Absent(error)) => self.handle_absence(&error).await,
                Err(AttemptFailure::Refused(reason)) => {
                    self.handle_presence();
                    let verdict = self.reader.handle_refused(sequence);
                    self.settle(sequence, verdict, &reason).await;
                }
                Err(AttemptFailure::Broken { error, is_alone }) => {
                    let reason = format!("the connection ended before its answer: {error}");
                    let verdict = self.reader.handle_broken(sequence, is_alone);
                    self.settle(sequence, verdict, &reason).await;
                    self.suspects.insert(sequence);
                    broken = Some(error);
                }
            }
        }
        if let Some(error) = broken {
            // They share one attempt to reach the subscriber.
            self.handle_absence(&error).await;
        }
    }

    /// Settles an event that was not acknowledged.
    async fn settle(&mut self, sequence: u64, verdict: NotAcknowledged, reason: &str) {
        let name = self.subscriber.log_name();
        match verdict {
            NotAcknowledged::Settled => self.subscriber.lock().subscription.handle_unread(1),
            NotAcknowledged::Again { .. } => {
                self.subscriber.lock().subscription.handle_unread(1);
                tracing::debug!("event {sequence} is delivered again to {name}: {reason}");
            }
            NotAcknowledged::Dead { attempts } => {
                let (reader, directory) = (self.reader, self.directory);
                let storing = dead_letters::store(reader, directory, sequence, attempts, reason);
                let stored = Box::pin(storing).await;
                // The lock is held for the counts alone.
                let count = |change: &dyn Fn(&mut Subscription<Events>)| {
                    change(&mut self.subscriber.lock().subscription);
                };
                match stored {
                    Ok(DeadLetter::Trimmed) => {
                        let missing = MissingEvents {
                            count: 1,
                            reason: GapReason::Expired,
                        };
                        count(&|subscription| {
                            subscription.handle_unread(1);
                            subscription.handle_missing(missing);
                        });
                        self.reader.handle_acknowledged([sequence].into_iter());
                        tracing::warn!("{name} has {missing}");
                    }
                    Ok(DeadLetter::Stored) => {
                        // It is kept, so it is not lost.
                        count(&|subscription| subscription.handle_unread(1));
                        self.reader.handle_acknowledged([sequence].into_iter());
                        tracing::warn!(
                            "event {sequence} is a dead letter, because {name} did not take it in {}: {reason}",
                            counted_attempts(attempts)
                        );
                    }
                    Ok(DeadLetter::HopLimit) => {
                        count(&|subscription| subscription.handle_dead(1));
                        self.reader.handle_acknowledged([sequence].into_iter());
                    }
                    Err(error) => {
                        count(&|subscription| subscription.handle_unread(1));
                        self.reader.handle_undead(sequence, Absence::WAIT_MAX);
                        tracing::error!(
                            "event {sequence} cannot become a dead letter, and is delivered again to {name}: {error}"
                        );
                    }
                }
            }
        }
    }

    fn handle_presence(&mut self) {
        if self.absence.handle_success() {
            self.handle_reached();
            let name = self.subscriber.log_name();
            tracing::info!("{name} can be reached again; delivering the events that waited");
        }
    }

    /// Waits before the next attempt to reach the subscriber.
    async fn handle_absence(&mut self, error: &InvokeError) {
        let has_ended = self.has_ended(error);
        let (name, error) = (self.subscriber.log_name(), OneLine(error));
        if self.reader.name().is_empty()
            && !self
                .subscriber
                .qos()
                .retry_count
                .tolerates(self.absence.attempts())
        {
            // Its position is not kept, so nothing is gained if it comes back.
            tracing::info!("ended the subscription of {name}, which cannot be reached: {error}");
            return self.subscriber.remove();
        }
        if !self.absence.is_absent() {
            tracing::info!("{name} cannot be reached; its events wait in the log: {error}");
        }
        let wait = self.absence.handle_failure();
        self.subscriber.set_absent(true);
        let is_forgotten = self.reader.handle_absence(self.member, has_ended);
        self.reader.save();
        if is_forgotten && self.is_shared() {
            tracing::info!(
                "forgot {name}, which cannot be reached: others share its durable subscription, and get its events: {error}"
            );
            return self.subscriber.remove();
        }
        // If the subscription ends meanwhile, the loop sees it next.
        has_ended_before(self.subscriber, sleep(wait)).await;
    }

    /// Returns true if the program of the subscriber has certainly ended: it subscribed to an earlier run of the hub, this one has
    /// never reached it, and its machine says that nobody listens. A new subscriber may not listen yet.
    fn has_ended(&self, error: &InvokeError) -> bool {
        let reading = self.subscriber.qos().reading.as_ref();
        let is_restored = reading.is_some_and(|reading| reading.is_restored);
        is_restored && !self.was_reached && is_refused(error)
    }

    /// Waits for the last replies, but not for long if the subscriber was removed.
    async fn wait_for_last_replies(&mut self) {
        let limit = match self.subscriber.is_gone() {
            true => LAST_REPLIES_MAX,
            // The hub is shutting down, and has a limit of its own.
            false => Duration::MAX,
        };
        let _ = tokio::time::timeout(limit, self.wait_for_replies()).await;
    }

    /// Waits until no event is in flight.
    async fn wait_for_replies(&mut self) {
        loop {
            let mut changed = pin!(self.reader.changed());
            changed.as_mut().enable();
            self.window.give_up_late();
            if self.window.is_empty() {
                return;
            }
            // A reply that never comes does not notify: look again before long.
            let _ = tokio::time::timeout(Absence::WAIT_MAX, changed).await;
        }
    }

    /// Delivers events that came for this subscriber alone, and are in no log.
    async fn deliver_own(&mut self) {
        let mut events = Vec::new();
        let count = self.subscriber.take(1, usize::MAX, &mut events).await;
        let mut result = Ok(());
        for event in events.iter().flat_map(floe::forwarding::Events::each) {
            let sent = Box::pin(self.subscriber.proxy().forward(&event)).await;
            result = result.and(sent.map(drop));
        }
        let subscription = &mut self.subscriber.lock().subscription;
        match result {
            Ok(()) => subscription.handle_delivered(count as u64),
            Err(_) => subscription.handle_dead(count as u64),
        }
    }
}

/// Notifies a subscriber of events that it lost, if it is there. Otherwise it is notified before the next event.
async fn tell_losses(subscriber: &Subscriber) {
    if !subscriber.proxy().is_connected() {
        return;
    }
    let gap = subscriber.lock().subscription.take_gap();
    if let Some(count) = gap {
        Box::pin(subscriber.notify_lost(count)).await;
    }
}

/// Runs a step, and cancels it if the subscription ends. Returns true if it has ended.
async fn has_ended_before(subscriber: &Subscriber, step: impl Future<Output = ()>) -> bool {
    let ended = poll_fn(|context| subscriber.poll_ended(context));
    tokio::select! {
        biased;
        () = step => false,
        () = ended => true,
    }
}

/// Begins a step now, and continues it in a task. On a runtime of one thread, the first poll of a new task would wait
/// until this task yields, and the disk would idle while events are sent.
fn begin_task<T: Send + 'static>(
    tasks: &mut JoinSet<T>,
    step: impl Future<Output = T> + Send + 'static,
) {
    let mut step = Box::pin(step);
    // The task polls it again, with a waker of its own.
    match step.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => tasks.spawn(ready(output)),
        Poll::Pending => tasks.spawn(step),
    };
}

/// Events that have not left. When this is dropped, they count as not delivered.
struct Unsent<'a> {
    subscriber: &'a Subscriber,
    reader: &'a Reader,
    sequences: VecDeque<u64>,
}

impl<'a> Unsent<'a> {
    fn new(subscriber: &'a Subscriber, reader: &'a Reader, batch: &[Delivery]) -> Self {
        let count = batch.len() as u64;
        let bytes: usize = batch.iter().map(|delivery| delivery.event.len()).sum();
        let subscription = &mut subscriber.lock().subscription;
        subscription.handle_read(count, bytes as u64);
        Self {
            subscriber,
            reader,
            sequences: batch.iter().map(|delivery| delivery.sequence).collect(),
        }
    }

    fn sequences(&self) -> impl Iterator<Item = u64> + '_ {
        self.sequences.iter().copied()
    }

    fn first(&self) -> Option<u64> {
        self.sequences.front().copied()
    }

    fn pop(&mut self) {
        self.sequences.pop_front();
    }

    fn clear(&mut self) {
        self.sequences.clear();
    }
}

/// A number of attempts, for people.
fn counted_attempts(count: u32) -> String {
    match count {
        1 => "1 attempt".to_owned(),
        count => format!("{count} attempts"),
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        let count = self.sequences.len() as u64;
        if count > 0 {
            self.subscriber.lock().subscription.handle_unread(count);
            self.reader.handle_undelivered(self.sequences.drain(..));
        }
    }
}

impl Drop for DurableDelivery<'_> {
    fn drop(&mut self) {
        self.window.abandon();
        self.reader.leave(self.member);
        self.reader.save();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_has_begun_before_the_one_that_begins_it_waits() {
        let has_begun = Arc::<AtomicBool>::default();
        let step = {
            let has_begun = has_begun.clone();
            async move {
                has_begun.store(true, Ordering::Relaxed);
                tokio::task::yield_now().await;
                "ended"
            }
        };
        let mut tasks = JoinSet::new();
        begin_task(&mut tasks, step);
        assert!(has_begun.load(Ordering::Relaxed));
        begin_task(&mut tasks, ready("ended"));
        for _ in 0..2 {
            let ended = tasks.join_next().await.expect("two have begun");
            assert_eq!(ended.expect("no panic"), "ended");
        }
    }
}
