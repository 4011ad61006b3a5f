//! Debian's Chromium, as a test drives it: it opens a page, runs scripts in it and waits for what they say.
//!
//! Source: Chrome DevTools Protocol; RFC 6455.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::console::Folder;

/// A browser with one page. Dropping it ends it.
pub(crate) struct Browser {
    process: Child,
    socket: TcpStream,
    last_id: u64,
    _profile: Folder,
}

/// How long anything may take: the browser starts on a busy computer.
const PATIENCE: Duration = Duration::from_secs(120);

impl Browser {
    /// Opens a page; `None` if there is no browser.
    pub(crate) fn open(url: &str) -> Option<Self> {
        let programs = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
        let program = programs.into_iter().find(|path| Path::new(path).exists());
        let Some(program) = program else {
            println!("SKIPPED: chromium: there is no Chromium: cargo xtask install");
            return None;
        };
        let profile = Folder::new("profile");
        let mut process = Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args([
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
                "about:blank",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let mut lines = BufReader::new(process.stderr.take().expect("a pipe")).lines();
        let port = lines.find_map(|line| {
            let line = line.expect("the browser says where it listens");
            let rest = line.split_once("DevTools listening on ws://127.0.0.1:")?.1;
            rest.split_once('/')?.0.parse::<u16>().ok()
        });
        // Nobody else reads what it says, and a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let port = port.expect("the browser says where it listens");
        let socket = connect(port, &page_path(port));
        let mut browser = Self {
            process,
            socket,
            last_id: 0,
            _profile: profile,
        };
        browser.call("Page.navigate", json!({ "url": url }));
        Some(browser)
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Json {
        let arguments =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", arguments);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true in the page.
    pub(crate) fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        // What is not there yet is an error of the script.
        let tried =
            format!("(() => {{ try {{ return !!({expression}); }} catch {{ return false; }} }})()");
        while self.value(&tried) != true {
            let text = self.value("document.body ? document.body.innerText.slice(0, 2000) : ''");
            assert!(
                start.elapsed() < PATIENCE,
                "expected {expression}; the page shows {text}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Gives the page this size, in pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    fn call(&mut self, method: &str, parameters: Json) -> Json {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "id": id, "method": method, "params": parameters }).to_string();
        send(&mut self.socket, request.as_bytes());
        loop {
            let answer: Json = serde_json::from_slice(&receive(&mut self.socket)).expect("JSON");
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The path of the only page.
fn page_path(port: u16) -> String {
    let start = Instant::now();
    loop {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
        let request =
            format!("GET /json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .expect("the browser reads");
        let answer = answer_of(&mut stream);
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let pages: Json = serde_json::from_str(body).unwrap_or_default();
        let page = pages
            .as_array()
            .and_then(|pages| pages.iter().find(|it| it["type"] == "page"));
        let url = page.and_then(|page| page["webSocketDebuggerUrl"].as_str());
        if let Some((_, path)) = url.and_then(|url| url.split_once("/devtools")) {
            return format!("/devtools{path}");
        }
        assert!(start.elapsed() < PATIENCE, "{answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// An answer with its body. The browser keeps the connection.
fn answer_of(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut answer = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let len = stream.read(&mut bytes).expect("an answer");
        answer.extend_from_slice(&bytes[..len]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let head = head.to_ascii_lowercase();
        let body_len = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        if len == 0 || body_len.is_some_and(|expected: usize| body.len() >= expected) {
            return text;
        }
    }
}

fn connect(port: u16, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    );
    stream
        .write_all(request.as_bytes())
        .expect("the browser reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    assert!(
        head.starts_with(b"HTTP/1.1 101"),
        "{}",
        String::from_utf8_lossy(&head)
    );
    stream
}

/// Sends a text in one frame, with a mask of zeros.
fn send(stream: &mut TcpStream, text: &[u8]) {
    let mut frame = vec![0x81, 0x80 | 127];
    frame.extend_from_slice(&(text.len() as u64).to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text);
    stream.write_all(&frame).expect("the browser reads");
}

/// Receives a text, which may come in several frames.
fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut text = Vec::new();
    loop {
        let mut head = [0; 2];
        stream.read_exact(&mut head).expect("a frame");
        let len = match head[1] & 0x7f {
            126 => u64::from(u16::from_be_bytes(read(stream))),
            127 => u64::from_be_bytes(read(stream)),
            len => u64::from(len),
        };
        let mut part = vec![0; usize::try_from(len).expect("a short frame")];
        stream.read_exact(&mut part).expect("a frame");
        text.extend_from_slice(&part);
        if head[0] & 0x80 != 0 {
            return text;
        }
    }
}

fn read<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).expect("a frame");
    bytes
}
