//! How a side watches over its connections: heartbeats, and what ends a silent or unused one.
//!
//! Source: reference, "Heartbeats, ACM (3.7)" and "Idle, inactivity (3.8)".

use std::time::Duration;

/// Whose rules a side follows, with their defaults.
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

/// What is known of one end of a connection at a look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) is_client: bool,
    pub(crate) is_reply_due: bool,
    pub(crate) is_dispatching: bool,
    /// Whether this side does not read, because of a limit of its own.
    pub(crate) is_paused: bool,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Heartbeat,
    Drop,
    Close,
}

/// When what was last done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vigil {
    pub(crate) read: Duration,
    pub(crate) written: Duration,
    /// A request or a reply, in either direction.
    pub(crate) used: Duration,
    /// Looks since anything was read or written.
    silent_count: u32,
    has_read: bool,
    has_written: bool,
}

const SECOND: Duration = Duration::from_secs(1);
/// Of all three.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

impl Manner {
    /// How often it looks.
    pub(crate) fn tick(self) -> Duration {
        match self {
            Self::Floe => 20 * SECOND,
            Self::Ice37 => 30 * SECOND,
            Self::Ice38 => SECOND,
        }
    }
}

impl Vigil {
    /// From now on.
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            read: now,
            written: now,
            used: now,
            silent_count: 0,
            has_read: true,
            has_written: true,
        }
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
    pub(crate) fn look(&mut self, manner: Manner, seen: Seen, now: Duration) -> Due {
        let (silent, unwritten) = (now - self.read, now - self.written);
        match manner {
            Manner::Floe => self.look_as_floe(seen),
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

    /// Our rule counts looks, so that no leap of the clock can lead it astray.
    fn look_as_floe(&mut self, seen: Seen) -> Due {
        let has_written = std::mem::take(&mut self.has_written);
        // Silence counts from when a reply is due: a peer may be silent while it owes nothing.
        let may_be_silent = std::mem::take(&mut self.has_read) || !seen.is_reply_due;
        self.silent_count = match may_be_silent {
            true => 0,
            false => self.silent_count + 1,
        };
        let silent = Manner::Floe.tick() * self.silent_count;
        if seen.is_reply_due && silent >= IDLE_TIMEOUT {
            return Due::Drop;
        }
        match has_written {
            true => Due::Nothing,
            false => Due::Heartbeat,
        }
    }

    /// A heartbeat was written: it is no sign of use.
    pub(crate) fn mark_heartbeat(&mut self, now: Duration) {
        self.written = now;
        self.has_written = false;
    }
}
