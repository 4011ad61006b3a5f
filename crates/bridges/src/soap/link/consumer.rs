//! Posts to a consumer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::http::body;
use super::target::Target;
use crate::networks::Networks;
use crate::soap::message::Version;

/// How long a connection may take to be made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long a consumer may take to answer a Notify.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of an answer. A consumer has nothing to say but that it has the events.
const ANSWER_LEN_MAX: usize = 64 * 1024;

/// A consumer, with a connection while there is one.
#[derive(Debug)]
pub(super) struct Consumer {
    target: Target,
    allowed: Arc<Networks>,
    /// Where this end listens itself.
    own: SocketAddr,
    connection: Option<Connection>,
}

/// A connection. Dropping it closes it.
#[derive(Debug)]
struct Connection {
    sender: SendRequest<String>,
    _task: JoinSet<()>,
}

impl Consumer {
    pub(super) fn new(target: Target, allowed: Arc<Networks>, own: SocketAddr) -> Self {
        Self {
            target,
            allowed,
            own,
            connection: None,
        }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Posts a message; returns when the consumer has answered that it has it. Redirections are not followed: they lead to
    /// addresses that nobody judged.
    ///
    /// # Errors
    /// Why it may not have it.
    pub(super) async fn post(
        &mut self,
        version: Version,
        action: &str,
        text: String,
    ) -> Result<(), String> {
        let posted = timeout(ANSWER_PATIENCE, self.send(version, action, text)).await;
        let posted = posted.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
        if posted.is_err() {
            self.connection = None;
        }
        posted
    }

    async fn send(&mut self, version: Version, action: &str, text: String) -> Result<(), String> {
        let is_open = match &mut self.connection {
            Some(connection) => connection.sender.ready().await.is_ok(),
            None => false,
        };
        if !is_open {
            self.connection = Some(self.connect().await?);
        }
        let Some(connection) = &mut self.connection else {
            return Err("it is not connected".to_owned());
        };
        let content_type = match version {
            Version::Soap11 => version.content_type().to_owned(),
            Version::Soap12 => format!("{}; action=\"{action}\"", version.content_type()),
        };
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.target.path())
            .header(HOST, self.target.authority())
            .header(CONTENT_TYPE, content_type);
        if version == Version::Soap11 {
            request = request.header("SOAPAction", format!("\"{action}\""));
        }
        let request = request.body(text).map_err(|it| it.to_string())?;
        let response = connection.sender.send_request(request).await;
        let response = response.map_err(|it| format!("the connection broke: {it}"))?;
        let status = response.status();
        // It is read to its end, so that the connection can be used again.
        let answer = body(response.into_body(), ANSWER_LEN_MAX).await;
        let answer = answer.map_err(|_| "its answer is too long, or broke off".to_owned())?;
        match status.is_success() {
            true => Ok(()),
            false => {
                let shown: String = String::from_utf8_lossy(&answer).chars().take(200).collect();
                Err(format!("it answered {status}: {shown:?}"))
            }
        }
    }

    async fn connect(&self) -> Result<Connection, String> {
        let addresses = self.target.addresses(&self.allowed).await?;
        let mut trouble = String::new();
        for address in addresses {
            match timeout(CONNECT_PATIENCE, TcpStream::connect(address)).await {
                Ok(Ok(tcp)) if self.is_own(&tcp) => {
                    return Err(
                        "it is this bridge itself, and events would go round in a circle"
                            .to_owned(),
                    );
                }
                Ok(Ok(tcp)) => return open(tcp).await,
                Ok(Err(error)) => trouble = format!("{address}: {error}"),
                Err(_) => trouble = format!("{address}: no connection in time"),
            }
        }
        Err(trouble)
    }

    /// True if a connection leads to this bridge.
    fn is_own(&self, tcp: &TcpStream) -> bool {
        let (Ok(here), Ok(there)) = (tcp.local_addr(), tcp.peer_addr()) else {
            return false;
        };
        let (here, there) = (
            here.ip().to_canonical(),
            SocketAddr::new(there.ip().to_canonical(), there.port()),
        );
        let is_here = here == there.ip() || there.ip().is_loopback();
        let is_heard = self.own.ip().is_unspecified() || self.own.ip().to_canonical() == there.ip();
        is_here && is_heard && there.port() == self.own.port()
    }
}

async fn open(tcp: TcpStream) -> Result<Connection, String> {
    let _ = tcp.set_nodelay(true);
    let opened = http1::handshake(TokioIo::new(tcp)).await;
    let (sender, connection) = opened.map_err(|it| it.to_string())?;
    let mut task = JoinSet::new();
    task.spawn(async move {
        // Its end is noticed by the next message.
        let _ = connection.await;
    });
    Ok(Connection {
        sender,
        _task: task,
    })
}
