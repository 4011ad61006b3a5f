//! A connection of a program: its requests are executed side by side, and begin in the order in which they came.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use floe_giop::cdr::Encoder;
use floe_giop::connection::{Connection, ConnectionEvent, ConnectionSettings, Role};
use floe_giop::cos::Raised;
use floe_giop::message::{LocateStatus, Request, RequestId, ResponseExpected};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::visitor::Visitor;
use crate::corba::objects::Objects;

/// The most requests of a connection that are executed at a time. ORBs send one for each of their threads.
const REQUESTS_MAX: usize = 64;
/// A connection without a request for so long is closed; ORBs connect again by themselves. omniORB closes after 180 s.
const IDLE_LIMIT: Duration = Duration::from_secs(300);
/// The time for a message from its first byte on.
const MESSAGE_LIMIT: Duration = Duration::from_secs(30);
/// The time in which a peer must take what is written.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// The time that a peer has to close, after this side has said that it will.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);
/// The bytes that are read at a time.
const READ_LEN: usize = 64 << 10;

/// A request that was executed.
struct Answer {
    id: RequestId,
    /// `None` for a oneway request.
    result: Option<Result<Encoder, Raised>>,
    /// The bytes of its arguments.
    len: usize,
}

struct Incoming {
    stream: TcpStream,
    connection: Connection<()>,
    input: BytesMut,
    objects: Arc<Objects>,
    visitor: Arc<Visitor>,
    /// Requests that are being executed.
    executing: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// The bytes of their arguments.
    executing_len: usize,
    message_len_max: usize,
    /// When the last request came or was answered.
    active_at: Instant,
    /// When the message began that has not come whole.
    message_since: Option<Instant>,
}

/// Serves a connection until it ends, breaks the protocol or is told to. Other connections do not notice.
pub(super) async fn serve(
    stream: TcpStream,
    address: SocketAddr,
    objects: Arc<Objects>,
    message_len_max: usize,
    mut ending: watch::Receiver<bool>,
) {
    // Small replies leave at once. Without it they leave a little later.
    let _ = stream.set_nodelay(true);
    let settings = ConnectionSettings {
        message_len_max,
        dispatches_max: REQUESTS_MAX,
        ..ConnectionSettings::default()
    };
    let visitor = Arc::new(Visitor::new(address));
    let mut incoming = Incoming {
        stream,
        connection: Connection::new(Role::Server, settings),
        input: BytesMut::new(),
        objects: Arc::clone(&objects),
        visitor: Arc::clone(&visitor),
        executing: FuturesUnordered::new(),
        executing_len: 0,
        message_len_max,
        active_at: Instant::now(),
        message_since: None,
    };
    incoming.run(&mut ending).await;
    drop(incoming);
    visitor.keep_unconnected(|name, proxy| {
        let channel = objects.channel(name);
        channel.is_none_or(|channel| channel.is_connected(proxy))
    });
    for (name, proxy) in visitor.take_obtained() {
        if let Some(channel) = objects.channel(&name) {
            channel.orphan(proxy);
        }
    }
}

impl Incoming {
    async fn run(&mut self, ending: &mut watch::Receiver<bool>) {
        let mut is_ending = false;
        loop {
            let goes_on = self.handle_input();
            if !self.flush().await || !goes_on || self.connection.is_closed() {
                return;
            }
            if self.connection.is_closing() {
                return self.await_end().await;
            }
            let has_room = self.has_room();
            let deadline = self.deadline();
            tokio::select! {
                // Requests are polled before further ones are read: each begins in its order.
                biased;
                Some(answer) = self.executing.next(), if !self.executing.is_empty() => {
                    self.answer(answer);
                }
                read = self.stream.read_buf(&mut self.input), if has_room => match read {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                },
                _ = ending.wait_for(|is_ending| *is_ending), if !is_ending => {
                    is_ending = true;
                    self.connection.close();
                }
                () = sleep_until(deadline), if self.executing.is_empty() => {
                    if self.message_since.is_some() {
                        return;
                    }
                    self.connection.close();
                }
            }
        }
    }

