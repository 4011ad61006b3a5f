//! `floe serve`: a hub in the foreground.

use std::path::PathBuf;

use clap::Args;
use floe::Communicator;
use floe_hub::{Hub, HubError, HubSettings, StoreSettings};
use serde_json::json;

use crate::compression::OfferArgument;
use crate::exit::{Exit, Failure};
use crate::hub::DEFAULT_ENDPOINT;
use crate::output::{self, Format, Output};
use crate::peer;

/// Runs a hub until SIGTERM or SIGINT (Ctrl-C), which end it with 0
///
/// It delivers what is queued before it ends; a second signal ends it at once, with 130.
///
/// When it is ready it prints one line on standard output, `ready PROXY`: the proxy of its topic
/// manager with the endpoints that it really listens on. Clients take the proxy or one of its
/// endpoints, for example with --hub. It listens on loopback alone unless --listen says otherwise.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 picks a free one; may be repeated
    #[arg(long, value_name = "ENDPOINT", default_value = DEFAULT_ENDPOINT)]
    listen: Vec<String>,

    /// Keeps topics and subscriptions in this directory, which is created if need be
    #[arg(long, value_name = "DIR", conflicts_with = "transient")]
    data: Option<PathBuf>,

    /// Keeps topics and subscriptions in memory alone; the default
    #[arg(long)]
    transient: bool,

    /// How many events may wait for one subscriber; beyond this limit or that of --queue-bytes, the
    /// oldest are lost, and counted
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(1..), default_value_t = 100_000)]
    queue_events: u32,

    /// How many bytes of events may wait for one subscriber; the default is 64 MiB
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..), default_value_t = 64 * 1024 * 1024)]
    queue_bytes: u64,

    /// The category of the hub's objects, InstanceName in IceStorm
    #[arg(long, value_name = "NAME", default_value = "IceStorm")]
    instance_name: String,

    #[command(flatten)]
    offer: OfferArgument,
}

impl Serve {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::runtime()?.block_on(async {
            let mut settings = peer::settings(None);
            self.offer.apply(&mut settings);
            let communicator = Communicator::with_settings(settings);
            // Before the line that says ready: whoever reads it may send a signal at once.
            let mut signals = peer::signals()?;
            let hub = match self.start(&communicator, output).await {
                Ok(hub) => hub,
                Err(failure) => {
                    communicator.shutdown().await;
                    return Err(failure);
                }
            };
            let signal = signals.next().await;
            tracing::info!("stopping on {signal}: delivering what is queued");
            let stopping = async {
                hub.shutdown().await;
                communicator.shutdown().await;
            };
            tokio::select! {
                () = stopping => Ok(Exit::Success),
                signal = signals.next() => {
                    output::talk(format_args!("stopped at once, by a second {signal}"));
                    communicator.abort();
                    Ok(Exit::Interrupted)
                }
            }
        })
    }

    async fn start(&self, communicator: &Communicator, output: &Output) -> Result<Hub, Failure> {
        if self
            .listen
            .iter()
            .any(|endpoint| endpoint.trim().is_empty())
        {
            return Err(Failure::usage(
                "--listen: expected an endpoint, got nothing",
            ));
        }
        let hub = Hub::start(communicator, self.settings()).await;
        let hub = hub.map_err(|error| self.not_started(&error))?;
        if self.data.is_none() && !self.transient {
            output::talk("topics and subscriptions end with this process; --data DIR keeps them");
        }
        self.tell_ready(&hub, output);
        Ok(hub)
    }

    fn settings(&self) -> HubSettings {
        let mut settings = HubSettings::default();
        settings.listen = self.listen.join(":");
        settings.instance_name.clone_from(&self.instance_name);
        settings.queue_limits.events = self.queue_events.try_into().unwrap_or(usize::MAX);
        settings.queue_limits.bytes = self.queue_bytes.try_into().unwrap_or(usize::MAX);
        settings.store = match &self.data {
            Some(directory) => StoreSettings::Disk(directory.clone()),
            None => StoreSettings::Memory,
        };
        settings
    }

    fn not_started(&self, error: &HubError) -> Failure {
        match error {
            HubError::Adapter(error) => peer::not_listening(error, &self.listen.join(":")),
            HubError::Store(error) => Failure::new(Exit::Failure, error)
                .help("--data needs a directory that this user can write, and no other hub in it"),
            error => Failure::new(Exit::Failure, error),
        }
    }

    fn tell_ready(&self, hub: &Hub, output: &Output) {
        let manager = hub.topic_manager();
        let told = match output.format_or(Format::Table) {
            Format::Table => output.line(format_args!("ready {manager}")),
            Format::Json | Format::Jsonl => {
                output.line(json!({"ready": manager, "endpoints": hub.endpoints()}))
            }
            Format::Raw => output.line(manager),
        };
        // It serves all the same if nobody reads that it does.
        if let Err(failure) = told {
            failure.report();
        }
    }
}
