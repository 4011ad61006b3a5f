//! The connections of the console, and which path is what.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::changes::{CHANGES, Change};
use super::events::{Events, Source};
use super::gate::{Gate, Rights};
use super::request::{self, parameter};
use super::response::{Content, Refused, file, json, refused, response};
use super::sample::{Watched, WatchedHub};
use super::selection::Selection;
use super::snapshot::snapshot;
use super::stalled_writes::{STALL_MAX, StalledWrites};
use super::watcher::Watcher;
use super::{letters, rows};

/// Bytes of a request with all its headers; a token may take a few thousand of them.
const REQUEST_LEN_MAX: usize = 16 * 1024;
/// Connections at a time; a browser makes up to six. A further one is closed at once.
const CONNECTION_MAX: usize = 64;
/// Streams at a time.
const STREAM_MAX: usize = 16;
/// How long a request may take to arrive, and how long a connection may be idle.
const REQUEST_PATIENCE: Duration = Duration::from_secs(10);
/// How long it waits after the system could not accept a connection.
const PAUSE: Duration = Duration::from_millis(100);
/// Subscribers of one topic that are told of.
const SUBSCRIBER_MAX: usize = 500;

const HTML: &str = include_str!("page/console.html");
const SCRIPT: &str = include_str!("page/console.js");
const STYLE: &str = include_str!("page/console.css");

/// A running console.
pub(crate) struct Console {
    /// Its end ends all connections.
    tasks: JoinSet<()>,
    gate: Arc<Gate>,
    /// Where it really listens.
    pub(crate) address: SocketAddr,
}

impl Console {
    /// Begins to serve those who connect to this. Must be called inside the runtime.
    ///
    /// # Errors
    /// The system does not say where it listens.
    pub(crate) fn start(listener: TcpListener, watched: Watched, gate: Gate) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let gate = Arc::new(gate);
        let site = Arc::new(Site {
            watcher: Arc::new(Watcher::new(watched)),
            gate: gate.clone(),
            streams: Arc::new(Semaphore::new(STREAM_MAX)),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, site));
        Ok(Self {
            tasks,
            gate,
            address,
        })
    }

    /// The gate, for rules that change.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Ends it at once.
    pub(crate) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

struct Site {
    watcher: Arc<Watcher>,
    gate: Arc<Gate>,
    streams: Arc<Semaphore>,
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("could not accept a connection to the console: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        if connections.len() < CONNECTION_MAX {
            connections.spawn(serve(stream, peer.ip(), site.clone()));
        }
    }
}

async fn serve(stream: TcpStream, peer: IpAddr, site: Arc<Site>) {
    let mut http = http1::Builder::new();
    http.max_buf_size(REQUEST_LEN_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_PATIENCE);
    let service = service_fn(|request| {
        let site = site.clone();
        async move { Ok::<_, Infallible>(site.answer(request, peer).await) }
    });
    let stream = TokioIo::new(StalledWrites::new(stream, STALL_MAX));
    // A peer that breaks off or is too slow does not get an answer.
    let _ = http.serve_connection(stream, service).await;
}

