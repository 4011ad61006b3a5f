//! Object references: an IOR as bytes and as text, and `corbaloc`.
//!
//! A reference has the repository id of its interface and profiles. Each profile is a way to reach the object: here an
//! IIOP profile, with a host, a port and the object key. The key means something to its server alone. Profiles of other
//! protocols, and components that are not known here, are kept as they came.
//!
//! Source: CORBA 3.0.3, 13.6 "Interoperable Object References", 15.7.2 and 15.7.3.

mod component;
mod corbaloc;
mod error;
mod ior;
mod profile;

pub use component::{Component, tag};
pub use corbaloc::{Address, Corbaloc, DEFAULT_PORT};
pub use error::{ParseError, ParseErrorKind};
pub use ior::{Ior, PROFILES_MAX, TEXT_LEN_MAX};
pub use profile::{COMPONENTS_MAX, IiopProfile, Profile};
