//! Settings of a communicator: limits and waits, each with its default. `adapter.rs`: those of one adapter.

mod adapter;

use std::sync::Arc;
use std::time::Duration;

use floe_wire::compression::{Compression, INFLATION_RATIO_MAX_DEFAULT, LEN_MIN_DEFAULT};
use floe_wire::encoding::{ClassTable, Decoder, GRAPH_DEPTH_MAX};
use floe_wire::reference::Reference;

pub use adapter::AdapterSettings;

use crate::invoker::Interceptors;
use crate::liveness::Liveness;
use crate::transport::Setup;
use crate::transport::tls::Tls;

/// Limits and waits of a communicator and of everything that belongs to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Largest message that a peer may send, in bytes, header included; at most 2,147,483,647.
    /// Default 1 MiB, as in Ice.
    #[doc(alias = "Ice.MessageSizeMax")]
    pub message_size_max: usize,
    /// How long a message may take to arrive once a part of it is there, apart from the time that
    /// [`message_rate_min`](Self::message_rate_min) gives it for its size. A late one closes its connection, with a logged
    /// line. Default 60 s; `Duration::MAX` waits for ever.
    pub message_timeout: Duration,
    /// The least rate at which a message must arrive, in bytes a second. Default 4,096.
    pub message_rate_min: usize,
    /// Bytes that unfinished messages of all connections together may hold; a connection that needs more is closed, with
    /// a logged line. Parts below 16 KiB are not counted. Default 256 MiB, or one message of
    /// [`message_size_max`](Self::message_size_max) if that is more.
    pub input_memory_max: usize,
    /// How long a caller waits for a reply; `None`, the default, waits for ever.
    #[doc(alias = "ice_invocationTimeout")]
    pub invocation_timeout: Option<Duration>,
    /// How long a connection may take to be made and validated. Default 10 s.
    pub connect_timeout: Duration,
    /// How long a graceful close may take before the connection is dropped. Default 10 s.
    pub close_timeout: Duration,
    /// How long to wait before each retry of an invocation that failed and may safely be repeated;
    /// as many retries as there are entries. Default one, at once, as in Ice; empty for none.
    #[doc(alias = "Ice.RetryIntervals")]
    pub retry_intervals: Vec<Duration>,
    /// Whether an invocation of an object that lives in an adapter of the same communicator skips
    /// the wire. Default true, as in Ice.
    #[doc(alias = "Ice.Default.CollocationOptimized")]
    pub collocation_optimized: bool,
    /// What wraps the invocations of each proxy, outermost first; none by default.
    pub interceptors: Interceptors,
    /// Bytes that may wait on one connection before new requests have to wait, too. Default 4 MiB.
    pub output_limit: usize,
    /// Requests of one connection that may be in dispatch before its reading stops. Default 1,024;
    /// less if they are longer than 16 KiB on the average. Calls back and forth over one connection
    /// that nest deeper than this wait for one another, until
    /// [`dispatch_stall_timeout`](Self::dispatch_stall_timeout) ends that.
    pub dispatch_limit: usize,
    /// Requests of one connection that are dispatched before other connections have their turn. Default 4,096. All
    /// three budgets of a turn keep one peer from holding up the others.
    pub turn_requests_max: usize,
    /// Bytes that the compressed messages of one connection may come to before other connections have their turn.
    /// Default 256 KiB. A message is decompressed whole, so
    /// [`message_size_max`](Self::message_size_max) is the most that a turn exceeds it by.
    pub turn_inflated_max: usize,
    /// How long the requests of one connection are dispatched before other connections have their turn. Default 1 ms.
    /// A dispatch that has begun is not interrupted.
    pub turn_time_max: Duration,
    /// How many times as long as it arrived a compressed message may be. A longer one closes its connection. Default
    /// 10,000. It does not hold for messages below 64 KiB, nor for `zstd-stream`, whose messages repeat earlier ones.
    pub inflation_ratio_max: usize,
    /// How long none of [`dispatch_limit`](Self::dispatch_limit) dispatches of a connection may end
    /// while replies to requests of this side are due over it. The replies stand behind requests that
    /// are not read, so the dispatches may be waiting for themselves: the next twoway request is then
    /// refused with an `UnknownException` that says so. Default 30 s; `Duration::MAX` waits for ever.
    pub dispatch_stall_timeout: Duration,
    /// Requests of one adapter, over all its connections, that may be in dispatch before their
    /// connections stop reading. Default 65,536. Collocated calls are not counted: who makes one
    /// may be a dispatch itself.
    pub adapter_dispatch_limit: usize,
    /// A batch is sent by itself when the next request would make it longer than this many bytes.
    /// Default 1 MiB, as in Ice.
    #[doc(alias = "Ice.BatchAutoFlushSize")]
    pub batch_size_max: usize,
    /// Heartbeats, idle checks and inactivity of the connections that this communicator makes.
    #[doc(alias("Ice.ACM.Client", "Ice.Connection.Client"))]
    pub outgoing: Liveness,
    /// The same for those that its adapters accept, unless an adapter has its own.
    #[doc(alias("Ice.ACM.Server", "Ice.Connection.Server"))]
    pub incoming: Liveness,
    /// Connections that all adapters together may have accepted at a time. Those beyond are closed
    /// at once, with a logged line, and lose nobody else's. Default 65,536; each takes a descriptor,
    /// so the system's limit of those may come first.
    pub connection_limit: usize,
    /// The same for one address of the peers; sockets of this host count together. Default none.
    pub connection_limit_per_address: Option<usize>,
    /// Connections of one listening socket that may be in their TLS handshake or in the opening of
    /// their WebSocket at a time. When one more comes the oldest is given up, if it has had 250 ms.
    /// Default 256.
    pub handshake_limit: usize,
    /// The web pages that may open a WebSocket here, by their origins, such as `https://example.org`; `*` is any. Others
    /// are refused with status 403 and a logged line. Default none. Programs send no origin, and need none.
    pub websocket_origins: Vec<String>,
    /// What the system keeps of datagrams that were received and not yet read, in bytes, for each
    /// socket; it may give less or more, and drops what does not fit. Default the system's.
    #[doc(alias = "Ice.UDP.RcvSize")]
    pub udp_receive_buffer: Option<usize>,
    /// The same for datagrams to be sent.
    #[doc(alias = "Ice.UDP.SndSize")]
    pub udp_send_buffer: Option<usize>,
    /// Who may connect to the sockets of `unix` endpoints: bits of a file's mode, such as `0o600`
    /// for this user alone. Default none: what the process creates by its umask.
    pub unix_socket_mode: Option<u32>,
    /// In which order a proxy tries its endpoints. Default [`EndpointSelection::Random`], as in Ice.
    #[doc(alias = "Ice.Default.EndpointSelection")]
    pub endpoint_selection: EndpointSelection,
    /// Whether a proxy tries its encrypted endpoints before the others. Default false, as in Ice:
    /// they come last.
    #[doc(alias = "Ice.Default.PreferSecure")]
    pub prefer_secure: bool,
    /// Who knows where the objects of proxies without endpoints are: the proxy of an `Ice::Locator`, with endpoints.
    /// Default none: such proxies cannot be used.
    #[doc(alias = "Ice.Default.Locator")]
    pub locator: Option<Reference>,
    /// How long what the locator said is good, unless a proxy has its own time; zero asks for each
    /// connection that is needed. `None`, the default as in Ice, is until a connection there fails.
    #[doc(alias = "Ice.Default.LocatorCacheTimeout")]
    pub locator_cache_timeout: Option<Duration>,
    /// The router that all requests go through, unless a proxy has its own (`ice_router`): the proxy of an `Ice::Router`. Such a
    /// router needs a session before the first request. Default none.
    #[doc(alias = "Ice.Default.Router")]
    pub router: Option<Reference>,
    /// Certificates and trust, for `ssl` and `wss` endpoints. Default none.
    #[doc(alias = "IceSSL")]
    pub tls: Option<Tls>,
    /// Whether requests are compressed, whatever proxies and endpoints say; `None`, the default,
    /// leaves it to them.
    #[doc(alias = "Ice.Override.Compress")]
    pub compress_override: Option<bool>,
    /// How hard bzip2 tries: 1 to 9, in units of 100 kB that are looked at together. Default 1, as
    /// in Ice.
    #[doc(alias = "Ice.Compression.Level")]
    pub compression_level: u32,
    /// Messages below this many bytes, header included, are never compressed. Default 100, as in
    /// Ice.
    pub compress_len_min: usize,
    /// What the adapters say in their proxies that they understand beyond bzip2. A Floe peer may
    /// then use it; a plain Ice peer sees one more opaque endpoint, and carries it. None by default.
    pub compressions: Vec<Compression>,
    /// Tables of classes that may arrive where another contract declares a base of theirs, or
    /// `Object`. The classes of a contract and of those that it includes are known without it; none
    /// by default.
    #[doc(alias = "ValueFactory")]
    pub classes: Vec<&'static ClassTable>,
    /// How many class instances that arrive may be below one another. Default 100. Above it the stack
    /// may end a graph sooner, with an error; no more than 100 are sent.
    #[doc(alias = "Ice.ClassGraphDepthMax")]
    pub class_graph_depth_max: usize,
    /// How long a side that waits for a message of its peer asks again and again before it sleeps,
    /// at most. Default 0: it sleeps at once. To be woken costs more than the rest of a call on one
    /// host; but a side that polls uses its core up. It stops by itself where polling is in vain.
    pub polling: Duration,
    /// Connections of a blocking server that have a thread of their own; tasks of one thread in the
    /// background serve those beyond. Default 256.
    pub thread_limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            message_size_max: floe_wire::message::MESSAGE_SIZE_MAX_DEFAULT,
            message_timeout: Duration::from_secs(60),
            message_rate_min: 4096,
            input_memory_max: 256 * 1024 * 1024,
            invocation_timeout: None,
            connect_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(10),
            retry_intervals: vec![Duration::ZERO],
            collocation_optimized: true,
            interceptors: Interceptors::default(),
            output_limit: 4 * 1024 * 1024,
            dispatch_limit: 1024,
            turn_requests_max: 4096,
            turn_inflated_max: 256 * 1024,
            turn_time_max: Duration::from_millis(1),
            inflation_ratio_max: INFLATION_RATIO_MAX_DEFAULT,
            dispatch_stall_timeout: Duration::from_secs(30),
            adapter_dispatch_limit: 64 * 1024,
            batch_size_max: 1024 * 1024,
            outgoing: Liveness::default(),
            incoming: Liveness::default(),
            connection_limit: 64 * 1024,
            connection_limit_per_address: None,
            handshake_limit: 256,
            websocket_origins: Vec::new(),
            udp_receive_buffer: None,
            udp_send_buffer: None,
            unix_socket_mode: None,
            endpoint_selection: EndpointSelection::Random,
            prefer_secure: false,
            locator: None,
            locator_cache_timeout: None,
            router: None,
            tls: None,
            compress_override: None,
            compression_level: 1,
            compress_len_min: LEN_MIN_DEFAULT,
            compressions: Vec::new(),
            classes: Vec::new(),
            class_graph_depth_max: GRAPH_DEPTH_MAX,
            polling: Duration::ZERO,
            thread_limit: 256,
        }
    }
}

