//! Just enough HTTP for a scraper: one GET a connection, with limits to what a peer may take.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

/// Bytes of a request with all its headers. Scrapers send some hundred.
const REQUEST_LEN_MAX: usize = 8 * 1024;
/// Connections at a time. When one more comes, the oldest is dropped.
const CONNECTION_MAX: usize = 16;
/// How long a request may take to arrive, from the beginning of the connection.
const REQUEST_PATIENCE: Duration = Duration::from_secs(1);
/// How long a connection may take in all.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection has in any case before another one takes its place. A scraper that is not silent needs less.
const PATIENCE_MIN: Duration = Duration::from_millis(50);
/// How long it waits after the system could not accept a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// What is at a path, if anything is.
pub(super) type Pages = Arc<dyn Fn(&str) -> Option<Answer> + Send + Sync>;

/// An answer to a GET.
#[derive(Debug)]
pub(super) struct Answer {
    /// Code and reason.
    pub(super) status: &'static str,
    pub(super) content_type: &'static str,
    pub(super) text: String,
}

impl Answer {
    /// A line of text.
    pub(super) fn plain(status: &'static str, text: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            text: format!("{text}\n"),
        }
    }
}

/// A server of a few pages.
#[derive(Debug)]
pub(super) struct Server {
    /// Its end ends all connections.
    tasks: JoinSet<()>,
    /// Where it really listens.
    pub(super) address: SocketAddr,
}

impl Server {
    /// Begins to serve these pages to those who connect to this. Must be called inside the runtime.
    ///
    /// # Errors
    /// The system does not say where it listens.
    pub(super) fn start(listener: TcpListener, pages: Pages) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, pages));
        Ok(Self { tasks, address })
    }

    /// Ends it at once.
    pub(super) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn accept(listener: TcpListener, pages: Pages) {
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
        let pages = pages.clone();
        make_room(&mut connections, &mut oldest_first).await;
        let task = connections.spawn(async move {
            // Who is too slow or breaks off does not get an answer.
            let _ = tokio::time::timeout(PATIENCE, serve(stream, &pages)).await;
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

async fn serve(mut stream: TcpStream, pages: &Pages) -> io::Result<()> {
    let answer = match tokio::time::timeout(REQUEST_PATIENCE, read_request(&mut stream)).await {
        Ok(Ok(Some(request))) => answer(&request, pages),
        Ok(Ok(None)) => status("431 Request Header Fields Too Large"),
        Ok(Err(error)) => return Err(error),
        Err(_) => status("408 Request Timeout"),
    };
    stream.write_all(&answer).await?;
    stream.shutdown().await
}

/// Reads a request without its last empty line; `None` if it is too long.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut request = Vec::new();
    while request.len() < REQUEST_LEN_MAX {
        let mut buffer = [0; 1024];
        match stream.read(&mut buffer).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => request.extend_from_slice(&buffer[..len]),
        }
        if let Some(end) = find(&request, b"\r\n\r\n") {
            request.truncate(end);
            return Ok(Some(request));
        }
    }
    Ok(None)
}

/// The answer to a request without its last empty line.
fn answer(request: &[u8], pages: &Pages) -> Vec<u8> {
    let line = request.split(|byte| *byte == b'\r').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
    let mut words = line.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if !version.is_some_and(|version| version.starts_with("HTTP/1.")) || words.next().is_some() {
        return status("400 Bad Request");
    }
    let has_text = match method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => return status("405 Method Not Allowed"),
    };
    let path = target.unwrap_or_default().split('?').next();
    match pages(path.unwrap_or_default()) {
        Some(answer) => with_text(answer.status, (answer.content_type, answer.text), has_text),
        None => status("404 Not Found"),
    }
}

/// An answer that only says what is wrong.
fn status(status: &str) -> Vec<u8> {
    with_text(
        status,
        ("text/plain; charset=utf-8", format!("{status}\n")),
        true,
    )
}

fn with_text(status: &str, (content_type, text): (&str, String), has_body: bool) -> Vec<u8> {
    let allow = if status.starts_with("405") {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let len = text.len();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len}\r\n{allow}\
         Connection: close\r\n\r\n"
    );
    if has_body {
        answer.push_str(&text);
    }
    answer.into_bytes()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::hostile;

    fn first_line(request: &str) -> String {
        let pages: Pages =
            Arc::new(|path| (path == "/metrics").then(|| Answer::plain("200 OK", "page")));
        let answer = answer(request.as_bytes(), &pages);
        let text = String::from_utf8(answer).expect("it is text");
        text.lines().next().unwrap_or_default().to_owned()
    }

    /// What a server says to this, if it reads no more than this.
    async fn read_and_answer(mut request: &[u8]) -> Option<Vec<u8>> {
        let pages: Pages = Arc::new(|_| Some(Answer::plain("200 OK", "page")));
        match read_request(&mut request).await {
            Ok(Some(request)) => Some(answer(&request, &pages)),
            Ok(None) => Some(status("431 Request Header Fields Too Large")),
            Err(_) => None,
        }
    }

    #[tokio::test]
    async fn every_request_of_the_corpus_ends_well_whole_cut_and_damaged() {
        let mut answered = 0;
        for input in hostile::corpus("http") {
            for variant in hostile::variants(&input, 1) {
                let Some(answer) = read_and_answer(&variant).await else {
                    continue;
                };
                let text = String::from_utf8(answer).expect("an answer is text");
                assert!(text.starts_with("HTTP/1.1 "), "{text:?}");
                let (head, _) = text.split_once("\r\n\r\n").expect("a head");
                assert!(!head.contains('\0') && head.lines().count() < 6, "{head:?}");
                answered += 1;
            }
        }
        assert!(answered > 0);
        let endless = vec![b'x'; 2 * REQUEST_LEN_MAX];
        let answer = read_and_answer(&endless).await.expect("it is too long");
        assert!(answer.starts_with(b"HTTP/1.1 431 "));
    }

    /// What a client that sends this gets.
    async fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(request).await.expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    async fn server() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let pages: Pages = Arc::new(|_| Some(Answer::plain("200 OK", "page")));
        Server::start(listener, pages).expect("an address")
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

    #[test]
    fn only_what_makes_sense_is_answered_with_the_page() {
        assert_eq!(
            first_line("GET /metrics HTTP/1.1\r\nHost: x"),
            "HTTP/1.1 200 OK"
        );
        assert_eq!(first_line("HEAD /metrics?a=b HTTP/1.0"), "HTTP/1.1 200 OK");
        assert_eq!(first_line("GET / HTTP/1.1"), "HTTP/1.1 404 Not Found");
        assert_eq!(
            first_line("POST /metrics HTTP/1.1"),
            "HTTP/1.1 405 Method Not Allowed"
        );
        for nonsense in ["", "GET", "GET /metrics", "GET /metrics SPDY", "\u{1}\u{2}"] {
            assert_eq!(
                first_line(nonsense),
                "HTTP/1.1 400 Bad Request",
                "{nonsense:?}"
            );
        }
    }
}
