//! The file that `floe serve --config` reads: its settings, their checks, and the places of its errors.
//!
//! - `access.rs`: who may do what
//! - `admin.rs`: what both say of the administrative object; `views.rs`: and of its metrics
//! - `durable.rs`: durable topics
//! - `entry.rs`: one setting with its place, and what values may be
//! - `floe_toml.rs`: `floe.toml`, Floe's own names; `gateway.rs`: values of its table of a gateway
//! - `setting.rs`: what a setting of it is; `settings/`: all of them
//! - `lost.rs`: what a file no longer has that it had
//! - `plain_build.rs`: what a build without encryption makes of it
//! - `reference.rs`, `schema.rs`: the page and the JSON schema that tell of them
//! - `properties.rs`: a property file with IceStorm's names; `glacier2.rs`: one with Glacier2's
//! - `ice.rs`: what such a file says of Ice's runtime; `known_properties.rs`: all properties that are read

mod access;
mod admin;
mod durable;
mod entry;
mod floe_toml;
mod gateway;
mod glacier2;
mod ice;
mod known_properties;
mod lost;
mod plain_build;
mod properties;
pub(crate) mod reference;
pub(crate) mod schema;
pub(crate) mod setting;
pub(crate) mod settings;
mod views;

use std::io::ErrorKind;
use std::path::Path;

use floe::Settings;
pub(crate) use floe::hub::nearest_name as nearest;
use floe::regular_file;
use floe_gateway::GatewaySettings;
use floe_hub::HubSettings;

use crate::exit::Failure;
use crate::tls::TlsArguments;
pub(crate) use access::warn_of_readers;
use entry::Problem;
pub(crate) use settings::POLLING_MAX;

/// The configuration: the settings of a file, over the defaults.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Settings of the hub.
    pub(crate) hub: HubSettings,
    /// True if there is a hub.
    pub(crate) has_hub: bool,
    /// Settings of the gateway, if there is one.
    pub(crate) gateway: Option<GatewaySettings>,
    /// Settings of its connections.
    pub(crate) communicator: Settings,
    /// Certificates and trust.
    pub(crate) tls: TlsArguments,
    /// How much is logged: one of [`LEVELS`].
    pub(crate) log: Option<String>,
    /// The settings that are not wrong, but have no effect.
    pub(crate) warnings: Vec<Problem>,
    /// The file as it was read; empty without one.
    text: String,
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

/// The connections of one address, half of what the default limit of all allows, so that no address takes all.
const PER_ADDRESS: usize = 32 * 1024;

impl Configuration {
    /// Nothing but defaults.
    pub(crate) fn new(mut communicator: Settings) -> Self {
        communicator
            .connection_limit_per_address
            .get_or_insert(PER_ADDRESS);
        Self {
            hub: HubSettings::default(),
            has_hub: true,
            gateway: None,
            communicator,
            tls: TlsArguments::default(),
            log: None,
            warnings: Vec::new(),
            text: String::new(),
        }
    }

    /// Loads a file: as TOML if its name ends in `.toml`, otherwise properties of IceStorm or Glacier2. What the command line
    /// says of the hub goes before the file, except before what that says of single topics.
    ///
    /// # Errors
    /// A file that cannot be read, and every line that makes no sense.
    pub(crate) fn load(
        path: &Path,
        communicator: Settings,
        command_line: impl Fn(&mut HubSettings),
    ) -> Result<Self, Failure> {
        let shown = path.display();
        let is_toml = path
            .extension()
            .is_some_and(|extension| extension == "toml");
        let text = regular_file::read(path, FILE_LEN_MAX).and_then(|bytes| match is_toml {
            true => regular_file::text(bytes),
            false => regular_file::text(properties::without_foreign_comments(bytes)),
        });
        let text = text
            .map_err(|error| {
                let failure = Failure::usage(format_args!("cannot read {shown}: {error}"));
                match error.kind() {
                    ErrorKind::Unsupported => failure.help(
                        "a hub reads its settings again at SIGHUP: write what a program or a pipe yields into a file, and \
                         name that",
                    ),
                    _ => failure,
                }
            })?;
        let mut configuration = Self::new(communicator);
        let mut problems = match is_toml {
            true => floe_toml::read(&text, &mut configuration, &command_line),
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
            return Ok(configuration);
        }
        let lines: Vec<_> = problems.iter().map(|problem| at(path, problem)).collect();
        Err(Failure::usage(lines.join("\n")))
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
    pub(crate) fn warnings(&self, path: &Path) -> Vec<String> {
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
pub(crate) mod tests;
