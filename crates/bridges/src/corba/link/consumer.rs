//! A push consumer: gets the events of its own subscription, in order, and answers each push before it gets more than the
//! window allows.
//!
//! | answer | what follows |
//! |---|---|
//! | returned | the event is delivered |
//! | `Disconnected`, OBJECT_NOT_EXIST, INV_OBJREF | the consumer is gone: disconnected at once |
//! | TRANSIENT, COMM_FAILURE, NO_RESPONSE, TIMEOUT, NO_RESOURCES; no connection; no answer | tried again, up to the patience |
//! | any other exception | this event is refused by the consumer, and counted |
//! | location forward | tried at the other reference, judged as the first one |

use std::sync::Arc;
use std::time::Duration;

use floe_giop::cdr::EncodeError;
use floe_giop::connection::SendError;
use floe_giop::message::{Outcome, Reply};
use floe_giop::reference::Ior;
use floe_giop::system_exception::SystemExceptionKind as Kind;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::outgoing::{Outgoing, OutgoingError, Reach};
use crate::corba::mapping::{EventForm, FormError};
use crate::core::account::Reason;
use crate::hub::{Deliveries, Delivery, Port};

/// How consumers of a channel are served.
#[derive(Debug, Clone)]
pub(in crate::corba) struct ConsumerSettings {
    pub(in crate::corba) reach: Reach,
    /// Pushes without an answer.
    pub(in crate::corba) window: usize,
    /// How long one is tried that cannot be reached.
    pub(in crate::corba) patience: Duration,
}

/// A connected consumer.
pub(in crate::corba) struct Consumer {
    pub(in crate::corba) port: Port,
    pub(in crate::corba) form: Arc<EventForm>,
    pub(in crate::corba) settings: ConsumerSettings,
    /// As it came.
    given: Ior,
    /// Where it is now: a forward may have led elsewhere.
    reference: Ior,
    /// What it is called in the log.
    name: String,
    outgoing: Option<Outgoing>,
    /// Forwards in a row.
    forwards: usize,
    /// True when it has disconnected itself. What it has not answered yet is still waited for.
    has_left: watch::Receiver<bool>,
}

/// Why a consumer gets no more events.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Gone {
    /// It says so.
    Disconnected(String),
    /// It cannot be reached.
    Unreachable(String),
}

/// The events of a batch, and which of them are done with.
struct Batch {
    events: Vec<Delivery>,
    is_done: Vec<bool>,
}

/// The first wait before a consumer is tried again; it doubles.
const BACK_OFF_MIN: Duration = Duration::from_millis(50);
/// The longest wait.
const BACK_OFF_MAX: Duration = Duration::from_secs(5);
/// The most forwards in a row.
const FORWARDS_MAX: usize = 4;
/// The time for a goodbye.
const GOODBYE_LIMIT: Duration = Duration::from_secs(1);

impl Consumer {
    pub(in crate::corba) fn new(
        port: Port,
        form: Arc<EventForm>,
        settings: ConsumerSettings,
        reference: Ior,
        has_left: watch::Receiver<bool>,
    ) -> Self {
        Self {
            port,
            form,
            settings,
            name: reference.to_string(),
            given: reference.clone(),
            reference,
            outgoing: None,
            forwards: 0,
            has_left,
        }
    }

    /// Delivers events until the consumer is gone, or the bridge ends. May be cancelled; events without an answer are then
    /// not acknowledged to the hub.
    pub(in crate::corba) async fn serve(&mut self, mut deliveries: Deliveries) {
        let mut has_left = self.has_left.clone();
        loop {
            let events = tokio::select! {
                events = deliveries.next_batch() => events,
                _ = has_left.wait_for(|has_left| *has_left) => return,
            };
            let Some(events) = events else { return };
            let mut batch = Batch {
                is_done: vec![false; events.len()],
                events,
            };
            if let Err(gone) = self.deliver(&mut batch).await {
                let (topic, name) = (self.port.topic(), &self.name);
                match gone {
                    Gone::Disconnected(why) => {
                        tracing::info!(topic, "consumer {name} has disconnected itself: {why}");
                    }
                    Gone::Unreachable(why) => {
                        let left = batch.left();
                        self.port.account().refuse(Reason::WorldAway, left);
                        tracing::warn!(
                            topic,
                            "consumer {name} is disconnected, because it could not be reached for {} s, and {left} events are lost: {why}",
                            self.settings.patience.as_secs()
                        );
                    }
                }
                return;
            }
        }
    }

