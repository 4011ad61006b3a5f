//! The durable topics of a hub: their logs, the positions of subscriptions, and events that are pulled.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use floe::contracts::ice::LongSeq;
use floe::contracts::ice_storm::{NoSuchTopic, QoS, TopicExists};
use floe::forwarding::{Event, EventParts};
use floe::{Current, InvocationMode, InvokeError, SystemException};
use floe_access::Action;

use super::topic_for;
use crate::blocking_work::{self, WorkKind};
use crate::contracts::floe::{
    BadRequest,
    BadRequestOrIceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as PositionError,
    BadRequestOrIceStormNoSuchTopicOrNotDurableError as LocateError, DurableTopics,
    IceStormNoSuchTopicOrNoSuchSubscriptionOrNotDurableError as SubscriptionError,
    IceStormNoSuchTopicOrNotDurableError as LogError, IceStormTopicExistsError, LogContents,
    LoggedEvent, LoggedEventSeq, NoSuchSubscription, NotDurable, SubscriptionPosition,
};
use crate::core::durable::{NotAcknowledged, parse_start};
use crate::core::log::EventTime;
use crate::core::{Qos, QosError};
use crate::error::ChangeError;
use crate::service::count::number;
use crate::service::dead_letters;
use crate::service::durable::{Reader, TopicLog, pull};
use crate::service::registry::{Registry, check_may_pull, look_for_former, pull_identity};
use crate::service::topic::Topic;
use crate::store::StoreError;

pub(super) struct DurableTopicsServant {
    registry: Arc<Registry>,
}

/// The most events in one reply.
const EVENTS_MAX: i32 = 1000;
/// The longest wait for an event.
const WAIT_MAX: Duration = Duration::from_secs(30);

impl DurableTopicsServant {
    pub(super) fn new(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
        }
    }

    /// A durable topic and its log, if the caller may do this with it.
    fn topic<E>(
        &self,
        name: String,
        action: Action,
        current: &Current,
    ) -> Result<(Arc<Topic>, Arc<TopicLog>), E>
    where
        E: From<NoSuchTopic> + From<NotDurable> + From<InvokeError>,
    {
        let topic = topic_for::<E>(&self.registry, &name, action, current)?;
        match topic.log().cloned() {
            Some(log) => Ok((topic, log)),
            None => Err(NotDurable { name }.into()),
        }
    }

    fn subscription(
        &self,
        topic: String,
        name: String,
        current: &Current,
    ) -> Result<Arc<Reader>, SubscriptionError> {
        let (_, log) = self.topic::<SubscriptionError>(topic, Action::Subscribe, current)?;
        log.named(&name)
            .ok_or_else(|| NoSuchSubscription { name }.into())
    }

    /// Settles events that a program has refused.
    async fn refuse_all(&self, reader: &Reader, sequences: Vec<u64>) {
        let reason = "the subscriber refused it";
        for sequence in sequences {
            if let NotAcknowledged::Dead { attempts } = reader.handle_refused(sequence) {
                let directory = self.registry.directory();
                dead_letters::settle(reader, directory, sequence, attempts, reason).await;
            }
        }
    }
}

impl DurableTopics for DurableTopicsServant {
    async fn create(
        &self,
        name: String,
        current: &Current,
    ) -> Result<(), IceStormTopicExistsError> {
        let checked = self.registry.guard().check(current, Action::Create, &name);
        checked.map_err(InvokeError::from)?;
        let (wanted, user) = (name.clone(), self.registry.guard().user(current));
        let created = self
            .registry
            .change(move |registry| registry.create(wanted, true, user));
        match created.await {
            Ok(_) => Ok(()),
            Err(ChangeError::TopicExists) => Err(TopicExists { name }.into()),
            Err(error) => Err(InvokeError::from(error).into()),
        }
    }

