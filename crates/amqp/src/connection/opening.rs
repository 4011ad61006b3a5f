//! Headers, SASL and the open: how a connection begins.

use std::time::{Duration, Instant};

use bytes::Buf;

use super::event::{Event, OpenAcceptance, OpenRequest};
use super::{Connection, Fault, Phase, framing, millis};
use crate::codec::{Raw, Reader, Symbol, Value};
use crate::condition::{self, AmqpError};
use crate::frame::{AMQP_HEADER, FRAME_LEN_MIN, FrameKind, SASL_HEADER, take_frame};
use crate::limits::{PEER_IDLE_TIMEOUT_MIN, SASL_FRAME_LEN_MAX};
use crate::performative::{Open, Performative};
use crate::sasl::{Credentials, Init, Mechanisms, SaslFrame, SaslOutcome};

impl Connection {
    /// Answers [`Event::Authenticate`]: whether the peer is who it says.
    pub fn authenticate(&mut self, is_known: bool) {
        let Phase::Authenticating { by_sasl } = self.phase else {
            return;
        };
        if by_sasl {
            self.output.sasl(&SaslFrame::Outcome(SaslOutcome {
                code: u8::from(!is_known),
                additional_data: None,
            }));
        }
        let error = AmqpError::new(
            condition::UNAUTHORIZED_ACCESS,
            "expected a name and password that are known",
        );
        match (is_known, by_sasl) {
            (true, true) => self.phase = Phase::Amqp,
            (true, false) => self.phase = Phase::Open,
            (false, true) => self.end(Some(error), false),
            (false, false) => self.handle_fault(Fault::Connection(error)),
        }
    }

    /// Answers [`Event::Open`] with yes.
    pub fn accept_open(&mut self, acceptance: OpenAcceptance) {
        if self.phase == Phase::Opening {
            self.write_open(acceptance.offered_capabilities, acceptance.properties);
            if self.output.is_oversized {
                // It was left out, and a close needs an open before it.
                self.write_open(Vec::new(), None);
            }
            self.phase = Phase::Active;
            self.deadline = None;
            self.check_output();
        }
    }

    /// Answers [`Event::Open`] with no.
    pub fn refuse_open(&mut self, now: Instant, error: AmqpError) {
        if self.phase == Phase::Opening {
            // It tells Qpid JMS and others that the close follows at once. Observed: Qpid JMS 2.10.
            let key = Symbol::new("amqp:connection-establishment-failed");
            let properties = Value::Map(vec![(Value::Symbol(key), Value::Bool(true))]);
            self.write_open(Vec::new(), Some(Raw::of(&properties)));
            self.phase = Phase::Active;
            self.close(now, Some(error));
        }
    }

    pub(super) fn write_open(
        &mut self,
        offered_capabilities: Vec<Symbol>,
        properties: Option<Raw>,
    ) {
        let limits = &self.settings.limits;
        let open = Open {
            container_id: self.settings.container_id.clone(),
            hostname: None,
            max_frame_size: Some(limits.frame_len_max),
            channel_max: Some(limits.sessions_max.saturating_sub(1)),
            idle_time_out: Some(millis(limits.idle_timeout)),
            outgoing_locales: Vec::new(),
            incoming_locales: Vec::new(),
            offered_capabilities,
            desired_capabilities: Vec::new(),
            properties,
        };
        self.output.performative(0, &Performative::Open(open));
    }

