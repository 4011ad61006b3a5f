//! Sessions, as the metrics views of a gateway measure them. The metrics are those that Glacier2 has.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use floe::classes::Link;
use floe::{Current, InvokeError};
use floe_metrics::contracts::ice_mx::{Metrics, SessionMetrics};
use floe_metrics::{GroupMetrics, MapKind, Measured, MetricsSource, Request, Values, small_count};

use super::session::Session;
use super::sessions::Sessions;
use super::traffic::Traffic;

/// The map that a metrics view of a gateway can have.
pub const METRICS_MAPS: [MapKind; 1] = [MapKind {
    name: "Session",
    // Source: observed, glacier2router 3.7.8, which has more attributes of the client's connection.
    attributes: &[
        "id",
        "parent",
        "none",
        "remoteHost",
        "remotePort",
        "localHost",
        "localPort",
        "incoming",
        "adapterName",
        "connectionId",
    ],
}];

/// A gateway whose metrics are read. It does not keep the gateway alive.
pub(super) struct MeasuredGateway {
    pub(super) sessions: Weak<Sessions>,
    /// The name of the instance, which the attribute `parent` shows.
    pub(super) instance: Arc<str>,
}

impl MetricsSource for MeasuredGateway {
    type Object = MeasuredSession;

    const MAPS: &'static [MapKind] = &METRICS_MAPS;

    fn objects(&self) -> impl Iterator<Item = (usize, MeasuredSession)> + Send {
        let all = self.sessions.upgrade().map(|sessions| sessions.all());
        let all = all.into_iter().flatten();
        all.map(|session| (0, MeasuredSession::of(&session, &self.instance)))
    }

    fn metrics(_map: usize, group: GroupMetrics) -> Link<Metrics> {
        let [
            forwarded_client,
            forwarded_server,
            overridden_client,
            overridden_server,
        ] = group.counts.map(small_count);
        let [routing_table_size, queued_client, queued_server, _] = group.amounts.map(small_count);
        Link::new(SessionMetrics {
            base: group.into(),
            forwarded_client,
            forwarded_server,
            routing_table_size,
            queued_client,
            queued_server,
            overridden_client,
            overridden_server,
        })
    }

    /// The adapter of the administrative object is for operators alone, who may do everything.
    fn check(&self, _current: &Current, _request: Request) -> Result<(), InvokeError> {
        Ok(())
    }
}

/// A session to be measured. When the session has ended, its counters stay, and everything else is released.
pub(super) struct MeasuredSession {
    session: Weak<Session>,
    user: String,
    instance: Arc<str>,
    remote: Option<SocketAddr>,
    local: Option<SocketAddr>,
    to_servers: Arc<Traffic>,
    to_client: Arc<Traffic>,
}

impl MeasuredSession {
    fn of(session: &Arc<Session>, instance: &Arc<str>) -> Self {
        let info = session.client().connection.info();
        Self {
            session: Arc::downgrade(session),
            user: session.user.clone(),
            instance: instance.clone(),
            remote: info.remote_address,
            local: info.local_address,
            to_servers: session.to_servers_traffic.clone(),
            to_client: session.to_client_traffic.clone(),
        }
    }
}

impl Measured for MeasuredSession {
    fn number(&self) -> usize {
        // No other session gets this address while there is a reference, even a weak one.
        self.session.as_ptr().addr()
    }

    fn counts(&self) -> Values {
        let (to_servers, to_client) = (&self.to_servers, &self.to_client);
        [
            to_servers.forwarded.value(),
            to_client.forwarded.value(),
            to_servers.overridden.value(),
            to_client.overridden.value(),
        ]
    }

    fn amounts(&self) -> Values {
        let routes = self
            .session
            .upgrade()
            .map_or(0, |session| session.route_count());
        [
            routes as u64,
            self.to_servers.queued.value(),
            self.to_client.queued.value(),
            0,
        ]
    }

    fn attribute(&self, name: &str) -> String {
        let host = |it: Option<SocketAddr>| it.map_or_else(String::new, |it| it.ip().to_string());
        let port = |it: Option<SocketAddr>| it.map_or_else(String::new, |it| it.port().to_string());
        match name {
            "id" => self.user.clone(),
            "parent" => self.instance.to_string(),
            "remoteHost" => host(self.remote),
            "remotePort" => port(self.remote),
            "localHost" => host(self.local),
            "localPort" => port(self.local),
            "incoming" => "true".to_owned(),
            "adapterName" => "Glacier2.Client".to_owned(),
            // `connectionId`: incoming connections have none.
            _ => String::new(),
        }
    }
}