    /// Takes all messages off the input for which there is room. False if the peer broke the protocol, or has closed.
    fn handle_input(&mut self) -> bool {
        while self.has_room() {
            match self.connection.handle_input(&mut self.input) {
                Ok(Some(event)) => {
                    self.active_at = Instant::now();
                    self.message_since = None;
                    if !self.handle(event) {
                        return false;
                    }
                }
                Ok(None) => {
                    if self.input.is_empty() {
                        self.message_since = None;
                    } else {
                        self.message_since.get_or_insert_with(Instant::now);
                    }
                    self.input.reserve(READ_LEN);
                    return true;
                }
                Err(error) => {
                    self.visitor.warn(|peer| {
                        tracing::warn!("{peer} broke the protocol of CORBA: {error}");
                    });
                    return false;
                }
            }
        }
        true
    }

    fn has_room(&self) -> bool {
        self.executing.len() < REQUESTS_MAX && self.executing_len < self.message_len_max
    }

    fn deadline(&self) -> Instant {
        match self.message_since {
            Some(since) => since + MESSAGE_LIMIT,
            None => self.active_at + IDLE_LIMIT,
        }
    }

    fn handle(&mut self, event: ConnectionEvent<()>) -> bool {
        match event {
            ConnectionEvent::Request(request) => self.begin(request),
            ConnectionEvent::Locate(request) => {
                let key = request.target.key();
                let is_here = key.is_some_and(|key| self.objects.has(key));
                let status = match is_here {
                    true => LocateStatus::ObjectHere,
                    false => LocateStatus::UnknownObject,
                };
                // It waits for a reply, and the status has an encoding.
                let _ = self.connection.reply_locate(request.id, &status);
            }
            ConnectionEvent::Closed(_) | ConnectionEvent::PeerError(_) => return false,
            // The request goes on: nobody can take an event back. A server has no requests of its own.
            ConnectionEvent::Cancelled(_)
            | ConnectionEvent::Reply(..)
            | ConnectionEvent::LocateReply(..) => {}
        }
        true
    }

    fn begin(&mut self, request: Request) {
        let id = request.id;
        let is_oneway = request.head.response == ResponseExpected::None;
        let results = match is_oneway {
            true => Some(Encoder::new(request.body.format)),
            // It is in dispatch.
            false => self.connection.results_encoder(id).ok(),
        };
        let Some(mut results) = results else { return };
        let len = request.body.bytes.len();
        self.executing_len += len;
        let objects = Arc::clone(&self.objects);
        let visitor = Arc::clone(&self.visitor);
        let execution = async move {
            let key = request.head.target.key().cloned();
            let key: Bytes = key.unwrap_or_default();
            let operation = &request.head.operation;
            let executed = objects.execute(&visitor, &key, operation, &request.body, &mut results);
            let result = executed.await.map(|()| results);
            Answer {
                id,
                result: (!is_oneway).then_some(result),
                len,
            }
        };
        self.executing.push(Box::pin(execution));
    }

    fn answer(&mut self, answer: Answer) {
        self.active_at = Instant::now();
        self.executing_len -= answer.len;
        let objects = &self.objects;
        self.visitor.keep_unconnected(|name, proxy| {
            let channel = objects.channel(name);
            channel.is_none_or(|channel| channel.is_connected(proxy))
        });
        let id = answer.id;
        let sent = match answer.result {
            None => return,
            Some(Ok(results)) => self.connection.reply(id, |encoder| {
                encoder.octets(results.as_bytes());
                Ok(())
            }),
            Some(Err(Raised::User(exception))) => {
                let write = |encoder: &mut Encoder| Raised::encode_user(&exception, encoder);
                self.connection.reply_user_exception(id, write)
            }
            Some(Err(Raised::System(exception))) => {
                self.connection.reply_system_exception(id, exception)
            }
        };
        if let Err(error) = sent {
            tracing::debug!("{} gets no reply: {error}", self.visitor.address());
        }
    }

    /// Writes what is ready. False if the peer does not take it.
    async fn flush(&mut self) -> bool {
        while let Some(bytes) = self.connection.poll_output() {
            let written = timeout(WRITE_LIMIT, self.stream.write_all(&bytes)).await;
            if !matches!(written, Ok(Ok(()))) {
                return false;
            }
        }
        true
    }

    /// CloseConnection is written. The peer closes; if this side did so first, the peer might lose replies that it has not
    /// read.
    async fn await_end(&mut self) {
        let _ = self.stream.shutdown().await;
        let mut nowhere = [0; 1024];
        let end =
            async { while !matches!(self.stream.read(&mut nowhere).await, Ok(0) | Err(_)) {} };
        // A peer that does not close is closed.
        let _ = timeout(CLOSE_LIMIT, end).await;
    }
}
