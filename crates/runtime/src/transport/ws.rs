//! WebSockets over another stream: the transports `ws` and `wss`.
//!
//! `floe_wire::websocket` defines the bytes. This file opens a WebSocket and reads from it; `sending` writes to it.

mod sending;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use floe_wire::message::ProtocolError;
use floe_wire::reference::WsEndpoint;
use floe_wire::websocket::{
    CLOSE_NORMAL, CLOSE_PROTOCOL_ERROR, CLOSE_TOO_LONG, FrameReader, Incoming, Key, Side,
    UpgradeRequest, WebSocketError, append_request, append_response, check_request, check_response,
    head_len,
};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use sending::WsSending;

use super::ConnectionInfo;
use super::overhead::Overhead;
use super::{Stream, StreamWriter, address};

/// Bytes that are read before any of them is taken out of its frame.
const READ_LEN: usize = 16 * 1024;

/// Opens a WebSocket to a server.
pub(super) async fn client(mut stream: Stream, endpoint: &WsEndpoint) -> io::Result<Stream> {
    let key = Key::from_random(random()?);
    let mut request = Vec::new();
    let host = address::or_loopback(&endpoint.tcp.host);
    append_request(
        &mut request,
        host,
        endpoint.tcp.port,
        &endpoint.resource,
        &key,
    )
    .map_err(refused)?;
    write_all(&*stream.writer, &request).await?;
    let mut input = BytesMut::new();
    let len = read_head(&mut stream, &mut input).await?;
    check_response(&input[..len], &key).map_err(refused)?;
    input.advance(len);
    Ok(framed(stream, Side::Client, input))
}

/// Opens a WebSocket from a client.
pub(super) async fn server(mut stream: Stream, origins: &[String]) -> io::Result<Stream> {
    let mut input = BytesMut::new();
    let len = read_head(&mut stream, &mut input).await?;
    let request = match check_request(&input[..len]) {
        Ok(request) => request,
        Err(error) => {
            let error = refused(error);
            answer(&*stream.writer, "400 Bad Request", &error).await?;
            return Err(error);
        }
    };
    if let Err(error) = check_origin(&request, origins) {
        answer(&*stream.writer, "403 Forbidden", &error).await?;
        return Err(error);
    }
    input.advance(len);
    let mut response = Vec::new();
    append_response(&mut response, &request);
    write_all(&*stream.writer, &response).await?;
    Ok(framed(stream, Side::Server, input))
}

