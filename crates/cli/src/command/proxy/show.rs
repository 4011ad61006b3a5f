//! `floe proxy show`: asks the object of a proxy about itself, and shows how it can be reached.

use std::time::{Duration, Instant};

use clap::Args;
use floe::reference::Target;
use floe::{
    Communicator, ConnectionInfo, Endpoint, InvocationMode, InvokeError, Proxy, SystemException,
    TypedProxy,
};
use floe_wire::compression::OFFER_TYPE_CODE;
use serde_json::{Value as Json, json};

#[cfg(feature = "tls")]
use super::certificate;
use super::describe;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::peer::{self, TimeoutArgument};

/// Asks the object of a proxy what it is, over each endpoint
///
/// For each endpoint it shows whether it can connect, how long that takes, the addresses, the cipher and
/// certificate, and whether the object answers there. Then it asks the object for its interfaces. Peers do not
/// list the facets of an object: name those to look for with --facet. If no endpoint leads to the object, the
/// exit code says what a peer answered, or why no peer was reached.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The proxy, such as 'greeter:tcp -h localhost -p 4061'
    proxy: String,

    /// A facet to look for, besides the default facet and the one of the proxy. Can be repeated
    #[arg(long, value_name = "NAME")]
    facet: Vec<String>,

    #[command(flatten)]
    timeout: TimeoutArgument,
}

impl Show {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        peer::run(self.timeout, async |communicator| {
            self.show(&communicator, output).await
        })
    }

    async fn show(&self, communicator: &Communicator, output: &Output) -> Result<Exit, Failure> {
        let proxy = located(peer::proxy(communicator, &self.proxy)?).await?;
        let visits = visits(&proxy).await;
        let answering = visits.iter().find(|visit| visit.answers());
        let object = match answering {
            Some(visit) => self.object(&visit.proxy).await?,
            None => json!({"type": null, "ids": [], "facets": []}),
        };
        tell(&proxy, object, &visits, output)?;
        match answering {
            Some(_) => Ok(Exit::Success),
            None => Err(no_answer(&proxy, visits)),
        }
    }

    /// Asks the object for its interfaces and facets.
    async fn object(&self, proxy: &Proxy) -> Result<Json, Failure> {
        let ids = proxy.ice_ids().await?;
        let own = proxy.reference().facet.as_str();
        let mut names = vec!["", own];
        names.extend(self.facet.iter().map(String::as_str));
        let mut facets = Vec::new();
        for (index, name) in names.iter().enumerate() {
            if !names[..index].contains(name) && has_facet(proxy, name).await? {
                facets.push(*name);
            }
        }
        Ok(json!({"type": proxy.ice_id().await?, "ids": ids, "facets": facets}))
    }
}

/// Returns the proxy with the endpoints that a locator knows, if it has none of its own.
async fn located(proxy: Proxy) -> Result<Proxy, Failure> {
    if !proxy.reference().endpoints().is_empty() {
        return Ok(proxy);
    }
    let mut reference = proxy.reference().clone();
    reference.target = Target::Direct(proxy.find_endpoints().await?);
    Ok(proxy.with_reference(reference))
}

/// The outcome of a visit to an endpoint.
struct Visit {
    endpoint: Endpoint,
    /// The object over this endpoint alone.
    proxy: Proxy,
    outcome: Outcome,
}

enum Outcome {
    /// It is not for calls that are answered; says why.
    NotTried(&'static str),
    Unreachable(InvokeError),
    /// The object answered, or said why not.
    Reached {
        after: Duration,
        info: ConnectionInfo,
        answer: Result<(), InvokeError>,
    },
}

impl Visit {
    fn answers(&self) -> bool {
        matches!(self.outcome, Outcome::Reached { answer: Ok(()), .. })
    }

