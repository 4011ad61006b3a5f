//! How a side watches over its connections: heartbeats, and what ends a silent or unused one.
//!
//! Source: reference, "Heartbeats, ACM (3.7)" and "Idle, inactivity (3.8)".

use std::time::{Duration, Instant};

use floe_wire::connection::{Liveness, LivenessAction, LivenessCheck, Marks};

/// The rules that a side follows, with their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Ours: a heartbeat when silent, and an end when a reply is due and the peer is silent.
    Floe,
    /// Ice 3.7: heartbeats while dispatching; a graceful close when idle, by a client; an end when a
    /// reply is due and the peer is silent.
    Ice37,
    /// Ice 3.8: heartbeats when silent; an end when the peer is silent; a close when unused.
    Ice38,
}

/// The facts about one end of a connection at a check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) is_client: bool,
    pub(crate) is_reply_due: bool,
    pub(crate) is_dispatching: bool,
    /// True if this side does not read, because of a limit of its own.
    pub(crate) is_paused: bool,
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Heartbeat,
    Drop,
    Close,
}

/// When what was last done.
#[derive(Debug)]
pub(crate) struct Keepalive {
    pub(crate) read: Duration,
    pub(crate) written: Duration,
    /// A request or a reply, in either direction.
    used: Duration,
    /// The check of Floe, and what happened since it last ran.
    floe: LivenessCheck,
    has_read: bool,
    has_written: bool,
    has_message: bool,
}

const SECOND: Duration = Duration::from_secs(1);
/// Of all three.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

impl Manner {
    /// How often it looks.
    pub(crate) fn tick(self) -> Duration {
        match self {
            Self::Floe => 10 * SECOND,
            Self::Ice37 => 30 * SECOND,
            Self::Ice38 => SECOND,
        }
    }
}

impl Keepalive {
    /// From now on.
    pub(crate) fn new(epoch: Instant, now: Duration) -> Self {
        Self {
            read: now,
            written: now,
            used: now,
            floe: LivenessCheck::new(Liveness::default(), epoch + now),
            has_read: true,
            has_written: true,
            has_message: false,
        }
    }

    /// A request or a reply was sent or handled.
    pub(crate) fn mark_used(&mut self, now: Duration) {
        self.used = now;
        self.has_message = true;
    }

    /// Bytes were read.
    pub(crate) fn mark_read(&mut self, now: Duration) {
        self.read = now;
        self.has_read = true;
    }

    /// Bytes were written.
    pub(crate) fn mark_written(&mut self, now: Duration) {
        self.written = now;
        self.has_written = true;
    }

    /// Looks.
    pub(crate) fn look(
        &mut self,
        manner: Manner,
        seen: Seen,
        (epoch, now): (Instant, Duration),
    ) -> Due {
        let (silent, unwritten) = (now - self.read, now - self.written);
        match manner {
            Manner::Floe => self.look_as_floe(seen, epoch + now),
            Manner::Ice37 if seen.is_reply_due && silent >= IDLE_TIMEOUT => Due::Drop,
            Manner::Ice37
                if seen.is_client
                    && !seen.is_reply_due
                    && !seen.is_dispatching
                    && now - self.used >= IDLE_TIMEOUT =>
            {
                Due::Close
            }
            Manner::Ice37 if seen.is_dispatching && unwritten >= IDLE_TIMEOUT / 4 => Due::Heartbeat,
            Manner::Ice38 if silent >= IDLE_TIMEOUT && !seen.is_paused => Due::Drop,
            Manner::Ice38
                if !seen.is_reply_due
                    && !seen.is_dispatching
                    && now - self.used >= 300 * SECOND =>
            {
                Due::Close
            }
            Manner::Ice38 if unwritten >= IDLE_TIMEOUT / 2 => Due::Heartbeat,
            _ => Due::Nothing,
        }
    }

    /// Checks with the code of production and the marks that the runtime sets.
    fn look_as_floe(&mut self, seen: Seen, now: Instant) -> Due {
        let marks = Marks {
            has_written: std::mem::take(&mut self.has_written),
            has_read: std::mem::take(&mut self.has_read),
            has_message: std::mem::take(&mut self.has_message),
            is_handling: seen.is_paused,
            is_reply_due: seen.is_reply_due,
            is_dispatching: seen.is_dispatching,
        };
        match self.floe.update(&marks, now, Manner::Floe.tick()) {
            LivenessAction::Nothing => Due::Nothing,
            LivenessAction::Heartbeat => Due::Heartbeat,
            LivenessAction::Drop(_) => Due::Drop,
            LivenessAction::Close(_) => Due::Close,
        }
    }

    /// A heartbeat was written: it is no sign of use.
    pub(crate) fn mark_heartbeat(&mut self, now: Duration) {
        self.written = now;
        self.has_written = false;
    }
}