    /// Tells the consumer that it gets no more events, if it hears.
    pub(in crate::corba) async fn say_goodbye(&self) {
        say_goodbye(
            &self.given,
            &self.settings.reach,
            "disconnect_push_consumer",
        )
        .await;
    }

    async fn deliver(&mut self, batch: &mut Batch) -> Result<(), Gone> {
        let mut wait = BACK_OFF_MIN;
        let mut failing_since: Option<Instant> = None;
        while batch.left() > 0 {
            self.check_left()?;
            let left = batch.left();
            let was_open = self.outgoing.is_some();
            let Err(failure) = self.try_deliver(batch).await else {
                continue;
            };
            self.outgoing = None;
            let why = match failure {
                Failure::Gone(gone) => return Err(gone),
                Failure::Again => continue,
                Failure::Later(why) => why,
            };
            self.reference.clone_from(&self.given);
            if batch.left() < left {
                // It takes events.
                (failing_since, wait) = (None, BACK_OFF_MIN);
            }
            if was_open && failing_since.is_none() {
                // A connection that was idle may have been closed by either side.
                failing_since = Some(Instant::now());
                continue;
            }
            let since = *failing_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.settings.patience {
                return Err(Gone::Unreachable(why));
            }
            tracing::debug!(topic = self.port.topic(), "consumer {}: {why}", self.name);
            sleep(wait.min(self.settings.patience)).await;
            wait = (wait * 2).min(BACK_OFF_MAX);
        }
        Ok(())
    }

    fn check_left(&self) -> Result<(), Gone> {
        match *self.has_left.borrow() {
            true => Err(Gone::Disconnected("it said so".to_owned())),
            false => Ok(()),
        }
    }

    /// Pushes what is not done, until all is or something fails.
    async fn try_deliver(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let mut outgoing = match self.outgoing.take() {
            Some(outgoing) => outgoing,
            None => {
                let settings = &self.settings;
                Outgoing::open(&self.reference, &settings.reach, settings.window).await?
            }
        };
        let mut next = 0;
        loop {
            if outgoing.in_flight() == 0 {
                self.check_left()?;
            }
            let may_push = !*self.has_left.borrow();
            let end = if may_push { batch.events.len() } else { next };
            while outgoing.in_flight() < self.settings.window && next < end {
                if !batch.is_done[next] {
                    self.push(&mut outgoing, batch, next)?;
                }
                next += 1;
            }
            outgoing.flush().await?;
            if outgoing.in_flight() == 0 && next == batch.events.len() {
                self.outgoing = Some(outgoing);
                return Ok(());
            }
            if outgoing.in_flight() > 0 {
                let (number, reply) = outgoing.reply().await?;
                self.hear(batch, number, reply)?;
            }
        }
    }

