//! `floe serve`: a server in the foreground, with arguments over its settings.
//!
//! - `serve/ready.rs`: what it prints when it serves

mod ready;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use floe::{Communicator, Signals};
use floe_gateway::Gateway;
use floe_hub::{Hub, HubSettings, StoreSettings};
use floe_server::settings::POLLING_MAX;
use floe_server::{Configuration, MetricsSettings, Server};

use crate::compression::OfferArgument;
use crate::count;
use crate::exit::{Exit, Failure};
use crate::log;
use crate::output::{self, Output};
use crate::peer;
use crate::size::{self, Size};
use crate::tls;

/// Runs a hub, and a gateway if the configuration has one, until SIGTERM or SIGINT (Ctrl-C)
///
/// A signal ends it with exit code 0, after it has delivered the queued events. A second signal ends it
/// immediately, with 130.
///
/// When the hub is ready, it prints the line `ready PROXY` on standard output. PROXY is its topic manager, with
/// the endpoints on which it listens. Give the proxy or one of its endpoints to clients, for example with
/// --hub. Without --listen, the hub listens on loopback only.
///
/// A gateway runs if the file has a table [gateway]. If the file has the properties of a Glacier2, only a
/// gateway runs. A second line `router PROXY` has the proxy of its router; without a hub it is the line `ready
/// PROXY`.
///
/// Command-line options override the file of --config, one by one. At SIGHUP, and when the file changes, the
/// hub reads it again, applies what can change while it runs, and logs which changes wait for a restart. If the
/// file is invalid, the current settings stay in force. Without --config, SIGHUP ends the hub as SIGTERM does.
/// `floe config list` shows all settings.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The configuration: a floe.toml, or the property file of an IceStorm or a Glacier2
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where to listen: HOST, HOST:PORT or an endpoint. '*' means all addresses, port 0 picks a free port. Can
    /// be repeated [default: tcp -h 127.0.0.1 -p 10000]
    #[arg(long, value_name = "ENDPOINT", value_parser = peer::parse_endpoint)]
    listen: Vec<String>,

    /// Separate endpoints for publishers; the hub serves nothing else there. Can be repeated
    #[arg(long, value_name = "ENDPOINT", value_parser = peer::parse_endpoint)]
    publish_listen: Vec<String>,

    /// The endpoints in proxies, with host and port, if clients connect through a firewall or by a host name.
    /// Can be repeated
    #[arg(long, value_name = "ENDPOINT", value_parser = peer::parse_endpoint)]
    published_endpoints: Vec<String>,

    /// Stores topics, subscriptions and links in this directory; creates it if it does not exist
    #[arg(long, value_name = "DIR", conflicts_with = "transient")]
    data: Option<PathBuf>,

    /// Keeps topics, subscriptions and links only in memory; this is the default
    #[arg(long)]
    transient: bool,

    /// Starts although the store is damaged beyond its backup, with the records that verify
    #[arg(long, conflicts_with = "transient")]
    accept_damage: bool,

    /// The most events that may wait for one subscriber. Beyond that, publishers are held back
    ///
    /// [default: 100000]
    #[arg(long, value_name = "EVENTS", value_parser = count::at_least_one::<u32>)]
    queue_events: Option<u32>,

    /// The most bytes of events that may wait for one subscriber, such as 512k or 64M
    ///
    /// [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_memory)]
    queue_bytes: Option<Size>,

    /// How long publishers are held back while the queue of a subscriber is full and it takes no events; then the oldest
    /// events are lost, and counted; none never holds them back
    ///
    /// [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = peer::parse_time_or_none)]
    patience: Option<Duration>,

    /// The longest pause between deliveries to twoway subscribers under load: events that come meanwhile leave
    /// together; none for the lowest latency
    ///
    /// [default: 150us]
    #[arg(long, value_name = "TIME", value_parser = peer::parse_time_or_none)]
    rest_max: Option<Duration>,

    /// How long a thread stays awake for more events while they follow one another closely, at most 100us; none to
    /// use the least processor time
    ///
    /// [default: 100us]
    #[arg(long, value_name = "TIME", value_parser = parse_polling)]
    polling: Option<Duration>,

    /// The category of the hub's objects, InstanceName in IceStorm [default: IceStorm]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    instance_name: Option<String>,

    /// Serves metrics for Prometheus at http://ADDRESS/metrics, and the probes /healthz and /readyz. Port 0
    /// picks a free port
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    metrics: Option<SocketAddr>,

    /// Another name of this computer by which a scraper asks for metrics; may be repeated. IP addresses, localhost and
    /// the name of the system need none. A request for any other host is refused
    #[arg(long, value_name = "NAME", requires = "metrics")]
    metrics_host: Vec<String>,

    /// Adds metrics of each subscriber, for up to 1,000 subscribers
    #[arg(long, requires = "metrics")]
    metrics_subscribers: bool,

    /// The number of worker threads, up to 64. One thread is the fastest until its core is busy; encryption and
    /// compression may need more
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = threads)]
    threads: NonZeroUsize,

    /// Does not warn if other computers can reach the hub and it has no access rules
    #[arg(long)]
    insecure: bool,

    #[command(flatten)]
    offer: OfferArgument,
}

