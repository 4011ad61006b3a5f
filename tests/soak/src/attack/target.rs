//! The server that is attacked: a hub, or a gateway with a server behind it. How clients get so far that they can call.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::{TopicManagerProxy, TopicProxy};
use floe::{Communicator, Proxy, TypedProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

/// The function that carries an attack out.
pub(super) type Kind = fn(Target) -> Attacking;
pub(super) type Attacking = Pin<Box<dyn Future<Output = ()>>>;

/// How a client begins, and which object it calls then.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The requests that each connection sends first, such as one for a session. Each is answered before the next.
    pub(super) opening: Vec<Vec<u8>>,
    /// An object that answers a ping: name and category.
    pub(super) object: (&'static str, &'static str),
}

/// The target of an attack, and the time that it lasts.
pub(super) struct Target {
    client: Communicator,
    /// The proxy of the topic manager, if the target is a hub.
    manager: String,
    pub(super) entry: Entry,
    pub(super) ports: Ports,
    end: Instant,
}

/// The ports of the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) tcp: u16,
    pub(super) ws: u16,
    pub(super) ssl: u16,
    pub(super) metrics: u16,
    /// Where servers call clients of a gateway back.
    pub(super) callbacks: u16,
    /// The server behind a gateway.
    pub(super) back_end: u16,
}

impl Target {
    pub(super) fn new(
        client: Communicator,
        manager: String,
        entry: Entry,
        ports: Ports,
        seconds: u64,
    ) -> Self {
        let end = Instant::now() + Duration::from_secs(seconds);
        Self {
            client,
            manager,
            entry,
            ports,
            end,
        }
    }

    /// Returns this target for another time.
    pub(super) fn for_seconds(self, seconds: u64) -> Self {
        let end = Instant::now() + Duration::from_secs(seconds);
        Self { end, ..self }
    }

    pub(super) fn lasts(&self) -> bool {
        Instant::now() < self.end
    }

    pub(super) async fn wait_for_end(&self) {
        sleep(self.end.saturating_duration_since(Instant::now())).await;
    }

    /// Connects from an address that the canary does not have.
    pub(super) async fn connect(&self, port: u16) -> Option<TcpStream> {
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind(([127, 0, 0, 2], 0).into()).ok()?;
        socket.connect(([127, 0, 0, 1], port).into()).await.ok()
    }

    /// Connects, and gets so far that the object can be called.
    pub(super) async fn open(&self) -> Option<TcpStream> {
        let mut stream = self.connect(self.ports.tcp).await?;
        if !self.entry.opening.is_empty() {
            stream.read_exact(&mut [0; 14]).await.ok()?;
        }
        for request in &self.entry.opening {
            ask(&mut stream, request).await?;
        }
        Some(stream)
    }

    /// Connections that send the same again and again, and read nothing.
    pub(super) async fn flood(&self, connections: usize, bytes: &[u8]) {
        let mut streams = Vec::new();
        for _ in 0..connections {
            streams.extend(self.open().await);
        }
        self.send_to(streams, bytes).await;
    }

    pub(super) async fn send_to(&self, mut streams: Vec<TcpStream>, bytes: &[u8]) {
        while self.lasts() {
            for stream in &mut streams {
                // A connection that the server does not read now has its turn later.
                let _ = timeout(Duration::from_millis(20), stream.write_all(bytes)).await;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn manager(&self) -> TopicManagerProxy {
        let proxy = self.client.proxy(&self.manager);
        TopicManagerProxy::from_proxy(proxy.expect("the hub prints a proxy"))
    }

    pub(super) async fn topic(&self, name: &str) -> Option<TopicProxy> {
        self.manager().create_or_retrieve(name).await.ok()
    }

    pub(super) async fn publisher(&self, topic: &TopicProxy) -> Option<Proxy> {
        topic.get_publisher().await.ok()
    }

    pub(super) async fn subscribe(
        &self,
        topic: &TopicProxy,
        proxy: &str,
        qos: &BTreeMap<String, String>,
    ) {
        if let Ok(proxy) = self.client.proxy(proxy) {
            // What the hub refuses is no harm.
            let _ = topic.subscribe_and_get_publisher(qos, Some(&proxy)).await;
        }
    }
}

/// Sends a request, and returns its results if there are any: an encapsulation.
pub(super) async fn ask(stream: &mut TcpStream, request: &[u8]) -> Option<Vec<u8>> {
    stream.write_all(request).await.ok()?;
    loop {
        let mut header = [0; 14];
        stream.read_exact(&mut header).await.ok()?;
        let len = i32::from_le_bytes([header[10], header[11], header[12], header[13]]);
        let mut body = vec![0; usize::try_from(len - 14).ok()?];
        stream.read_exact(&mut body).await.ok()?;
        // Anything else is a heartbeat, or a call of a server.
        if header[8] == REPLY {
            return (*body.get(4)? == 0).then(|| body.split_off(5));
        }
    }
}

/// The type of a message that is a reply.
pub(super) const REPLY: u8 = 2;
