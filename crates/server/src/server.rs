//! A running server: the parts that its settings ask for, joined.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use floe::Communicator;
use floe_gateway::Gateway;
use floe_hub::Hub;
use floe_wire::reference::{Endpoint, parse_endpoints};
use tokio::net::TcpListener;

use crate::console::Console;
use crate::error::ServerError;
use crate::http::HttpServer;
use crate::parts::bridges::{self, RunningBridges};
use crate::parts::{console, gateway, hub, metrics};
use crate::reload::Reload;
use crate::settings::Configuration;
use crate::{notice, notify, open_files};

/// A running server.
///
/// It raises the limit of open files of its process, and takes SIGHUP: the signal makes it read its settings again, or end
/// if there is no file of settings, unless the process was started to ignore it.
pub struct Server {
    communicator: Communicator,
    /// The configuration in force.
    configuration: Configuration,
    reload: Reload,
    hub: Option<Hub>,
    gateway: Option<Gateway>,
    bridges: RunningBridges,
    metrics: Option<HttpServer>,
    console: Option<Console>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("configuration", &self.configuration)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Starts all parts that the configuration asks for, or none. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// Why one of them does not start.
    pub async fn start(configuration: Configuration) -> Result<Self, ServerError> {
        let communicator = Communicator::with_settings(configuration.communicator.clone());
        let started = Self::start_in(&communicator, configuration).await;
        if started.is_err() {
            communicator.shutdown().await;
        }
        started
    }

    /// Starts them as [`Server::start`] does, in this communicator, which has the configuration's settings. If it is
    /// dropped before it has started, or fails, the communicator is to be shut down.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_in(
        communicator: &Communicator,
        configuration: Configuration,
    ) -> Result<Self, ServerError> {
        if let Some(level) = &configuration.log {
            notice::set_level(level);
        }
        warn(&configuration);
        open_files::raise_limit();
        // Before anybody is told that it is ready: who is told may send a signal at once.
        let reload = Reload::new(configuration.file.as_deref(), configuration.stamp)?;
        // Before the hub, which would leave a store behind.
        let scrapers = metrics::listen(&configuration).await?;
        let browsers = console::listen(&configuration).await?;
        let mut server = Self {
            communicator: communicator.clone(),
            configuration,
            reload,
            hub: None,
            gateway: None,
            bridges: RunningBridges::default(),
            metrics: None,
            console: None,
        };
        match server.start_parts(scrapers, browsers).await {
            Ok(()) => Ok(server),
            Err(error) => {
                server.stop_parts().await;
                Err(error)
            }
        }
    }

    /// Starts the parts one by one.
    async fn start_parts(
        &mut self,
        scrapers: Option<TcpListener>,
        browsers: Option<TcpListener>,
    ) -> Result<(), ServerError> {
        let (communicator, configuration) = (&self.communicator, &self.configuration);
        let with_file = |error| configuration.with_file(error);
        self.hub = hub::start(communicator, configuration)
            .await
            .map_err(with_file)?;
        self.gateway = gateway::start(communicator, configuration)
            .await
            .map_err(with_file)?;
        self.bridges = bridges::start(communicator, configuration, self.hub.as_ref())
            .await
            .map_err(with_file)?;
        let watched = (self.hub.as_ref(), self.gateway.as_ref());
        let bridges = self.bridges.clone();
        self.metrics = metrics::start(communicator, configuration, watched, bridges, scrapers)?;
        self.console = console::start(communicator, configuration, watched, browsers)?;
        Ok(())
    }

    /// The hub, if there is one.
    pub fn hub(&self) -> Option<&Hub> {
        self.hub.as_ref()
    }

    /// The gateway, if there is one.
    pub fn gateway(&self) -> Option<&Gateway> {
        self.gateway.as_ref()
    }

    /// Where metrics are served, if they are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|metrics| metrics.address)
    }

    /// Where the console is served, if it is.
    pub fn console_address(&self) -> Option<SocketAddr> {
        self.console.as_ref().map(|console| console.address)
    }

    /// The configuration in force.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The first endpoint of the hub that other computers reach, if it has one and no access rules.
    pub fn open_endpoint(&self) -> Option<String> {
        let is_open = self.configuration.hub.access.is_open();
        self.hub.as_ref().filter(|_| is_open).and_then(exposed)
    }

    /// Serves until `end` gives a reason, or an operator asks for the end through an administrative object; returns the
    /// reason. Meanwhile it calls `read` for its configuration at SIGHUP and when its file has changed, and applies what may
    /// change. Tells the service manager when it begins and when it returns.
    ///
    /// May be cancelled.
    pub async fn serve_until<E: fmt::Display>(
        &mut self,
        read: impl Fn() -> Result<Configuration, E>,
        end: impl Future<Output = &'static str>,
    ) -> &'static str {
        notify::notify(notify::State::Ready);
        let mut end = std::pin::pin!(end);
        let reason = loop {
            tokio::select! {
                reason = &mut end => break reason,
                () = end_requested(self.gateway.as_ref()) => break "the facet Process",
                reason = self.reload.next() => match self.configuration.file {
                    Some(_) => self.read_again(read(), reason).await,
                    // Its terminal is gone. As Ice's own programs, it ends in order.
                    None => break reason,
                }
            }
        };
        notify::notify(notify::State::Stopping);
        tracing::info!("stopping on {reason}: delivering what is queued");
        reason
    }

    /// Applies settings that were read again. Those that make no sense change nothing.
    async fn read_again<E: fmt::Display>(
        &mut self,
        read: Result<Configuration, E>,
        reason: &'static str,
    ) {
        match read {
            Ok(next) => {
                let lost = self.configuration.lost(&next);
                if !lost.is_empty() {
                    return self.refuse_lost(&lost, reason);
                }
                warn(&next);
                self.apply(next).await;
                notice::note(format_args!("read the settings again because of {reason}"));
            }
            Err(error) => notice::warn(format_args!(
                "invalid configuration after {reason}; the current settings stay in force: {error}"
            )),
        }
    }

    /// Says that a file that has lost something changes nothing.
    fn refuse_lost(&self, lost: &[String], reason: &str) {
        let file = self.configuration.file.as_deref();
        let file = file.unwrap_or_else(|| Path::new(""));
        notice::warn(format_args!(
            "invalid configuration after {reason}; the current settings stay in force: {} no longer has {}. If the file was \
             emptied or cut off, restore it; to take them away on purpose, restart this process with the file as it is",
            file.display(),
            lost.join(", "),
        ));
    }

    /// Ends all parts in order, after the queued events are delivered, and then the communicator.
    pub async fn shutdown(mut self) {
        self.stop_parts().await;
        self.communicator.shutdown().await;
    }

    /// Bridges and the gateway go before the hub, whose clients they may be.
    async fn stop_parts(&mut self) {
        if let Some(console) = self.console.take() {
            console.stop().await;
        }
        if let Some(metrics) = self.metrics.take() {
            metrics.stop().await;
        }
        self.bridges.shut_down().await;
        if let Some(gateway) = self.gateway.take() {
            gateway.shutdown().await;
        }
        if let Some(hub) = self.hub.take() {
            hub.shutdown().await;
        }
    }

    /// Applies what may change while it runs, and says what waits for the next start.
    async fn apply(&mut self, next: Configuration) {
        if let Some(gateway) = &self.gateway {
            gateway.set_access(next.hub.access.clone(), next.hub.audit.as_deref());
        }
        if let Some(console) = &self.console {
            console.gate().set_access(next.hub.access.clone());
        }
        let mut waiting = match &self.hub {
            Some(hub) => hub.reconfigure(next.hub.clone()).await,
            None => Vec::new(),
        };
        waiting.extend(self.configuration.fixed_differences(&next));
        if next.log != self.configuration.log {
            notice::set_level(next.log.as_deref().unwrap_or("warn"));
        }
        let tls = self.communicator.settings().tls.as_ref();
        if let Some(Err(error)) = tls.map(floe::tls::Tls::reload) {
            notice::warn(format_args!(
                "invalid certificates; the current certificates stay in force: {error}"
            ));
        }
        self.configuration.replace(next);
        if !waiting.is_empty() {
            let names: Vec<_> = waiting.into_iter().map(in_file).collect();
            notice::warn(format_args!(
                "these settings have changed and wait for a restart: {}",
                names.join(", ")
            ));
        }
    }
}