/// Answers a refused opening with the reason, for a person who opens the address in a browser.
async fn answer(writer: &dyn StreamWriter, status: &str, error: &io::Error) -> io::Result<()> {
    let body = format!("{error}\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/plain\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    write_all(writer, answer.as_bytes()).await
}

/// Refuses web pages that are not on the list: a browser lets any page connect to any address, loopback included.
fn check_origin(request: &UpgradeRequest, origins: &[String]) -> io::Result<()> {
    let Some(origin) = request.origin() else {
        return Ok(());
    };
    let is_allowed = |allowed: &String| allowed == "*" || allowed.eq_ignore_ascii_case(origin);
    if origins.iter().any(is_allowed) {
        return Ok(());
    }
    let shown: String = origin.chars().take(100).collect();
    Err(refused(format!(
        "the web page {shown:?} may not open a WebSocket: \
         `Settings::websocket_origins` does not have its origin"
    )))
}

/// Reads until the input holds a whole request or response head, and returns its length.
async fn read_head(stream: &mut Stream, input: &mut BytesMut) -> io::Result<usize> {
    let mut searched_len = 0;
    loop {
        if let Some(len) = head_len(input, searched_len).map_err(refused)? {
            return Ok(len);
        }
        searched_len = input.len();
        // Input that is not HTTP may never contain a blank line.
        if input.len() >= 4 && !matches!(&input[..4], b"GET " | b"HTTP" | b"POST" | b"HEAD") {
            return Err(refused(not_http(input)));
        }
        if stream.reader.read_buf(input).await? == 0 {
            let what = "the peer ended the stream in the middle of the opening of a WebSocket";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
    }
}

fn not_http(input: &[u8]) -> String {
    let speaks = match input {
        [b'I', b'c', b'e', b'P', ..] => {
            "the Ice protocol without it: is its endpoint `tcp` and not `ws`?"
        }
        [0x16, 3, ..] => "TLS: is the endpoint `wss` and not `ws`?",
        _ => "another protocol",
    };
    format!("expected the opening of a WebSocket, but the peer speaks {speaks}")
}

fn framed(stream: Stream, side: Side, input: BytesMut) -> Stream {
    let shared = Arc::new(WsShared {
        sending: Mutex::new(WsSending::new(side)),
        writer: stream.writer,
    });
    Stream {
        reader: Box::new(WsReader {
            shared: shared.clone(),
            inner: stream.reader,
            frames: FrameReader::new(side),
            input,
            overhead: Overhead::default(),
            ping: None,
            end: None,
            is_at_end: false,
        }),
        writer: Box::new(WsWriter(shared)),
        peer: stream.peer,
    }
}

struct WsShared {
    /// The state of the output. The lock is held while a write to the stream below is tried, which never blocks, and
    /// never across an await.
    sending: Mutex<WsSending>,
    writer: Box<dyn StreamWriter>,
}

impl WsShared {
    fn lock(&self) -> MutexGuard<'_, WsSending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct WsReader {
    shared: Arc<WsShared>,
    inner: Box<dyn AsyncRead + Send + Unpin>,
    frames: FrameReader,
    /// Bytes that were read and are still in their frames.
    input: BytesMut,
    overhead: Overhead,
    /// The last ping of the input, until it is answered.
    ping: Option<Vec<u8>>,
    /// How the frames ended, until the reader was told.
    end: Option<StreamEnd>,
    is_at_end: bool,
}

/// How the frames of a stream ended.
enum StreamEnd {
    /// The peer closed the WebSocket with this code.
    Closed(u16),
    Refused(WebSocketError),
}

impl WsReader {
    /// Moves payload from the frames of the input into `out`. Returns true if there was any, or if the end has come.
    fn take(&mut self, out: &mut ReadBuf<'_>) -> io::Result<bool> {
        let before = out.filled().len();
        while self.may_take(out) {
            let room = out.initialize_unfilled();
            let (count, event) = match self.frames.read(&self.input, room) {
                Ok(read) => read,
                Err(error) => {
                    self.end = Some(StreamEnd::Refused(error));
                    break;
                }
            };
            self.input.advance(count);
            self.overhead.add_input(count);
            match event {
                Some(Incoming::Data(len)) => {
                    out.advance(len);
                    self.overhead.take_off_payload(len);
                }
                Some(event) => self.handle_control(event),
                None if count == 0 => break,
                None => {}
            }
        }
        self.answer_ping()?;
        // Pings before the end are answered first, if that needs no wait.
        if out.filled().len() > before {
            return Ok(true);
        }
        if let Some(end) = self.end.take() {
            self.finish(end)?;
        }
        Ok(self.is_at_end)
    }

    fn may_take(&self, out: &ReadBuf<'_>) -> bool {
        let is_open = self.end.is_none() && !self.is_at_end;
        is_open && out.remaining() > 0 && !self.overhead.is_long()
    }

    fn handle_control(&mut self, event: Incoming) {
        match event {
            Incoming::Ping(payload) => self.ping = Some(payload),
            Incoming::Close(code) => {
                self.end = Some(StreamEnd::Closed(code.unwrap_or(CLOSE_NORMAL)))
            }
            Incoming::Pong | Incoming::Data(_) => {}
        }
    }

    /// Answers only the last of several pings, so that answers neither pile up nor cost a write for each ping.
    fn answer_ping(&mut self) -> io::Result<()> {
        let Some(payload) = self.ping.take() else {
            return Ok(());
        };
        let mut sending = self.shared.lock();
        sending.pong = Some(payload);
        sending.send_pong(&*self.shared.writer)
    }

    /// Answers a close frame with our own.
    fn finish(&mut self, end: StreamEnd) -> io::Result<()> {
        self.is_at_end = true;
        let code = match &end {
            StreamEnd::Closed(code) => *code,
            StreamEnd::Refused(_) => CLOSE_PROTOCOL_ERROR,
        };
        self.shared.lock().close(code, &*self.shared.writer);
        match end {
            StreamEnd::Closed(_) => Ok(()),
            StreamEnd::Refused(error) => Err(refused(error)),
        }
    }
}

impl AsyncRead for WsReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.take(out)? {
                return Poll::Ready(Ok(()));
            }
            if this.overhead.is_long() {
                ready!(this.overhead.poll_give_way(context));
                continue;
            }
            let mut buffer = [0; READ_LEN];
            let mut read = ReadBuf::new(&mut buffer);
            let polled = Pin::new(&mut this.inner).poll_read(context, &mut read);
            if polled.is_pending() {
                this.overhead.reset();
            }
            ready!(polled)?;
            match read.filled() {
                [] => this.is_at_end = true,
                bytes => this.input.extend_from_slice(bytes),
            }
        }
    }
}

struct WsWriter(Arc<WsShared>);

impl WsWriter {
    /// Sends a close frame with this code, and ends the stream.
    fn close(&self, code: u16) {
        self.0.lock().close(code, &*self.0.writer);
        self.0.writer.shutdown();
    }
}

impl StreamWriter for WsWriter {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().try_write(bytes, &*self.0.writer)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.writer.poll_write_ready(context)
    }

    fn shutdown(&self) {
        self.close(CLOSE_NORMAL);
    }

    fn refuse(&self, error: &ProtocolError) {
        self.close(match error.is_too_large() {
            true => CLOSE_TOO_LONG,
            false => CLOSE_PROTOCOL_ERROR,
        });
    }

    fn is_encrypted(&self) -> bool {
        self.0.writer.is_encrypted()
    }

    fn describe(&self, info: &mut ConnectionInfo) {
        self.0.writer.describe(info);
        info.transport = match info.transport {
            "ssl" => "wss",
            _ => "ws",
        };
    }
}

async fn write_all(writer: &dyn StreamWriter, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match writer.try_write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll_fn(|context| writer.poll_write_ready(context)).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns unpredictable bytes.
fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

fn refused(error: impl Into<Refusal>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.into().0)
}

struct Refusal(String);

impl From<WebSocketError> for Refusal {
    fn from(error: WebSocketError) -> Self {
        Self(error.to_string())
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self(text)
    }
}

#[cfg(test)]
mod tests;
