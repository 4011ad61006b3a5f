//! The server: hyper reads and writes HTTP, and this limits what a peer may take.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::Broker;
use super::stream::{Stream, Watch};
use crate::soap::settings::SoapSettings;

/// Bytes of the line and all headers of a request.
const HEAD_LEN_MAX: usize = 16 * 1024;
/// Bytes of a request's body: XML takes three to four times the space of Ice's encoding, whose messages have at most 1 MiB by default.
const BODY_LEN_MAX: usize = 4 * 1024 * 1024;
/// Connections at a time. When one more comes, the oldest that has no whole request is dropped.
const CONNECTION_MAX: usize = 256;
/// How long the head of a request may take to arrive, from the end of the answer before it: how long a connection may be idle.
const HEAD_PATIENCE: Duration = Duration::from_secs(20);
/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(20);
/// How long a peer may take nothing of an answer.
const WRITE_PATIENCE: Duration = Duration::from_secs(20);
/// How long it waits after the system could not accept a connection.
const PAUSE: Duration = Duration::from_millis(100);
/// How long answers that are being made may take when the server ends.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// A server. Dropping it closes everything.
#[derive(Debug)]
pub(in crate::soap) struct Server {
    tasks: JoinSet<()>,
    end: watch::Sender<bool>,
}

/// A whole request, and who sent it.
#[derive(Debug)]
pub(super) struct Post {
    /// The address of the peer.
    pub(super) peer: SocketAddr,
    /// The beginning of URLs that lead here, as the peer said it: `http://HOST:PORT`.
    pub(super) base: String,
    pub(super) path: String,
    /// Its body, as text.
    pub(super) text: String,
    /// Sees whether the peer still waits.
    pub(super) watch: Watch,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) text: String,
}

impl Server {
    /// Begins to serve.
    ///
    /// # Errors
    /// The system does not say where it listens.
    pub(in crate::soap) fn start(
        listener: TcpListener,
        settings: Arc<SoapSettings>,
        broker: Arc<Broker>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (end, ended) = watch::channel(false);
        let site = Site {
            settings,
            broker,
            address,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::new(site), ended));
        Ok(Self { tasks, end })
    }

    /// Ends it: answers that are being made get a moment.
    pub(in crate::soap) async fn stop(mut self) {
        let _ = self.end.send(true);
        let _ = timeout(END_PATIENCE, self.tasks.join_next()).await;
        self.tasks.shutdown().await;
    }
}

struct Site {
    settings: Arc<SoapSettings>,
    broker: Arc<Broker>,
    address: SocketAddr,
}

/// A connection, and whether a whole request of it is being answered.
struct Served {
    is_busy: Arc<AtomicBool>,
    task: AbortHandle,
}

/// The other end of a connection.
struct Caller {
    peer: SocketAddr,
    watch: Watch,
    is_busy: Arc<AtomicBool>,
}

async fn accept(listener: TcpListener, site: Arc<Site>, mut ended: watch::Receiver<bool>) {
    let allowed = site.settings.client_networks();
    let mut connections = JoinSet::new();
    let mut oldest_first: VecDeque<Served> = VecDeque::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ended.changed() => break,
        };
        let (tcp, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("could not accept a SOAP program: {error}");
                sleep(PAUSE).await;
                continue;
            }
        };
        if !allowed.contain(peer.ip()) {
            tracing::warn!(%peer, "refused a SOAP program: its address is in none of the networks of clients of [bridge.soap]");
            continue;
        }
        while connections.try_join_next().is_some() {}
        oldest_first.retain(|it| !it.task.is_finished());
        if oldest_first.len() >= CONNECTION_MAX && !make_room(&mut oldest_first) {
            tracing::warn!(%peer, "refused a SOAP program: {CONNECTION_MAX} others are being served");
            continue;
        }
        let _ = tcp.set_nodelay(true);
        let is_busy = Arc::new(AtomicBool::new(false));
        let task = connections.spawn(serve(
            tcp,
            peer,
            site.clone(),
            is_busy.clone(),
            ended.clone(),
        ));
        oldest_first.push_back(Served { is_busy, task });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Drops the oldest connection without a whole request. Answers false if there is none.
fn make_room(oldest_first: &mut VecDeque<Served>) -> bool {
    let mut connections = oldest_first.iter();
    let Some(place) = connections.position(|it| !it.is_busy.load(Ordering::Relaxed)) else {
        return false;
    };
    if let Some(idle) = oldest_first.remove(place) {
        idle.task.abort();
    }
    true
}

