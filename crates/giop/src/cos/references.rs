//! References to the objects of a server.

use bytes::Bytes;

use crate::cdr::{DecodeError, Decoder, Encoder};
use crate::reference::{IiopProfile, Ior};

/// Makes references to objects of one server, which differ in interface and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct References {
    profile: IiopProfile,
}

impl References {
    /// References with this profile; its key is not used.
    pub fn new(profile: IiopProfile) -> Self {
        Self { profile }
    }

    /// A reference to an object.
    pub fn to(&self, type_id: &str, key: Bytes) -> Ior {
        let profile = IiopProfile {
            key,
            ..self.profile.clone()
        };
        Ior::new(type_id, profile)
    }

    /// The key of an object, if the reference leads to this server.
    pub(super) fn key_of<'a>(&self, reference: &'a Ior) -> Option<&'a Bytes> {
        let mut profiles = reference.iiop_profiles();
        let is_here = |profile: &&IiopProfile| {
            profile.host == self.profile.host && profile.port == self.profile.port
        };
        profiles.find(is_here).map(|profile| &profile.key)
    }
}

/// Executes the operations that every object has, but for those that need an interface repository. `interfaces` are the
/// repository ids of the object. Returns false if it is another operation.
pub(super) fn dispatch_object(
    interfaces: &[&str],
    operation: &str,
    arguments: &mut Decoder<'_>,
    results: &mut Encoder,
) -> Result<bool, DecodeError> {
    match operation {
        "_is_a" => {
            let asked = arguments.name("repository id")?;
            let is_one = interfaces.contains(&asked.as_str());
            results.boolean(is_one || asked == "IDL:omg.org/CORBA/Object:1.0");
        }
        "_non_existent" | "_not_existent" => results.boolean(false),
        _ => return Ok(false),
    }
    Ok(true)
}