    async fn contents(&self, topic: String, current: &Current) -> Result<LogContents, LogError> {
        let (topic, log) = self.topic::<LogError>(topic, Action::Observe, current)?;
        let contents = log.contents();
        let counts = topic.reader_counts();
        let subscriptions = log.all_named().into_iter().map(|reader| {
            let progress = reader.progress();
            let subscribers = counts.get(reader.name()).copied().unwrap_or(0);
            SubscriptionPosition {
                name: reader.name().to_owned(),
                position: number(progress.floor),
                next: number(progress.next),
                pending: number(progress.pending),
                behind: number(progress.waiting),
                subscribers: i32::try_from(subscribers).unwrap_or(i32::MAX),
                expired: number(progress.expired),
            }
        });
        Ok(LogContents {
            first: number(contents.first),
            next: number(contents.next),
            events: number(contents.events),
            bytes: number(contents.bytes),
            subscriptions: subscriptions.collect(),
        })
    }

    async fn locate(
        &self,
        topic: String,
        from: String,
        current: &Current,
    ) -> Result<i64, LocateError> {
        let (_, log) = self.topic::<LocateError>(topic, Action::Observe, current)?;
        let position = parse_start(&from).map_err(|reason| BadRequest { reason })?;
        let located = blocking(move || log.locate(position)).await?;
        Ok(number(located))
    }

    async fn read(
        &self,
        topic: String,
        from: i64,
        count: i32,
        current: &Current,
    ) -> Result<(LoggedEventSeq, i64), LogError> {
        let (_, log) = self.topic::<LogError>(topic, Action::Subscribe, current)?;
        let from = u64::try_from(from).unwrap_or(0);
        let clock = log.clock();
        let bytes = log.bytes_of_read(limited(count));
        let reading = blocking_work::run_read(bytes, move || log.read(from, limited(count)));
        let batch = answer(reading.await)?;
        let events = batch.events.iter().flat_map(floe::forwarding::Events::each);
        let stamped = batch.stamps.iter().zip(events);
        let stamped = stamped.filter(|(stamp, event)| !clock.is_over(stamp, event));
        let events = stamped.map(|(stamp, event)| logged(stamp.sequence, stamp.time, 0, &event));
        Ok((events.collect::<Result<_, _>>()?, number(batch.next)))
    }

    async fn set_position(
        &self,
        topic: String,
        name: String,
        from: String,
        current: &Current,
    ) -> Result<(), PositionError> {
        let (_, log) = self.topic::<PositionError>(topic, Action::Subscribe, current)?;
        let position = parse_start(&from).map_err(|reason| BadRequest { reason })?;
        let Some(reader) = log.named(&name) else {
            return Err(NoSuchSubscription { name }.into());
        };
        let set = move |reader: &Reader| {
            reader.set_position(log.locate(position)?);
            Ok(())
        };
        Ok(synced(reader, set).await?)
    }

    async fn remove_position(
        &self,
        topic: String,
        name: String,
        current: &Current,
    ) -> Result<(), SubscriptionError> {
        let (topic, log) = self.topic::<SubscriptionError>(topic, Action::Subscribe, current)?;
        if log.named(&name).is_none() {
            return Err(NoSuchSubscription { name }.into());
        }
        let removed = self
            .registry
            .change(move |registry| registry.forget(&topic, &log, &name));
        removed.await.map_err(InvokeError::from)?;
        Ok(())
    }

