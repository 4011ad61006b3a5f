//! Settings of a communicator: limits and waits, each with its default.

use std::time::Duration;

use floe_wire::compression::{Compression, LEN_MIN_DEFAULT};
use floe_wire::encoding::{ClassTable, Decoder, GRAPH_DEPTH_MAX};

use crate::pipeline::Interceptors;

/// Limits and waits of a communicator and of everything that belongs to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Largest message that a peer may send, in bytes, header included; at most 2,147,483,647.
    /// Default 1 MiB, as in Ice.
    #[doc(alias = "Ice.MessageSizeMax")]
    pub message_size_max: usize,
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
    /// How often each connection is looked at: one that was silent since the last look gets a
    /// heartbeat. Default 20 s: an Ice 3.8 peer drops a connection that is silent for 60 s. Zero
    /// turns heartbeats and the idle check off.
    pub heartbeat_interval: Duration,
    /// How long a peer that owes a reply may be silent before its connection is dropped; `None`
    /// waits for ever. Default 60 s, as in Ice: an Ice or Floe peer that is alive sends heartbeats.
    #[doc(alias = "Ice.ACM.Timeout")]
    pub idle_timeout: Option<Duration>,
    /// In which order a proxy tries its endpoints. Default [`EndpointSelection::Random`], as in Ice.
    #[doc(alias = "Ice.Default.EndpointSelection")]
    pub endpoint_selection: EndpointSelection,
    /// Whether a proxy tries its encrypted endpoints before the others. Default false, as in Ice:
    /// they come last.
    #[doc(alias = "Ice.Default.PreferSecure")]
    pub prefer_secure: bool,
    /// Certificates and trust, for `ssl` and `wss` endpoints. Default none.
    #[cfg(feature = "tls")]
    #[doc(alias = "IceSSL")]
    pub tls: Option<crate::Tls>,
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
            invocation_timeout: None,
            connect_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(10),
            retry_intervals: vec![Duration::ZERO],
            collocation_optimized: true,
            interceptors: Interceptors::default(),
            output_limit: 4 * 1024 * 1024,
            dispatch_limit: 1024,
            dispatch_stall_timeout: Duration::from_secs(30),
            adapter_dispatch_limit: 64 * 1024,
            batch_size_max: 1024 * 1024,
            heartbeat_interval: Duration::from_secs(20),
            idle_timeout: Some(Duration::from_secs(60)),
            endpoint_selection: EndpointSelection::Random,
            prefer_secure: false,
            #[cfg(feature = "tls")]
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
    /// Lets a decoder know the classes that were added, and the limit.
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
