//! `floe bridge run`: bridges as a process of their own.

use clap::Args;
use floe::Communicator;
use floe::hub::HubClient;
use floe_bridges::Bridges;
use floe_bridges::settings::PlannedBridge;

use super::file::FileArgument;
use crate::exit::{Exit, Failure};
use crate::hub::HubArgument;
use crate::output::Output;
use crate::peer;

/// Runs the bridges of a file beside a Floe hub or an IceStorm, until SIGTERM or SIGINT (Ctrl-C)
///
/// When a bridge is ready, it prints a line `ready WORLD ADDRESS` on standard output. `floe serve` runs the bridges of its
/// own file itself: this is for a hub of another process.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    file: FileArgument,

    #[command(flatten)]
    hub: HubArgument,
}

impl Run {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let planned = self.file.load()?;
        peer::runtime()?.block_on(async {
            let communicator = Communicator::with_settings(peer::settings(None));
            crate::token::show(&communicator);
            // Before the lines that say ready: whoever reads them may send a signal at once.
            let mut signals = peer::signals()?;
            let bridges = tokio::select! {
                started = self.start(&communicator, planned, output) => started?,
                _ = signals.next() => return Ok(Exit::Interrupted),
            };
            let signal = signals.next().await;
            tracing::info!("stopping on {signal}");
            tokio::select! {
                () = bridges.shut_down() => {}
                _ = signals.next() => return Ok(Exit::Interrupted),
            }
            communicator.shutdown().await;
            Ok(Exit::Success)
        })
    }

    async fn start(
        &self,
        communicator: &Communicator,
        planned: Vec<PlannedBridge>,
        output: &Output,
    ) -> Result<Bridges, Failure> {
        let manager = self.hub.manager(communicator)?.to_string();
        let hub = HubClient::connect_with(communicator, &manager);
        let hub = hub
            .await
            .map_err(|error| Failure::new(Exit::Refused, error))?;
        let bridges = Bridges::start(planned, &hub).await;
        let bridges = bridges.map_err(|error| Failure::new(Exit::Failure, error))?;
        for bridge in bridges.list() {
            let address = match bridge.address.as_str() {
                "" => &bridge.place,
                address => address,
            };
            output.line(format_args!("ready {} {address}", bridge.world))?;
        }
        Ok(bridges)
    }
}
