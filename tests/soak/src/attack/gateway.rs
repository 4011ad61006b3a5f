//! Attacks on a gateway alone: on its sessions, its routing tables, its queues and its logins.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::message::{ROUTER, add_proxies, create_session, request, request_to, string};
use super::server::PASSWORD;
use super::target::{Kind, Target, ask};

/// The attacks by name, on a gateway that accepts all passwords.
pub(super) const KINDS: [(&str, Kind); 14] = [
    ("replies of a server that nobody reads", |target| {
        Box::pin(async move {
            let large = request(1, target.entry.object, "large", &[]);
            target.flood(60, &large.repeat(60)).await;
        })
    }),
    ("sessions created and abandoned", |target| {
        Box::pin(abandoned(target))
    }),
    ("sessions that wait for their clients", |target| {
        Box::pin(waiting(target))
    }),
    ("names of users with 900 kB", |target| {
        Box::pin(long_users(target))
    }),
    ("full routing tables", |target| {
        Box::pin(full_tables(target))
    }),
    ("many small proxies at once", |target| {
        Box::pin(small_proxies(target))
    }),
    ("queues to servers that do not read", |target| {
        Box::pin(full_queues(target))
    }),
    ("long tokens and facets of queued requests", |target| {
        Box::pin(long_tokens(target))
    }),
    ("calls that a server does not answer", |target| {
        Box::pin(async move {
            let wait = request(1, target.entry.object, "wait", &[]);
            target.flood(64, &wait.repeat(100)).await;
        })
    }),
    ("routes to hosts that do not answer", |target| {
        Box::pin(dead_routes(target))
    }),
    ("callbacks that nobody reads", |target| {
        Box::pin(callbacks(target))
    }),
    ("guessed tokens of sessions", |target| {
        Box::pin(async move {
            let token = string(&"7".repeat(64));
            let guess = request_to(1, ROUTER, Some(FACET), "resume", &[], &token);
            without_session(target, 100, &guess).await;
        })
    }),
    ("900 kB of unknown letters", |target| {
        Box::pin(async move {
            let letters = [("_fwd", &*"#".repeat(900_000))];
            let ping = request_to(0, target.entry.object, None, "ice_ping", &letters, &[]);
            target.flood(8, &ping).await;
        })
    }),
    ("many logins on each connection", |target| {
        Box::pin(async move {
            let login = create_session(1, "joe", PASSWORD);
            without_session(target, 100, &login.repeat(100)).await;
        })
    }),
];

/// The attacks on a gateway that has a file of passwords.
pub(super) const LOGINS: [(&str, Kind); 3] = [
    ("wrong passwords of one user", |target| {
        Box::pin(async move {
            let login = create_session(1, "joe", "guess");
            without_session(target, 100, &login.repeat(10)).await;
        })
    }),
    ("wrong passwords of many users", |target| {
        Box::pin(async move {
            let login = |number| create_session(1, &format!("user{number}"), "guess");
            let logins: Vec<_> = (0..1000).flat_map(login).collect();
            without_session(target, 100, &logins).await;
        })
    }),
    ("right passwords again and again", |target| {
        Box::pin(async move {
            let login = create_session(1, "joe", PASSWORD);
            let end = request(2, ROUTER, "destroySession", &[]);
            let logins = async || {
                while target.lasts() {
                    if let Some(mut stream) = target.connect(target.ports.tcp).await {
                        let _ = timeout(PATIENCE, ask(&mut stream, &login)).await;
                        let _ = timeout(PATIENCE, ask(&mut stream, &end)).await;
                    }
                }
            };
            let all: Vec<_> = (0..50).map(|_| logins()).collect();
            join(all).await;
        })
    }),
];

/// The facet of the router for sessions that can be resumed.
const FACET: &str = "floe.session";
/// The longest that an attacker waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections without a session that send the same again and again.
async fn without_session(target: Target, connections: usize, bytes: &[u8]) {
    let mut streams = Vec::new();
    for _ in 0..connections {
        streams.extend(target.connect(target.ports.tcp).await);
    }
    target.send_to(streams, bytes).await;
}

async fn abandoned(target: Target) {
    let creating = async || {
        while target.lasts() {
            let _ = timeout(PATIENCE, target.open()).await;
        }
    };
    let all: Vec<_> = (0..8).map(|_| creating()).collect();
    join(all).await;
}

async fn waiting(target: Target) {
    let grace = 5_000_i64.to_le_bytes();
    let open = request_to(3, ROUTER, Some(FACET), "open", &[], &grace);
    let creating = async || {
        while target.lasts() {
            if let Ok(Some(mut stream)) = timeout(PATIENCE, target.open()).await {
                let _ = timeout(PATIENCE, ask(&mut stream, &open)).await;
            }
        }
    };
    let all: Vec<_> = (0..8).map(|_| creating()).collect();
    join(all).await;
    // Until they have ended.
    tokio::time::sleep(Duration::from_secs(6)).await;
}

async fn long_users(target: Target) {
    let login = create_session(1, &"n".repeat(900_000), PASSWORD);
    let mut streams = Vec::new();
    while target.lasts() && streams.len() < 3_000 {
        if let Some(mut stream) = target.connect(target.ports.tcp).await {
            let _ = timeout(PATIENCE, ask(&mut stream, &login)).await;
            streams.push(stream);
        }
    }
    target.wait_for_end().await;
}

