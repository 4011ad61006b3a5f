//! Settings of a gateway, with the properties of Glacier2 that they come from.

use std::time::Duration;

use floe::{Identity, Reference};

use crate::core::{AddressRule, Passwords, UserCategory};

/// How a gateway works. Durations and lengths that a peer can influence have limits here.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GatewaySettings {
    /// Where clients connect: endpoints such as `ssl -h gateway.example -p 4064`.
    #[doc(alias = "Glacier2.Client.Endpoints")]
    pub client_listen: String,
    /// Endpoints that stand in proxies to the router. Default none: those on which it listens.
    #[doc(alias = "Glacier2.Client.PublishedEndpoints")]
    pub client_published_endpoints: Option<String>,
    /// Where servers call back. Default none: there are no callbacks, and no session control.
    #[doc(alias = "Glacier2.Server.Endpoints")]
    pub server_listen: Option<String>,
    /// Endpoints that stand in proxies to clients' objects. Default none: those on which it listens.
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
    /// The `Glacier2::SessionManager` that makes the sessions of users with passwords. Default none.
    #[doc(alias = "Glacier2.SessionManager")]
    pub session_manager: Option<Reference>,
    /// The `Glacier2::SSLSessionManager` that makes the sessions of clients with certificates. Default none.
    #[doc(alias = "Glacier2.SSLSessionManager")]
    pub certificate_session_manager: Option<Reference>,
    /// How long a session may be unused; `None`, the default, is for ever.
    #[doc(alias = "Glacier2.SessionTimeout")]
    pub session_timeout: Option<Duration>,
    /// How long a client may be silent before its connection is dropped; `None` is for ever. Clients of Ice 3.8 and Floe
    /// send heartbeats by themselves, those of 3.7 when they are told to ([`getACMTimeout`] tells them). A session
    /// timeout takes its place. Default 60 s, as in Glacier2.
    ///
    /// [`getACMTimeout`]: floe::contracts::glacier2::RouterProxy::get_acm_timeout
    #[doc(alias = "Glacier2.Client.ACM.Timeout")]
    pub idle_timeout: Option<Duration>,
    /// Sessions at a time. A client beyond them is refused. Default 10,000.
    pub session_limit: usize,
    /// How long a verifier, a session manager and a session of the application may take to answer. Default 60 s.
    pub application_timeout: Duration,
    /// Which calls tell of the connection of a client. Default none.
    #[doc(alias = "Glacier2.AddConnectionContext")]
    pub connection_context: ConnectionContext,
    /// Objects that a session can make known at a time; beyond, the least recently used is forgotten. Default 1,000.
    #[doc(alias = "Glacier2.RoutingTable.MaxSize")]
    pub routing_table_max: usize,
    /// Which objects clients may reach. Default all.
    pub filter: FilterSettings,
    /// How requests go from clients to servers.
    #[doc(alias("Glacier2.Client.Buffered", "Glacier2.Client.ForwardContext"))]
    pub to_servers: ForwardingSettings,
    /// How requests go from servers to clients.
    #[doc(alias("Glacier2.Server.Buffered", "Glacier2.Server.ForwardContext"))]
    pub to_clients: ForwardingSettings,
    /// Whether `getClientProxy` gives the router's endpoints, instead of nothing, which means the same to a client.
    /// Default false.
    #[doc(alias = "Glacier2.ReturnClientProxy")]
    pub returns_client_proxy: bool,
}

impl GatewaySettings {
    /// The defaults of a gateway whose clients connect here. It does not start without a verifier.
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
            session_limit: 10_000,
            application_timeout: Duration::from_secs(60),
            connection_context: ConnectionContext::Off,
            routing_table_max: 1000,
            filter: FilterSettings::default(),
            to_servers: ForwardingSettings::default(),
            to_clients: ForwardingSettings::default(),
            returns_client_proxy: false,
        }
    }
}

/// The verifier of passwords.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PasswordVerifier {
    /// Each user gets a session, whatever the password is.
    #[doc(alias = "NullPermissionsVerifier")]
    AcceptAll,
    /// The hashes of a file.
    Passwords(Passwords),
    /// A `Glacier2::PermissionsVerifier`.
    Proxy(Reference),
}

/// The verifier of certificates, which TLS has verified before.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CertificateVerifier {
    /// Each client gets a session whose certificate TLS has verified.
    #[doc(alias = "NullSSLPermissionsVerifier")]
    AcceptAll,
    /// A `Glacier2::SSLPermissionsVerifier`.
    Proxy(Reference),
}

/// Which calls tell of the connection of a client, in entries of their context that begin with `_con.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConnectionContext {
    /// No calls.
    #[default]
    Off,
    /// Requests to servers, and calls to the application when it makes a session.
    All,
    /// Calls to the application when it makes a session.
    Application,
}

/// Which objects clients may reach. Where nothing is said they may reach all.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct FilterSettings {
    /// Hosts and ports that clients may reach.
    #[doc(alias = "Glacier2.Filter.Address.Accept")]
    pub accept_addresses: Vec<AddressRule>,
    /// Hosts and ports that they may not reach.
    #[doc(alias = "Glacier2.Filter.Address.Reject")]
    pub reject_addresses: Vec<AddressRule>,
    /// How long the text of a proxy may be that a client makes known, in bytes.
    #[doc(alias = "Glacier2.Filter.ProxySizeMax")]
    pub proxy_len_max: Option<usize>,
    /// Categories that clients may reach.
    #[doc(alias = "Glacier2.Filter.Category.Accept")]
    pub accept_categories: Vec<String>,
    /// Whether the name of a user is one of them.
    #[doc(alias = "Glacier2.Filter.Category.AcceptUser")]
    pub accept_user_category: UserCategory,
    /// Identities that clients may reach.
    #[doc(alias = "Glacier2.Filter.Identity.Accept")]
    pub accept_identities: Vec<Identity>,
    /// Ids of adapters that clients may reach.
    #[doc(alias = "Glacier2.Filter.AdapterId.Accept")]
    pub accept_adapter_ids: Vec<String>,
}

/// How requests are forwarded in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForwardingSettings {
    /// Whether the context of a request goes along. Default false.
    pub forward_context: bool,
    /// Whether requests wait in a queue, where they are answered if they are oneway, can be overridden, and leave
    /// together. Otherwise each is forwarded as it comes, and batches are single requests. Default true.
    pub buffered: bool,
    /// How long a queue rests after requests have left; what comes meanwhile leaves together. A twoway request and a
    /// queue of [`batch_len_max`](Self::batch_len_max) end the rest. Default none.
    #[doc(alias("Glacier2.Client.SleepTime", "Glacier2.Server.SleepTime"))]
    pub sleep_time: Duration,
    /// Which oneway requests leave in batches. Default [`Batching::Adaptive`].
    #[doc(alias("Glacier2.Client.AlwaysBatch", "Glacier2.Server.AlwaysBatch"))]
    pub batching: Batching,
    /// How long requests may be that leave together, in bytes. Default 64 KiB.
    pub batch_len_max: usize,
    /// Requests that may wait, in each direction of a session and for each server. Default 10,000.
    pub queue_requests: usize,
    /// How long they may be together, in bytes. Default 4 MiB.
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
            queue_requests: 10_000,
            queue_bytes: 4 * 1024 * 1024,
        }
    }
}

/// Which oneway requests leave in batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Batching {
    /// Those that ask for it with `_fwd`.
    Off,
    /// Those that have waited behind one another, because the line was busy or the queue rested. One that finds the
    /// line free leaves by itself.
    #[default]
    Adaptive,
    /// All.
    Always,
}
