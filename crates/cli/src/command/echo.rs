//! `floe echo`: serves an object that returns its arguments.

use clap::Args;
use floe::{Communicator, Current, InvokeError, Proxy};
use serde_json::json;

use crate::compression::OfferArgument;
use crate::contracts::floe::{Echo as EchoServant, EchoDispatcher};
use crate::endpoint::readable;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::peer;
use crate::size::{self, Size};

/// Serves an object that returns what it gets, for `floe ping --sizes`
///
/// The object has the identity Floe/Echo and the interface ::Floe::Echo. When the server is ready, it prints
/// the line `ready PROXY` on standard output. SIGTERM or SIGINT (Ctrl-C) ends it with exit code 0. Without
/// --listen, it listens on loopback only.
#[derive(Debug, Args)]
pub(crate) struct Echo {
    /// Where to listen: HOST, HOST:PORT or an endpoint. '*' means all addresses, port 0 picks a free port. Can
    /// be repeated
    #[arg(
        long,
        value_name = "ENDPOINT",
        value_parser = |text: &str| peer::endpoint_at(text, PORT),
        default_value = "127.0.0.1:10007"
    )]
    listen: Vec<String>,

    /// The largest message that it accepts, such as 64M; Ice's MessageSizeMax
    #[arg(long, value_name = "SIZE", value_parser = size::parse_limit, default_value = "16M")]
    max_size: Size,

    #[command(flatten)]
    offer: OfferArgument,
}

/// Where it listens unless told otherwise.
const PORT: u16 = 10007;

/// The identity of the object.
const IDENTITY: &str = "Floe/Echo";

impl Echo {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::runtime()?.block_on(async {
            let mut settings = peer::settings(None);
            settings.message_size_max = self.max_size.bytes();
            self.offer.apply(&mut settings);
            let communicator = Communicator::with_settings(settings);
            // Before the line that says ready: whoever reads it may send a signal at once.
            let mut signals = peer::signals()?;
            let served = self.serve(&communicator, output).await;
            if served.is_ok() {
                let signal = signals.next().await;
                tracing::info!("stopping on {signal}");
            }
            tokio::select! {
                () = communicator.shutdown() => served.map(|()| Exit::Success),
                _ = signals.next() => Ok(Exit::Interrupted),
            }
        })
    }

    async fn serve(&self, communicator: &Communicator, output: &Output) -> Result<(), Failure> {
        let endpoints = self.listen.join(":");
        let not_listening = |error| peer::not_listening(&error);
        let adapter = communicator.adapter(&endpoints).await;
        let adapter = adapter.map_err(not_listening)?;
        let servant = EchoDispatcher::new(Mirror);
        let proxy = adapter.add(IDENTITY, servant).map_err(not_listening)?;
        adapter.activate();
        tell_ready(&proxy, output);
        Ok(())
    }
}

/// Gives back what it gets.
struct Mirror;

impl EchoServant for Mirror {
    async fn doubles(&self, values: Vec<f64>, _current: &Current) -> Result<Vec<f64>, InvokeError> {
        Ok(values)
    }
}

fn tell_ready(proxy: &Proxy, output: &Output) {
    let proxy = readable(&proxy.to_string());
    let told = match output.format_or(Format::Table) {
        Format::Table => output.line(format_args!("ready {proxy}")),
        Format::Json | Format::Jsonl => output.line(json!({"ready": proxy})),
        Format::Raw => output.line(proxy),
    };
    // It serves all the same if nobody reads that it does.
    if let Err(failure) = told {
        failure.report();
    }
}
