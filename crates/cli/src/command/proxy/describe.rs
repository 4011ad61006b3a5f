//! The parts of a proxy and of its endpoints, as JSON.

use floe::settings::Compression;
use floe_wire::compression::{OFFER_TYPE_CODE, offered};
use floe_wire::reference::{
    Endpoint, InvocationMode, ParsedReference, Reference, Style, Target, TcpEndpoint, Timeout,
};
use serde_json::{Value as Json, json};

use crate::compression;

/// A proxy; `endpoints` is a list of objects that all have the same keys.
pub(super) fn reference(parsed: &ParsedReference) -> Json {
    let Some(reference) = &parsed.reference else {
        return json!({"text": "", "text_38": "", "nil": true, "endpoints": []});
    };
    let (target, adapter_id) = match &reference.target {
        Target::Direct(_) => ("direct", None),
        Target::Indirect { adapter_id } => ("indirect", Some(adapter_id)),
        Target::WellKnown => ("well-known", None),
    };
    json!({
        "text": reference.to_string(),
        "text_38": reference.to_text(Style::V38),
        "nil": false,
        "name": reference.identity.name,
        "category": reference.identity.category,
        "facet": reference.facet,
        "mode": mode(reference.mode),
        "secure": reference.secure,
        "protocol": reference.protocol.to_string(),
        "encoding": reference.encoding.to_string(),
        "target": target,
        "adapter_id": adapter_id,
        "skipped_endpoints": parsed.skipped_endpoints,
        "endpoints": endpoints(reference),
    })
}

/// The columns of a table of endpoints: those in which there is anything to say.
pub(super) fn columns(endpoints: &[Json]) -> Vec<&'static str> {
    let is_said = |key: &&str| {
        endpoints
            .iter()
            .any(|endpoint| !matches!(&endpoint[*key], Json::Null | Json::Bool(false)))
    };
    COLUMNS.into_iter().filter(is_said).collect()
}

const COLUMNS: [&str; 15] = [
    "transport",
    "type",
    "host",
    "port",
    "path",
    "resource",
    "timeout_ms",
    "compress",
    "offers",
    "source_address",
    "interface",
    "ttl",
    "connect",
    "encoding",
    "bytes",
];

fn endpoints(reference: &Reference) -> Vec<Json> {
    let all = reference.endpoints();
    all.iter().map(|it| endpoint(it, all)).collect()
}

fn endpoint(endpoint: &Endpoint, all: &[Endpoint]) -> Json {
    let transport = endpoint.protocol().map(|protocol| protocol.as_str());
    let mut described = json!({
        "endpoint": text(endpoint),
        "transport": transport.unwrap_or(match endpoint.type_code() {
            OFFER_TYPE_CODE => "offer",
            _ => "opaque",
        }),
        "type": endpoint.type_code(),
        "host": endpoint.host(),
        "port": endpoint.port(),
        "timeout_ms": endpoint.timeout().map(timeout),
        "compress": endpoint.wants_compression(),
    });
    let more = match endpoint {
        Endpoint::Tcp(tcp) | Endpoint::Ssl(tcp) => json!({"source_address": source(tcp)}),
        Endpoint::Ws(ws) | Endpoint::Wss(ws) => {
            json!({"resource": ws.resource, "source_address": source(&ws.tcp)})
        }
        Endpoint::Udp(udp) => json!({
            "source_address": udp.source_address.map(|it| it.to_string()),
            "interface": udp.interface,
            "ttl": udp.ttl,
            "connect": udp.connect,
        }),
        Endpoint::Unix(unix) => json!({"path": unix.path, "host": not_empty(&unix.host)}),
        // What it offers is said at the endpoints that it is for.
        Endpoint::Opaque(opaque) if opaque.type_code == OFFER_TYPE_CODE => json!({}),
        Endpoint::Opaque(opaque) => json!({
            "encoding": opaque.encoding.to_string(),
            "bytes": hexadecimal(&opaque.bytes),
        }),
        _ => json!({}),
    };
    for key in COLUMNS {
        let value = match &more[key] {
            Json::Null => described[key].take(),
            value => value.clone(),
        };
        described[key] = value;
    }
    described["offers"] = offers(endpoint, all);
    described
}

/// The compressions beyond bzip2 that the peer understands at an endpoint.
fn offers(endpoint: &Endpoint, all: &[Endpoint]) -> Json {
    let is_offered = |it: &Compression| *it != Compression::Bzip2 && offered(*it, all, endpoint);
    let names: Vec<_> = Compression::ALL
        .into_iter()
        .filter(is_offered)
        .map(compression::name)
        .collect();
    match names.is_empty() {
        true => Json::Null,
        false => json!(names),
    }
}

/// An endpoint as a proxy writes it.
pub(super) fn text(endpoint: &Endpoint) -> String {
    endpoint.to_string()
}

/// A mode by its name.
fn mode(mode: InvocationMode) -> &'static str {
    match mode {
        InvocationMode::Twoway => "twoway",
        InvocationMode::Oneway => "oneway",
        InvocationMode::BatchOneway => "batch oneway",
        InvocationMode::Datagram => "datagram",
        InvocationMode::BatchDatagram => "batch datagram",
    }
}

fn timeout(timeout: Timeout) -> Json {
    timeout.as_ms().map_or(json!("infinite"), Json::from)
}

fn source(tcp: &TcpEndpoint) -> Option<String> {
    tcp.source_address.map(|address| address.to_string())
}

fn not_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