impl Serve {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let configuration = self.configuration()?;
        log::start_thread();
        peer::runtime_of_threads(self.threads)?.block_on(async {
            let communicator = Communicator::with_settings(configuration.communicator.clone());
            // Before the line that says ready: whoever reads it may send a signal at once.
            let mut signals = peer::signals()?;
            // A locator may take its time to be told of the hub.
            let started = tokio::select! {
                started = Server::start_in(&communicator, configuration) => started,
                signal = signals.next() => {
                    output::talk(format_args!("stopped by {signal}, before the hub was ready"));
                    communicator.shutdown().await;
                    return Ok(Exit::Interrupted);
                }
            };
            let mut server = match started {
                Ok(server) => server,
                Err(error) => {
                    communicator.shutdown().await;
                    return Err(error.into());
                }
            };
            self.tell_ready(&server, output);
            let read = || self.configuration();
            server.serve_until(read, signals.next()).await;
            stop(server, &communicator, signals).await
        })
    }

    /// Reads the file, and applies the command line over it.
    fn configuration(&self) -> Result<Configuration, Failure> {
        let mut settings = peer::settings(None);
        self.offer.apply(&mut settings);
        let mut configuration = match &self.config {
            Some(file) => Configuration::read(file, settings, |hub| self.apply(hub))?,
            None => {
                let mut configuration = Configuration::new(settings);
                self.apply(&mut configuration.hub);
                configuration
            }
        };
        if !configuration.has_hub
            && let Some(option) = self.option_of_hub()
        {
            let message =
                format_args!("{option} is for a hub, and the file says that there is none");
            return Err(Failure::usage(message).help("omit the option, or run a hub"));
        }
        configuration.metrics = self.metrics.map(|listen| {
            let mut metrics = MetricsSettings::new(listen);
            metrics.hosts.clone_from(&self.metrics_host);
            metrics.has_subscribers = self.metrics_subscribers;
            metrics
        });
        Ok(configuration.with_certificates(tls::said())?)
    }

    /// Puts what the command line says of the hub into its settings.
    fn apply(&self, hub: &mut HubSettings) {
        if !self.listen.is_empty() {
            hub.listen = self.listen.join(":");
        }
        if !self.publish_listen.is_empty() {
            hub.publish_listen = Some(self.publish_listen.join(":"));
        }
        if !self.published_endpoints.is_empty() {
            hub.published_endpoints = Some(self.published_endpoints.join(":"));
        }
        if let Some(name) = &self.instance_name {
            hub.instance_name.clone_from(name);
        }
        if let Some(events) = self.queue_events {
            hub.queue_limits.events = events.try_into().unwrap_or(usize::MAX);
        }
        if let Some(bytes) = self.queue_bytes {
            hub.queue_limits.bytes = bytes.bytes();
        }
        hub.queue_limits.patience = self.patience.unwrap_or(hub.queue_limits.patience);
        hub.rest_max = self.rest_max.unwrap_or(hub.rest_max);
        hub.polling = self.polling.unwrap_or(hub.polling);
        if let Some(directory) = &self.data {
            hub.store = StoreSettings::Disk(directory.clone());
        } else if self.transient {
            hub.store = StoreSettings::Memory;
        }
        hub.accept_damage = self.accept_damage;
    }

    /// An argument that means nothing without a hub.
    fn option_of_hub(&self) -> Option<&'static str> {
        let options = [
            ("--listen", !self.listen.is_empty()),
            ("--publish-listen", !self.publish_listen.is_empty()),
            (
                "--published-endpoints",
                !self.published_endpoints.is_empty(),
            ),
            ("--instance-name", self.instance_name.is_some()),
            ("--data", self.data.is_some()),
            ("--queue-events", self.queue_events.is_some()),
            ("--queue-bytes", self.queue_bytes.is_some()),
            ("--patience", self.patience.is_some()),
            ("--rest-max", self.rest_max.is_some()),
            ("--polling", self.polling.is_some()),
        ];
        let mut said = options.into_iter().filter(|(_, is_said)| *is_said);
        said.next().map(|(name, _)| name)
    }

    fn tell_ready(&self, server: &Server, output: &Output) {
        if let Some(hub) = server.hub() {
            self.tell_of_hub(hub, server);
        }
        let admin = server.gateway().and_then(Gateway::admin);
        if let Some(admin) = admin {
            log::note(format_args!(
                "the administrative object of the gateway is {admin}"
            ));
        }
        ready::tell(server, output);
    }

    /// Says what an operator may not expect of a hub with these settings.
    fn tell_of_hub(&self, hub: &Hub, server: &Server) {
        let configuration = server.configuration();
        if configuration.hub.store == StoreSettings::Memory && !self.transient {
            log::note(
                "topics, subscriptions and links are lost when this process ends; --data DIR stores them",
            );
        }
        if !self.insecure
            && let Some(endpoint) = server.open_endpoint()
        {
            log::say(format_args!(
                "warning: everyone who can reach {endpoint} may do everything: an [[access.rule]] in a floe.toml restricts access \
                 (docs/guides/access.md), and --insecure silences this"
            ));
        }
        if let Some(admin) = hub.admin() {
            log::note(format_args!("the administrative object is {admin}"));
        }
        if self.listen.is_empty() && configuration.hub.listen == HubSettings::default().listen {
            log::note("listening on this computer only; --listen '*' lets other computers connect");
        }
    }
}