    fn to_json(&self) -> Json {
        let mut row = json!({
            "endpoint": describe::text(&self.endpoint),
            "outcome": null,
            "connected_ms": null,
            "transport": null,
            "local_address": null,
            "remote_address": null,
            "cipher": null,
            "certificates": [],
        });
        match &self.outcome {
            Outcome::NotTried(why) => row["outcome"] = json!(format!("not tried: {why}")),
            Outcome::Unreachable(error) => row["outcome"] = json!(error.to_string()),
            Outcome::Reached {
                after,
                info,
                answer,
            } => {
                let micros = after.as_micros() as f64;
                row["connected_ms"] = json!((micros / 10.0).round() / 100.0);
                row["outcome"] = json!(match answer {
                    Ok(()) => "answers".to_owned(),
                    Err(error) => error.to_string(),
                });
                add_connection(&mut row, info);
            }
        }
        row
    }
}

/// Tries all endpoints at the same time.
async fn visits(proxy: &Proxy) -> Vec<Visit> {
    let endpoints = proxy.reference().endpoints().to_vec();
    let endpoints = endpoints
        .into_iter()
        .filter(|endpoint| endpoint.type_code() != OFFER_TYPE_CODE);
    let tasks: Vec<_> = endpoints
        .map(|endpoint| tokio::spawn(visit(proxy.clone(), endpoint)))
        .collect();
    let mut visits = Vec::new();
    for task in tasks {
        visits.push(task.await.expect("a visit does not panic"));
    }
    visits
}

async fn visit(proxy: Proxy, endpoint: Endpoint) -> Visit {
    let mut reference = proxy.reference().clone();
    let is_secure_only = std::mem::replace(&mut reference.secure, false);
    reference.mode = InvocationMode::Twoway;
    reference.target = Target::Direct(vec![endpoint.clone()]);
    let proxy = proxy.with_reference(reference);
    let outcome = match &endpoint {
        _ if endpoint.is_datagram() => Outcome::NotTried("datagrams get no answer"),
        Endpoint::Opaque(_) => Outcome::NotTried("its transport is not known here"),
        _ if is_secure_only && !endpoint.is_secure() => {
            Outcome::NotTried("the proxy is for encrypted endpoints alone, -s")
        }
        _ => reach(&proxy).await,
    };
    Visit {
        endpoint,
        proxy,
        outcome,
    }
}

async fn reach(proxy: &Proxy) -> Outcome {
    let start = Instant::now();
    let connection = match proxy.ice_connection().await {
        Ok(connection) => connection,
        Err(error) => return Outcome::Unreachable(error),
    };
    let after = start.elapsed();
    // There is no adapter here whose objects it could be.
    let info = connection.map_or_else(ConnectionInfo::default, |it| it.info());
    let answer = proxy.ice_ping().await;
    Outcome::Reached {
        after,
        info,
        answer,
    }
}

async fn has_facet(proxy: &Proxy, name: &str) -> Result<bool, Failure> {
    match proxy.ice_facet(name).ice_ping().await {
        Ok(()) => Ok(true),
        Err(InvokeError::System(SystemException::FacetNotExist(_))) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn add_connection(row: &mut Json, info: &ConnectionInfo) {
    let address = |address: Option<std::net::SocketAddr>| address.map(|it| it.to_string());
    row["transport"] = json!(info.transport);
    row["local_address"] = json!(address(info.local_address));
    row["remote_address"] = json!(address(info.remote_address));
    row["cipher"] = json!(info.cipher);
    #[cfg(feature = "tls")]
    {
        let certificates = info.peer_certificates.iter();
        let described: Vec<Json> = certificates.map(|it| certificate::describe(it)).collect();
        row["certificates"] = json!(described);
    }
}

fn tell(proxy: &Proxy, object: Json, visits: &[Visit], output: &Output) -> Result<(), Failure> {
    let rows: Vec<Json> = visits.iter().map(Visit::to_json).collect();
    let mut shown = json!({"proxy": proxy.to_string()});
    for key in ["type", "ids", "facets"] {
        shown[key] = object[key].clone();
    }
    if output.format() != Format::Table {
        shown["endpoints"] = Json::from(rows);
        return output.value(&shown, &shown["type"]);
    }
    if let Some(facets) = shown["facets"].as_array_mut() {
        // An empty name would be seen by nobody.
        let default = facets.iter_mut().filter(|name| **name == "");
        default.for_each(|name| *name = json!("(default)"));
    }
    output.record(&shown, "type")?;
    output.line("")?;
    for row in &rows {
        output.record(&without_nulls(row), "endpoint")?;
        output.line("")?;
    }
    Ok(())
}

fn without_nulls(row: &Json) -> Json {
    let members = row.as_object().into_iter().flatten();
    let said = members.filter(|(_, value)| !value.is_null() && **value != json!([]));
    said.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Why the object was not found: what a peer said about it, or why no peer was reached.
fn no_answer(proxy: &Proxy, visits: Vec<Visit>) -> Failure {
    let outcomes = visits.into_iter().map(|visit| visit.outcome);
    let (mut said, mut unreachable) = (None, None);
    for outcome in outcomes {
        match outcome {
            Outcome::Reached { answer, .. } => said = said.or(answer.err()),
            Outcome::Unreachable(error) => unreachable = unreachable.or(Some(error)),
            Outcome::NotTried(_) => {}
        }
    }
    match said.or(unreachable) {
        Some(error) => error.into(),
        None => Failure::usage(format_args!(
            "`{proxy}` has no endpoint over which an object answers"
        ))
        .help("expected tcp, ssl, ws, wss, or a unix endpoint of this host"),
    }
}
