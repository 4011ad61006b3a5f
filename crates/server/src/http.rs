//! The port of a scraper: hyper reads and writes HTTP, and this limits what a peer may take. One request a connection.

mod host_names;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;

pub(crate) use host_names::HostNames;

/// Bytes of a request with all its headers, the least that hyper allows. Scrapers send some hundred.
const REQUEST_LEN_MAX: usize = 8 * 1024;
/// Connections at a time. When one more comes, the oldest is dropped.
const CONNECTION_MAX: usize = 16;
/// Answers that are made at a time. The second one lets a short answer pass while a long one is made.
const ANSWERS_AT_A_TIME: usize = 2;
/// How long a request may take to arrive, from the beginning of the connection.
const REQUEST_PATIENCE: Duration = Duration::from_secs(1);
/// How long a connection may take in all.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection has in any case before another one takes its place. A scraper that is not silent needs less.
const PATIENCE_MIN: Duration = Duration::from_millis(50);
/// How long it waits after the system could not accept a connection.
const PAUSE: Duration = Duration::from_millis(100);
/// The answer to a request that does not arrive in time. Hyper has none: it closes the connection.
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 20\r\nConnection: close\r\n\r\n408 Request Timeout\n";

/// The pages of a server, and the names under which it answers.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) pages: Pages,
    pub(crate) hosts: Arc<HostNames>,
}

/// A function from a path and the formats that the client accepts to the answer, if something is there.
pub(crate) type Pages = Arc<dyn Fn(&str, &str) -> Option<Answer> + Send + Sync>;

/// An answer to a GET.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
}

impl Answer {
    /// A line of text.
    pub(crate) fn plain(status: StatusCode, text: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            text: format!("{text}\n"),
        }
    }
}

/// A server of a few pages.
#[derive(Debug)]
pub(crate) struct HttpServer {
    /// Its end ends all connections.
    tasks: JoinSet<()>,
    /// Where it really listens.
    pub(crate) address: SocketAddr,
}

impl HttpServer {
    /// Begins to serve these pages to those who connect to this. Must be called inside the runtime.
    ///
    /// # Errors
    /// The system does not say where it listens.
    pub(crate) fn start(listener: TcpListener, site: Site) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, site));
        Ok(Self { tasks, address })
    }

    /// Ends it at once.
    pub(crate) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn accept(listener: TcpListener, site: Site) {
    let mut connections = JoinSet::new();
    let mut oldest_first = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("could not accept a scraper: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let site = site.clone();
        make_room(&mut connections, &mut oldest_first).await;
        let task = connections.spawn(async move {
            // Who is too slow or breaks off does not get an answer.
            let _ = tokio::time::timeout(PATIENCE, serve(stream, &site)).await;
        });
        oldest_first.push_back((Instant::now(), task));
    }
}

/// Waits a little for one of too many connections to end, and then drops the oldest: silent ones must not keep scrapers
/// out.
async fn make_room(
    connections: &mut JoinSet<()>,
    oldest_first: &mut VecDeque<(Instant, AbortHandle)>,
) {
    while connections.try_join_next().is_some() {}
    while connections.len() >= CONNECTION_MAX {
        let oldest = oldest_first.front();
        let until = oldest.map_or_else(Instant::now, |(begun, _)| *begun + PATIENCE_MIN);
        tokio::select! {
            _ = connections.join_next() => {}
            () = tokio::time::sleep_until(until) => {
                if let Some((_, oldest)) = oldest_first.pop_front() {
                    oldest.abort();
                }
                connections.join_next().await;
            }
        }
        oldest_first.retain(|(_, task)| !task.is_finished());
    }
    oldest_first.retain(|(_, task)| !task.is_finished());
}

async fn serve(stream: TcpStream, site: &Site) -> hyper::Result<()> {
    let mut http = http1::Builder::new();
    http.keep_alive(false)
        .max_buf_size(REQUEST_LEN_MAX)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_PATIENCE);
    let service = service_fn(|request| Box::pin(answer_in_turn(request, site)));
    let mut connection = http.serve_connection(TokioIo::new(stream), service);
    let served = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    let mut stream = connection.into_parts().io.into_inner();
    if served.as_ref().is_err_and(hyper::Error::is_timeout) {
        // The peer may be gone.
        let _ = stream.write_all(LATE).await;
    }
    let _ = stream.shutdown().await;
    served
}