/// A number of threads, from 1 to [`THREADS_MAX`].
fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let count = text.parse().ok();
    let count = count.filter(|count: &NonZeroUsize| count.get() <= THREADS_MAX);
    count.ok_or_else(|| format!("expected a whole number from 1 to {THREADS_MAX}, got `{text}`"))
}

/// More threads than that only get into each other's way.
const THREADS_MAX: usize = 64;

/// Shuts down in order. A second signal ends the process immediately.
async fn stop(
    server: Server,
    communicator: &Communicator,
    mut signals: Signals,
) -> Result<Exit, Failure> {
    tokio::select! {
        () = server.shutdown() => Ok(Exit::Success),
        signal = signals.next() => {
            output::talk(format_args!("stopped immediately by a second {signal}"));
            communicator.abort();
            Ok(Exit::Interrupted)
        }
    }
}

/// How long a thread stays awake.
fn parse_polling(text: &str) -> Result<Duration, String> {
    let time = peer::parse_time_or_none(text)?;
    match time <= POLLING_MAX {
        true => Ok(time),
        false => Err(format!("expected at most 100us, got `{text}`")),
    }
}

/// Where metrics are served.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "expected an IP address and a port, such as 127.0.0.1:9464 or [::]:9464, got `{text}`; write \
             the address of a host instead of its name"
        )
    })
}
