//! WebSockets over another stream: the transports `ws` and `wss`.
//!
//! What bytes mean is in `floe_wire::websocket`; here they are moved.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use floe_wire::message::Header;
use floe_wire::reference::WsEndpoint;
use floe_wire::websocket::{
    CLOSE_NORMAL, CLOSE_PROTOCOL_ERROR, FrameReader, Incoming, Key, Mask, Opcode, Side,
    WebSocketError, append_control, append_data_header, append_masked, append_request,
    append_response, check_request, check_response, head_len,
};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use super::{Stream, StreamWriter, address};
use crate::connection::handle::ConnectionInfo;

/// Bytes that a client masks before any of them is written.
const CHUNK_LEN: usize = 64 * 1024;
/// Payload of a server up to this length leaves in one write with its header.
const COPY_MAX: usize = 16 * 1024;
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
    );
    write_all(&*stream.writer, &request).await?;
    let mut input = BytesMut::new();
    let len = read_head(&mut stream, &mut input).await?;
    check_response(&input[..len], &key).map_err(refused)?;
    input.advance(len);
    Ok(framed(stream, Side::Client, input))
}

/// Opens a WebSocket from a client.
pub(super) async fn server(mut stream: Stream) -> io::Result<Stream> {
    let mut input = BytesMut::new();
    let len = read_head(&mut stream, &mut input).await?;
    let request = match check_request(&input[..len]) {
        Ok(request) => request,
        Err(error) => {
            // Whoever looks with a browser should see a reason.
            let body = format!("{error}\n");
            let answer = format!(
                "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            write_all(&*stream.writer, answer.as_bytes()).await?;
            return Err(refused(error));
        }
    };
    input.advance(len);
    let mut response = Vec::new();
    append_response(&mut response, &request);
    write_all(&*stream.writer, &response).await?;
    Ok(framed(stream, Side::Server, input))
}

/// Reads until the input holds a whole request or response, whose length it gives.
async fn read_head(stream: &mut Stream, input: &mut BytesMut) -> io::Result<usize> {
    loop {
        if let Some(len) = head_len(input).map_err(refused)? {
            return Ok(len);
        }
        // What is not HTTP never has a blank line.
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
    let shared = Arc::new(Shared {
        sending: Mutex::new(Sending::new(side)),
        writer: stream.writer,
    });
    Stream {
        reader: Box::new(Reader {
            shared: shared.clone(),
            inner: stream.reader,
            frames: FrameReader::new(side),
            input,
            end: None,
            is_at_end: false,
        }),
        writer: Box::new(Writer(shared)),
        peer: stream.peer,
    }
}

struct Shared {
    /// What is on its way out. Held while a write to the stream below is tried, which never blocks,
    /// and never across a wait.
    sending: Mutex<Sending>,
    writer: Box<dyn StreamWriter>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing side.
///
/// ```text
/// between frames --header--> in a frame --last byte of its payload--> between frames
/// ```
///
/// Control frames leave between frames.
struct Sending {
    side: Side,
    /// Bytes in their final form that did not leave yet: at most a chunk and a control frame.
    output: BytesMut,
    /// Payload that stands masked in `output` and is not yet counted as written.
    accepted: Option<usize>,
    /// Payload of the frame at hand, and how much of it there was.
    frame_len: usize,
    frame_done: usize,
    mask: Mask,
    /// The answer to the last ping, until it can leave.
    pong: Option<Vec<u8>>,
    is_closed: bool,
}

impl Sending {
    fn new(side: Side) -> Self {
        Self {
            side,
            output: BytesMut::new(),
            accepted: None,
            frame_len: 0,
            frame_done: 0,
            mask: Mask::default(),
            pong: None,
            is_closed: false,
        }
    }

    /// Writes some payload: a frame for each message, and many small ones at once.
    fn try_write(&mut self, bytes: &[u8], writer: &dyn StreamWriter) -> io::Result<usize> {
        self.try_flush(writer)?;
        if let Some(count) = self.accepted.take() {
            return Ok(count);
        }
        self.send_pong(writer)?;
        let mut chunk = Vec::new();
        let mut done = 0;
        while done < bytes.len() && done < CHUNK_LEN {
            if self.frame_done == self.frame_len {
                self.begin_frame(payload_len(&bytes[done..]), &mut chunk)?;
            }
            let end = bytes.len().min(done + self.frame_len - self.frame_done);
            if self.side == Side::Server && end - done > COPY_MAX {
                // Nothing is to be done to the payload.
                if done == 0 {
                    self.output.extend_from_slice(&chunk);
                    return self.write_through(&bytes[..end], writer);
                }
                break;
            }
            let end = end.min(CHUNK_LEN);
            append_masked(&mut chunk, &bytes[done..end], self.mask, self.frame_done);
            self.frame_done += end - done;
            done = end;
        }
        self.output.extend_from_slice(&chunk);
        match self.try_flush(writer) {
            Ok(()) => Ok(done),
            Err(error) => {
                self.accepted = Some(done);
                Err(error)
            }
        }
    }

    /// Writes payload of the frame at hand as it is.
    fn write_through(&mut self, bytes: &[u8], writer: &dyn StreamWriter) -> io::Result<usize> {
        self.try_flush(writer)?;
        let count = writer.try_write(bytes)?;
        self.frame_done += count;
        Ok(count)
    }

    fn begin_frame(&mut self, len: usize, output: &mut Vec<u8>) -> io::Result<()> {
        if self.is_closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mask = self.new_mask()?;
        self.mask = mask.unwrap_or_default();
        (self.frame_len, self.frame_done) = (len, 0);
        append_data_header(output, len, mask);
        Ok(())
    }

    /// Sends the answer to a ping, if one is due and no frame is under way.
    fn send_pong(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        if self.frame_done < self.frame_len || self.is_closed || self.pong.is_none() {
            return Ok(());
        }
        match self.try_pong(writer) {
            // It leaves with whatever is written next.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            flushed => flushed,
        }
    }

    /// Sends the answer when all before it has left: a peer that pings and does not read shall not
    /// make the output longer.
    fn try_pong(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        self.try_flush(writer)?;
        if let Some(payload) = self.pong.take() {
            self.append_control(Opcode::Pong, &payload)?;
        }
        self.try_flush(writer)
    }

    /// Sends the last frame, if no other is under way and it did not leave before.
    fn close(&mut self, code: u16, writer: &dyn StreamWriter) {
        if self.is_closed || self.frame_done < self.frame_len {
            return;
        }
        // Whether it reaches the peer or not, the stream ends.
        let _ = self
            .append_control(Opcode::Close, &code.to_be_bytes())
            .and_then(|()| self.try_flush(writer));
        self.is_closed = true;
    }

    fn append_control(&mut self, opcode: Opcode, payload: &[u8]) -> io::Result<()> {
        let mut frame = Vec::new();
        append_control(&mut frame, opcode, payload, self.new_mask()?);
        self.output.extend_from_slice(&frame);
        Ok(())
    }

    fn new_mask(&self) -> io::Result<Option<Mask>> {
        match self.side {
            Side::Client => random().map(Some),
            Side::Server => Ok(None),
        }
    }

    fn try_flush(&mut self, writer: &dyn StreamWriter) -> io::Result<()> {
        while !self.output.is_empty() {
            match writer.try_write(&self.output)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.output.advance(count),
            }
        }
        Ok(())
    }
}

/// How long the frame is that begins with these bytes: that of a message. Ice for C++ loses its place in
/// a masked frame in which a second message begins.
///
/// Source: observed: Ice 3.7.8.
fn payload_len(bytes: &[u8]) -> usize {
    let header = bytes.first_chunk();
    let header = header.and_then(|header| Header::decode(header, i32::MAX as usize).ok());
    header.map_or(bytes.len(), |header| header.size)
}

struct Reader {
    shared: Arc<Shared>,
    inner: Box<dyn AsyncRead + Send + Unpin>,
    frames: FrameReader,
    /// What was read and is not taken out of its frames.
    input: BytesMut,
    /// How the frames end, until somebody hears of it.
    end: Option<End>,
    is_at_end: bool,
}

/// How the frames of a stream end.
enum End {
    /// The peer closed the WebSocket with this code.
    Closed(u16),
    Refused(WebSocketError),
}

impl Reader {
    /// Takes frames out of the input into `out`; whether there was payload, or the end.
    fn take(&mut self, out: &mut ReadBuf<'_>) -> io::Result<bool> {
        let before = out.filled().len();
        while out.remaining() > 0 && self.end.is_none() && !self.is_at_end {
            let room = out.initialize_unfilled();
            let (count, event) = match self.frames.read(&self.input, room) {
                Ok(read) => read,
                Err(error) => {
                    self.end = Some(End::Refused(error));
                    break;
                }
            };
            self.input.advance(count);
            match event {
                Some(Incoming::Data(len)) => out.advance(len),
                Some(event) => self.handle_control(event)?,
                None if count == 0 => break,
                None => {}
            }
        }
        // What came before the end is answered before it, as far as that needs no wait.
        if out.filled().len() > before {
            return Ok(true);
        }
        if let Some(end) = self.end.take() {
            self.finish(end)?;
        }
        Ok(self.is_at_end)
    }

    fn handle_control(&mut self, event: Incoming) -> io::Result<()> {
        match event {
            Incoming::Ping(payload) => {
                let mut sending = self.shared.lock();
                // Of several pings the last is answered, so that answers cannot pile up.
                sending.pong = Some(payload);
                return sending.send_pong(&*self.shared.writer);
            }
            Incoming::Close(code) => self.end = Some(End::Closed(code.unwrap_or(CLOSE_NORMAL))),
            Incoming::Pong | Incoming::Data(_) => {}
        }
        Ok(())
    }

    /// Answers the end of the frames with our own.
    fn finish(&mut self, end: End) -> io::Result<()> {
        self.is_at_end = true;
        let code = match &end {
            End::Closed(code) => *code,
            End::Refused(_) => CLOSE_PROTOCOL_ERROR,
        };
        self.shared.lock().close(code, &*self.shared.writer);
        match end {
            End::Closed(_) => Ok(()),
            End::Refused(error) => Err(refused(error)),
        }
    }
}

impl AsyncRead for Reader {
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
            let mut buffer = [0; READ_LEN];
            let mut read = ReadBuf::new(&mut buffer);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut read))?;
            match read.filled() {
                [] => this.is_at_end = true,
                bytes => this.input.extend_from_slice(bytes),
            }
        }
    }
}