impl Settings {
    /// What transports need of them.
    pub(crate) fn transport_setup(&self) -> Setup {
        Setup {
            message_size_max: self.message_size_max,
            datagrams_ignored: Arc::default(),
            udp_receive_buffer: self.udp_receive_buffer,
            udp_send_buffer: self.udp_send_buffer,
            unix_socket_mode: self.unix_socket_mode,
            tls: self.tls.clone(),
            websocket_origins: self.websocket_origins.as_slice().into(),
        }
    }

    /// Lets a decoder know the classes that were added, and the limit.
    #[inline]
    pub(crate) fn make_known(&self, decoder: &mut Decoder<'_>) {
        for classes in &self.classes {
            decoder.know_classes(*classes);
        }
        // Values without classes need none of what a decoder has for graphs.
        if self.class_graph_depth_max != GRAPH_DEPTH_MAX {
            decoder.set_graph_depth_max(self.class_graph_depth_max);
        }
    }
}

/// In which order a proxy tries its endpoints when it needs a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndpointSelection {
    /// In any, which spreads clients over servers; a socket of this host first.
    Random,
    /// As they stand in the proxy.
    Ordered,
}

#[cfg(test)]
impl Default for Setup {
    fn default() -> Self {
        Settings::default().transport_setup()
    }
}
