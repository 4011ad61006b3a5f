//! Sends events to the hub: several at a time, in order, and once more after a connection was lost.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::{Duration, Instant};

use floe::message::Outcome;
use floe::{
    Communicator, Connection, Context, InvokeError, LocalError, Proxy, SystemException, TypedProxy,
};

use super::window::{self, Window};
use super::{Event, Publish, events};
use crate::endpoint::readable;
use crate::exit::Failure;
use crate::output;
use crate::progress::ProgressLine;
use crate::reconnect;

/// The events that are being sent to the hub.
pub(super) struct Sending<'a> {
    arguments: &'a Publish,
    communicator: &'a Communicator,
    publisher: Proxy,
    /// True until an event was sent to the publisher object, since the hub last said that it is there.
    is_fresh: bool,
    /// True if there may be events in the batch.
    has_collected: bool,
    window: Window<Result<Option<Outcome>, InvokeError>, Connection>,
    /// The events in the window, in their order.
    under_way: VecDeque<Event>,
    /// Events that were lost with a connection, and later events that wait behind them, in their order.
    unsent: VecDeque<Event>,
    /// The number of events that were passed to [`Sending::send`].
    pub(super) begun: u64,
    /// The number of events that the hub has accepted. Without answers, those that the transport has accepted.
    pub(super) published: u64,
    /// The number of batched events that were lost with a connection.
    pub(super) lost: u64,
    /// How often in a row the hub came back, and was lost again before it had accepted an event.
    fruitless: u32,
    /// The value of `published` when the hub came back last.
    published_before: u64,
    pub(super) progress: ProgressLine,
    start: Instant,
    shown: Instant,
}

/// How often the progress is shown.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Parameters from this length on may be too long for a hub with the default limit of 1 MiB: the head of the message counts, too.
const LONG: usize = 1024 * 1024 - 4 * 1024;

impl<'a> Sending<'a> {
    pub(super) fn new(
        arguments: &'a Publish,
        communicator: &'a Communicator,
        publisher: Proxy,
    ) -> Self {
        let now = Instant::now();
        Self {
            arguments,
            communicator,
            publisher,
            is_fresh: true,
            has_collected: false,
            window: Window::new(),
            under_way: VecDeque::new(),
            unsent: VecDeque::new(),
            begun: 0,
            published: 0,
            lost: 0,
            fruitless: 0,
            published_before: 0,
            progress: ProgressLine::new(),
            start: now,
            shown: now,
        }
    }

    /// Begins to send an event, once there is room for it.
    ///
    /// # Errors
    /// The hub declines an event, or the hub is lost and the user does not want to reconnect.
    pub(super) async fn send(&mut self, event: Event) -> Result<(), Failure> {
        self.begun += 1;
        self.begin(event).await?;
        match self.unsent.is_empty() {
            true => Ok(()),
            false => self.recover().await,
        }
    }

    async fn begin(&mut self, event: Event) -> Result<(), Failure> {
        if !event.context.is_empty() {
            // It cannot be in a batch with others: a batch belongs to a proxy, which has one context. The batch goes first,
            // and may lose the connection, which the event then has to know.
            self.flush().await?;
        }
        let len_max = match self.arguments.is_answered() {
            true => window::len_max(event.parameters.len()),
            false => 1,
        };
        let mut connection = self.publisher.ice_cached_connection();
        while !self.window.has_room(connection.as_ref(), len_max) {
            self.settle().await?;
            connection = self.publisher.ice_cached_connection();
        }
        if !self.unsent.is_empty() {
            // Those before it may be lost, too, and go first.
            self.drain().await?;
            self.unsent.push_back(event);
            return Ok(());
        }
        if connection.is_none() {
            self.look_up_if_unanswered().await?;
            connection = match self.publisher.ice_connection().await {
                Ok(made) => made,
                Err(error) => return self.failed(event, error),
            };
        }
        let publisher = match event.context.is_empty() {
            true => {
                self.has_collected = true;
                self.publisher.clone()
            }
            false => {
                let mut context: Context = self.arguments.context.iter().cloned().collect();
                context.extend(event.context.clone());
                let publisher = self.publisher.ice_context(context);
                match self.arguments.batch {
                    true => publisher.ice_oneway(),
                    false => publisher,
                }
            }
        };
        self.is_fresh = false;
        let (operation, parameters) = (event.operation.clone(), event.parameters.clone());
        let sent = async move {
            let (name, mode) = (operation.name(), operation.mode());
            publisher.invoke(name, mode, &parameters).await
        };
        self.under_way.push_back(event);
        self.window.start(connection, sent).await;
        match self.arguments.is_answered() {
            true => Ok(()),
            false => self.settle().await,
        }
    }

