//! Settings of a gateway, with the properties of Glacier2 that they come from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use floe::settings::Compression;
use floe::{Connection, Identity, Reference};
use floe_access::Users;
use floe_metrics::MetricsView;

use crate::core::{AddressRule, UserCategory};

/// Settings of a gateway. They include the limits on durations and lengths that a peer can influence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GatewaySettings {
    /// Where clients connect: endpoints such as `ssl -h gateway.example -p 4064`.
    #[doc(alias = "Glacier2.Client.Endpoints")]
    pub client_listen: String,
    /// Endpoints that proxies to the router contain. Default none: the endpoints on which the gateway listens.
    #[doc(alias = "Glacier2.Client.PublishedEndpoints")]
    pub client_published_endpoints: Option<String>,
    /// Where servers call back. Default none: there are no callbacks, and no session control.
    #[doc(alias = "Glacier2.Server.Endpoints")]
    pub server_listen: Option<String>,
    /// Endpoints that proxies to clients' objects contain. Default none: the endpoints at which servers call back.
    #[doc(alias = "Glacier2.Server.PublishedEndpoints")]
    pub server_published_endpoints: Option<String>,
    /// The category of the router's identity. Default `Glacier2`.
    #[doc(alias = "Glacier2.InstanceName")]
    pub instance_name: String,
    /// The verifier of passwords. Default none: no client gets a session by a password.
    #[doc(alias("Glacier2.PermissionsVerifier", "Glacier2.CryptPasswords"))]
    pub password_verifier: Option<PasswordVerifier>,
    /// The verifier of certificates. Default none: no client gets a session by a certificate.
    #[doc(alias = "Glacier2.SSLPermissionsVerifier")]
    pub certificate_verifier: Option<CertificateVerifier>,
    /// The `Glacier2::SessionManager` that creates sessions for users with passwords. Default none.
    #[doc(alias = "Glacier2.SessionManager")]
    pub session_manager: Option<Reference>,
    /// The `Glacier2::SSLSessionManager` that creates sessions for clients with certificates. Default none.
    #[doc(alias = "Glacier2.SSLSessionManager")]
    pub certificate_session_manager: Option<Reference>,
    /// How long a session may be unused. `None`, the default, means for ever.
    #[doc(alias = "Glacier2.SessionTimeout")]
    pub session_timeout: Option<Duration>,
    /// How long a client may be silent before its connection is dropped. `None` means for ever. Clients of Ice 3.8 and
    /// Floe send heartbeats by themselves. Clients of Ice 3.7 send them only if their program asks for them; it learns
    /// the time from [`getACMTimeout`]. If there is a session timeout, it is used instead. Default 60 s, as in
    /// Glacier2.
    ///
    /// [`getACMTimeout`]: floe::contracts::glacier2::RouterProxy::get_acm_timeout
    #[doc(alias = "Glacier2.Client.ACM.Timeout")]
    pub idle_timeout: Option<Duration>,
    /// How long a session may wait for its client after a lost connection, if the client asks for that. Only clients of
    /// Floe can ask. `None` means that no session waits. Default 60 s.
    pub resume_grace: Option<Duration>,
    /// The largest number of sessions at a time. Further clients get no session. Default 10,000.
    pub session_limit: usize,
    /// The largest number of sessions of one user at a time, those included that wait for their client. A client with a
    /// certificate is the user that its subject names. Default none: half of
    /// [`session_limit`](Self::session_limit), if a verifier has proven the user's name.
    pub user_session_limit: Option<usize>,
    /// The largest number of sessions of clients at one address at a time, those included that wait for their client.
    /// Default none: half of [`session_limit`](Self::session_limit).
    pub address_session_limit: Option<usize>,
    /// The memory that all sessions may hold together, in bytes: for routes, for requests that wait or have no answer yet,
    /// and for answers that are kept. The sessions of one address may hold as much as is free, so that one address leaves
    /// half of it to others. Beyond that, requests and proxies are refused. Default 256 MiB.
    pub memory_max: usize,
    /// The largest number of requests a second of one user, in all sessions together. Default none.
    pub user_request_rate: Option<u32>,
    /// The largest number of requests a second of clients at one address together. Default none.
    pub address_request_rate: Option<u32>,
    /// How long a verifier, a session manager and a session of the application may take to answer. Default 60 s.
    pub application_timeout: Duration,
    /// The largest number of connections to servers at a time. The sessions of one address may have as many as are
    /// free. A connection that has not been used for five minutes is closed. Default 4,096.
    pub server_connection_limit: usize,
    /// Which calls contain information about the client's connection. Default none.
    #[doc(alias = "Glacier2.AddConnectionContext")]
    pub connection_context: ConnectionContext,
    /// The largest number of objects that a session can register at a time. If it registers more, the least recently
    /// used one is removed. Default 1,000.
    #[doc(alias = "Glacier2.RoutingTable.MaxSize")]
    pub routing_table_max: usize,
    /// The largest length of all proxies that a session has registered, as text, in bytes. Beyond it, the least recently
    /// used ones are removed. A longer proxy is refused, as by a filter. Default 1 MiB.
    pub routing_table_bytes: usize,
    /// Which objects clients may reach. Default all.
    pub filter: FilterSettings,
    /// How requests go from clients to servers.
    #[doc(alias("Glacier2.Client.Buffered", "Glacier2.Client.ForwardContext"))]
    pub to_servers: ForwardingSettings,
    /// How requests go from servers to clients.
    #[doc(alias("Glacier2.Server.Buffered", "Glacier2.Server.ForwardContext"))]
    pub to_clients: ForwardingSettings,
    /// True if `getClientProxy` returns a proxy with the endpoints for clients. If false, it returns nil. Both mean the
    /// same to a client. Default false.
    #[doc(alias = "Glacier2.ReturnClientProxy")]
    pub returns_client_proxy: bool,
    /// The administrative object. Default none.
    #[doc(alias = "Ice.Admin.Endpoints")]
    pub admin: Option<AdminSettings>,
}

