//! The serving end of a connection as a state machine: bytes and a time go in; events, bytes and a deadline come out.
//!
//! ```text
//! Header --SASL header--> Init --init--> Authenticating --authenticate(true)--> Amqp --header--> Open
//! Header --AMQP header, if it may begin without SASL--> Authenticating --> Open
//! Open --open--> Opening --accept_open--> Active
//! Active --close of this side--> Closing --close of the peer, or late--> Closed
//! any    --close of the peer, or broken rule--> Closed
//! ```
//!
//! The driver repeats: give bytes to [`Connection::handle_bytes`], take all events of [`Connection::poll_event`] and
//! answer them, send what [`Connection::poll_transmit`] gives. It reads no more while [`Connection::wants_bytes`] is
//! false, calls [`Connection::handle_timeout`] at [`Connection::poll_timeout`], and ends when the connection
//! [is finished](Connection::is_finished) and all is sent.
//!
//! Input is handled when events are polled, one frame at a time. So memory is bounded by what the driver reads at once,
//! by the events of one frame, and by [`Limits`].

mod delivering;
mod event;
mod link;
mod linking;
mod opening;
mod output;
mod session;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

pub use event::{
    AttachAcceptance, AttachRequest, CommandError, Delivery, DeliveryId, Event, LinkId,
    OpenAcceptance, OpenRequest, SessionId,
};

use link::Link;
use output::Output;
use session::{Session, WindowError};

use crate::codec::Reader;
use crate::condition::{self, AmqpError};
use crate::frame::{self, FRAME_LEN_MIN, Frame, FrameKind, take_frame};
use crate::limits::{Limits, SASL_FRAME_LEN_MAX};
use crate::performative::{Begin, Close, End, Flow, Performative};
use crate::sasl::Mechanism;

/// How a connection is served.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of this side.
    pub container_id: String,
    /// How peers may say who they are, the best one first.
    pub mechanisms: Vec<Mechanism>,
    /// True if a peer may begin without SASL. It then has [`Credentials::None`](crate::sasl::Credentials::None).
    pub without_sasl: bool,
    /// How far the peer may make things grow.
    pub limits: Limits,
}

/// The serving end of a connection.
#[derive(Debug)]
pub struct Connection {
    settings: Settings,
    phase: Phase,
    input: BytesMut,
    output: Output,
    events: VecDeque<Event>,
    sessions: BTreeMap<u16, Session>,
    links: HashMap<LinkId, Link>,
    next_link: u64,
    /// Bytes of messages of which parts have come.
    partial_len: usize,
    /// Bytes of messages that wait for room in windows of the peer.
    pending_len: usize,
    /// When the opening or the closing must be done.
    deadline: Option<Instant>,
    /// The longest time that the peer wants to go without a frame.
    peer_idle_timeout: Option<Duration>,
    last_received: Instant,
    last_sent: Instant,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first header is due.
    Header,
    /// The peer's choice of a mechanism is due.
    Init,
    /// The program decides whether the peer is who it says; SASL tells it, or not.
    Authenticating { by_sasl: bool },
    /// The header of AMQP is due.
    Amqp,
    /// The open of the peer is due.
    Open,
    /// The program decides about that.
    Opening,
    /// Open.
    Active,
    /// The close of the peer is due.
    Closing,
    /// Nothing is due.
    Closed,
}

/// A broken rule, by what ends because of it.
#[derive(Debug)]
enum Fault {
    /// The connection, at once: what follows cannot be understood.
    Stream(AmqpError),
    /// The connection.
    Connection(AmqpError),
    /// The session of a channel.
    Session(u16, AmqpError),
    /// A link.
    Link(LinkId, AmqpError),
}

impl Connection {
    /// A connection that a peer has made.
    pub fn new(settings: Settings, now: Instant) -> Self {
        Self {
            deadline: Some(now + settings.limits.open_timeout),
            settings,
            phase: Phase::Header,
            input: BytesMut::new(),
            output: Output::new(SASL_FRAME_LEN_MAX),
            events: VecDeque::new(),
            sessions: BTreeMap::new(),
            links: HashMap::new(),
            next_link: 0,
            partial_len: 0,
            pending_len: 0,
            peer_idle_timeout: None,
            last_received: now,
            last_sent: now,
        }
    }

