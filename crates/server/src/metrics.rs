//! The metrics of a hub and a gateway as text, which Prometheus reads.
//!
//! - `metrics/bridges.rs`: bridges to other worlds
//! - `metrics/durable.rs`: the durable topics of a hub
//! - `metrics/hub.rs`, `metrics/gateway.rs`, `metrics/process.rs`: what each of them tells
//! - `metrics/rows.rs`: how rows are written; `metrics/text_format.rs`: as OpenMetrics or in the older format

#[cfg(feature = "bridges")]
mod bridges;
mod durable;
mod gateway;
mod hub;
mod process;
mod rows;
mod text_format;

use floe::Communicator;
use floe_gateway::{GatewayStatus, GatewayView};
use floe_hub::HubView;
use hyper::StatusCode;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use super::http::Answer;
#[cfg(feature = "bridges")]
pub(crate) use bridges::BridgeMetrics;
use gateway::Gateway;
use hub::Look;
use process::{CompressedStreams, Process};
use text_format::TextFormat;

/// The services that are measured.
pub(crate) struct Services {
    pub(crate) hub: Option<HubView>,
    pub(crate) gateway: Option<GatewayView>,
    /// The metrics of bridges at a moment, if there are any.
    pub(crate) bridges: Box<dyn Fn() -> Option<Box<dyn Collector>> + Send + Sync>,
    /// The owner of their connections.
    pub(crate) communicator: Communicator,
    /// True if they tell of each subscriber.
    pub(crate) has_subscribers: bool,
}

/// Answers a request for a path: the metrics in the format that `accept` asks for, `/healthz` or `/readyz`.
pub(crate) fn answer(services: &Services, path: &str, accept: &str) -> Option<Answer> {
    match path {
        PATH => {
            let format = TextFormat::wanted(accept);
            Some(Answer {
                status: StatusCode::OK,
                content_type: format.content_type(),
                text: format.written(written(services)),
            })
        }
        "/healthz" => Some(Answer::plain(StatusCode::OK, "ok")),
        "/readyz" => {
            let hub = services.hub.as_ref().map(HubView::is_running);
            let gateway = services.gateway.as_ref().map(GatewayView::is_running);
            Some(match (hub, gateway) {
                (Some(false), _) => {
                    Answer::plain(StatusCode::SERVICE_UNAVAILABLE, "the hub has ended")
                }
                (_, Some(false)) => {
                    Answer::plain(StatusCode::SERVICE_UNAVAILABLE, "the gateway has ended")
                }
                _ => Answer::plain(StatusCode::OK, "ready"),
            })
        }
        _ => None,
    }
}

/// Where the metrics are.
pub(crate) const PATH: &str = "/metrics";

fn written(services: &Services) -> String {
    let hub = services.hub.as_ref();
    let hub = hub.and_then(|hub| Look::at(hub, services.has_subscribers));
    let gateway = services.gateway.as_ref().and_then(GatewayView::status);
    let streams = CompressedStreams::of(&services.communicator);
    page(hub, gateway, streams, (services.bridges)())
}

fn page(
    hub: Option<Look>,
    gateway: Option<GatewayStatus>,
    streams: CompressedStreams,
    bridges: Option<Box<dyn Collector>>,
) -> String {
    let mut registry = Registry::default();
    if hub.is_none() && gateway.is_none() {
        return String::new();
    }
    if let Some(hub) = hub {
        registry.register_collector(Box::new(hub));
    }
    if let Some(gateway) = gateway {
        registry.register_collector(Box::new(Gateway(gateway)));
    }
    if let Some(bridges) = bridges {
        registry.register_collector(bridges);
    }
    registry.register_collector(Box::new(streams));
    registry.register_collector(Box::new(Process));
    let mut page = String::new();
    // A text takes whatever is written.
    let _ = text::encode(&mut page, &registry);
    page
}