async fn full_tables(target: Target) {
    let names: Vec<_> = (0..1000).map(|number| format!("{number:0>900}")).collect();
    let port = target.ports.back_end;
    let objects: Vec<_> = names.iter().map(|name| (&**name, port, -1)).collect();
    let adding = add_proxies(3, &objects);
    let mut streams = Vec::new();
    while target.lasts() && streams.len() < 3_000 {
        if let Some(mut stream) = target.open().await {
            let _ = timeout(PATIENCE, ask(&mut stream, &adding)).await;
            streams.push(stream);
        }
    }
    target.wait_for_end().await;
}

async fn small_proxies(target: Target) {
    let names: Vec<_> = (0..20_000).map(|number| number.to_string()).collect();
    let port = target.ports.back_end;
    let timeouts = 1..;
    let objects = names.iter().zip(timeouts);
    let objects: Vec<_> = objects.map(|(name, ms)| (&**name, port, ms)).collect();
    target.flood(3, &add_proxies(3, &objects)).await;
}

/// A server that accepts connections in its backlog, and reads nothing.
async fn deaf() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("loopback has a free port");
    let port = listener.local_addr().map_or(0, |address| address.port());
    (listener, port)
}

/// Sessions with a queue for each of a hundred connections to a server that does not read.
async fn full_queues(target: Target) {
    let (_deaf, port) = deaf().await;
    let names: Vec<_> = (0..100).map(|number| format!("q{number}")).collect();
    let objects = names.iter().zip(10_000..);
    let objects: Vec<_> = objects.map(|(name, ms)| (&**name, port, ms)).collect();
    let mut streams = Vec::new();
    for _ in 0..10 {
        if let Some(mut stream) = target.open().await
            && ask(&mut stream, &add_proxies(3, &objects)).await.is_some()
        {
            streams.push(stream);
        }
    }
    let zeros = vec![0; 900_000];
    while target.lasts() {
        for name in &names {
            let event = request(0, (name, ""), "e", &zeros);
            for stream in &mut streams {
                let _ = timeout(Duration::from_millis(20), stream.write_all(&event)).await;
            }
        }
    }
}

async fn long_tokens(target: Target) {
    let (_deaf, port) = deaf().await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        if let Some(mut stream) = target.open().await
            && ask(&mut stream, &add_proxies(3, &[("deaf", port, -1)]))
                .await
                .is_some()
        {
            // So much that the connection to the server is full.
            let zeros = vec![0; 900_000];
            for _ in 0..10 {
                let event = request(0, ("deaf", ""), "e", &zeros);
                let _ = timeout(Duration::from_millis(200), stream.write_all(&event)).await;
            }
            streams.push(stream);
        }
    }
    let mut number = 0;
    while target.lasts() {
        number += 1;
        let text = format!("{number}{}", "t".repeat(450_000));
        let context = [("_ovrd", &*text)];
        let event = request_to(0, ("deaf", ""), Some(&text), "e", &context, &[]);
        for stream in &mut streams {
            let _ = timeout(Duration::from_millis(20), stream.write_all(&event)).await;
        }
    }
}

async fn dead_routes(target: Target) {
    let names: Vec<_> = (0..1_000).map(|number| format!("d{number}")).collect();
    let (_deaf, port) = deaf().await;
    let mut streams = Vec::new();
    // Each has its own timeouts, and so its own connections.
    let mut ms = 10_000;
    while target.lasts() {
        let objects = names.iter().zip(ms..);
        let objects: Vec<_> = objects.map(|(name, ms)| (&**name, port, ms)).collect();
        ms += 1_000;
        let Some(mut stream) = target.open().await else {
            continue;
        };
        let _ = timeout(PATIENCE, ask(&mut stream, &add_proxies(3, &objects))).await;
        let calls = names.iter();
        let calls = calls.flat_map(|name| request(0, (name, ""), "e", &[]));
        let calls: Vec<_> = calls.collect();
        let _ = timeout(PATIENCE, stream.write_all(&calls)).await;
        streams.push(stream);
    }
}

/// A server calls a client that does not read, again and again.
async fn callbacks(target: Target) {
    let mut clients = Vec::new();
    let mut events = Vec::new();
    for _ in 0..100 {
        let Some(mut stream) = target.open().await else {
            continue;
        };
        let mut asking = request(3, ROUTER, "getCategoryForClient", &[]);
        let mode = asking.len() - 8;
        asking[mode] = 2;
        // An encapsulation with a short text.
        if let Some(category) = ask(&mut stream, &asking).await
            && let Some(text) = category.get(7..)
        {
            let category = String::from_utf8_lossy(text).into_owned();
            events.push(request(0, ("o", &category), "e", &[0; 10_000]));
            clients.push(stream);
        }
    }
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", target.ports.callbacks)).await else {
        return;
    };
    let all = events.concat();
    while target.lasts() {
        let _ = timeout(Duration::from_secs(1), server.write_all(&all)).await;
    }
}

/// Runs them until all have ended.
async fn join(mut all: Vec<impl Future<Output = ()>>) {
    let mut all: Vec<_> = all.drain(..).map(Box::pin).collect();
    std::future::poll_fn(|context| {
        all.retain_mut(|each| each.as_mut().poll(context).is_pending());
        match all.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}
