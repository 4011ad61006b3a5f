//! What a proxy holds: identity, facet, mode, versions, and where to find the object.

mod identity;

pub use identity::Identity;