/// Waits until an operator asks for the end of the process, through an administrative object.
async fn end_requested(gateway: Option<&Gateway>) {
    match gateway {
        Some(gateway) => gateway.end_requested().await,
        None => std::future::pending().await,
    }
}

/// Says which settings have no effect.
fn warn(configuration: &Configuration) {
    for warning in configuration.warnings() {
        notice::warn(format_args!("warning: {warning}"));
    }
}

/// Returns the name in a `floe.toml` of a setting that waits for a restart.
fn in_file(name: &'static str) -> String {
    match name {
        "store" => "data".to_owned(),
        "histories" => "topic.NAME.history".to_owned(),
        "durable_topics" => "topic.NAME.durable".to_owned(),
        "instance_name" => "instance".to_owned(),
        other => other.replace('_', "-"),
    }
}

/// The first endpoint that other computers reach, if there is one.
fn exposed(hub: &Hub) -> Option<String> {
    let texts = [Some(hub.endpoints()), hub.publish_endpoints()];
    let endpoints = texts.into_iter().flatten();
    let endpoints = endpoints.flat_map(|text| parse_endpoints(&text).unwrap_or_default());
    let is_exposed = |endpoint: &Endpoint| match endpoint.host() {
        Some(host) => host.parse().is_ok_and(|host: IpAddr| !host.is_loopback()),
        // A Unix socket.
        None => false,
    };
    let mut exposed = endpoints.into_iter().filter(is_exposed);
    exposed.next().map(|endpoint| endpoint.to_string())
}