    /// Takes bytes of the peer, in their order. They are handled by [`Connection::poll_event`].
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if self.phase != Phase::Closed {
            self.last_received = now;
            self.input.extend_from_slice(bytes);
        }
    }

    /// True if more bytes of the peer can be used now.
    pub fn wants_bytes(&self) -> bool {
        let is_deciding = matches!(self.phase, Phase::Authenticating { .. } | Phase::Opening);
        let is_full = self.input.len() > self.settings.limits.frame_len_max as usize;
        !(is_deciding || is_full || self.is_output_full() || self.phase == Phase::Closed)
    }

    /// True if the connection has ended. What [`Connection::poll_transmit`] gives should still be sent.
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Closed && self.events.is_empty()
    }

    /// True if input must wait. Messages that wait for the peer's window do not count, because the peer opens that by its
    /// input.
    fn is_output_full(&self) -> bool {
        self.output.len() > self.settings.limits.output_len_max
    }

    /// True if so many bytes wait to be sent, or for the peer's windows, that no more messages are taken.
    pub fn is_backlogged(&self) -> bool {
        self.output.len() + self.pending_len > self.settings.limits.output_len_max
    }

    /// The next event; `None` until more bytes come, a decision is made, or waiting output is sent.
    pub fn poll_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.is_output_full() {
                return None;
            }
            match self.step() {
                Ok(true) => self.check_output(),
                Ok(false) => return None,
                Err(fault) => self.handle_fault(fault),
            }
        }
    }

    /// Bytes to send to the peer.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Bytes> {
        self.pump();
        let bytes = self.output.take()?;
        self.last_sent = now;
        Some(bytes)
    }

    /// When [`Connection::handle_timeout`] must be called; it changes with each other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let idle = self.idle_deadline();
        [self.deadline, idle, self.next_sign_of_life()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Ends what is late, and sends a sign of life if one is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_over(self.deadline) {
            self.deadline = None;
            if self.phase == Phase::Closing {
                self.finish();
            } else {
                let limit = self.settings.limits.open_timeout;
                let text = format!("expected the connection to be open within {limit:?}");
                self.handle_fault(Fault::Stream(limit_error(text)));
            }
        }
        if is_over(self.idle_deadline()) {
            let limit = self.settings.limits.idle_timeout * 2;
            let text = format!("expected a frame within {limit:?}, got none");
            self.handle_fault(Fault::Stream(limit_error(text)));
        }
        if is_over(self.next_sign_of_life()) {
            self.output.empty();
            self.last_sent = now;
        }
    }

    fn idle_deadline(&self) -> Option<Instant> {
        let is_open = self.phase == Phase::Active;
        is_open.then(|| self.last_received + self.settings.limits.idle_timeout * 2)
    }

    fn next_sign_of_life(&self) -> Option<Instant> {
        let is_open = matches!(self.phase, Phase::Active | Phase::Closing);
        let timeout = self.peer_idle_timeout.filter(|_| is_open)?;
        Some(self.last_sent + timeout / 2)
    }

    /// Closes the connection. [`Event::Closed`] comes when the peer has answered, or is late.
    pub fn close(&mut self, now: Instant, error: Option<AmqpError>) {
        match self.phase {
            Phase::Active => {
                self.write_close(error);
                self.phase = Phase::Closing;
                self.deadline = Some(now + self.settings.limits.close_timeout);
            }
            Phase::Closing | Phase::Closed => {}
            _ => self.finish(),
        }
    }

    fn write_close(&mut self, error: Option<AmqpError>) {
        self.drop_sessions();
        let error = error.map(shortened);
        let close = Performative::Close(Close { error });
        self.output.performative(0, &close);
    }

    /// Handles the next header or frame of the input; false if there is none.
    fn step(&mut self) -> Result<bool, Fault> {
        match self.phase {
            Phase::Authenticating { .. } | Phase::Opening | Phase::Closed => Ok(false),
            Phase::Header | Phase::Amqp => self.step_header(),
            Phase::Init => self.step_init(),
            Phase::Open | Phase::Active | Phase::Closing => self.step_frame(),
        }
    }

    fn step_frame(&mut self) -> Result<bool, Fault> {
        let len_max = self.settings.limits.frame_len_max.max(FRAME_LEN_MIN);
        let Some(frame) = take_frame(&mut self.input, len_max).map_err(framing)? else {
            return Ok(false);
        };
        if frame.kind != FrameKind::Amqp {
            let text = "expected a frame of AMQP, got one of SASL";
            return Err(Fault::Stream(AmqpError::new(
                condition::FRAMING_ERROR,
                text,
            )));
        }
        if frame.body.is_empty() {
            return Ok(true);
        }
        let mut reader = Reader::new(&frame.body);
        let performative = Performative::decode(&mut reader).map_err(|error| {
            Fault::Stream(AmqpError::new(condition::DECODE_ERROR, error.to_string()))
        })?;
        let body_len = reader.position();
        self.handle_performative(frame, performative, body_len)?;
        Ok(true)
    }

    fn handle_performative(
        &mut self,
        frame: Frame,
        performative: Performative,
        body_len: usize,
    ) -> Result<(), Fault> {
        let channel = frame.channel;
        match (self.phase, performative) {
            (Phase::Open, Performative::Open(open)) => self.handle_open(open),
            (_, Performative::Close(close)) if self.phase != Phase::Open => {
                if self.phase != Phase::Closing {
                    self.write_close(None);
                }
                self.end(close.error, true);
                Ok(())
            }
            // The peer does not know yet that the connection ends.
            (Phase::Closing, _) => Ok(()),
            (Phase::Active, Performative::Begin(begin)) => self.handle_begin(channel, &begin),
            (Phase::Active, Performative::End(end)) => self.handle_end(channel, end),
            (Phase::Active, performative) if !matches!(performative, Performative::Open(_)) => {
                let Some(session) = self.sessions.get(&channel) else {
                    let text = format!(
                        "expected a channel with a session, got {} on channel {channel}",
                        performative.name()
                    );
                    let error = AmqpError::new(condition::NOT_ALLOWED, text);
                    return Err(Fault::Connection(error));
                };
                // The peer does not know yet that the session ends.
                if session.is_ending {
                    return Ok(());
                }
                match performative {
                    Performative::Attach(attach) => self.handle_attach(channel, *attach),
                    Performative::Flow(flow) => self.handle_flow(channel, &flow),
                    Performative::Transfer(transfer) => {
                        self.handle_transfer(channel, transfer, frame.body.slice(body_len..))
                    }
                    Performative::Disposition(disposition) => {
                        self.handle_disposition(channel, &disposition)
                    }
                    Performative::Detach(detach) => self.handle_detach(channel, detach),
                    Performative::Open(_)
                    | Performative::Begin(_)
                    | Performative::End(_)
                    | Performative::Close(_) => unreachable!("handled above"),
                }
            }
            (_, performative) => {
                let expected = match self.phase {
                    Phase::Open => "an open",
                    _ => "a frame of an open connection",
                };
                let text = format!("expected {expected}, got {}", performative.name());
                Err(Fault::Connection(AmqpError::new(
                    condition::ILLEGAL_STATE,
                    text,
                )))
            }
        }
    }

    fn handle_begin(&mut self, channel: u16, begin: &Begin) -> Result<(), Fault> {
        let limits = &self.settings.limits;
        let is_free = !self.sessions.contains_key(&channel);
        if channel >= limits.sessions_max || !is_free || begin.remote_channel.is_some() {
            let text = format!(
                "expected the begin of a new session on a free channel below {}, got one on channel {channel}",
                limits.sessions_max
            );
            let error = AmqpError::new(condition::NOT_ALLOWED, text);
            return Err(Fault::Connection(error));
        }
        let session = Session::begun_by(begin, limits.session_window);
        let handle_max = u32::try_from(limits.links_max).unwrap_or(u32::MAX);
        let answer = session.begin(channel, handle_max.saturating_sub(1));
        self.sessions.insert(channel, session);
        self.output
            .performative(channel, &Performative::Begin(answer));
        Ok(())
    }

    fn handle_end(&mut self, channel: u16, end: End) -> Result<(), Fault> {
        let Some(session) = self.sessions.get(&channel) else {
            let text = format!("expected a channel with a session, got end on channel {channel}");
            return Err(Fault::Connection(AmqpError::new(
                condition::NOT_ALLOWED,
                text,
            )));
        };
        if session.is_ending {
            self.sessions.remove(&channel);
            return Ok(());
        }
        let links = self.drop_links(channel);
        self.sessions.remove(&channel);
        self.output
            .performative(channel, &Performative::End(End { error: None }));
        self.events.push_back(Event::SessionEnded {
            session: SessionId(channel),
            links,
            error: end.error,
        });
        Ok(())
    }

    fn handle_flow(&mut self, channel: u16, flow: &Flow) -> Result<(), Fault> {
        let session = self.sessions.get_mut(&channel).expect("it was looked up");
        session
            .handle_flow(flow)
            .map_err(|error| window_fault(channel, &error))?;
        let link = match flow.handle {
            Some(handle) => self.link_at(channel, handle, "flow")?,
            None => None,
        };
        if let Some(id) = link {
            self.handle_link_flow(id, flow);
        }
        if flow.echo {
            self.write_flow(channel, link);
        }
        self.pump();
        Ok(())
    }

    /// Tells the peer of the windows of a session and the credit of a link.
    fn write_flow(&mut self, channel: u16, link: Option<LinkId>) {
        let Some(session) = self.sessions.get(&channel) else {
            return;
        };
        let mut flow = session.flow();
        if let Some(link) = link.and_then(|link| self.links.get(&link)) {
            link.describe(&mut flow);
        }
        self.output.performative(channel, &Performative::Flow(flow));
    }

    /// # Errors
    /// If the peer sends a longer name than is kept.
    fn check_name(&self, field: &str, name: &str) -> Result<(), AmqpError> {
        let (len, max) = (name.len(), self.settings.limits.name_len_max);
        if len <= max {
            return Ok(());
        }
        Err(limit_error(format!(
            "expected {field} of at most {max} bytes, got {len}"
        )))
    }

    /// Ends what a broken rule ends.
    fn handle_fault(&mut self, fault: Fault) {
        match fault {
            Fault::Stream(error) | Fault::Connection(error)
                if matches!(
                    self.phase,
                    Phase::Header
                        | Phase::Init
                        | Phase::Amqp
                        | Phase::Authenticating { by_sasl: true }
                ) =>
            {
                self.end(Some(error), false);
            }
            Fault::Stream(error) | Fault::Connection(error) => {
                match self.phase {
                    Phase::Closing | Phase::Closed => {}
                    Phase::Active => self.write_close(Some(error.clone())),
                    _ => {
                        // A close needs an open before it.
                        self.write_open(Vec::new(), None);
                        self.write_close(Some(error.clone()));
                    }
                }
                self.end(Some(error), false);
            }
            Fault::Session(channel, error) => self.fail_session(channel, error),
            Fault::Link(link, error) => self.fail_link(link, error),
        }
    }

    fn fail_session(&mut self, channel: u16, error: AmqpError) {
        let links = self.drop_links(channel);
        let Some(session) = self.sessions.get_mut(&channel) else {
            return;
        };
        session.is_ending = true;
        session.incoming.clear();
        session.outgoing.clear();
        let error = shortened(error);
        let end = End {
            error: Some(error.clone()),
        };
        self.output.performative(channel, &Performative::End(end));
        self.events.push_back(Event::SessionEnded {
            session: SessionId(channel),
            links,
            error: Some(error),
        });
    }

    /// Forgets the links of a session, with what they hold, and returns those that the program knows as attached.
    fn drop_links(&mut self, channel: u16) -> Vec<LinkId> {
        let Some(session) = self.sessions.get_mut(&channel) else {
            return Vec::new();
        };
        for pending in session.pending.drain(..) {
            if let session::Pending::Transfer { payload, .. } = pending {
                self.pending_len -= payload.len();
            }
        }
        let mut attached = Vec::new();
        for id in std::mem::take(&mut session.handles).into_values() {
            let Some(link) = self.links.remove(&id) else {
                continue;
            };
            self.partial_len -= link.partial.map_or(0, |partial| partial.payload.len());
            if link.state == link::LinkState::Attached {
                attached.push(id);
            }
        }
        attached
    }

    fn drop_sessions(&mut self) {
        let channels: Vec<u16> = self.sessions.keys().copied().collect();
        for channel in channels {
            self.drop_links(channel);
        }
        self.sessions.clear();
    }

    /// Closes when a frame was longer than the peer takes, which means that it asked for too much.
    fn check_output(&mut self) {
        if std::mem::take(&mut self.output.is_oversized) && self.phase != Phase::Closed {
            let text = format!(
                "expected max-frame-size above {} for the answers that were asked for",
                self.output.frame_len_max
            );
            self.handle_fault(Fault::Connection(limit_error(text)));
        }
    }

    fn finish(&mut self) {
        self.end(None, false);
    }

    fn end(&mut self, error: Option<AmqpError>, by_peer: bool) {
        if self.phase != Phase::Closed {
            self.drop_sessions();
            self.phase = Phase::Closed;
            self.deadline = None;
            self.input.clear();
            self.events.push_back(Event::Closed { error, by_peer });
        }
    }
}