    async fn open_pull(
        &self,
        topic: String,
        qos: QoS,
        current: &Current,
    ) -> Result<(), LocateError> {
        let bad = |error: QosError| BadRequest {
            reason: error.to_string(),
        };
        let limits = self.registry.live_settings().limits;
        limits
            .check_qos(&qos)
            .map_err(|reason| BadRequest { reason })?;
        if let Some((name, parsed)) = Qos::parse_pull(&qos).map_err(bad)? {
            let topic =
                topic_for::<LocateError>(&self.registry, &topic, Action::Subscribe, current)?;
            let user = self.registry.guard().user(current);
            let opened = self
                .registry
                .change(move |registry| registry.open_queue_pull(&topic, &name, qos, parsed, user));
            return Ok(opened.await.map_err(InvokeError::from)?);
        }
        let (topic, _) = self.topic::<LocateError>(topic, Action::Subscribe, current)?;
        let mut parsed = Qos::parse(&qos, InvocationMode::Twoway).map_err(bad)?;
        match &mut parsed.reading {
            Some(reading) if reading.sticky.is_some() => {
                let reason = "invalid floe.sticky: expected none, because a subscription that is pulled cannot share by key";
                return Err(BadRequest {
                    reason: reason.to_owned(),
                }
                .into());
            }
            // The program that pulls acknowledges; the window of a subscriber does not apply.
            Some(reading) if reading.name.is_some() => reading.is_shared = true,
            _ => {
                let reason =
                    "expected the name of the subscription as floe.durable or floe.pull, got neither".to_owned();
                return Err(BadRequest { reason }.into());
            }
        }
        check_dead_letters(&self.registry, &topic, &parsed, current).map_err(InvokeError::from)?;
        look_for_former(&topic, None, &parsed).await;
        let user = self.registry.guard().user(current);
        let chooser = self.registry.guard().caller(current);
        let opened = self
            .registry
            .change(move |registry| registry.open_pull(&topic, &parsed, user, chooser));
        opened.await.map_err(InvokeError::from)?;
        Ok(())
    }

    async fn pull(
        &self,
        topic: String,
        name: String,
        count: i32,
        wait: i32,
        current: &Current,
    ) -> Result<LoggedEventSeq, SubscriptionError> {
        let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0)).min(WAIT_MAX);
        let known =
            topic_for::<SubscriptionError>(&self.registry, &topic, Action::Subscribe, current)?;
        let mut gone = pin!(gone(current));
        let queue = known.find(&pull_identity(&name));
        if let Some(pulls) = queue.as_ref().and_then(|queue| queue.pulls()) {
            let pulled = tokio::select! {
                biased;
                pulled = pulls.pull(limited(count), wait) => pulled,
                () = gone => Vec::new(),
            };
            let events = pulled.iter().flat_map(floe::forwarding::Events::each);
            let events = events.map(|event| logged(0, EventTime(0), 1, &event));
            return Ok(events.collect::<Result<_, _>>()?);
        }
        if known.log().is_none() {
            return Err(NoSuchSubscription { name }.into());
        }
        check_may_pull(&known, &name).map_err(InvokeError::from)?;
        let reader = self.subscription(topic, name, current)?;
        if reader.is_sticky() {
            let reason = "the subscription shares by key (floe.sticky) and cannot be pulled";
            let refused = SystemException::UnknownException(reason.to_owned());
            return Err(InvokeError::from(refused).into());
        }
        let _pulling = reader.begin_pull();
        let now = Instant::now();
        let until = now.checked_add(wait).unwrap_or(now);
        let pulled = loop {
            dead_letters::refuse_late_pulls(&reader, self.registry.directory()).await;
            let pulled = pull(&reader, limited(count), until, gone.as_mut()).await;
            let Some(pulled) = pulled else {
                break Vec::new();
            };
            if !pulled.is_empty() || Instant::now() >= until {
                break pulled;
            }
        };
        let events = pulled
            .iter()
            .map(|it| logged(it.sequence, it.time, it.attempt, &it.event));
        Ok(events.collect::<Result<_, _>>()?)
    }

    async fn acknowledge_to(
        &self,
        topic: String,
        name: String,
        sequence: i64,
        current: &Current,
    ) -> Result<(), SubscriptionError> {
        let reader = self.subscription(topic, name, current)?;
        let sequence = u64::try_from(sequence).unwrap_or(0);
        let acknowledge = move |reader: &Reader| {
            reader.handle_acknowledged_to(sequence);
            Ok(())
        };
        Ok(synced(reader, acknowledge).await?)
    }

    async fn acknowledge(
        &self,
        topic: String,
        name: String,
        sequences: LongSeq,
        current: &Current,
    ) -> Result<(), SubscriptionError> {
        let reader = self.subscription(topic, name, current)?;
        let acknowledge = move |reader: &Reader| {
            reader.handle_acknowledged(unsigned(&sequences));
            Ok(())
        };
        Ok(synced(reader, acknowledge).await?)
    }

    async fn refuse(
        &self,
        topic: String,
        name: String,
        sequences: LongSeq,
        current: &Current,
    ) -> Result<(), SubscriptionError> {
        let reader = self.subscription(topic, name, current)?;
        let sequences = unsigned(&sequences).collect();
        self.refuse_all(&reader, sequences).await;
        Ok(synced(reader, |_| Ok(())).await?)
    }
}