    pub(super) fn step_header(&mut self) -> Result<bool, Fault> {
        let Some(header) = self.input.first_chunk::<8>().copied() else {
            return Ok(false);
        };
        let may_begin_plain = self.phase == Phase::Amqp || self.settings.without_sasl;
        if header == AMQP_HEADER && may_begin_plain {
            self.input.advance(header.len());
            self.output.header(AMQP_HEADER);
            if self.phase == Phase::Amqp {
                self.phase = Phase::Open;
            } else {
                self.phase = Phase::Authenticating { by_sasl: false };
                self.events
                    .push_back(Event::Authenticate(Credentials::None));
            }
            return Ok(true);
        }
        let wants_sasl = self.phase == Phase::Header && !self.settings.mechanisms.is_empty();
        if header == SASL_HEADER && wants_sasl {
            self.input.advance(header.len());
            self.output.header(SASL_HEADER);
            let names = self.settings.mechanisms.iter().map(|m| m.name()).collect();
            self.output.sasl(&SaslFrame::Mechanisms(Mechanisms {
                sasl_server_mechanisms: names,
            }));
            self.phase = Phase::Init;
            return Ok(true);
        }
        // The answer to a wrong header is the right one, and the end. Source: part 2, 2.2.
        let right = if wants_sasl { SASL_HEADER } else { AMQP_HEADER };
        self.output.header(right);
        let text = format!("expected the header {right:x?}, got {header:x?}");
        self.end(Some(AmqpError::new(condition::FRAMING_ERROR, text)), false);
        Ok(true)
    }

    pub(super) fn step_init(&mut self) -> Result<bool, Fault> {
        let Some(frame) = take_frame(&mut self.input, SASL_FRAME_LEN_MAX).map_err(framing)? else {
            return Ok(false);
        };
        let read = SaslFrame::decode(&mut Reader::new(&frame.body));
        let init = match (frame.kind, read) {
            (FrameKind::Sasl, Ok(SaslFrame::Init(init))) => init,
            (_, read) => {
                let came = read.map_or_else(|error| error.to_string(), |_| "another".to_owned());
                let text = format!("expected a sasl-init, got: {came}");
                self.end(Some(AmqpError::new(condition::FRAMING_ERROR, text)), false);
                return Ok(true);
            }
        };
        self.phase = Phase::Authenticating { by_sasl: true };
        match self.credentials(&init) {
            Some(credentials) => self.events.push_back(Event::Authenticate(credentials)),
            None => self.authenticate(false),
        }
        Ok(true)
    }

    fn credentials(&self, init: &Init) -> Option<Credentials> {
        let mechanisms = &mut self.settings.mechanisms.iter();
        let mechanism = mechanisms.find(|m| m.name() == init.mechanism)?;
        Credentials::of(*mechanism, init.initial_response.as_deref().unwrap_or(&[]))
    }

    pub(super) fn handle_open(&mut self, open: Open) -> Result<(), Fault> {
        let frame_len_max = open.max_frame_size.unwrap_or(u32::MAX);
        self.output.frame_len_max = frame_len_max
            .max(FRAME_LEN_MIN)
            .min(self.settings.limits.frame_len_max.max(FRAME_LEN_MIN));
        if frame_len_max < FRAME_LEN_MIN {
            let text =
                format!("expected max-frame-size {FRAME_LEN_MIN} or more, got {frame_len_max}");
            let error = AmqpError::new(condition::INVALID_FIELD, text);
            return Err(Fault::Connection(error));
        }
        self.check_name("container-id", &open.container_id)
            .map_err(Fault::Connection)?;
        let idle = open.idle_time_out.filter(|millis| *millis > 0);
        let idle = idle.map(|millis| Duration::from_millis(millis.into()));
        if idle.is_some_and(|idle| idle < PEER_IDLE_TIMEOUT_MIN) {
            let text = format!(
                "expected idle-time-out {PEER_IDLE_TIMEOUT_MIN:?} or more, got {:?}",
                idle.unwrap_or_default()
            );
            let error = AmqpError::new(condition::NOT_ALLOWED, text);
            return Err(Fault::Connection(error));
        }
        self.peer_idle_timeout = idle;
        self.phase = Phase::Opening;
        self.events.push_back(Event::Open(OpenRequest {
            container_id: open.container_id,
            hostname: open.hostname,
            desired_capabilities: open.desired_capabilities,
            properties: open.properties,
        }));
        Ok(())
    }
}