    /// Appends the push of an event, unless it cannot be said.
    fn push(
        &self,
        outgoing: &mut Outgoing,
        batch: &mut Batch,
        number: usize,
    ) -> Result<(), Failure> {
        let event = &batch.events[number];
        let mut unsaid = None;
        let sent = outgoing.call("push", number, |encoder| {
            let encoded = self.form.encode(event.kind, &event.parameters, encoder);
            encoded.map_err(|error| {
                unsaid = Some(error);
                EncodeError::NotOfType("an event that CORBA can say")
            })
        });
        match (sent, unsaid) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(error)) => {
                self.refuse(&error);
                batch.is_done[number] = true;
                Ok(())
            }
            (Err(SendError::Encode(error)), None) => {
                self.refuse(&FormError::CannotBeSaid(error.to_string()));
                batch.is_done[number] = true;
                Ok(())
            }
            (Err(error), None) => Err(Failure::Later(error.to_string())),
        }
    }

    fn refuse(&self, error: &FormError) {
        let reason = match error {
            FormError::NotOfContract(_) => Reason::NotOfContract,
            _ => Reason::CannotBeSaid,
        };
        self.port.account().refuse(reason, 1);
        tracing::warn!(
            topic = self.port.topic(),
            "an event is not pushed to consumer {}: {error}",
            self.name
        );
    }

    fn hear(&mut self, batch: &mut Batch, number: usize, reply: Reply) -> Result<(), Failure> {
        let account = self.port.account();
        let outcome = reply.outcome();
        let outcome = outcome.map_err(|error| Failure::Later(error.to_string()))?;
        let refused = match outcome {
            Outcome::Results(_) => {
                batch.is_done[number] = true;
                self.forwards = 0;
                account.send_out(1);
                return Ok(());
            }
            Outcome::UserException { id, .. } if id == DISCONNECTED_ID => {
                return Err(Failure::Gone(Gone::Disconnected(
                    "it raised Disconnected".to_owned(),
                )));
            }
            Outcome::UserException { id, .. } => id.escape_debug().to_string(),
            Outcome::SystemException(exception) => match exception.kind {
                Kind::ObjectNotExist | Kind::InvObjref => {
                    return Err(Failure::Gone(Gone::Disconnected(exception.to_string())));
                }
                Kind::Transient
                | Kind::CommFailure
                | Kind::NoResponse
                | Kind::NoResources
                | Kind::Timeout => return Err(Failure::Later(exception.to_string())),
                _ => exception.to_string(),
            },
            Outcome::Forward { reference, .. } if self.forwards < FORWARDS_MAX => {
                self.forwards += 1;
                self.reference = reference;
                return Err(Failure::Again);
            }
            Outcome::Forward { .. } => {
                return Err(Failure::Later("it forwards in a circle".to_owned()));
            }
            Outcome::NeedsAddressingMode(_) => {
                "it asks for a reference in each request, which is not supported".to_owned()
            }
        };
        batch.is_done[number] = true;
        account.refuse(Reason::RefusedThere, 1);
        let (topic, name) = (self.port.topic(), &self.name);
        tracing::warn!(topic, "consumer {name} has refused an event: {refused}");
        Ok(())
    }
}

impl Batch {
    fn left(&self) -> u64 {
        self.is_done.iter().filter(|is_done| !**is_done).count() as u64
    }
}

/// Why a try ended.
enum Failure {
    /// Try again at once: the consumer is elsewhere.
    Again,
    /// Try again later.
    Later(String),
    Gone(Gone),
}

impl From<Gone> for Failure {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}

impl From<OutgoingError> for Failure {
    fn from(error: OutgoingError) -> Self {
        Self::Later(error.to_string())
    }
}

const DISCONNECTED_ID: &str = "IDL:omg.org/CosEventComm/Disconnected:1.0";

/// Calls an operation that ends a connection of CosEvent, and waits a moment for its reply.
pub(in crate::corba) async fn say_goodbye(reference: &Ior, reach: &Reach, operation: &str) {
    let goodbye = async {
        let mut outgoing = Outgoing::open(reference, reach, 1).await?;
        let sent = outgoing.call(operation, 0, |_| Ok(()));
        sent.map_err(|error| OutgoingError::Broken(error.to_string()))?;
        outgoing.flush().await?;
        outgoing.reply().await.map(drop)
    };
    match tokio::time::timeout(GOODBYE_LIMIT, goodbye).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("{reference} does not hear {operation}: {error}"),
        Err(_) => tracing::debug!("{reference} does not hear {operation} in time"),
    }
}