    /// Asks for the publisher object again after a connection has ended. Without answers, nobody says that a hub which was
    /// started again does not know the topic any more.
    async fn look_up_if_unanswered(&mut self) -> Result<(), Failure> {
        let (arguments, communicator) = (self.arguments, self.communicator);
        if self.is_fresh || arguments.is_answered() {
            return Ok(());
        }
        let mut found = arguments.publisher(communicator).await;
        if let Err(failure) = &found
            && arguments.reconnect.is_wanted()
        {
            self.progress.clear();
            output::talk(format_args!(
                "lost the hub or the topic: {}; trying again",
                failure.message()
            ));
            found = reconnect::until_it_succeeds(async || arguments.publisher(communicator).await)
                .await;
            if found.is_ok() {
                output::talk("the hub is back");
            }
        }
        self.found(found?);
        Ok(())
    }

    /// The hub says that the publisher object is there. The old proxy may have collected events, and keeps them.
    fn found(&mut self, publisher: Proxy) {
        if self.publisher.reference() != publisher.reference() {
            self.publisher = publisher;
        }
        self.is_fresh = true;
    }

    /// Waits for `next` and returns its value. Meanwhile it takes the replies to the events under way, and sends again those
    /// that are lost: their failure does not wait for another event.
    ///
    /// # Errors
    /// As [`Sending::send`].
    pub(super) async fn meanwhile<T>(
        &mut self,
        next: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut next = pin!(next);
        while self.window.len() > 0 {
            tokio::select! {
                biased;
                given = &mut next => return Ok(given),
                settled = self.settle() => settled?,
            }
            self.recover().await?;
        }
        Ok(next.await)
    }

    /// Waits for the oldest event in the window. Cancelled, it loses nothing.
    async fn settle(&mut self) -> Result<(), Failure> {
        let Some(result) = self.window.next().await else {
            return Ok(());
        };
        let event = self.under_way.pop_front();
        match (result, event) {
            (Ok(_), _) => self.published += 1,
            (Err(error), Some(event)) => return self.failed(event, error),
            (Err(error), None) => return Err(self.arguments.not_accepted(error)),
        }
        if self.published.is_multiple_of(64) && self.shown.elapsed() >= PROGRESS_INTERVAL {
            self.shown = Instant::now();
            let rate = self.published as f64 / self.start.elapsed().as_secs_f64();
            let events = events(self.published);
            self.progress
                .rewrite(format_args!("published {events}, {rate:.0} a second"));
        }
        Ok(())
    }

    /// Keeps an event that was lost with a connection, so that it is sent again.
    ///
    /// # Errors
    /// The event failed in another way, or the user does not want to reconnect.
    fn failed(&mut self, event: Event, error: InvokeError) -> Result<(), Failure> {
        if !self.arguments.reconnect.is_wanted() || !is_lost(&error) {
            return Err(self.arguments.not_accepted(error));
        }
        let len = event.parameters.len();
        if self.fruitless > 0 && self.published == self.published_before && len >= LONG {
            // A hub ends the connection at a message that is too long for it, without an answer. The error says so.
            let failure = self.arguments.not_accepted(error);
            return Err(failure.help(format_args!(
                "the event has {len} bytes, and the connection was lost with it more than once"
            )));
        }
        self.progress.clear();
        if self.unsent.is_empty() {
            let reason = readable(&error.to_string());
            output::talk(format_args!(
                "lost the hub or the topic: {reason}; trying again"
            ));
        }
        self.count_lost_batch(&error);
        self.unsent.push_back(event);
        Ok(())
    }