impl Site {
    async fn answer(&self, request: Request<Incoming>, peer: IpAddr) -> Response<Content> {
        let asked = request.uri().path().to_owned();
        // The page itself may be reached by a link from anywhere; it holds nothing.
        let page = match asked.as_str() {
            "/" => Some(file("text/html; charset=utf-8", HTML)),
            "/console.js" => Some(file("text/javascript; charset=utf-8", SCRIPT)),
            "/console.css" => Some(file("text/css; charset=utf-8", STYLE)),
            _ => None,
        };
        let change = CHANGES.iter().find(|(path, _)| *path == asked);
        match (page, change) {
            (_, Some((_, change))) if request.method() == Method::POST => {
                self.change(*change, request, peer).await
            }
            (_, Some(_)) => not_allowed("POST"),
            _ if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                not_allowed("GET, HEAD")
            }
            (Some(page), None) => match self.gate.check_host(request.headers()) {
                Ok(_) => page,
                Err(reason) => refused(&reason),
            },
            (None, None) => self
                .read(&asked, request, peer)
                .await
                .unwrap_or_else(|reason| refused(&reason)),
        }
    }

    /// Checks where a request comes from, and who asks.
    fn rights(&self, request: &Request<Incoming>, peer: IpAddr) -> Result<Rights, Refused> {
        self.gate.check_origin(request.headers())?;
        self.gate.rights(peer, request.headers())
    }

    async fn read(
        &self,
        path: &str,
        request: Request<Incoming>,
        peer: IpAddr,
    ) -> Result<Response<Content>, Refused> {
        let rights = self.rights(&request, peer)?;
        let query = request.uri().query().unwrap_or_default();
        match path {
            "/api/v1/snapshot" => {
                let sample = self.watcher.sample().await;
                let selection = Selection::of(query);
                let token = self.gate.change_token();
                Ok(json(
                    StatusCode::OK,
                    &snapshot(&sample, &selection, &rights, token),
                ))
            }
            "/api/v1/events" => {
                let permit = self.streams.clone().try_acquire_owned().map_err(|_| {
                    let message = format!(
                        "expected at most {STREAM_MAX} streams at a time; close another page"
                    );
                    Refused::new(StatusCode::SERVICE_UNAVAILABLE, &message)
                })?;
                let source = Source {
                    watcher: self.watcher.clone(),
                    gate: self.gate.clone(),
                    selection: Selection::of(query),
                    peer,
                    headers: request.headers().clone(),
                };
                let events = Content::Events(Box::new(Events::new(source, permit)));
                Ok(response(StatusCode::OK, "text/event-stream", events))
            }
            "/api/v1/topic" => {
                self.topic(&parameter(query, "name").unwrap_or_default())
                    .await
            }
            "/api/v1/dead-letters" => {
                let topic = parameter(query, "topic").unwrap_or_default();
                let dead = parameter(query, "dead_letter_topic");
                let from = parameter(query, "from").and_then(|text| text.parse().ok());
                let named = letters::named(&topic, dead.as_deref())?;
                let list = letters::list(self.hub()?, &named, from.unwrap_or(1)).await?;
                Ok(json(StatusCode::OK, &list))
            }
            _ => Err(Refused::new(
                StatusCode::NOT_FOUND,
                "nothing is here; docs/guides/console.md lists what is",
            )),
        }
    }

    /// A topic with its subscribers.
    async fn topic(&self, name: &str) -> Result<Response<Content>, Refused> {
        let (view, asked) = (self.hub()?.view.clone(), name.to_owned());
        let status = tokio::task::spawn_blocking(move || view.topic_status(&asked)).await;
        let missing = || Refused::new(StatusCode::NOT_FOUND, &format!("no topic `{name}`"));
        let status = status.ok().flatten().ok_or_else(missing)?;
        let sample = self.watcher.sample().await;
        let shown = status.subscribers.iter().take(SUBSCRIBER_MAX);
        let subscribers: Vec<_> = shown.map(|it| rows::subscriber(name, it)).collect();
        let durable = sample
            .hub
            .as_ref()
            .and_then(|hub| hub.durable.iter().find(|it| it.name == name));
        let value = json!({
            "topic": rows::topic(&status.totals, sample.rates(name)),
            "subscribers": subscribers,
            "has_more": status.subscribers.len() > SUBSCRIBER_MAX,
            "durable": durable.map(rows::durable),
        });
        Ok(json(StatusCode::OK, &value))
    }

    async fn change(
        &self,
        change: Change,
        request: Request<Incoming>,
        peer: IpAddr,
    ) -> Response<Content> {
        let done = async {
            let rights = self.rights(&request, peer)?;
            self.gate.check_change(&rights, request.headers())?;
            let hub = self.hub()?;
            let patience =
                tokio::time::timeout(REQUEST_PATIENCE, request::body(request.into_body()));
            let late = |_| {
                Refused::new(
                    StatusCode::REQUEST_TIMEOUT,
                    "the body did not arrive in time",
                )
            };
            let body = patience.await.map_err(late)??;
            change.run(hub, &rights, &body).await
        };
        match done.await {
            Ok(value) => {
                self.watcher.outdate().await;
                json(StatusCode::OK, &value)
            }
            Err(reason) => refused(&reason),
        }
    }

    fn hub(&self) -> Result<&WatchedHub, Refused> {
        let hub = self.watcher.watched.hub.as_ref();
        hub.ok_or_else(|| Refused::new(StatusCode::NOT_FOUND, "this server has no hub"))
    }
}

fn not_allowed(methods: &'static str) -> Response<Content> {
    let message = format!("expected {methods}");
    let mut response = refused(&Refused::new(StatusCode::METHOD_NOT_ALLOWED, &message));
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(methods));
    response
}