/// Refuses a caller that may not have its dead letters where it wants them. If their topic does not exist, the hub
/// creates it for the caller. If the caller has chosen the topic, it lets the hub publish there. The hub's own choice
/// is for the dead letters of this topic alone.
pub(super) fn check_dead_letters(
    registry: &Registry,
    topic: &Topic,
    qos: &Qos,
    current: &Current,
) -> Result<(), SystemException> {
    let reading = qos.reading.as_ref().filter(|_| topic.is_durable());
    let Some((reading, name)) =
        reading.and_then(|it| Some((it, it.dead_letters_of(topic.name())?)))
    else {
        return Ok(());
    };
    let guard = registry.guard();
    if registry.directory().topic(&name).is_none() {
        guard.check(current, Action::Create, &name)?;
    }
    match reading.chosen_dead_letters() {
        Some(chosen) => guard.check(current, Action::Publish, chosen),
        None => Ok(()),
    }
}

fn unsigned(sequences: &[i64]) -> impl Iterator<Item = u64> + '_ {
    sequences
        .iter()
        .filter_map(|sequence| u64::try_from(*sequence).ok())
}

fn limited(count: i32) -> usize {
    usize::try_from(count.clamp(1, EVENTS_MAX)).unwrap_or(1)
}

/// Runs work that may wait for the disk, where a thread may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, InvokeError> {
    answer(blocking_work::run(WorkKind::Read, work).await)
}

/// The answer to a caller for whom work was done.
fn answer<T>(
    done: Result<Result<T, StoreError>, tokio::task::JoinError>,
) -> Result<T, InvokeError> {
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(ChangeError::from(error).into()),
        Err(error) => Err(SystemException::UnknownException(error.to_string()).into()),
    }
}

/// Waits until the program that invoked has closed its connection.
async fn gone(current: &Current) {
    match current.connection() {
        Some(connection) => connection.closed().await,
        None => std::future::pending().await,
    }
}

/// Changes a subscription, and syncs its position.
async fn synced(
    reader: Arc<Reader>,
    change: impl FnOnce(&Reader) -> Result<(), StoreError> + Send + 'static,
) -> Result<(), InvokeError> {
    blocking(move || {
        change(&reader)?;
        reader.sync()
    })
    .await
}

fn logged(
    sequence: u64,
    time: EventTime,
    attempt: u32,
    event: &Event,
) -> Result<LoggedEvent, InvokeError> {
    let bad = |error: floe::DecodeError| InvokeError::from(SystemException::from(error));
    let parts = EventParts::parse(event.as_bytes()).map_err(bad)?;
    let mut decoder = floe::encoding::Decoder::new(parts.context, floe::EncodingVersion::V1_0);
    Ok(LoggedEvent {
        number: number(sequence),
        time: number(time.0),
        attempt: i32::try_from(attempt).unwrap_or(i32::MAX),
        operation: event.operation().to_owned(),
        mode: parts.mode,
        context: decoder.get().map_err(bad)?,
        parameters: parts.parameters.to_vec(),
    })
}
