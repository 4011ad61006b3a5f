//! The console over HTTP: its JSON, who may read and change, and readers that are slow.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use floe::hub::HubClient;
use floe_server::{Configuration, Server};
use serde_json::{Value as Json, json};

/// The encapsulation of no parameters.
pub(crate) const EMPTY: &[u8] = &[6, 0, 0, 0, 1, 1];

/// A folder that is removed in the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}-{}-{number}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("the target folder can be written");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server with a console, on free ports of loopback.
pub(crate) async fn server(folder: &Folder, console: &str, more: &str) -> Server {
    let path = folder.path().join("floe.toml");
    let data = folder.path().join("data");
    let text = format!(
        "listen = \"tcp -h 127.0.0.1 -p 0\"\ndata = {data:?}\n[console]\nlisten = {console:?}\n{more}"
    );
    std::fs::write(&path, text).expect("the folder can be written");
    let configuration = Configuration::load(&path).expect("good settings");
    Server::start(configuration).await.expect("free ports")
}

/// Sends a request and reads the whole answer: its status, its head and its body.
pub(crate) async fn ask(address: SocketAddr, head: &str, body: &str) -> (u16, String, String) {
    let request = format!(
        "{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a socket");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8(answer).expect("text")
    });
    let answer = answer.await.expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    (status.expect("a status"), head.to_owned(), body.to_owned())
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Json {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}");
    let (status, _, body) = ask(address, &head, "").await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_tells_of_topics_logs_links_and_limits() {
    let folder = Folder::new("snapshot");
    let server = server(&folder, "127.0.0.1:0", "[topic.orders]\ndurable = true\n").await;
    let address = server.console_address().expect("a console");
    let manager = server.hub().expect("a hub").topic_manager();
    let client = HubClient::connect(&manager).await.expect("the hub");
    for name in ["orders", "<b>news</b>", "archive"] {
        let topic = client.topic(name).await.expect("a topic");
        let publisher = topic.proxy().get_publisher().await.expect("a publisher");
        for _ in 0..3 {
            publisher
                .invoke("tick", floe::OperationMode::Normal, EMPTY)
                .await
                .expect("an event");
        }
    }
    let (news, archive) = (
        client.topic("<b>news</b>").await,
        client.topic("archive").await,
    );
    let (news, archive) = (news.expect("a topic"), archive.expect("a topic"));
    news.proxy()
        .link(Some(archive.proxy()), 7)
        .await
        .expect("a link");
    let snapshot = get(address, "/api/v1/snapshot?sort=name").await;
    assert_eq!(snapshot["version"], 1);
    assert_eq!(snapshot["rights"]["may_change"], true);
    assert_eq!(snapshot["hub"]["totals"]["published"], 9);
    let names: Vec<_> = snapshot["topics"]
        .as_array()
        .expect("topics")
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["<b>news</b>", "archive", "orders"]);
    assert_eq!(snapshot["durable_topics"][0]["events"], 3);
    assert_eq!(snapshot["links"][0]["cost"], 7);
    assert!(
        snapshot["limits"]
            .as_array()
            .expect("limits")
            .iter()
            .any(|it| it["setting"] == "limits.topics" && it["used"] == 3)
    );
    let found = get(address, "/api/v1/snapshot?filter=%3CB%3E&limit=1").await;
    assert_eq!(
        (&found["topics_matching"], &found["topics"][0]["name"]),
        (&1.into(), &"<b>news</b>".into())
    );
    let topic = get(address, "/api/v1/topic?name=%3Cb%3Enews%3C%2Fb%3E").await;
    assert_eq!(topic["subscribers"][0]["is_link"], true);
    // The link is ended as it is shown.
    let token = snapshot["rights"]["change_token"]
        .as_str()
        .expect("a token");
    let head = format!(
        "POST /api/v1/subscribers/unsubscribe HTTP/1.1\r\nHost: {address}\r\nFloe-Change-Token: {token}"
    );
    let link = &snapshot["links"][0];
    let body = json!({ "topic": link["topic"], "subscriber": link["subscriber"] }).to_string();
    let (status, _, answer) = ask(address, &head, &body).await;
    assert_eq!(status, 200, "{answer}");
    let snapshot = get(address, "/api/v1/snapshot").await;
    assert_eq!(snapshot["links"], json!([]));
    let (status, _, answer) = ask(address, &head, &body).await;
    assert_eq!(status, 404, "{answer}");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_of_another_origin_reads_or_changes_anything() {
    let folder = Folder::new("origins");
    let server = server(&folder, "127.0.0.1:0", "").await;
    let address = server.console_address().expect("a console");
    let host = format!("Host: {address}");
    let own = format!("Origin: http://{address}");
    for (headers, status) in [
        (host.clone(), 200),
        (format!("{host}\r\n{own}"), 200),
        (format!("{host}\r\nOrigin: http://evil.example"), 403),
        (format!("{host}\r\nSec-Fetch-Site: cross-site"), 403),
        ("Host: evil.example".to_owned(), 421),
        (format!("{host}\r\nHost: evil.example"), 421),
    ] {
        for path in [
            "/api/v1/snapshot",
            "/api/v1/topic?name=a",
            "/api/v1/dead-letters?topic=a",
        ] {
            let (got, head, _) =
                ask(address, &format!("GET {path} HTTP/1.1\r\n{headers}"), "").await;
            let is_expected = got == status || (status == 200 && got != 403 && got != 421);
            assert!(is_expected, "{path} with {headers}: {got}");
            assert!(!head.contains("access-control-allow"), "{head}");
        }
    }
    let (status, head, _) = ask(
        address,
        &format!("GET / HTTP/1.1\r\n{host}\r\nSec-Fetch-Site: cross-site"),
        "",
    )
    .await;
    assert_eq!(status, 200, "a link leads here");
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{head}"
    );
    // Changes need the token that only the page can read.
    let path = "POST /api/v1/subscribers/unsubscribe HTTP/1.1";
    let body = "{\"topic\":\"a\",\"subscriber\":\"b\"}";
    let token = get(address, "/api/v1/snapshot").await["rights"]["change_token"].clone();
    let token = token.as_str().expect("a token");
    for (headers, status) in [
        (host.clone(), 403),
        (format!("{host}\r\nFloe-Change-Token: x"), 403),
        (
            format!("{host}\r\nOrigin: http://evil.example\r\nFloe-Change-Token: {token}"),
            403,
        ),
        (
            format!("{host}\r\n{own}\r\nFloe-Change-Token: {token}"),
            404,
        ),
    ] {
        let (got, _, answer) = ask(address, &format!("{path}\r\n{headers}"), body).await;
        assert_eq!(got, status, "{headers}: {answer}");
    }
    let (status, _, _) = ask(
        address,
        &format!("GET /api/v1/subscribers/unsubscribe HTTP/1.1\r\n{host}"),
        "",
    )
    .await;
    assert_eq!(status, 405);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_the_console_is_read_only_or_shut() {
    for (actions, read, changed) in [("\"observe\"", 200, 403), ("\"publish\"", 401, 401)] {
        let folder = Folder::new("rights");
        let rules = format!("[[access.rule]]\nallow = [{actions}]\nnetworks = \"any\"\n");
        let server = server(&folder, "127.0.0.1:0", &rules).await;
        let address = server.console_address().expect("a console");
        let (status, _, body) = ask(
            address,
            &format!("GET /api/v1/snapshot HTTP/1.1\r\nHost: {address}"),
            "",
        )
        .await;
        assert_eq!(status, read, "{body}");
        assert!(!body.contains("change_token\":\""), "{body}");
        let head = format!(
            "POST /api/v1/dead-letters/purge HTTP/1.1\r\nHost: {address}\r\nFloe-Change-Token: x"
        );
        let (status, _, body) = ask(address, &head, "{}").await;
        assert_eq!(status, changed, "{body}");
        server.shutdown().await;
    }
}

