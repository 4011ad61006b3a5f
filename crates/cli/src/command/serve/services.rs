//! The services that `floe serve` runs: a hub, a gateway, or both.

use floe::Communicator;
use floe_gateway::{Gateway, GatewayError, GatewaySettings};
use floe_hub::{Hub, HubError, HubSettings};
use serde_json::{Map, Value, json};

use crate::config::Configuration;
use crate::endpoint::readable;
use crate::exit::{Exit, Failure};
use crate::log;
use crate::output::{Format, Output};
use crate::peer;

/// Running services.
pub(super) struct Services {
    pub(super) hub: Option<Hub>,
    pub(super) gateway: Option<Gateway>,
}

impl Services {
    /// Starts all of them, or none.
    ///
    /// # Errors
    /// Why one of them does not start.
    pub(super) async fn start(
        communicator: &Communicator,
        configuration: &Configuration,
    ) -> Result<Self, Failure> {
        let hub = match configuration.has_hub {
            true => {
                let hub = Hub::start(communicator, configuration.hub.clone()).await;
                Some(hub.map_err(|error| hub_not_started(&error))?)
            }
            false => None,
        };
        let mut services = Self { hub, gateway: None };
        if let Some(settings) = &configuration.gateway {
            match start_gateway(communicator, settings, &configuration.hub).await {
                Ok(gateway) => services.gateway = Some(gateway),
                Err(failure) => {
                    services.shutdown().await;
                    return Err(failure);
                }
            }
        }
        Ok(services)
    }

    /// Ends all of them in order: the gateway first, whose clients may be those of the hub.
    pub(super) async fn shutdown(self) {
        if let Some(gateway) = self.gateway {
            gateway.shutdown().await;
        }
        if let Some(hub) = self.hub {
            hub.shutdown().await;
        }
    }

    /// Waits until an operator asks for the end of the process, through an administrative object.
    pub(super) async fn end_requested(&self) {
        match &self.gateway {
            Some(gateway) => gateway.end_requested().await,
            None => std::future::pending().await,
        }
    }

    /// Prints that they are ready, and where.
    pub(super) fn tell_ready(&self, output: &Output) {
        let manager = self.hub.as_ref().map(Hub::topic_manager);
        let router = self.gateway.as_ref().map(Gateway::router);
        let told = match output.format_or(Format::Table) {
            Format::Table | Format::Raw if manager.is_none() && router.is_none() => Ok(()),
            Format::Table => {
                let first = manager.as_ref().or(router.as_ref());
                let second = manager.as_ref().and(router.as_ref());
                let ready = first.map(|proxy| {
                    output.line(format_args!("ready {}", readable(&proxy.to_string())))
                });
                let also = second.map(|proxy| {
                    output.line(format_args!("router {}", readable(&proxy.to_string())))
                });
                ready.unwrap_or(Ok(())).and(also.unwrap_or(Ok(())))
            }
            Format::Json | Format::Jsonl => output.line(self.ready_json()),
            Format::Raw => {
                let proxies: Vec<_> = manager.into_iter().chain(router).collect();
                output.line(readable(&proxies.join("\n")))
            }
        };
        // They serve also if this line is not read.
        if let Err(failure) = told {
            failure.report();
        }
    }

    fn ready_json(&self) -> Value {
        let mut told = Map::new();
        if let Some(hub) = &self.hub {
            told.insert("ready".to_owned(), json!(readable(&hub.topic_manager())));
            told.insert("endpoints".to_owned(), json!(readable(&hub.endpoints())));
        }
        if let Some(gateway) = &self.gateway {
            let router = json!(readable(&gateway.router()));
            if self.hub.is_none() {
                told.insert("ready".to_owned(), router.clone());
            }
            told.insert("router".to_owned(), router);
            told.insert(
                "router_endpoints".to_owned(),
                json!(readable(&gateway.client_endpoints())),
            );
            told.insert(
                "server_endpoints".to_owned(),
                json!(gateway.server_endpoints().as_deref().map(readable)),
            );
        }
        Value::Object(told)
    }
}

async fn start_gateway(
    communicator: &Communicator,
    settings: &GatewaySettings,
    hub: &HubSettings,
) -> Result<Gateway, Failure> {
    let filter = &settings.filter;
    if filter.accept_addresses.is_empty() {
        log::say(
            "warning: clients of the gateway may reach every address that this host can reach, except those that it \
             rejects: say which in gateway.filter.accept-addresses (Glacier2.Filter.Address.Accept)",
        );
    }
    // The rules of [access] hold for both.
    let (access, audit) = (hub.access.clone(), hub.audit.as_deref());
    let gateway = Gateway::start_with_access(communicator, settings.clone(), access, audit).await;
    gateway.map_err(|error| match &error {
        GatewayError::Adapter(error) => peer::not_listening(error),
        error => Failure::new(Exit::Failure, error),
    })
}

fn hub_not_started(error: &HubError) -> Failure {
    match error {
        HubError::Adapter(error) => peer::not_listening(error),
        HubError::OnlyDatagrams { .. } => Failure::usage(error),
        HubError::Store(error) if error.is_damage() => Failure::new(Exit::Failure, error),
        HubError::Store(error) => Failure::new(Exit::Failure, error).help(
            "data (--data) needs a directory that this user can write, and no other hub in it",
        ),
        error => Failure::new(Exit::Failure, error),
    }
}
