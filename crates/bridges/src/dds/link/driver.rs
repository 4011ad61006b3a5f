//! The task that has the participant.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use floe_rtps::endpoint::{Received, Sample, WriteError};
use floe_rtps::guid::{EntityId, Guid};
use floe_rtps::participant::{Event, Participant};
use floe_rtps::sequence_number::SequenceNumber;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep_until;

use super::account::Readers;
use super::{LinkState, Reach, Sockets};
use crate::core::account::Reason;
use crate::hub::Port;

/// The participant, its sockets and its topics.
pub(crate) struct Driver {
    pub(crate) participant: Participant,
    pub(crate) sockets: Sockets,
    pub(crate) reach: Reach,
    pub(crate) topics: Vec<Topic>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) state: Arc<LinkState>,
}

/// A topic of the driver.
pub(crate) struct Topic {
    pub(crate) port: Port,
    pub(crate) inlet: Option<Inlet>,
    pub(crate) outlet: Option<Outlet>,
}

/// The reader of a topic.
pub(crate) struct Inlet {
    reader: EntityId,
    /// To the task that publishes.
    samples: mpsc::Sender<Received>,
    /// Bytes of samples that were taken and that the hub does not have yet.
    bytes: usize,
}

/// The writer of a topic.
pub(crate) struct Outlet {
    writer: EntityId,
    readers: Readers,
    /// Samples that wait for room in the history.
    waiting: VecDeque<Bytes>,
    /// Told when they are written, and nearly all is taken.
    done: Option<oneshot::Sender<()>>,
}

/// Something that the tasks of a topic have done, or want.
#[derive(Debug)]
pub(crate) enum Command {
    /// The hub has these samples, or surely will not: the writer, the number and the length of each, in order.
    Published {
        topic: usize,
        samples: Vec<(Guid, SequenceNumber, usize)>,
    },
    /// Write these samples, and say when the next may come.
    Write {
        topic: usize,
        samples: Vec<Bytes>,
        done: oneshot::Sender<()>,
    },
}

enum Woken {
    Stop,
    Command(Command),
    Datagram(super::sockets::Datagram),
    Timeout,
}

impl Inlet {
    pub(crate) fn new(reader: EntityId, samples: mpsc::Sender<Received>) -> Self {
        Self {
            reader,
            samples,
            bytes: 0,
        }
    }
}

impl Outlet {
    pub(crate) fn new(writer: EntityId) -> Self {
        Self {
            writer,
            readers: Readers::default(),
            waiting: VecDeque::new(),
            done: None,
        }
    }
}

