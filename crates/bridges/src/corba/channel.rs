//! An event channel over a topic: suppliers publish to the topic, and each consumer is a subscription of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use floe::hub::Qos;
use floe_giop::cdr::{Decoder, Encoder};
use floe_giop::cos::event::{ChannelEvent, ConsumerId, EventChannel, ProxyId};
use floe_giop::cos::{Raised, References};
use floe_giop::message::Body;
use floe_giop::reference::Ior;
use floe_giop::system_exception::SystemExceptionKind as Kind;
use tokio::sync::{OnceCell, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::link::consumer::{Consumer, ConsumerSettings, say_goodbye};
use super::link::outgoing::OutgoingError;
use super::link::visitor::Visitor;
use super::mapping::{EventForm, FormError};
use super::refusal::Refusal;
use crate::core::account::Reason;
use crate::hub::{Port, Publisher};

/// The most suppliers of a channel. Beyond it, the one that was silent for the longest time and whose connection has ended
/// gives way: a program that crashed did not disconnect itself.
pub(super) const SUPPLIERS_MAX: usize = 1_024;

/// The most proxies of a channel that nobody has connected, and whose connection has ended; the oldest goes.
pub(super) const ORPHANS_MAX: usize = 256;

/// A channel.
pub(super) struct Channel {
    port: Port,
    form: Arc<EventForm>,
    consumers: ConsumerSettings,
    consumers_max: usize,
    /// True when the bridge ends.
    ending: watch::Receiver<bool>,
    state: Mutex<State>,
}

struct State {
    channel: EventChannel,
    suppliers: HashMap<u64, Arc<Supplier>>,
    /// Those that are connected.
    consumers: HashMap<ConsumerId, Connected>,
    /// Proxies that nobody had connected when the connection ended by which they were obtained, oldest first.
    orphans: VecDeque<ProxyId>,
}

/// A consumer that is connected.
struct Connected {
    task: JoinHandle<()>,
    has_left: watch::Sender<bool>,
}

/// A supplier, from when it got its proxy.
struct Supplier {
    visitor: std::sync::Weak<Visitor>,
    heard: Mutex<Instant>,
    /// Its publisher, from its first event on.
    publisher: OnceCell<Publisher>,
}

impl Channel {
    pub(super) fn new(
        port: Port,
        references: &References,
        first: u64,
        consumers: ConsumerSettings,
        consumers_max: usize,
        ending: watch::Receiver<bool>,
    ) -> Self {
        let key = Bytes::copy_from_slice(port.name().as_bytes());
        Self {
            form: Arc::new(EventForm::new(port.events())),
            consumers,
            consumers_max,
            ending,
            state: Mutex::new(State {
                channel: EventChannel::counting_from(first, references.clone(), key),
                suppliers: HashMap::new(),
                consumers: HashMap::new(),
                orphans: VecDeque::new(),
            }),
            port,
        }
    }

    /// The name of the channel.
    pub(super) fn name(&self) -> &str {
        self.port.name()
    }

    /// The reference to the channel.
    pub(super) fn reference(&self) -> Ior {
        self.state().channel.reference()
    }

    /// True if the object with this key is, or was, one of the channel.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.state().channel.has(key)
    }

    /// The consumers that are connected.
    pub(super) fn consumer_count(&self) -> usize {
        self.state().consumers.len()
    }

    /// Executes an operation. May be cancelled.
    pub(super) async fn execute(
        self: &Arc<Self>,
        visitor: &Arc<Visitor>,
        key: &[u8],
        operation: &str,
        body: &Body,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        match operation {
            "push" => self.push(visitor, key, body).await,
            "connect_push_consumer" => self.connect_consumer(key, body, results).await,
            _ => self.execute_at_once(visitor, key, operation, body, results),
        }
    }

    /// Publishes the event of a supplier; returns when the hub has it.
    async fn push(&self, visitor: &Visitor, key: &[u8], body: &Body) -> Result<(), Raised> {
        let (number, supplier) = self.supplier(key)?;
        let event = self.form.decode(&mut body.decoder());
        let (kind, parameters) = event.map_err(|error| {
            self.port.account().refuse(Reason::Malformed, 1);
            let topic = self.port.topic();
            visitor.warn(|peer| {
                tracing::warn!(topic, "an event of {peer} is refused: {error}");
            });
            match error {
                FormError::OtherType { .. } => Refusal::OtherType,
                _ => Refusal::Malformed,
            }
        })?;
        let participant = || format!("{} {number}", visitor.address());
        let publisher = supplier.publisher.get_or_try_init(async || {
            let publisher = self.port.publisher(&participant()).await;
            publisher.map_err(|error| {
                let refusal = Refusal::of_hub(&error);
                let reason = match refusal {
                    Refusal::HubAway => Reason::HubAway,
                    _ => Reason::RefusedByHub,
                };
                self.port.account().refuse(reason, 1);
                self.warn_of_hub(visitor, &error);
                refusal
            })
        });
        let publisher = publisher.await?;
        let kind = &self.form.events().kinds()[kind];
        let published = publisher.publish(kind, &parameters).await;
        published.map_err(|error| {
            self.warn_of_hub(visitor, &error);
            Refusal::of_publishing(&error).into()
        })
    }

    fn warn_of_hub(&self, visitor: &Visitor, error: &dyn std::fmt::Display) {
        let topic = self.port.topic();
        visitor.warn(|peer| tracing::warn!(topic, "an event of {peer} is not published: {error}"));
    }

    /// The supplier whose proxy has this key, if it is connected.
    fn supplier(&self, key: &[u8]) -> Result<(u64, Arc<Supplier>), Raised> {
        let state = self.state();
        let number = match state.channel.proxy(key) {
            Some((ProxyId::Supplier(number), Some(_))) => number,
            Some((ProxyId::Supplier(_), None)) => {
                return Err(Raised::user(
                    "omg.org/CosEventComm",
                    "Disconnected",
                    Vec::new(),
                ));
            }
            Some((ProxyId::Consumer(_), _)) => return Err(Raised::system(Kind::BadOperation)),
            None if state.channel.has(key) && !is_of_proxy(key) => {
                return Err(Raised::system(Kind::BadOperation));
            }
            None => return Err(Raised::system(Kind::ObjectNotExist)),
        };
        let supplier = state.suppliers.get(&number);
        let supplier = supplier.ok_or_else(|| Raised::system(Kind::ObjectNotExist))?;
        *lock(&supplier.heard) = Instant::now();
        Ok((number, Arc::clone(supplier)))
    }

    /// Connects a consumer: it gets the events from now on.
    async fn connect_consumer(
        self: &Arc<Self>,
        key: &[u8],
        body: &Body,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        let reference = Ior::decode(&mut body.decoder())?;
        let is_free = matches!(
            self.state().channel.proxy(key),
            Some((ProxyId::Consumer(_), None))
        );
        if !is_free || reference.is_nil() {
            // The channel says why not.
            return self
                .dispatch(key, "connect_push_consumer", body, results)
                .map(drop);
        }
        if self.consumer_count() >= self.consumers_max {
            return Err(Refusal::TooMany.into());
        }
        let judged = self.consumers.reach.judge(&reference).await;
        judged.map_err(|error| {
            let topic = self.port.topic();
            tracing::warn!(topic, "a consumer is refused: {error}");
            match error {
                OutgoingError::NotAllowed(_) => Refusal::ConsumerNotAllowed,
                _ => Refusal::ConsumerNotFound,
            }
        })?;
        let deliveries = self.port.subscribe(Qos::new()).await;
        let deliveries = deliveries.map_err(|error| {
            let topic = self.port.topic();
            tracing::warn!(
                topic,
                "a consumer is refused, because there is no subscription: {error}"
            );
            Refusal::of_hub(&error)
        })?;
        let mut state = self.state();
        if *self.ending.borrow() {
            return Err(Refusal::Ending.into());
        }
        if state.consumers.len() >= self.consumers_max {
            return Err(Refusal::TooMany.into());
        }
        let mut decoder = body.decoder();
        let connected =
            state
                .channel
                .dispatch(key, "connect_push_consumer", &mut decoder, results)?;
        let Some(ChannelEvent::Connected(id, reference)) = connected else {
            return Ok(());
        };
        tracing::info!(
            topic = self.port.topic(),
            "consumer {reference} is connected"
        );
        let port = self.port.clone();
        let form = Arc::clone(&self.form);
        let (has_left, leaves) = watch::channel(false);
        let mut consumer = Consumer::new(port, form, self.consumers.clone(), reference, leaves);
        let channel = Arc::clone(self);
        let mut ending = self.ending.clone();
        let task = tokio::spawn(async move {
            let is_ending = tokio::select! {
                () = consumer.serve(deliveries) => false,
                _ = ending.wait_for(|is_ending| *is_ending) => true,
            };
            match is_ending {
                true => consumer.say_goodbye().await,
                false => channel.forget_consumer(id),
            }
        });
        state.consumers.insert(id, Connected { task, has_left });
        Ok(())
    }

    fn forget_consumer(&self, id: ConsumerId) {
        let mut state = self.state();
        state.channel.remove(ProxyId::Consumer(id));
        state.consumers.remove(&id);
    }

    fn execute_at_once(
        &self,
        visitor: &Arc<Visitor>,
        key: &[u8],
        operation: &str,
        body: &Body,
        results: &mut Encoder,
    ) -> Result<(), Raised> {
        let direction = self.port.direction();
        match operation {
            "destroy" if key == self.name().as_bytes() => return Err(Refusal::ReadOnly.into()),
            "obtain_push_consumer" if !direction.is_in() => return Err(Refusal::Direction.into()),
            "obtain_push_supplier" if !direction.is_out() => return Err(Refusal::Direction.into()),
            "obtain_push_consumer" | "obtain_push_supplier" if !visitor.may_obtain() => {
                return Err(Refusal::TooMany.into());
            }
            "obtain_push_consumer" => self.make_room()?,
            _ => {}
        }
        match self.dispatch(key, operation, body, results)? {
            Some(ChannelEvent::Obtained(proxy)) => {
                if let ProxyId::Supplier(number) = proxy {
                    let supplier = Supplier {
                        visitor: Arc::downgrade(visitor),
                        heard: Mutex::new(Instant::now()),
                        publisher: OnceCell::new(),
                    };
                    self.state().suppliers.insert(number, Arc::new(supplier));
                }
                visitor.obtained(self.name(), proxy);
            }
            Some(ChannelEvent::Disconnected(id)) => {
                // Its task ends when what it was given is answered.
                if let Some(consumer) = self.state().consumers.remove(&id) {
                    consumer.has_left.send_replace(true);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(
        &self,
        key: &[u8],
        operation: &str,
        body: &Body,
        results: &mut Encoder,
    ) -> Result<Option<ChannelEvent>, Raised> {
        let mut state = self.state();
        let supplier = match state.channel.proxy(key) {
            Some((ProxyId::Supplier(number), _)) => Some(number),
            _ => None,
        };
        let mut arguments: Decoder<'_> = body.decoder();
        let event = state
            .channel
            .dispatch(key, operation, &mut arguments, results)?;
        if let Some(number) = supplier.filter(|_| state.channel.proxy(key).is_none()) {
            state.suppliers.remove(&number);
        }
        Ok(event)
    }

    /// If there are as many suppliers as there may be, one that is probably gone gives way.
    fn make_room(&self) -> Result<(), Raised> {
        let mut state = self.state();
        if state.suppliers.len() < SUPPLIERS_MAX {
            return Ok(());
        }
        let suppliers = state.suppliers.iter();
        let silent = suppliers.filter(|(_, supplier)| supplier.visitor.strong_count() == 0);
        let oldest = silent.min_by_key(|(_, supplier)| *lock(&supplier.heard));
        let Some((number, _)) = oldest else {
            return Err(Refusal::TooMany.into());
        };
        let number = *number;
        state.suppliers.remove(&number);
        state.channel.remove(ProxyId::Supplier(number));
        Ok(())
    }

    /// True if a proxy is there and connected.
    pub(super) fn is_connected(&self, proxy: ProxyId) -> bool {
        self.state().channel.is_connected(proxy)
    }

    /// A connection has ended, by which this proxy was obtained and not connected. It stays, because its reference may have
    /// been given away, until there are too many such.
    pub(super) fn orphan(&self, proxy: ProxyId) {
        let mut state = self.state();
        state.orphans.push_back(proxy);
        if state.orphans.len() <= ORPHANS_MAX {
            return;
        }
        let Some(oldest) = state.orphans.pop_front() else {
            return;
        };
        if !state.channel.is_connected(oldest) {
            state.channel.remove(oldest);
            if let ProxyId::Supplier(number) = oldest {
                state.suppliers.remove(&number);
            }
        }
    }

    /// Tells suppliers and consumers that the channel ends, and waits for the consumers' tasks. `ending` is true by now.
    pub(super) async fn end(&self) {
        let (tasks, suppliers): (Vec<_>, Vec<_>) = {
            let mut state = self.state();
            state.suppliers.clear();
            let suppliers = state.channel.suppliers().cloned().collect();
            (
                state.consumers.drain().map(|(_, it)| it.task).collect(),
                suppliers,
            )
        };
        let mut goodbyes = JoinSet::new();
        for supplier in suppliers {
            let reach = self.consumers.reach.clone();
            goodbyes.spawn(async move {
                say_goodbye(&supplier, &reach, "disconnect_push_supplier").await;
            });
        }
        for task in tasks {
            // A task that panicked has nothing to say.
            let _ = task.await;
        }
        while goodbyes.join_next().await.is_some() {}
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.consumers.values().for_each(|it| it.task.abort());
    }
}

/// True if a key ends in the number of a proxy.
fn is_of_proxy(key: &[u8]) -> bool {
    key.last().is_some_and(u8::is_ascii_digit)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
