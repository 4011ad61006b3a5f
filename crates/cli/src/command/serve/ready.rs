//! The lines that `floe serve` prints when it serves.

use floe_gateway::Gateway;
use floe_hub::Hub;
use floe_server::Server;
use serde_json::{Map, Value, json};

use crate::endpoint::readable;
use crate::output::{Format, Output};

/// Prints that they are ready, and where.
pub(super) fn tell(server: &Server, output: &Output) {
    let manager = server.hub().map(Hub::topic_manager);
    let router = server.gateway().map(Gateway::router);
    let told = match output.format_or(Format::Table) {
        Format::Table | Format::Raw if manager.is_none() && router.is_none() => Ok(()),
        Format::Table => {
            let first = manager.as_ref().or(router.as_ref());
            let second = manager.as_ref().and(router.as_ref());
            let ready = first
                .map(|proxy| output.line(format_args!("ready {}", readable(&proxy.to_string()))));
            let also = second
                .map(|proxy| output.line(format_args!("router {}", readable(&proxy.to_string()))));
            ready.unwrap_or(Ok(())).and(also.unwrap_or(Ok(())))
        }
        Format::Json | Format::Jsonl => output.line(json_of(server)),
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

fn json_of(server: &Server) -> Value {
    let mut told = Map::new();
    if let Some(hub) = server.hub() {
        told.insert("ready".to_owned(), json!(readable(&hub.topic_manager())));
        told.insert("endpoints".to_owned(), json!(readable(&hub.endpoints())));
    }
    if let Some(gateway) = server.gateway() {
        let router = json!(readable(&gateway.router()));
        if server.hub().is_none() {
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
