//! The administrative object, by which an operator ends the process and reads metrics.

use std::io::Write;
use std::sync::Weak;

use floe::contracts::ice::{Process, ProcessDispatcher};
use floe::{Adapter, AdapterError, Communicator, Current, Identity, InvokeError};
use floe_metrics::MetricsFacet;
use floe_metrics::contracts::ice_mx::MetricsAdminDispatcher;
use tokio::sync::watch;

use super::measured::MeasuredGateway;
use super::sessions::Sessions;
use crate::error::GatewayError;
use crate::settings::AdminSettings;

/// The administrative object of a gateway. It stands on an adapter of its own, which clients do not reach.
pub(super) struct Admin {
    pub(super) adapter: Adapter,
    identity: Identity,
    /// True once an operator has asked the process to end.
    is_ending: watch::Sender<bool>,
}

impl Admin {
    /// Opens its adapter, which serves nothing until [`Admin::activate`].
    pub(super) async fn open(
        communicator: &Communicator,
        settings: &AdminSettings,
    ) -> Result<Self, GatewayError> {
        let adapter = communicator.adapter(&settings.listen).await?;
        let identity = Identity::with_category("admin", &settings.instance_name);
        Ok(Self {
            adapter,
            identity,
            is_ending: watch::Sender::new(false),
        })
    }

    /// Adds the end and the metrics of a gateway, and serves.
    pub(super) fn activate(
        &self,
        gateway: MeasuredGateway,
        settings: &AdminSettings,
    ) -> Result<(), AdapterError> {
        let process = ProcessObject {
            end: self.is_ending.clone(),
            sessions: gateway.sessions.clone(),
            admin: self.adapter.clone(),
        };
        let process = ProcessDispatcher::new(process);
        self.adapter
            .add_facet(&self.identity, PROCESS_FACET, process)?;
        let metrics = MetricsAdminDispatcher::new(MetricsFacet::new(gateway, &settings.views));
        self.adapter
            .add_facet(&self.identity, METRICS_FACET, metrics)?;
        self.adapter.activate();
        Ok(())
    }

    /// Its proxy, as text.
    pub(super) fn proxy(&self) -> String {
        self.adapter.proxy(self.identity.clone()).to_string()
    }

    /// Waits until an operator asks for the end of the process.
    pub(super) async fn end_requested(&self) {
        let mut is_ending = self.is_ending.subscribe();
        if is_ending.wait_for(|is_ending| *is_ending).await.is_err() {
            // The object is gone, so that no operator can ask.
            std::future::pending().await
        }
    }
}

/// The facet by which a process is ended.
///
/// Source: Ice manual, "The admin Object".
const PROCESS_FACET: &str = "Process";

/// The facet by which metrics are read.
///
/// Source: Ice manual, "The Metrics Facet".
const METRICS_FACET: &str = "Metrics";

/// The facet `Process`.
struct ProcessObject {
    end: watch::Sender<bool>,
    sessions: Weak<Sessions>,
    /// Its own adapter.
    admin: Adapter,
}

impl Process for ProcessObject {
    /// Nothing answers after the reply. Requests that come meanwhile are not read: they fail when the connections close,
    /// and then have surely not been executed.
    async fn shutdown(&self, current: &Current) -> Result<(), InvokeError> {
        tracing::info!("{} asks for the end of this process", current.peer());
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.hold();
        }
        self.admin.hold();
        self.end.send_replace(true);
        Ok(())
    }

    /// A message that cannot be written is of no concern to its sender.
    async fn write_message(
        &self,
        message: String,
        fd: i32,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        let line = format!("{message}\n");
        let _ = match fd {
            1 => std::io::stdout().write_all(line.as_bytes()),
            2 => std::io::stderr().write_all(line.as_bytes()),
            _ => Ok(()),
        };
        Ok(())
    }
}
