//! References, the content of proxies: identity, facet, mode, versions, and the target.
//!
//! [`Reference`] is the noun. `codec` encodes and decodes it, `text` and `print` parse and print a stringified proxy,
//! and `readable` shortens it for people.
//! Local settings of a proxy (timeouts, contexts, caching) are not part of it: they are never sent, and belong to the
//! runtime.

mod codec;
mod endpoint;
mod error;
mod escape;
mod identity;
mod mode;
mod print;
mod readable;
mod scanner;
mod text;

#[cfg(test)]
mod tests;

pub use endpoint::{
    DEFAULT_TIMEOUT_MS, Endpoint, OpaqueEndpoint, Protocol, TcpEndpoint, Timeout, UdpEndpoint,
    UnixEndpoint, WsEndpoint,
};
pub use error::ParseReferenceError;
pub use escape::ToStringMode;
pub use identity::Identity;
pub use mode::InvocationMode;
pub use print::Style;
pub use readable::Readable;
pub use text::{ParseDefaults, ParsedReference, parse_endpoints, parse_published_endpoints};

pub(crate) use codec::{decode_facet, encode_facet};

use crate::encoding::{EncodingVersion, ProtocolVersion};

/// The object of a proxy, and how requests to it are sent.
///
/// A nil proxy is `None::<Reference>`. A reference whose identity has no name is encoded as nil.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    /// Name of the object.
    pub identity: Identity,
    /// The facet of the object; empty for the default facet.
    pub facet: String,
    /// How invocations are sent.
    pub mode: InvocationMode,
    /// Only secure endpoints may be used. Ice 3.8 ignores it.
    pub secure: bool,
    /// The protocol of the object. Other versions than ours are kept unchanged.
    pub protocol: ProtocolVersion,
    /// The encoding for parameters. Other versions than ours are kept unchanged.
    pub encoding: EncodingVersion,
    /// How the object is found.
    pub target: Target,
}

impl Reference {
    /// A twoway reference to the default facet, in protocol 1.0 and encoding 1.1.
    pub fn new(identity: Identity, target: Target) -> Self {
        Self {
            identity,
            facet: String::new(),
            mode: InvocationMode::Twoway,
            secure: false,
            protocol: ProtocolVersion::V1_0,
            encoding: EncodingVersion::V1_1,
            target,
        }
    }

    /// The endpoints of a direct reference; none for any other.
    pub fn endpoints(&self) -> &[Endpoint] {
        match &self.target {
            Target::Direct(endpoints) => endpoints,
            Target::Indirect { .. } | Target::WellKnown => &[],
        }
    }
}

/// How the object of a reference is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// At any of these endpoints. An empty list is encoded as [`Target::WellKnown`].
    Direct(Vec<Endpoint>),
    /// In an adapter, which a locator finds.
    Indirect {
        /// Name of the adapter or of its replica group; an empty one is encoded as
        /// [`Target::WellKnown`].
        adapter_id: String,
    },
    /// By a locator, which finds it by its identity.
    WellKnown,
}