impl Driver {
    /// Serves until `stop` says so or is dropped, and says goodbye.
    pub(crate) async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let mut buffer = vec![0; DATAGRAM_LEN_MAX];
        loop {
            self.advance().await;
            match self.wait(&mut stop, &mut buffer).await {
                Woken::Stop => break,
                Woken::Command(command) => {
                    self.handle(command);
                    while let Ok(command) = self.commands.try_recv() {
                        self.handle(command);
                    }
                }
                Woken::Datagram(first) => {
                    self.receive(first, &buffer);
                    // What came with it; not more, so that what is to be sent has its turn.
                    for _ in 1..DATAGRAMS_AT_ONCE {
                        let Some(next) = self.sockets.try_receive(&mut buffer) else {
                            break;
                        };
                        self.receive(next, &buffer);
                    }
                }
                Woken::Timeout => {}
            }
        }
        self.participant.close();
        self.transmit().await;
    }

    async fn wait(&mut self, stop: &mut oneshot::Receiver<()>, buffer: &mut [u8]) -> Woken {
        // It announces itself every few seconds, so there is a next time.
        let deadline = self.participant.poll_timeout().unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            _ = stop => Woken::Stop,
            Some(command) = self.commands.recv() => Woken::Command(command),
            () = sleep_until(deadline.into()) => Woken::Timeout,
            datagram = self.sockets.receive(buffer) => Woken::Datagram(datagram),
        }
    }

    fn receive(&mut self, (len, from): super::sockets::Datagram, buffer: &[u8]) {
        if !self.reach.hears(from.ip()) {
            return self.state.count_out_of_reach();
        }
        let datagram = &buffer[..len];
        self.participant
            .handle_datagram(Instant::now(), from, datagram);
        // Between datagrams, so that the participant keeps few.
        self.tell_of_events();
        self.take();
    }

    fn handle(&mut self, command: Command) {
        let now = Instant::now();
        match command {
            Command::Published { topic, samples } => {
                let Some(inlet) = &mut self.topics[topic].inlet else {
                    return;
                };
                for (writer, number, len) in samples {
                    inlet.bytes -= len;
                    self.participant
                        .acknowledge(inlet.reader, writer, number, now);
                }
            }
            Command::Write {
                topic,
                samples,
                done,
            } => {
                if let Some(outlet) = &mut self.topics[topic].outlet {
                    outlet.waiting.extend(samples);
                    outlet.done = Some(done);
                }
            }
        }
    }

    /// Does all that can be done now.
    async fn advance(&mut self) {
        self.participant.handle_timeout(Instant::now());
        self.tell_of_events();
        self.take();
        self.write();
        self.transmit().await;
    }

    /// Gives samples that have come to the tasks that publish them, as far as they take more.
    fn take(&mut self) {
        for topic in &mut self.topics {
            let Some(inlet) = &mut topic.inlet else {
                continue;
            };
            while inlet.bytes < IN_FLIGHT_BYTES_MAX
                && let Ok(room) = inlet.samples.try_reserve()
                && let Some(received) = self.participant.take(inlet.reader, Instant::now())
            {
                inlet.bytes += received.sample.payload.len();
                room.send(received);
            }
        }
    }

    /// Writes samples that wait, and lets the next come when readers have taken nearly all.
    fn write(&mut self) {
        for topic in &mut self.topics {
            let Some(outlet) = &mut topic.outlet else {
                continue;
            };
            let (writer, account) = (outlet.writer, topic.port.account());
            let look = |outlet: &mut Outlet, participant: &Participant| {
                let change = outlet.readers.look(participant.unacknowledged(writer));
                account.send_out(change.taken);
                if change.lost > 0 {
                    account.refuse(Reason::WorldAway, change.lost);
                }
            };
            look(outlet, &self.participant);
            while let Some(sample) = outlet.waiting.front() {
                let written = self
                    .participant
                    .write(writer, Sample::written(sample.clone()));
                match written {
                    Ok(_) => {
                        outlet.readers.write();
                        // The others are best effort: nobody knows what becomes of it.
                        let all = self.participant.matches(writer).len();
                        account.send_out((all - outlet.readers.len().min(all)) as u64);
                    }
                    // The participant says when there is room again.
                    Err(WriteError::Full { .. }) => break,
                    Err(error) => {
                        account.refuse(Reason::CannotBeSaid, 1);
                        tracing::warn!(
                            topic = topic.port.topic(),
                            "an event cannot go to DDS: {error}"
                        );
                    }
                }
                outlet.waiting.pop_front();
            }
            look(outlet, &self.participant);
            if outlet.waiting.is_empty()
                && outlet.readers.outstanding() <= OUTSTANDING_MAX
                && let Some(done) = outlet.done.take()
            {
                let _ = done.send(());
            }
        }
    }

    async fn transmit(&mut self) {
        while let Some(transmit) = self.participant.poll_transmit(Instant::now()) {
            if !self.reach.sends_to(transmit.to) {
                self.state.count_out_of_reach();
                continue;
            }
            let interface = self.reach.interface_to(transmit.to.ip());
            self.sockets
                .send(interface, transmit.to, &transmit.bytes)
                .await;
        }
    }

    fn tell_of_events(&mut self) {
        while let Some(event) = self.participant.poll_event() {
            self.tell_of(event);
        }
    }

    fn tell_of(&mut self, event: Event) {
        match event {
            Event::ParticipantFound {
                prefix, name, from, ..
            } => {
                let name: String = name.chars().take(NAME_SHOWN_MAX).collect();
                self.state
                    .find(prefix, format!("{name} {prefix} at {from}"));
            }
            Event::ParticipantLost { prefix, .. } => self.state.lose(prefix),
            Event::Unresponsive { local, remote } => {
                if let Some(topic) = self.topic_of(local)
                    && let Some(outlet) = &mut topic.outlet
                {
                    let lost = outlet.readers.give_up(remote);
                    topic.port.account().refuse(Reason::WorldAway, lost);
                    let name = topic.port.topic();
                    tracing::warn!(topic = name, reader = %remote, lost, "a reader of DDS does not answer, and loses events");
                }
            }
            Event::Matched { local, remote } => {
                let state = Arc::clone(&self.state);
                if let Some(topic) = self.topic_of(local) {
                    state.join(remote, topic.port.topic());
                }
            }
            Event::Unmatched { local, remote } => {
                self.state.leave(remote);
                if let Some(topic) = self.topic_of(local)
                    && let Some(outlet) = &mut topic.outlet
                {
                    let lost = outlet.readers.remove(remote);
                    topic.port.account().refuse(Reason::WorldAway, lost);
                }
            }
            Event::Lost {
                local,
                remote,
                count,
            } => {
                let may_warn = self.state.may_warn();
                if let Some(topic) = self.topic_of(local) {
                    let name = topic.port.topic();
                    topic.port.account().refuse(Reason::Missed, count);
                    if may_warn {
                        tracing::warn!(topic = name, writer = %remote, count, "samples of DDS did not come");
                    }
                }
            }
            Event::Incompatible {
                local,
                remote,
                policy,
            } => self.warn(local, remote, &policy.to_string()),
            Event::OtherType {
                local,
                remote,
                type_name,
            } => {
                let type_name: String = type_name.chars().take(NAME_SHOWN_MAX).collect();
                self.warn(local, remote, &format!("its type is {type_name}"));
            }
            Event::LimitReached { prefix, limit } if self.state.may_warn() => {
                tracing::warn!(participant = %prefix, limit, "a participant of DDS tells more than is kept");
            }
            _ => {}
        }
    }

    /// An endpoint of the topic does not fit ours.
    fn warn(&mut self, local: EntityId, remote: Guid, reason: &str) {
        let may_warn = self.state.may_warn();
        if let Some(topic) = self.topic_of(local).filter(|_| may_warn) {
            let name = topic.port.topic();
            tracing::warn!(topic = name, endpoint = %remote, "an endpoint of DDS does not fit the bridge: {reason}");
        }
    }

    fn topic_of(&mut self, local: EntityId) -> Option<&mut Topic> {
        self.topics.iter_mut().find(|topic| {
            let reader = topic.inlet.as_ref().map(|inlet| inlet.reader);
            let writer = topic.outlet.as_ref().map(|outlet| outlet.writer);
            reader == Some(local) || writer == Some(local)
        })
    }
}

/// The longest sample that is written and read: the longest event that the hub takes.
pub(crate) const SAMPLE_LEN_MAX: usize = 8 << 20;
/// The longest datagram.
const DATAGRAM_LEN_MAX: usize = 65_536;
/// How many datagrams are handled before there is a turn for all else.
const DATAGRAMS_AT_ONCE: usize = 64;
/// How many samples of a topic wait for the task that publishes them. The others stay in the reader, which stops their
/// writers when it is full.
pub(crate) const WAITING_MAX: usize = 256;
/// How many bytes of samples of a topic are on their way to the hub, before no more are taken; the last may be a long one.
const IN_FLIGHT_BYTES_MAX: usize = 8 << 20;
/// How many samples the slowest reader may not have acknowledged when the hub is asked for more.
const OUTSTANDING_MAX: u64 = 256;
/// How much of a name that a peer gives is shown.
const NAME_SHOWN_MAX: usize = 100;
