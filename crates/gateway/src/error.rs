//! Why a gateway does not start.

use std::fmt;

use floe::AdapterError;

/// Why a gateway could not be started.
#[derive(Clone)]
#[non_exhaustive]
pub enum GatewayError {
    /// It cannot listen at its endpoints, or cannot register its servants.
    Adapter(AdapterError),
    /// The name of the instance, which is the category of the router's identity, is empty.
    NoInstanceName,
    /// No verifier is configured, so that no client could get a session.
    NoVerifier,
    /// A session manager is configured without the verifier that comes before it.
    ManagerWithoutVerifier {
        /// The session manager.
        manager: &'static str,
        /// The verifier that is missing.
        verifier: &'static str,
    },
}

/// The text of `Display`: `main` prints the error that it returns in this form.
impl fmt::Debug for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adapter(error) => error.fmt(f),
            Self::NoInstanceName => f.write_str(
                "expected a name of the gateway's instance, such as Glacier2, got none: set it (InstanceName), or leave it out",
            ),
            Self::NoVerifier => f.write_str(
                "expected a verifier for the clients of the gateway, got none: name a file of passwords \
                 (CryptPasswords), a verifier (PermissionsVerifier), or a verifier of certificates \
                 (SSLPermissionsVerifier)",
            ),
            Self::ManagerWithoutVerifier { manager, verifier } => write!(
                f,
                "expected a {verifier} beside the {manager} of the gateway, got none: without it no client gets so far"
            ),
        }
    }
}

impl std::error::Error for GatewayError {}

impl From<AdapterError> for GatewayError {
    fn from(error: AdapterError) -> Self {
        Self::Adapter(error)
    }
}