/// Answers on a thread that may block: the counts of many topics take long to add up, and the runtime's threads have
/// others to serve. A client that breaks off does not end the work for its answer, so few answers are made at a time.
async fn answer_in_turn(
    request: Request<Incoming>,
    site: &Site,
) -> Result<Response<String>, JoinError> {
    static TURNS: Semaphore = Semaphore::const_new(ANSWERS_AT_A_TIME);
    let turn = TURNS.acquire().await.expect("it is never closed");
    let site = site.clone();
    tokio::task::spawn_blocking(move || {
        let answer = answer(&request, &site);
        drop(turn);
        answer
    })
    .await
}

/// The answer to a request. Hyper leaves the text out where a HEAD asks.
fn answer(request: &Request<Incoming>, site: &Site) -> Response<String> {
    if let Some(host) = foreign_host(request, &site.hosts) {
        return misdirected(&host);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
        return response;
    }
    match (site.pages)(request.uri().path(), &accepted(request)) {
        Some(answer) => with_text(answer),
        None => status(StatusCode::NOT_FOUND),
    }
}

/// The formats that a client accepts: the header may be there several times.
fn accepted(request: &Request<Incoming>) -> String {
    let accepted = request.headers().get_all(ACCEPT).into_iter();
    let accepted: Vec<_> = accepted.filter_map(|value| value.to_str().ok()).collect();
    accepted.join(",")
}

/// The host that a request is for, if that is not this one. A client that names no host is no browser.
fn foreign_host(request: &Request<Incoming>, hosts: &HostNames) -> Option<String> {
    let in_line = request.uri().authority().map(|it| it.as_str().to_owned());
    let in_headers = request.headers().get_all(HOST).into_iter();
    let in_headers = in_headers.map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned());
    let mut named = in_line.into_iter().chain(in_headers);
    named.find(|host| !hosts.has(host))
}

/// The answer to a request for another host. A web page may have given its own name the address of this server, and must not
/// read what is here.
fn misdirected(host: &str) -> Response<String> {
    let host: String = host.chars().flat_map(char::escape_debug).collect();
    let text = format!(
        "421 Misdirected Request: expected an IP address, localhost, or a name of this server as the host, got \"{host}\"; \
         add it with --metrics-host if it is one"
    );
    with_text(Answer::plain(StatusCode::MISDIRECTED_REQUEST, &text))
}

/// An answer that only says what is wrong.
fn status(status: StatusCode) -> Response<String> {
    with_text(Answer::plain(status, &status.to_string()))
}