    /// Connects to the hub again, and sends the lost events again.
    async fn recover(&mut self) -> Result<(), Failure> {
        while !self.unsent.is_empty() {
            self.drain().await?;
            let (arguments, communicator) = (self.arguments, self.communicator);
            let found =
                reconnect::until_it_succeeds(async || arguments.publisher(communicator).await);
            self.found(found.await?);
            self.pause_if_fruitless().await;
            let again = std::mem::take(&mut self.unsent);
            output::talk(format_args!(
                "the hub is back: publishing {} again",
                events(again.len() as u64)
            ));
            for event in again {
                self.begin(event).await?;
            }
        }
        Ok(())
    }

    /// Waits a moment if the hub has accepted no event since it came back last: it may be lost again immediately.
    async fn pause_if_fruitless(&mut self) {
        match self.published > self.published_before {
            true => self.fruitless = 0,
            false => self.fruitless += 1,
        }
        self.published_before = self.published;
        if self.fruitless > 1 {
            tokio::time::sleep(reconnect::pause(self.fruitless - 2)).await;
        }
    }

    /// Waits for all events in the window, also after one of them has failed.
    ///
    /// # Errors
    /// The first failure.
    pub(super) async fn drain(&mut self) -> Result<(), Failure> {
        let mut result = Ok(());
        while self.window.len() > 0 {
            let settled = self.settle().await;
            result = result.and(settled);
        }
        result
    }

    /// Waits for all events, and sends lost ones again.
    ///
    /// # Errors
    /// As [`Sending::send`].
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        loop {
            self.drain().await?;
            if self.unsent.is_empty() {
                return self.flush().await;
            }
            self.recover().await?;
        }
    }

    /// Sends the collected batch. If the connection is lost, the events of the batch count as lost.
    ///
    /// # Errors
    /// As [`Sending::send`].
    pub(super) async fn flush(&mut self) -> Result<(), Failure> {
        if !self.arguments.batch || !std::mem::take(&mut self.has_collected) {
            return Ok(());
        }
        if self.publisher.ice_cached_connection().is_none() {
            self.look_up_if_unanswered().await?;
        }
        match self.publisher.flush_batch().await {
            Err(error) if self.arguments.reconnect.is_wanted() && is_lost(&error) => {
                self.progress.clear();
                let reason = readable(&error.to_string());
                output::talk(format_args!("lost the hub: {reason}; trying again"));
                self.count_lost_batch(&error);
                Ok(())
            }
            flushed => flushed.map_err(|error| self.arguments.hub.unanswered(error.into())),
        }
    }

    fn count_lost_batch(&mut self, error: &InvokeError) {
        if let Some(LocalError::BatchLost { count, .. }) = local(error) {
            self.lost += *count as u64;
            self.published = self.published.saturating_sub(*count as u64);
        }
    }
}

/// Returns true if the connection is lost, or the hub has restarted without the topic. Both may come back.
fn is_lost(error: &InvokeError) -> bool {
    let is_missing = matches!(
        error,
        InvokeError::System(SystemException::ObjectNotExist(_))
    );
    is_missing || local(error).is_some_and(is_of_connection)
}

/// Returns true if the connection failed. A timeout of the invocation does not count, because a slow hub may have the
/// event.
fn is_of_connection(error: &LocalError) -> bool {
    match error {
        LocalError::BatchLost { source, .. } => is_of_connection(source),
        LocalError::Connect { .. }
        | LocalError::ConnectTimeout { .. }
        | LocalError::ConnectionLost { .. }
        | LocalError::ClosedByPeer { .. } => true,
        _ => false,
    }
}

fn local(error: &InvokeError) -> Option<&LocalError> {
    match error {
        InvokeError::NotDispatched(error) | InvokeError::PerhapsDispatched(error) => Some(error),
        _ => None,
    }
}
