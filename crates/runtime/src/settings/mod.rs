//! Settings of a communicator: limits and timeouts, each with its default. `adapter.rs`: those of one adapter.

mod adapter;

use std::sync::Arc;
use std::time::Duration;

pub use floe_wire::compression::Compression;
use floe_wire::compression::{INFLATION_RATIO_MAX_DEFAULT, LEN_MIN_DEFAULT};
use floe_wire::encoding::{Classes, Decoder, GRAPH_DEPTH_MAX};
use floe_wire::reference::Reference;

pub use adapter::AdapterSettings;
pub use floe_wire::compression::CompressionError;
pub use floe_wire::connection::{Heartbeats, IdleCheck, Liveness};

use crate::invoker::Interceptors;
use crate::transport::tls::Tls;
use crate::transport::{BufferSizes, Setup};

/// Limits and timeouts of a communicator and of everything that belongs to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Largest message that a peer may send, in bytes, header included; at most 2,147,483,647.
    /// Default 1 MiB, as in Ice.
    #[doc(alias = "Ice.MessageSizeMax")]
    pub message_size_max: usize,
    /// How long a message may take to arrive once a part of it is there, apart from the time that
    /// [`message_rate_min`](Self::message_rate_min) gives it for its size. A late one closes its connection, with a
    /// logged line. Default 60 s; `Duration::MAX` waits for ever.
    pub message_timeout: Duration,
    /// The least rate at which a message must arrive, in bytes a second. Default 4,096.
    pub message_rate_min: usize,
    /// Bytes that unfinished messages of all connections together may hold; a connection that needs more is closed,
    /// with a logged line. Parts below 16 KiB are not counted. Default 256 MiB, or one message of
    /// [`message_size_max`](Self::message_size_max) if that is more.
    pub input_memory_max: usize,
    /// Bytes that the replies of all connections together may hold while peers do not read them; a connection that
    /// needs more is closed, with a logged line. Less than 16 KiB of a connection are not counted. Default 256 MiB, or
    /// one message of [`message_size_max`](Self::message_size_max) if that is more.
    pub reply_memory_max: usize,
    /// Streams of [`Compression::ZstdStream`] that all connections together may have, one for each
    /// direction. Each holds 1.2 MiB to receive or 3 MiB to send while its connection is open. A peer that begins one more loses
    /// its connection, with a logged line; this side sends messages that are compressed one by one instead. Default 64.
    pub compression_streams_max: usize,
    /// How long a caller waits for a reply; `None`, the default, waits for ever.
    #[doc(alias = "ice_invocationTimeout")]
    pub invocation_timeout: Option<Duration>,
    /// How long a connection may take to be established and validated. Default 10 s.
    pub connect_timeout: Duration,
    /// How long a graceful close may take before the connection is dropped. Default 10 s.
    pub close_timeout: Duration,
    /// The delay before each retry of an invocation that failed and may safely be repeated. There are as many retries
    /// as entries. Default one immediate retry, as in Ice; empty for none.
    #[doc(alias = "Ice.RetryIntervals")]
    pub retry_intervals: Vec<Duration>,
    /// True if an invocation of an object in an adapter of the same communicator skips the wire. Default true, as in
    /// Ice.
    #[doc(alias = "Ice.Default.CollocationOptimized")]
    pub collocation_optimized: bool,
    /// The interceptors around the invocations of each proxy, outermost first; none by default.
    pub interceptors: Interceptors,
    /// Bytes that may wait on one connection. Beyond it, new requests wait. Default 4 MiB.
    pub output_limit: usize,
    /// Requests of one connection that may be in dispatch before the connection stops reading. Default 1,024; fewer if
    /// they are longer than 16 KiB on average. If calls back and forth over one connection nest deeper than this, they
    /// wait for one another until [`dispatch_stall_timeout`](Self::dispatch_stall_timeout) ends the wait.
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
    /// 25,000. It does not hold for messages below 64 KiB, nor for `zstd-stream`, whose messages repeat earlier ones.
    pub inflation_ratio_max: usize,
    /// How long a connection may stay at its [`dispatch_limit`](Self::dispatch_limit) without an ending
    /// dispatch, while this side waits for replies over it. The replies are behind requests that are not
    /// read, so the dispatches may be waiting for themselves: the next twoway request is then refused with
    /// an `UnknownException` that says so. Default 30 s; `Duration::MAX` waits for ever.
    pub dispatch_stall_timeout: Duration,
    /// Requests of one adapter, over all its connections, that may be in dispatch before its connections stop reading.
    /// Default 65,536. Collocated calls do not count, because their caller may be a dispatch itself. From a limit of 256,
    /// a sixteenth is kept for addresses with fewer than 16 requests in dispatch, so that no address keeps all others
    /// waiting.
    pub adapter_dispatch_limit: usize,
    /// Longest batch in bytes. If the next request would exceed it, the batch is sent first. Default 1 MiB, as in Ice.
    #[doc(alias = "Ice.BatchAutoFlushSize")]
    pub batch_size_max: usize,
    /// Heartbeats, idle checks and inactivity of the connections that this communicator makes.
    #[doc(alias("Ice.ACM.Client", "Ice.Connection.Client"))]
    pub outgoing: Liveness,
    /// Heartbeats, idle checks and inactivity of the connections that its adapters accept, unless an adapter has its
    /// own.
    #[doc(alias("Ice.ACM.Server", "Ice.Connection.Server"))]
    pub incoming: Liveness,
    /// How many accepted connections all adapters together may have at a time. Further connections are closed
    /// immediately, with a logged line; existing connections are unaffected. Default 65,536. Each takes a descriptor,
    /// so the system's limit may be reached first.
    pub connection_limit: usize,
    /// The limit on accepted connections for each address of a peer; of IPv6 addresses, the first 64 bits count.
    /// Sockets of this host count together. Default none.
    pub connection_limit_per_address: Option<usize>,
    /// How many connections of one listening socket may be in their TLS handshake or in the opening of their WebSocket
    /// at a time. If one more arrives, the oldest is dropped once it has had 250 ms. Default 256.
    pub handshake_limit: usize,
    /// The web pages that may open a WebSocket here, by their origins, such as `https://example.org`; `*` is any.
    /// Others are refused with status 403 and a logged line. Default none. Programs send no origin, and need none.
    pub websocket_origins: Vec<String>,
    /// Size of each socket's receive buffer for datagrams, in bytes. The system may give less or more, and
    /// drops datagrams that do not fit. Default the system's.
    #[doc(alias = "Ice.UDP.RcvSize")]
    pub udp_receive_buffer: Option<usize>,
    /// Size of each socket's send buffer for datagrams, in bytes, with the same rules.
    #[doc(alias = "Ice.UDP.SndSize")]
    pub udp_send_buffer: Option<usize>,
    /// Size of the receive buffer of each TCP socket, also under `ssl`, `ws` and `wss`, in bytes. It is set before the
    /// socket connects or listens. If the system gives less, a warning is logged. Default the system's, which grows by
    /// itself; a size that is set does not.
    #[doc(alias = "Ice.TCP.RcvSize")]
    pub tcp_receive_buffer: Option<usize>,
    /// Size of the send buffer of each TCP socket, in bytes, with the same rules.
    #[doc(alias = "Ice.TCP.SndSize")]
    pub tcp_send_buffer: Option<usize>,
    /// Permissions of the socket files of `unix` endpoints: bits of a file's mode, such as `0o600` for this user alone.
    /// Default none: the process's umask decides.
    pub unix_socket_mode: Option<u32>,
    /// The order in which a proxy tries its endpoints. Default [`EndpointSelection::Random`], as in Ice.
    #[doc(alias = "Ice.Default.EndpointSelection")]
    pub endpoint_selection: EndpointSelection,
    /// True if a proxy tries its encrypted endpoints before the others. Default false, as in Ice:
    /// they come last.
    #[doc(alias = "Ice.Default.PreferSecure")]
    pub prefer_secure: bool,
    /// The locator for proxies without endpoints: the proxy of an `Ice::Locator`, with endpoints. Default none: such
    /// proxies are unusable.
    #[doc(alias = "Ice.Default.Locator")]
    pub locator: Option<Reference>,
    /// How long a cached answer of the locator is valid, unless a proxy has its own time. Zero asks for each new
    /// connection. `None`, the default as in Ice, keeps the answer until a connection fails.
    #[doc(alias = "Ice.Default.LocatorCacheTimeout")]
    pub locator_cache_timeout: Option<Duration>,
    /// The router of all requests, unless a proxy has its own (`ice_router`): the proxy of an `Ice::Router`. Such a
    /// router needs a session before the first request. Default none.
    #[doc(alias = "Ice.Default.Router")]
    pub router: Option<Reference>,
    /// Certificates and trust, for `ssl` and `wss` endpoints. Default none.
    #[doc(alias = "IceSSL")]
    pub tls: Option<Tls>,
    /// True if requests are compressed. It overrides proxies and endpoints; `None`, the default, leaves the choice to
    /// them.
    #[doc(alias = "Ice.Override.Compress")]
    pub compress_override: Option<bool>,
    /// Level of bzip2: 1 to 9, the block size in units of 100 kB. Default 1, as in Ice.
    #[doc(alias = "Ice.Compression.Level")]
    pub compression_level: u32,
    /// Shorter messages than this many bytes, header included, are never compressed. Default 100, as in Ice.
    pub compress_len_min: usize,
    /// The compressions beyond bzip2 that the adapters offer in their proxies. A Floe peer may then use them; an Ice
    /// peer sees one more opaque endpoint, and passes it on. None by default.
    pub compressions: Vec<Compression>,
    /// Tables of classes that may arrive as a base class of another contract, or as `Object`. The classes of a contract
    /// and of the contracts that it includes are always known. None by default.
    #[doc(alias = "ValueFactory")]
    pub classes: Vec<&'static dyn Classes>,
    /// How deep a graph of class instances that arrives may be. Default 100. With a higher limit, the stack may end a
    /// graph sooner, with an error. At most 100 are sent.
    #[doc(alias = "Ice.ClassGraphDepthMax")]
    pub class_graph_depth_max: usize,
    /// How long a side that waits for a message polls before it sleeps, at most. Default 0: it sleeps immediately. On
    /// one host, waking a thread costs more than the rest of a call, but a side that polls uses its core up. Polling
    /// stops by itself where it does not help.
    pub polling: Duration,
    /// Connections of a blocking server that have a thread of their own; further connections share one background
    /// thread. Default 256.
    pub thread_limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            message_size_max: floe_wire::message::MESSAGE_SIZE_MAX_DEFAULT,
            message_timeout: Duration::from_secs(60),
            message_rate_min: 4096,
            input_memory_max: 256 * 1024 * 1024,
            compression_streams_max: 64,
            reply_memory_max: 256 * 1024 * 1024,
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
            tcp_receive_buffer: None,
            tcp_send_buffer: None,
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
    /// The settings that transports need.
    pub(crate) fn transport_setup(&self) -> Setup {
        Setup {
            message_size_max: self.message_size_max,
            datagrams_ignored: Arc::default(),
            udp_receive_buffer: self.udp_receive_buffer,
            udp_send_buffer: self.udp_send_buffer,
            tcp_buffers: BufferSizes {
                receive: self.tcp_receive_buffer,
                send: self.tcp_send_buffer,
            },
            unix_socket_mode: self.unix_socket_mode,
            tls: self.tls.clone(),
            websocket_origins: self.websocket_origins.as_slice().into(),
        }
    }

    /// Gives a decoder the added classes, and the depth limit.
    #[inline]
    pub(crate) fn make_known(&self, decoder: &mut Decoder<'_>) {
        for classes in &self.classes {
            decoder.know_classes(*classes);
        }
        // Skip this for values without classes.
        if self.class_graph_depth_max != GRAPH_DEPTH_MAX {
            decoder.set_graph_depth_max(self.class_graph_depth_max);
        }
    }
}

/// The order in which a proxy tries its endpoints when it needs a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndpointSelection {
    /// Random order, which spreads clients over servers; a socket of this host comes first.
    Random,
    /// The order in the proxy.
    Ordered,
}

#[cfg(test)]
impl Default for Setup {
    fn default() -> Self {
        Settings::default().transport_setup()
    }
}
