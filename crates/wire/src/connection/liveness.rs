//! Rules of liveness: how a connection is kept alive, and when a silent or unused one ends. They combine those of both
//! families of Ice. `liveness_check.rs` applies them.

use std::time::Duration;

/// Says when a connection sends heartbeats, when silence ends it, and when it is closed because it is unused.
///
/// ```text
/// Ice 3.7, `Ice.ACM.*`                   here
///   Timeout                              idle_timeout, and inactivity_timeout where it closes gracefully
///   Heartbeat 0, 1, 2, 3                 Heartbeats::Off, WhileDispatching, WhenSilent, Always
///   Close 0                              IdleCheck::Off
///   Close 1 (gracefully when idle)       IdleCheck::Off, with an inactivity_timeout
///   Close 2 (with pending invocations)   IdleCheck::WhileReplyDue
///   Close 3 (1 and 2)                    IdleCheck::WhileReplyDue, with an inactivity_timeout
///   Close 4 (forcefully when idle)       IdleCheck::Always
/// Ice 3.8, `Ice.Connection.*`
///   IdleTimeout                          idle_timeout, and heartbeat_interval of half of it
///   EnableIdleCheck                      IdleCheck::Always or IdleCheck::Off
///   InactivityTimeout                    inactivity_timeout
/// ```
///
/// The default suits peers of both families: it sends the heartbeats that a 3.8 peer expects, and tolerates the silence
/// of an idle 3.7 client. Datagrams have no heartbeats: the inactivity timeout applies to connections that send them, and no rule to
/// sockets that receive them.
///
/// In package `floe`, set it for the connections that a communicator makes (`Settings::outgoing`) or accepts
/// (`Settings::incoming`), for those of one adapter (`AdapterSettings::liveness`), or for one connection
/// (`Connection::set_liveness`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias("Ice.ACM", "setACM", "Ice.Connection"))]
pub struct Liveness {
    /// When heartbeats are sent. Default [`Heartbeats::WhenSilent`].
    #[doc(alias = "Ice.ACM.Heartbeat")]
    pub heartbeats: Heartbeats,
    /// How long this side may be silent before it sends a heartbeat. Heartbeats are sent a little earlier, and up to
    /// twice as often. Default 20 s: an Ice 3.8 peer drops a connection that is silent for 60 s. Zero is
    /// [`Heartbeats::Off`].
    pub heartbeat_interval: Duration,
    /// When the peer's silence is checked. Default [`IdleCheck::WhileReplyDue`].
    #[doc(alias("Ice.ACM.Close", "EnableIdleCheck"))]
    pub idle_check: IdleCheck,
    /// How long a checked peer may be silent before the connection is dropped: not a byte has arrived, although this
    /// side was ready to read. Default 60 s, as in Ice; the drop may come a third later. Zero is [`IdleCheck::Off`].
    #[doc(alias("Ice.ACM.Timeout", "IdleTimeout"))]
    pub idle_timeout: Duration,
    /// How long a connection may be unused before it is closed gracefully: no request and no reply in either direction
    /// (heartbeats do not count), none outstanding, and no dispatch under way. The next invocation makes a new
    /// connection, but a server cannot call back over the closed one. Default `None`, never; 300 s in Ice 3.8, and 60 s
    /// in clients of Ice 3.7.
    #[doc(alias = "InactivityTimeout")]
    pub inactivity_timeout: Option<Duration>,
}

/// When heartbeats are sent. A heartbeat is a message that only says that its sender is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "ACMHeartbeat")]
pub enum Heartbeats {
    /// Never. A peer that checks may drop the connection.
    Off,
    /// Only while the peer waits for a dispatch of this side.
    WhileDispatching,
    /// When the connection has sent nothing else during the interval.
    WhenSilent,
    /// In each interval, even if other messages are sent.
    Always,
}

/// When a peer's silence is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "ACMClose")]
pub enum IdleCheck {
    /// Never.
    Off,
    /// While the peer owes a reply: a living peer of either family sends heartbeats then.
    WhileReplyDue,
    /// Always. Idle clients of Ice 3.7 send nothing, unless they are configured to.
    Always,
}

impl Default for Liveness {
    fn default() -> Self {
        Self {
            heartbeats: Heartbeats::WhenSilent,
            heartbeat_interval: Duration::from_secs(20),
            idle_check: IdleCheck::WhileReplyDue,
            idle_timeout: Duration::from_secs(60),
            inactivity_timeout: None,
        }
    }
}

impl Liveness {
    /// The defaults of an Ice 3.8 program, for both sides. Use them in networks whose peers all send heartbeats (3.8
    /// and Floe).
    pub fn ice_38() -> Self {
        Self {
            heartbeat_interval: Duration::from_secs(30),
            idle_check: IdleCheck::Always,
            inactivity_timeout: Some(Duration::from_secs(300)),
            ..Self::default()
        }
    }

    /// The defaults of an Ice 3.7 client, which closes unused connections.
    pub fn ice_37_client() -> Self {
        Self {
            heartbeats: Heartbeats::WhileDispatching,
            heartbeat_interval: Duration::from_secs(30),
            inactivity_timeout: Some(Duration::from_secs(60)),
            ..Self::default()
        }
    }

    /// The defaults of an Ice 3.7 server.
    pub fn ice_37_server() -> Self {
        Self {
            inactivity_timeout: None,
            ..Self::ice_37_client()
        }
    }

    /// How often a connection has to be checked for these rules; `None` if never.
    pub fn tick(&self) -> Option<Duration> {
        let heartbeats = self.has_heartbeats().then(|| self.heartbeat_interval / 2);
        let silence = self.has_idle_check().then(|| self.idle_timeout / 3);
        let inactivity = self.inactivity_timeout.map(|limit| limit / 3);
        let all = [heartbeats, silence, inactivity].into_iter().flatten();
        all.min().map(|tick| tick.clamp(TICK_MIN, TICK_MAX))
    }

    /// Returns true if heartbeats are ever sent.
    pub fn has_heartbeats(&self) -> bool {
        self.heartbeats != Heartbeats::Off && !self.heartbeat_interval.is_zero()
    }

    /// Returns true if silence is ever checked.
    pub fn has_idle_check(&self) -> bool {
        self.idle_check != IdleCheck::Off && !self.idle_timeout.is_zero()
    }
}

/// Connections are not checked more often, whatever the settings say.
const TICK_MIN: Duration = Duration::from_millis(2);
/// Connections are not checked less often, because no clock can represent an endless limit.
pub const TICK_MAX: Duration = Duration::from_secs(3600);
