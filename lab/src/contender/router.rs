//! Routers between clients and back ends: a gateway of Floe, and a Glacier2, started as programs of their own.

use std::process::{Command, Stdio};

use super::Failure;
use super::events::daemon::{Daemon, scratch};

/// A running router. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) daemon: Daemon,
    /// A proxy to the router, as text.
    pub(crate) proxy: String,
}

impl Router {
    /// A gateway of the command that runs this; the lab's own program for tests has none. `settings` are lines of
    /// `floe.toml` that follow those of the table `[gateway]`.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn floe(
        client_endpoint: &str,
        settings: &str,
        arguments: &[&str],
    ) -> Result<Self, Failure> {
        let file = scratch("gateway.toml");
        let text = format!(
            "[gateway]\n\
             listen = \"{client_endpoint}\"\n\
             server-listen = \"tcp -h 127.0.0.1 -p 0\"\n\
             verifier = \"accept-all\"\n\
             {settings}"
        );
        std::fs::write(&file, text)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--config"]).arg(&file);
        command.args(arguments);
        let mut daemon = Daemon::start(command.stdout(Stdio::piped()))?;
        let find = |line: &str| line.contains("/router").then(|| proxy_in(line));
        let proxy = Daemon::hear(daemon.stdout()?, find).map_err(|error| {
            format!("expected a gateway from `floe serve`, which the lab's own program does not have: {error}")
        })?;
        Ok(Self { daemon, proxy })
    }

    /// A Glacier2. Its endpoint must have a port, and `properties` are further lines of its configuration.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn glacier2(client_endpoint: &str, properties: &str) -> Result<Self, Failure> {
        let file = scratch("glacier2.config");
        let text = format!(
            "Glacier2.Client.Endpoints={client_endpoint}\n\
             Glacier2.Server.Endpoints=tcp -h 127.0.0.1 -p 0\n\
             Glacier2.PermissionsVerifier=Glacier2/NullPermissionsVerifier\n\
             Ice.PrintAdapterReady=1\n\
             {properties}"
        );
        std::fs::write(&file, text)?;
        let mut command = Command::new("glacier2router");
        command.arg(format!("--Ice.Config={}", file.display()));
        let mut daemon = Daemon::start(command.stdout(Stdio::piped()))?;
        // It is the last adapter.
        let find = |line: &str| (line == "Glacier2.Server ready").then_some(());
        Daemon::hear(daemon.stdout()?, find).map_err(|error| {
            format!("expected a Glacier2 (zeroc-glacier2) that is ready: {error}")
        })?;
        let proxy = format!("Glacier2/router:{client_endpoint}");
        Ok(Self { daemon, proxy })
    }
}

/// Returns the part of the line that follows the first word.
fn proxy_in(line: &str) -> String {
    let (_, proxy) = line.split_once(' ').unwrap_or(("", line));
    proxy.to_owned()
}