fn with_text(answer: Answer) -> Response<String> {
    let mut response = Response::new(answer.text);
    *response.status_mut() = answer.status;
    let content_type = HeaderValue::from_static(answer.content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use tokio::io::AsyncReadExt;

    /// Sends this as a client, and returns the answer.
    async fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(request).await.expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    async fn server() -> HttpServer {
        let page = |path: &str, _: &str| {
            (path == "/metrics").then(|| Answer::plain(StatusCode::OK, "page"))
        };
        server_of(Arc::new(page)).await
    }

    async fn server_of(pages: Pages) -> HttpServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let hosts = Arc::new(HostNames::new(&["x".to_owned()]));
        HttpServer::start(listener, Site { pages, hosts }).expect("an address")
    }

    #[tokio::test]
    async fn silent_connections_keep_no_scraper_out() {
        let server = server().await;
        let mut silent = Vec::new();
        for _ in 0..4 * CONNECTION_MAX {
            let stream = TcpStream::connect(server.address).await;
            silent.push(stream.expect("it listens"));
        }
        let answer = ask(server.address, b"GET /metrics HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        // They got no answer: the oldest were dropped to make room.
        let mut first = String::new();
        let ended = silent[0].read_to_string(&mut first).await;
        assert!(ended.is_err() || first.is_empty(), "{first}");
        server.stop().await;
    }

    #[tokio::test]
    async fn a_request_that_does_not_end_is_told_that_it_is_late() {
        let server = server().await;
        let answer = ask(server.address, b"GET /metrics HTTP/1.1\r\n").await;
        assert!(
            answer.starts_with("HTTP/1.1 408 Request Timeout"),
            "{answer}"
        );
        server.stop().await;
    }

    #[tokio::test]
    async fn only_what_makes_sense_is_answered_with_the_page() {
        let server = server().await;
        let get = ask(server.address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let (head, text) = get.split_once("\r\n\r\n").expect("a head");
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 ok"), "{get}");
        for header in [
            "content-type: text/plain; charset=utf-8",
            "content-length: 5",
            "connection: close",
        ] {
            assert!(head.lines().any(|line| line == header), "{header}: {get}");
        }
        assert_eq!(text, "page\n");
        let head = ask(server.address, b"HEAD /metrics?a=b HTTP/1.0\r\n\r\n").await;
        assert!(
            head.contains(" 200 OK\r\n") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        let refused = [
            (&b"GET / HTTP/1.1"[..], "404 Not Found"),
            (b"POST /metrics HTTP/1.1", "405 Method Not Allowed"),
            (b"GET", "400 Bad Request"),
            (b"GET /metrics", "400 Bad Request"),
            (b"GET /metrics SPDY", "400 Bad Request"),
            (b"\x01\x02", "400 Bad Request"),
        ];
        for (line, status) in refused {
            let answer = ask(server.address, &[line, b"\r\n\r\n"].concat()).await;
            let of_status = format!("HTTP/1.1 {status}\r\n");
            assert!(answer.starts_with(&of_status), "{line:?}: {answer:?}");
        }
        let post = ask(server.address, b"POST / HTTP/1.1\r\n\r\n").await;
        assert!(
            post.to_ascii_lowercase().contains("allow: get, head\r\n"),
            "{post}"
        );
        server.stop().await;
    }

    #[tokio::test]
    async fn a_page_of_another_host_reads_nothing() {
        let server = server().await;
        for (host, status) in [
            ("127.0.0.1:9464", "200 OK"),
            ("x", "200 OK"),
            ("evil.example:9464", "421 Misdirected Request"),
            ("x\r\nHost: evil.example", "421 Misdirected Request"),
            ("127.0.0.1:1@evil.example", "421 Misdirected Request"),
            ("[::1]evil.example", "421 Misdirected Request"),
            ("[::1]:9464", "200 OK"),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let answer = ask(server.address, request.as_bytes()).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{answer}"
            );
            assert_eq!(answer.contains("page\n"), status == "200 OK", "{answer}");
        }
        let request = b"GET http://evil.example/metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        let answer = ask(server.address, request).await;
        assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
        assert!(
            answer.contains("got \"evil.example\"; add it with --metrics-host"),
            "{answer}"
        );
        server.stop().await;
    }

    #[tokio::test]
    async fn headers_that_are_too_long_are_refused() {
        let server = server().await;
        // As long as is read, so that the refusal is not lost with what nobody reads.
        let mut request = b"GET /metrics HTTP/1.1\r\nA: ".to_vec();
        request.resize(REQUEST_LEN_MAX, b'x');
        let answer = ask(server.address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
        server.stop().await;
    }

    #[tokio::test]
    async fn many_requests_take_few_threads() {
        let running = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let (counted, noted) = (running.clone(), most.clone());
        let pages: Pages = Arc::new(move |_, _| {
            let count = counted.fetch_add(1, Ordering::SeqCst) + 1;
            noted.fetch_max(count, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            counted.fetch_sub(1, Ordering::SeqCst);
            Some(Answer::plain(StatusCode::OK, "page"))
        });
        let server = server_of(pages).await;
        let mut clients = JoinSet::new();
        for _ in 0..10 {
            let address = server.address;
            clients.spawn(async move { ask(address, b"GET /metrics HTTP/1.1\r\n\r\n").await });
        }
        for answer in clients.join_all().await {
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        }
        assert!((1..=ANSWERS_AT_A_TIME).contains(&most.load(Ordering::SeqCst)));
        server.stop().await;
    }
}
