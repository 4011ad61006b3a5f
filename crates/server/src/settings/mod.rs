//! The settings of a server: the file that it reads, their checks, and the places of its errors.
//!
//! - `access.rs`: who may do what
//! - `bridges.rs`: bridges to other worlds, and their contracts
//! - `admin.rs`: what both say of the administrative object; `views.rs`: and of its metrics
//! - `durable.rs`: durable topics
//! - `entry.rs`: one setting with its place, and what values may be
//! - `floe_toml.rs`: `floe.toml`, Floe's own names; `gateway.rs`: values of its table of a gateway
//! - `setting.rs`: what a setting of it is; `rows/`: all of them
//! - `parts.rs`: metrics and console
//! - `lost.rs`: what a file no longer has that it had
//! - `plain_build.rs`: what a build without encryption makes of it
//! - `reference.rs`, `schema.rs`: the page and the JSON schema that tell of them
//! - `properties.rs`: a property file with IceStorm's names; `glacier2.rs`: one with Glacier2's
//! - `ice.rs`: what such a file says of Ice's runtime; `known_properties.rs`: all properties that are read

mod access;
mod admin;
pub(crate) mod bridges;
mod durable;
mod entry;
mod floe_toml;
mod gateway;
mod glacier2;
mod ice;
mod known_properties;
mod lost;
mod parts;
mod plain_build;
mod properties;
mod reference;
pub mod rows;
mod schema;
mod setting;
mod views;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use floe::Settings;
use floe::hub::nearest_name as nearest;
use floe::regular_file;
use floe_gateway::GatewaySettings;
use floe_hub::HubSettings;

use crate::certificates::Certificates;
use crate::error::ServerError;
use crate::notice::warn_of_readers;
use crate::reload::{self, Stamp};
pub use entry::Problem;
pub use parts::{ConsoleSettings, MetricsSettings};
pub use reference::page;
pub use rows::POLLING_MAX;
pub use schema::schema;
pub use setting::{Effect, Kind, Setting};

/// The configuration: the settings of a file, over the defaults.
#[derive(Debug)]
pub struct Configuration {
    /// Settings of the hub.
    pub hub: HubSettings,
    /// True if there is a hub.
    pub has_hub: bool,
    /// Settings of the gateway, if there is one.
    pub gateway: Option<GatewaySettings>,
    /// Settings of its connections.
    pub communicator: Settings,
    /// Bridges to other worlds.
    pub(crate) bridges: bridges::BridgeSettings,
    /// Certificates and trust.
    pub tls: Certificates,
    /// How much is logged: one of the levels of the setting `log`.
    pub log: Option<String>,
    /// The settings that are not wrong, but have no effect.
    pub warnings: Vec<Problem>,
    /// Settings of the metrics for Prometheus, if they are served. No file says them.
    pub metrics: Option<MetricsSettings>,
    /// Where the console is served, if it is.
    pub console: ConsoleSettings,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The file as it was read; empty without one.
    text: String,
    /// The stamp of the file before it was read: a change that comes meanwhile is seen.
    pub(crate) stamp: Option<Stamp>,
}

/// Names of levels of the log; `off` says nothing.
pub(crate) const LEVELS: [(&str, &str); 6] = [
    ("off", "off"),
    ("error", "error"),
    ("warn", "warn"),
    ("info", "info"),
    ("debug", "debug"),
    ("trace", "trace"),
];

/// Bytes of a file of settings: it is read again while a hub runs, which waits meanwhile.
const FILE_LEN_MAX: usize = 16 << 20;

/// How long connections have to close at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The connections of one address, half of what the default limit of all allows, so that no address takes all.
const PER_ADDRESS: usize = 32 * 1024;

impl Configuration {
    /// Nothing but defaults.
    pub fn new(mut communicator: Settings) -> Self {
        communicator
            .connection_limit_per_address
            .get_or_insert(PER_ADDRESS);
        Self {
            hub: HubSettings::default(),
            has_hub: true,
            gateway: None,
            communicator,
            bridges: bridges::BridgeSettings::default(),
            tls: Certificates::default(),
            log: None,
            warnings: Vec::new(),
            metrics: None,
            console: ConsoleSettings::default(),
            file: None,
            text: String::new(),
            stamp: None,
        }
    }

