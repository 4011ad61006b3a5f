//! Compression of messages before they leave.

use floe_wire::compression::{Compression, Compressor, offered};

use super::Proxy;
use super::route::RoutedConnection;

/// The compression options of a proxy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compress {
    /// True if to compress; `None` leaves it to the endpoint.
    pub(super) is_on: Option<bool>,
    /// The algorithm, if the peer offers it.
    pub(super) compression: Compression,
    /// The length from which on messages are compressed; `None` leaves it to the settings.
    pub(super) len_min: Option<usize>,
}

impl Proxy {
    /// The first of these compressions that is offered at an endpoint of the proxy; `None` if none of them is.
    pub fn offered_compression(&self, preferred: &[Compression]) -> Option<Compression> {
        let endpoints = self.reference().endpoints();
        let is_offered = |it: &Compression| {
            let at_any = |at| offered(*it, endpoints, at);
            it.is_built() && endpoints.iter().any(at_any)
        };
        preferred.iter().copied().find(is_offered)
    }

    /// Returns true if messages on this connection are compressed.
    #[inline]
    pub(crate) fn compresses(&self, routed: &RoutedConnection) -> bool {
        let Some(communicator) = self.communicator() else {
            return false;
        };
        let own = self.inner.options.compress.is_on;
        let is_wanted = communicator.settings().compress_override.or(own);
        is_wanted.unwrap_or(routed.wants_compression)
    }

    /// How to compress messages on this connection; `None` if they are not compressed.
    pub(crate) fn compressor(&self, routed: &RoutedConnection) -> Option<Compressor> {
        if !self.compresses(routed) {
            return None;
        }
        let settings = self.communicator()?.settings();
        let compress = self.inner.options.compress;
        let endpoint = routed.connection.endpoint();
        let wanted = compress.compression;
        let is_offered = |endpoint| {
            // A router's connection goes to an endpoint of the router, and not to one of the object.
            let router = self.router().map(|router| &router.reference);
            let reference = router.unwrap_or(self.reference());
            offered(wanted, reference.endpoints(), endpoint)
        };
        let is_taken = || {
            routed.connection.compression().asked() == Some(wanted)
                || endpoint.is_some_and(is_offered)
        };
        let is_known = wanted == Compression::Bzip2 || wanted.is_built() && is_taken();
        Some(Compressor {
            compression: if is_known { wanted } else { Compression::Bzip2 },
            level: settings.compression_level,
            len_min: compress.len_min.unwrap_or(settings.compress_len_min),
        })
    }
}
