//! The metrics of a gateway.

use std::fmt;

use floe_gateway::GatewayStatus;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::rows::{Labels, Rows};

/// A gateway at one moment.
#[derive(Debug)]
pub(super) struct Gateway(pub(super) GatewayStatus);

impl Collector for Gateway {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = &self.0;
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut rows = Rows(&mut encoder);
        let sessions = i64::try_from(status.sessions).unwrap_or(i64::MAX);
        rows.gauge("floe_gateway_sessions", "Sessions", sessions)?;
        let help = "Sessions created";
        rows.counter(
            "floe_gateway_sessions_created",
            help,
            number(status.sessions_created),
        )?;
        let help = "What was refused or made to wait, by what it was";
        let refused = [
            ("login", status.logins_refused),
            ("slowed-login", status.logins_slowed),
            ("rate", status.rate_exceeded),
            ("without-session", status.requests_without_session),
            ("proxy", status.proxies_refused),
            ("request", status.requests_refused),
            ("callback", status.callbacks_refused),
            ("memory", status.memory_full),
        ];
        let refused = refused.map(|(what, count)| (labelled("what", what), number(count)));
        rows.counters("floe_gateway_refused", help, refused)?;
        let help = "Objects that routing tables had no room for any more";
        let evicted = number(status.routes_evicted);
        rows.counter("floe_gateway_routes_evicted", help, evicted)?;
        let ways = |to_servers, to_clients| {
            let ways = [("servers", to_servers), ("clients", to_clients)];
            ways.map(|(to, count)| (labelled("to", to), number(count)))
        };
        let requests = ways(status.to_servers, status.to_clients);
        rows.counters("floe_gateway_forwarded", "Requests forwarded", requests)?;
        let bytes = ways(status.to_servers_bytes, status.to_clients_bytes);
        rows.counters("floe_gateway_forwarded_bytes", "Bytes of these", bytes)?;
        rows.gauge(
            "floe_gateway_queued",
            "Requests that wait",
            number(status.queued),
        )?;
        let help = "Bytes of these";
        rows.gauge(
            "floe_gateway_queued_bytes",
            help,
            number(status.queued_bytes),
        )?;
        let help = "Bytes that sessions hold";
        rows.gauge("floe_gateway_memory_bytes", help, number(status.memory))?;
        let help = "Requests that a later one replaced in a queue";
        rows.counter("floe_gateway_overridden", help, number(status.overridden))?;
        let help = "Requests that were not forwarded, by reason";
        let lost = [("full", status.queue_full), ("failed", status.lost)];
        let lost = lost.map(|(reason, count)| (labelled("reason", reason), number(count)));
        rows.counters("floe_gateway_lost", help, lost)
    }
}

fn labelled(name: &'static str, value: &str) -> Labels {
    vec![(name, value.to_owned())]
}