fn framing(error: frame::FrameError) -> Fault {
    Fault::Stream(AmqpError::new(condition::FRAMING_ERROR, error.to_string()))
}

fn window_fault(channel: u16, error: &WindowError) -> Fault {
    let error = match error {
        WindowError::UnknownTransfer(id) => AmqpError::new(
            condition::INVALID_FIELD,
            format!("expected next-incoming-id of a transfer that was sent, got {id}"),
        ),
        WindowError::Exceeded => AmqpError::new(
            condition::WINDOW_VIOLATION,
            "expected transfers within the incoming window, got more",
        ),
    };
    Fault::Session(channel, error)
}

fn limit_error(text: String) -> AmqpError {
    AmqpError::new(condition::RESOURCE_LIMIT_EXCEEDED, text)
}

/// An error whose texts fit the shortest frame: they may hold names that a peer chose.
fn shortened(mut error: AmqpError) -> AmqpError {
    if let Some(text) = &mut error.description
        && text.len() > ERROR_TEXT_LEN_MAX
    {
        let end = (0..=ERROR_TEXT_LEN_MAX).rev();
        let end = end.into_iter().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
    }
    error.info = error
        .info
        .filter(|info| info.as_bytes().len() <= ERROR_TEXT_LEN_MAX / 4);
    error
}

/// The most bytes of the text of an error. The shortest frame, of 512, also holds the name of its condition.
const ERROR_TEXT_LEN_MAX: usize = 300;

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
