//! Why a server does not start, or its settings cannot be used.

use std::error::Error;
use std::{fmt, io};

use floe::AdapterError;

/// Why a server does not start, or its settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    fault: Fault,
    message: String,
    help: Option<String>,
}

/// Where the cause of a [`ServerError`] lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The settings, or files that they name: the server starts when they are mended.
    Settings,
    /// The world around it, such as a port in use or a damaged disk.
    System,
}

impl ServerError {
    /// Settings that make no sense. The message is lower case, without a full stop.
    pub fn settings(message: impl fmt::Display) -> Self {
        Self::new(Fault::Settings, message)
    }

    /// Something around the server that is not as it needs it. The message is lower case, without a full stop.
    pub fn system(message: impl fmt::Display) -> Self {
        Self::new(Fault::System, message)
    }

    fn new(fault: Fault, message: impl fmt::Display) -> Self {
        Self {
            fault,
            message: message.to_string(),
            help: None,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Says in front of the message what failed.
    pub(crate) fn when(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Where the cause lies.
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// Returns the problem, without the advice.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Advice on what to do about it.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// The message and what to do, for a log.
impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl Error for ServerError {}

/// How to get what the cargo features add.
pub const FULL_BUILD: &str = "`cargo install floe-cli --features full` includes it (in the repository: `cargo build --release --features full`)";

/// An adapter does not listen, or is not registered.
impl From<&AdapterError> for ServerError {
    fn from(error: &AdapterError) -> Self {
        match error {
            AdapterError::Listen { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                // The library names its own setting.
                let message = error.to_string();
                let message = message.replace(": set `Settings::tls` of the communicator", "");
                Self::settings(message).with_help(
                    "ssl and wss endpoints need --tls-cert, --tls-key and --tls-ca, or cert, key and ca in the [tls] of a floe.toml",
                )
            }
            // The error itself has the advice.
            AdapterError::Listen { .. } => Self::system(error),
            AdapterError::Registration { .. } => Self::system(error).with_help(
                "set the locator with --locator (Ice.Default.Locator), or remove adapter-id (AdapterId) so that nothing is registered",
            ),
            AdapterError::UnsupportedEndpoint { endpoint }
                if !cfg!(feature = "tls")
                    && ["ssl", "wss"].iter().any(|it| endpoint.starts_with(it)) =>
            {
                let message = format_args!(
                    "cannot listen on the endpoint \"{endpoint}\": this build has no encryption"
                );
                Self::settings(message).with_help(FULL_BUILD)
            }
            AdapterError::Endpoints { endpoints, source } => {
                Self::settings(format_args!("`{endpoints}` is no endpoint: {source}"))
                    .with_help(ENDPOINT_HELP)
            }
            _ => Self::settings(error).with_help(ENDPOINT_HELP),
        }
    }
}

const ENDPOINT_HELP: &str =
    "an endpoint is written 'tcp -h 127.0.0.1 -p 10000', or 127.0.0.1:10000";