/// Reads so many snapshots of a stream.
async fn read_events(mut stream: TcpStream, count: usize) -> (TcpStream, Vec<Json>) {
    let work = move || {
        let (mut text, mut bytes) = (Vec::new(), vec![0; 65536]);
        loop {
            let len = stream.read(&mut bytes).expect("more events");
            assert!(len > 0, "the stream has ended");
            text.extend_from_slice(&bytes[..len]);
            let text = String::from_utf8_lossy(&text);
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            // An event is one chunk of the answer; the last line may not be complete.
            let events: Vec<_> = data
                .filter_map(|it| serde_json::from_str(it).ok())
                .collect();
            if events.len() >= count {
                return (stream, events);
            }
        }
    };
    tokio::task::spawn_blocking(work).await.expect("events")
}

/// Begins to watch.
fn watch(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET /api/v1/events?limit=1000 HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_tells_of_rates_and_a_slow_reader_gets_the_latest() {
    let folder = Folder::new("streams");
    let server = server(&folder, "127.0.0.1:0", "").await;
    let address = server.console_address().expect("a console");
    let manager = server.hub().expect("a hub").topic_manager();
    let client = HubClient::connect(&manager).await.expect("the hub");
    // Names make the snapshots long, so that few of them fill the buffers of the system.
    for number in 0..500 {
        let name = format!("{number}-{}", "long".repeat(100));
        client.topic(&name).await.expect("a topic");
    }
    let topic = client.topic("ticker").await.expect("a topic");
    let publisher = topic.proxy().get_publisher().await.expect("a publisher");
    let slow = watch(address);
    let quick = watch(address);
    quick
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a socket");
    let (quick, first) = read_events(quick, 1).await;
    assert!(first[0]["hub"]["totals"]["published_per_second"].is_null());
    publisher
        .invoke("tick", floe::OperationMode::Normal, EMPTY)
        .await
        .expect("an event");
    let (_, events) = read_events(quick, 3).await;
    let rate = |event: &Json| event["hub"]["totals"]["published_per_second"].as_f64();
    assert!(events.iter().any(|event| rate(event) > Some(0.0)));
    // The slow reader holds nobody up: the hub goes on, and others see it.
    publisher
        .invoke("tick", floe::OperationMode::Normal, EMPTY)
        .await
        .expect("an event");
    let start = Instant::now();
    while get(address, "/api/v1/snapshot").await["hub"]["totals"]["published"] != 2 {
        assert!(start.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (_, late) = read_events(slow, 1).await;
    assert_eq!(late[0]["version"], 1, "it may begin to read when it likes");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_only_so_many_streams() {
    let folder = Folder::new("many");
    let server = server(&folder, "127.0.0.1:0", "").await;
    let address = server.console_address().expect("a console");
    let mut streams: Vec<_> = (0..16).map(|_| watch(address)).collect();
    for stream in &mut streams {
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).expect("an answer");
        assert_eq!(&begin, b"HTTP/1.1 200");
    }
    let (status, _, body) = ask(
        address,
        &format!("GET /api/v1/events HTTP/1.1\r\nHost: {address}"),
        "",
    )
    .await;
    assert_eq!(status, 503, "{body}");
    drop(streams);
    server.shutdown().await;
}
