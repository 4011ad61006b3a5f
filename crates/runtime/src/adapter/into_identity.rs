//! Values that a caller may pass as an identity when it registers a servant.

use floe_wire::reference::{Identity, ParseReferenceError};

/// A value that converts to an identity: an [`Identity`], or text such as `category/name`.
pub trait IntoIdentity {
    /// Converts the value.
    ///
    /// # Errors
    /// [`ParseReferenceError`] if the text is not an identity.
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
