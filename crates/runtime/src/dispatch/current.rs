//! Everything known about a request besides its parameters.

use std::fmt;
use std::sync::Arc;

use floe_wire::encoding::EncodingVersion;
use floe_wire::message::{Context, IncomingRequest, OperationMode, RequestFailed, RequestId};
use floe_wire::reference::Identity;

use super::Origin;

/// Everything known about a request besides its parameters. A clone shares the message's bytes.
#[derive(Clone)]
#[doc(alias = "Ice.Current")]
pub struct Current {
    pub(crate) request: IncomingRequest,
    pub(crate) origin: Arc<Origin>,
}

impl Current {
    /// The object.
    pub fn identity(&self) -> Identity {
        self.request.identity()
    }

    /// The name part of the object's identity, borrowed.
    pub fn name(&self) -> &str {
        self.request.name()
    }

    /// The facet; empty for the default facet.
    pub fn facet(&self) -> &str {
        self.request.facet()
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        self.request.operation()
    }

    /// Returns the mode of the operation, which says whether the request may be repeated.
    pub fn mode(&self) -> OperationMode {
        self.request.mode()
    }

    /// The context that is sent beside the parameters.
    pub fn context(&self) -> Context {
        self.request.context()
    }

    /// Number of the request on its connection.
    pub fn request_id(&self) -> RequestId {
        self.request.id()
    }

    /// The object, facet and operation of the request, as system exceptions name them.
    pub(crate) fn target(&self) -> RequestFailed {
        self.request.target()
    }

    /// Returns true if the caller expects no reply.
    pub fn is_oneway(&self) -> bool {
        self.request.id().is_oneway()
    }

    /// Encoding of the parameters and of the results.
    pub fn encoding(&self) -> EncodingVersion {
        self.request.encoding()
    }

    /// Address of the caller, for messages: `127.0.0.1:51820`, or `collocated`. Anyone can forge
    /// the address of a datagram.
    pub fn peer(&self) -> &str {
        match (self.origin.sender(), self.origin.source()) {
            (Some(sender), _) => sender,
            (None, Some(source)) => source.peer(),
            (None, None) => "collocated",
        }
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("request", &self.request)
            .field("peer", &self.peer())
            .finish_non_exhaustive()
    }
}