impl GatewaySettings {
    /// The defaults, for a gateway that listens for clients at these endpoints. It does not start until one of the
    /// verifiers is set.
    pub fn new(client_listen: impl Into<String>) -> Self {
        Self {
            client_listen: client_listen.into(),
            client_published_endpoints: None,
            server_listen: None,
            server_published_endpoints: None,
            instance_name: "Glacier2".to_owned(),
            password_verifier: None,
            certificate_verifier: None,
            session_manager: None,
            certificate_session_manager: None,
            session_timeout: None,
            idle_timeout: Some(Duration::from_secs(60)),
            resume_grace: Some(Duration::from_secs(60)),
            session_limit: 10_000,
            user_session_limit: None,
            address_session_limit: None,
            server_connection_limit: 4096,
            memory_max: 256 * 1024 * 1024,
            user_request_rate: None,
            address_request_rate: None,
            application_timeout: Duration::from_secs(60),
            connection_context: ConnectionContext::Off,
            routing_table_max: 1000,
            routing_table_bytes: 1024 * 1024,
            filter: FilterSettings::default(),
            to_servers: ForwardingSettings::default(),
            to_clients: ForwardingSettings::default(),
            returns_client_proxy: false,
            admin: None,
        }
    }
}

/// The administrative object of a gateway: `INSTANCE/admin`. Its facet `Process` ends the process, and its facet `Metrics`
/// gives metrics as Glacier2 does. Any program that reaches it may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminSettings {
    /// Where it listens, such as `tcp -h 127.0.0.1 -p 4066`. No other object is there.
    pub listen: String,
    /// The category of its identity. Default `Glacier2`.
    #[doc(alias = "Ice.Admin.InstanceName")]
    pub instance_name: String,
    /// The metrics views by name, with the map in [`METRICS_MAPS`](crate::METRICS_MAPS). Default: none.
    #[doc(alias = "IceMX.Metrics")]
    pub views: BTreeMap<String, MetricsView>,
}

impl AdminSettings {
    /// An object that listens there and has no views.
    pub fn new(listen: impl Into<String>) -> Self {
        Self {
            listen: listen.into(),
            instance_name: "Glacier2".to_owned(),
            views: BTreeMap::new(),
        }
    }
}

/// The verifier of passwords.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PasswordVerifier {
    /// Every user gets a session with any password.
    #[doc(alias = "NullPermissionsVerifier")]
    AcceptAll,
    /// The users and hashes of a file.
    Users(Users),
    /// A `Glacier2::PermissionsVerifier`.
    Proxy(Reference),
}

/// The verifier of certificates. It is asked after TLS has verified the certificate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CertificateVerifier {
    /// Every client whose certificate TLS has verified gets a session.
    #[doc(alias = "NullSSLPermissionsVerifier")]
    AcceptAll,
    /// A `Glacier2::SSLPermissionsVerifier`.
    Proxy(Reference),
}