struct Writer(Arc<Shared>);

impl StreamWriter for Writer {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().try_write(bytes, &*self.0.writer)
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.writer.poll_write_ready(context)
    }

    fn shutdown(&self) {
        self.0.lock().close(CLOSE_NORMAL, &*self.0.writer);
        self.0.writer.shutdown();
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

/// Bytes that nobody can foresee.
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
mod tests {
    use floe_wire::message::VALIDATE_CONNECTION;

    use super::*;

    /// Takes everything.
    #[derive(Default)]
    struct Taken(Mutex<Vec<Vec<u8>>>);

    impl StreamWriter for Taken {
        fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
            let mut taken = self.0.lock().expect("unpoisoned");
            taken.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn shutdown(&self) {}
    }

    /// Takes nothing.
    struct Full;

    impl StreamWriter for Full {
        fn try_write(&self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }

        fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn shutdown(&self) {}
    }

    #[test]
    fn a_peer_that_pings_and_does_not_read_makes_the_output_no_longer() {
        let mut sending = Sending::new(Side::Server);
        let mut ping = |byte: u8, writer: &dyn StreamWriter| {
            sending.pong = Some(vec![byte; 125]);
            sending.send_pong(writer).expect("it leaves later");
            sending.output.len()
        };
        let answer_len = 2 + 125;
        for _ in 0..1000 {
            assert_eq!(ping(1, &Full), answer_len);
        }
        let writer = Taken::default();
        assert_eq!(ping(2, &writer), 0);
        let taken = writer.0.into_inner().expect("unpoisoned").concat();
        assert_eq!(taken.len(), 2 * answer_len, "the first and the last");
        assert!(taken.ends_with(&[2; 125]));
    }

    #[test]
    fn messages_that_are_written_together_leave_together_in_a_frame_each() {
        let writer = Taken::default();
        let three = VALIDATE_CONNECTION.repeat(3);
        let count = Sending::new(Side::Server).try_write(&three, &writer);
        assert_eq!(count.expect("taken"), three.len());
        let frame = [&[0x82, 14], &VALIDATE_CONNECTION[..]].concat();
        let writes = writer.0.into_inner().expect("unpoisoned");
        assert_eq!(writes, [frame.repeat(3)]);
    }
}