    /// Loads a file, with certificates and all that it names. Time and connections are as `floe serve` has them.
    ///
    /// # Errors
    /// As [`Configuration::read`], and certificates that cannot be used.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ServerError> {
        let mut communicator = Settings::default();
        communicator.close_timeout = CLOSE_TIMEOUT;
        Self::read(path.as_ref(), communicator, |_| ())?.with_certificates(Certificates::default())
    }

    /// Loads the certificates, with those before them that others say.
    ///
    /// # Errors
    /// Files that cannot be used, and a key without its certificate.
    pub fn with_certificates(mut self, others: Certificates) -> Result<Self, ServerError> {
        self.tls = self.tls.behind(others);
        let tls = self.tls.clone().tls();
        self.communicator.tls = tls.map_err(|error| self.with_file(error))?;
        Ok(self)
    }

    /// Takes another configuration over, but for what holds until the next start.
    pub(crate) fn replace(&mut self, next: Self) {
        let fixed = std::mem::replace(self, next);
        self.communicator = fixed.communicator;
        self.gateway = fixed.gateway;
        self.has_hub = fixed.has_hub;
        self.bridges = fixed.bridges;
        self.tls = fixed.tls;
        self.metrics = fixed.metrics;
        self.console = fixed.console;
    }

    /// The error, with the file whose settings may be the cause.
    pub(crate) fn with_file(&self, error: ServerError) -> ServerError {
        match &self.file {
            Some(file) => error.when(format_args!("with {}", file.display())),
            None => error,
        }
    }

    /// Reads a file: as TOML if its name ends in `.toml`, otherwise properties of IceStorm or Glacier2. What the command line
    /// says of the hub goes before the file, except before what that says of single topics.
    ///
    /// # Errors
    /// A file that cannot be read, and every line that makes no sense.
    pub fn read(
        path: &Path,
        communicator: Settings,
        command_line: impl Fn(&mut HubSettings),
    ) -> Result<Self, ServerError> {
        let shown = path.display();
        let stamp = reload::stamp(path);
        let is_toml = path
            .extension()
            .is_some_and(|extension| extension == "toml");
        let text = regular_file::read(path, FILE_LEN_MAX).and_then(|bytes| match is_toml {
            true => regular_file::text(bytes),
            false => regular_file::text(properties::without_foreign_comments(bytes)),
        });
        let text = text
            .map_err(|error| {
                let failure = ServerError::settings(format_args!("cannot read {shown}: {error}"));
                match error.kind() {
                    ErrorKind::Unsupported => failure.with_help(
                        "a hub reads its settings again at SIGHUP: write what a program or a pipe yields into a file, and \
                         name that",
                    ),
                    _ => failure,
                }
            })?;
        let mut configuration = Self::new(communicator);
        let mut problems = match is_toml {
            true => {
                let mut problems = floe_toml::read(&text, &mut configuration, &command_line);
                // The text is TOML then.
                if problems.is_empty() {
                    let folder = path.parent().unwrap_or(Path::new(""));
                    problems = bridges::read(&text, folder, &mut configuration);
                }
                problems
            }
            false => {
                let problems = properties::read(&text, &mut configuration);
                command_line(&mut configuration.hub);
                problems
            }
        };
        if !cfg!(feature = "tls") {
            problems.extend(configuration.without_encryption());
        }
        if problems.is_empty() {
            if configuration.tls.has_password()
                && std::fs::metadata(path).is_ok_and(|it| regular_file::is_for_others(&it))
            {
                warn_of_readers(path);
            }
            configuration.text = text;
            configuration.file = Some(path.to_owned());
            configuration.stamp = stamp;
            return Ok(configuration);
        }
        let lines: Vec<_> = problems.iter().map(|problem| at(path, problem)).collect();
        Err(ServerError::settings(lines.join("\n")))
    }

    /// The settings besides the hub's that differ and hold only from the next start on, by the names of
    /// their tables in `floe.toml`, or by those of their properties.
    pub(crate) fn fixed_differences(&self, other: &Self) -> Vec<&'static str> {
        let connections = |settings: &Settings| {
            (
                settings.connection_limit,
                settings.connection_limit_per_address,
                settings.handshake_limit,
                settings.message_size_max,
                (settings.message_timeout, settings.message_rate_min),
                (
                    settings.input_memory_max,
                    settings.inflation_ratio_max,
                    settings.compression_streams_max,
                ),
                settings.reply_memory_max,
                (settings.turn_requests_max, settings.turn_inflated_max),
                settings.turn_time_max,
                settings.websocket_origins.clone(),
                (settings.tcp_receive_buffer, settings.tcp_send_buffer),
                (settings.udp_receive_buffer, settings.udp_send_buffer),
            )
        };
        let locators =
            |settings: &Settings| (settings.locator.clone(), settings.locator_cache_timeout);
        let (own, others) = (&self.communicator, &other.communicator);
        let differences = [
            ("connections", connections(own) != connections(others)),
            ("locator", locators(own) != locators(others)),
            ("liveness", own.incoming != others.incoming),
            ("tls", self.tls != other.tls),
            ("gateway", self.gateway != other.gateway),
            ("hub", self.has_hub != other.has_hub),
            ("bridge", self.bridges != other.bridges),
            ("console", self.console != other.console),
            (
                "Ice.Default.EndpointSelection",
                own.endpoint_selection != others.endpoint_selection,
            ),
            (
                "Ice.Default.PreferSecure",
                own.prefer_secure != others.prefer_secure,
            ),
            (
                "Ice.Override.Compress",
                own.compress_override != others.compress_override,
            ),
        ];
        let differing = differences.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| name).collect()
    }

    /// Returns the settings without effect, with their places.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let path = self.file.as_deref().unwrap_or_else(|| Path::new(""));
        self.warnings
            .iter()
            .map(|problem| at(path, problem))
            .collect()
    }
}

fn at(path: &Path, problem: &Problem) -> String {
    let (path, message) = (path.display(), &problem.message);
    match problem.line {
        0 => format!("{path}: {message}"),
        line => format!("{path}:{line}: {message}"),
    }
}

#[cfg(test)]
mod tests;