async fn serve(
    tcp: TcpStream,
    peer: SocketAddr,
    site: Arc<Site>,
    is_busy: Arc<AtomicBool>,
    mut ended: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.max_buf_size(HEAD_LEN_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE);
    let stream = Stream::new(tcp, WRITE_PATIENCE);
    let caller = Caller {
        peer,
        watch: stream.watch(),
        is_busy,
    };
    let service = service_fn(|request| answer(request, &caller, &site));
    let io = TokioIo::new(stream);
    let mut connection = pin!(http.serve_connection(io, service));
    let mut is_ending = false;
    loop {
        tokio::select! {
            // Whoever is too slow or breaks off does not get an answer.
            _ = connection.as_mut() => return,
            _ = ended.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers one request. Futures of hyper's are boxed, so that an idle connection takes little memory.
fn answer<'s>(
    request: Request<Incoming>,
    caller: &'s Caller,
    site: &'s Site,
) -> Pin<Box<dyn Future<Output = Result<Response<String>, Infallible>> + Send + 's>> {
    Box::pin(async move {
        let reply = match head(&request, site) {
            Ok((base, true)) => Ok(site.broker.wsdl(&base)),
            Ok((base, false)) => posted(request, base, caller, site).await,
            Err(refusal) => Err(refusal),
        };
        caller.is_busy.store(false, Ordering::Relaxed);
        Ok(match reply {
            Ok(reply) => response(reply),
            Err(refusal) => refused(refusal),
        })
    })
}

/// Judges the head of a request: the base of URLs, and whether it asks for the WSDL.
fn head(request: &Request<Incoming>, site: &Site) -> Result<(String, bool), Reply> {
    let in_line = request.uri().authority().map(|it| it.as_str().to_owned());
    let in_headers = request.headers().get_all(HOST).into_iter();
    let in_headers = in_headers.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
    let hosts: Vec<String> = in_line.into_iter().chain(in_headers).collect();
    if let Some(foreign) = hosts.iter().find(|it| !site.settings.is_host(it)) {
        let shown: String = foreign
            .chars()
            .take(100)
            .flat_map(char::escape_debug)
            .collect();
        return Err(plain(
            StatusCode::MISDIRECTED_REQUEST,
            &format!(
                "expected an IP address, localhost, or a name of this server as the host, got \"{shown}\"; add it to hosts of \
                 [bridge.soap] if it is one"
            ),
        ));
    }
    let host = hosts.into_iter().next_back();
    let base = format!(
        "http://{}",
        host.unwrap_or_else(|| site.address.to_string())
    );
    match *request.method() {
        Method::POST => Ok((base, false)),
        Method::GET
            if request
                .uri()
                .query()
                .is_some_and(|it| it.eq_ignore_ascii_case("wsdl")) =>
        {
            Ok((base, true))
        }
        Method::GET => Err(plain(
            StatusCode::NOT_FOUND,
            "this is a broker of WS-Notification: POST messages of SOAP, or GET /?wsdl",
        )),
        _ => Err(plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "expected POST, or GET /?wsdl",
        )),
    }
}

async fn posted(
    request: Request<Incoming>,
    base: String,
    caller: &Caller,
    site: &Site,
) -> Result<Reply, Reply> {
    let header = |name| {
        request
            .headers()
            .get(name)
            .and_then(|it: &HeaderValue| it.to_str().ok())
    };
    let content_type = header(CONTENT_TYPE)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let (media, parameters) = content_type.split_once(';').unwrap_or((&content_type, ""));
    let charset = parameters
        .split(';')
        .find_map(|it| it.trim().strip_prefix("charset="));
    let is_utf8 =
        charset.is_none_or(|it| matches!(it.trim_matches('"'), "utf-8" | "utf8" | "us-ascii"));
    // A page of the web may post neither of these to another site without being allowed to.
    let is_soap = matches!(media.trim(), "text/xml" | "application/soap+xml");
    let is_coded = header(CONTENT_ENCODING).is_some_and(|it| !it.eq_ignore_ascii_case("identity"));
    if !is_soap || !is_utf8 || is_coded {
        return Err(plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "expected text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2) in UTF-8, without a content encoding",
        ));
    }
    let len = header(CONTENT_LENGTH).and_then(|it| it.parse::<u64>().ok());
    if len.is_some_and(|it| it > BODY_LEN_MAX as u64) {
        return Err(too_long());
    }
    let path = request.uri().path().to_owned();
    let body = timeout(BODY_PATIENCE, body(request.into_body(), BODY_LEN_MAX)).await;
    let bytes = match body {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(BodyError::TooLong)) => return Err(too_long()),
        Ok(Err(BodyError::Broken)) => {
            return Err(plain(StatusCode::BAD_REQUEST, "the body broke off"));
        }
        Err(_) => {
            return Err(plain(
                StatusCode::REQUEST_TIMEOUT,
                "the body did not arrive in time",
            ));
        }
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| plain(StatusCode::BAD_REQUEST, "the body is not UTF-8"))?;
    caller.is_busy.store(true, Ordering::Relaxed);
    let post = Post {
        peer: caller.peer,
        base,
        path,
        text,
        watch: caller.watch.clone(),
    };
    Ok(site.broker.answer(post).await)
}

/// Why there is no body.
#[derive(Debug)]
pub(super) enum BodyError {
    TooLong,
    Broken,
}

/// Reads a whole body.
pub(super) async fn body(mut body: Incoming, len_max: usize) -> Result<Vec<u8>, BodyError> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > len_max {
            return Err(BodyError::TooLong);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

fn too_long() -> Reply {
    plain(
        StatusCode::PAYLOAD_TOO_LARGE,
        &format!("expected a body of at most {BODY_LEN_MAX} bytes"),
    )
}

fn plain(status: StatusCode, text: &str) -> Reply {
    Reply {
        status: status.as_u16(),
        content_type: "text/plain; charset=utf-8",
        text: format!("{text}\n"),
    }
}

/// The answer to a request that was not read to its end, perhaps: its rest would be taken for the next one.
fn refused(refusal: Reply) -> Response<String> {
    let mut response = response(refusal);
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, POST");
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

fn response(reply: Reply) -> Response<String> {
    let mut response = Response::new(reply.text);
    let status = StatusCode::from_u16(reply.status);
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if !response.body().is_empty() {
        let content_type = HeaderValue::from_static(reply.content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
    }
    response
}