/// Which calls contain information about a client's connection, in context entries whose keys begin with `_con.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConnectionContext {
    /// No calls.
    #[default]
    Off,
    /// Requests to servers, and calls to the application's verifiers and session managers.
    All,
    /// Calls to the application's verifiers and session managers.
    Application,
}

/// Which objects clients may reach. By default they may reach all.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct FilterSettings {
    /// Hosts and ports that clients may reach.
    #[doc(alias = "Glacier2.Filter.Address.Accept")]
    pub accept_addresses: Vec<AddressRule>,
    /// Hosts and ports that they may not reach.
    #[doc(alias = "Glacier2.Filter.Address.Reject")]
    pub reject_addresses: Vec<AddressRule>,
    /// The largest length of a proxy's text that a client may register, in bytes.
    #[doc(alias = "Glacier2.Filter.ProxySizeMax")]
    pub proxy_len_max: Option<usize>,
    /// Categories that clients may reach.
    #[doc(alias = "Glacier2.Filter.Category.Accept")]
    pub accept_categories: Vec<String>,
    /// Determines if clients may reach the category that has the user's name. Default: they may not.
    #[doc(alias = "Glacier2.Filter.Category.AcceptUser")]
    pub accept_user_category: UserCategory,
    /// Identities that clients may reach.
    #[doc(alias = "Glacier2.Filter.Identity.Accept")]
    pub accept_identities: Vec<Identity>,
    /// Ids of adapters that clients may reach. Proxies without an adapter id are subject to the other two sets alone.
    #[doc(alias = "Glacier2.Filter.AdapterId.Accept")]
    pub accept_adapter_ids: Vec<String>,
}

/// How requests are forwarded in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForwardingSettings {
    /// True if the context of a request is forwarded with it. Default false.
    pub forward_context: bool,
    /// True if requests wait in a queue. A oneway request is complete for its caller as soon as it is queued. Queued
    /// requests can be overridden, and can be sent together. Without a queue, the gateway forwards each request when it
    /// arrives, and the requests of a batch one by one. Default true.
    pub buffered: bool,
    /// How long a queue pauses after it has sent requests. Requests that arrive during the pause are sent together. A
    /// twoway request ends the pause, and so does a queue of [`batch_len_max`](Self::batch_len_max). Default zero.
    #[doc(alias("Glacier2.Client.SleepTime", "Glacier2.Server.SleepTime"))]
    pub sleep_time: Duration,
    /// Which oneway requests are sent in batches. Default [`Batching::Adaptive`].
    #[doc(alias("Glacier2.Client.AlwaysBatch", "Glacier2.Server.AlwaysBatch"))]
    pub batching: Batching,
    /// The largest length of requests that are sent together, in bytes. Default 64 KiB.
    pub batch_len_max: usize,
    /// The compressions of requests to peers of Floe, the preferred one first, for requests that ask for compression. A
    /// server gets the first that it offers; a client gets the one that it asks for in replies, if it is among these.
    /// All others get bzip2. Default: all.
    pub compressions: Arc<[Compression]>,
    /// The largest number of requests in a queue. Each session has a queue for each server, and one for its client.
    /// Default 10,000.
    pub queue_requests: usize,
    /// The largest length of all requests in a queue, in bytes. Default 4 MiB.
    pub queue_bytes: usize,
}

impl Default for ForwardingSettings {
    fn default() -> Self {
        Self {
            forward_context: false,
            buffered: true,
            sleep_time: Duration::ZERO,
            batching: Batching::Adaptive,
            batch_len_max: 64 * 1024,
            compressions: Arc::new([
                Compression::ZstdBatch,
                Compression::ZstdStream,
                Compression::Zstd,
                Compression::Brotli,
            ]),
            queue_requests: 10_000,
            queue_bytes: 4 * 1024 * 1024,
        }
    }
}

impl ForwardingSettings {
    /// The compression of requests to the client of this connection, if they ask for any.
    pub(crate) fn compression_to(&self, client: &Connection) -> Compression {
        let asked = client.asked_compression();
        let allowed = asked.filter(|asked| self.compressions.contains(asked));
        allowed.unwrap_or(Compression::Bzip2)
    }
}

/// Which oneway requests are sent in batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Batching {
    /// Requests that ask for it with `_fwd`.
    Off,
    /// Requests that wait in the queue at the same time, because the connection was busy or the queue paused. A request
    /// that finds the connection free is sent by itself.
    #[default]
    Adaptive,
    /// All oneway requests.
    Always,
}
