//! What can stand for an identity where a servant is registered.

use floe_wire::reference::{Identity, ParseReferenceError};

/// What can stand for an identity: an [`Identity`], or text such as `category/name`.
pub trait IntoIdentity {
    /// The identity.
    ///
    /// # Errors
    /// [`ParseReferenceError`] if the text is no identity.
    fn into_identity(self) -> Result<Identity, ParseReferenceError>;
}

impl IntoIdentity for Identity {
    fn into_identity(self) -> Result<Identity, ParseReferenceError> {
        Ok(self)
    }
}

impl IntoIdentity for &Identity {
    fn into_identity(self) -> Result<Identity, ParseReferenceError> {
        Ok(self.clone())
    }
}

impl IntoIdentity for &str {
    fn into_identity(self) -> Result<Identity, ParseReferenceError> {
        self.parse()
    }
}

impl IntoIdentity for String {
    fn into_identity(self) -> Result<Identity, ParseReferenceError> {
        self.parse()
    }
}
