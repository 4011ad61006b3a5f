//! Long values of which callers and servants hold the bytes, too: they leave without a copy, and
//! between them what else there is in a message.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use floe::PackedBytes;
use floe::blocking::Wait;
use floe::codegen::OperationInfo;
use floe::encoding::Encoder;
use floe::settings::Compression;
use floe::{
    Bytes, Communicator, InvokeError, LocalError, OperationMode, Proxy, Settings, TypedProxy,
};

use crate::blocking_long::{HEADER_LEN, read_message};
use crate::echo::{NOTHING, soon};
use crate::transports::{self, unix_endpoint};

const ECHO: OperationInfo = OperationInfo {
    name: "echo",
    mode: OperationMode::Normal,
    returns_data: true,
};

/// More than any socket takes in one write.
const LEN: usize = 12_000_000;

/// The start of a long message: its header, and some of what callers hold.
const START_LEN: usize = 50_000;

/// Long and short values in turn.
#[derive(Debug, Clone, PartialEq)]
struct Values {
    first: Bytes,
    name: String,
    numbers: PackedBytes<f64>,
    rest: Vec<Bytes>,
}

impl Values {
    fn of(len: usize, seed: u8) -> Self {
        let bytes = |len| Bytes::from_iter((0..len).map(|at: usize| (at % 251) as u8 ^ seed));
        Self {
            first: bytes(len),
            name: "short".repeat(usize::from(seed)),
            numbers: (0..len / 8).map(|at| at as f64).collect(),
            rest: [0, len / 3, 1, len, 20].map(bytes).to_vec(),
        }
    }

    async fn echo(&self, proxy: &Proxy) -> Result<Self, InvokeError> {
        let encode = |encoder: &mut Encoder<'_>| {
            encoder.put(&self.first);
            encoder.put(&self.name);
            encoder.put(&self.numbers);
            encoder.put(&self.rest);
        };
        let call = proxy.call(&ECHO, encode, |decoder| {
            Ok(Self {
                first: decoder.get()?,
                name: decoder.get()?,
                numbers: decoder.get()?,
                rest: decoder.get()?,
            })
        });
        call.await
    }
}

async fn echo_bytes(proxy: &Proxy, bytes: &Bytes) -> Result<Bytes, InvokeError> {
    let encode = |encoder: &mut Encoder<'_>| encoder.put(bytes);
    proxy.call(&ECHO, encode, |decoder| decoder.get()).await
}

fn settings() -> Settings {
    let mut settings = transports::settings();
    settings.message_size_max = 2 * LEN;
    settings
}

/// Concurrent calls of several tasks, with short and with long values.
async fn call_at_once(proxy: &Proxy) {
    let calls: Vec<_> = (1..5)
        .map(|seed| {
            let proxy = proxy.clone();
            tokio::spawn(async move {
                for len in [10, 5_000, 300_000, 100, 40_000] {
                    let values = Values::of(len, seed);
                    assert!(values.echo(&proxy).await.unwrap() == values, "{len}");
                }
            })
        })
        .collect();
    for call in calls {
        soon(call).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_come_whole_over_every_transport() {
    for endpoint in [
        "tcp -h 127.0.0.1 -p 0",
        &unix_endpoint(),
        "ssl -h 127.0.0.1 -p 0",
        "ws -h 127.0.0.1 -p 0 -r /echo",
        "wss -h 127.0.0.1 -p 0",
    ] {
        let server = transports::start_with(endpoint, settings()).await;
        let client = Communicator::with_settings(settings());
        call_at_once(&server.proxy_of(&client, "echo")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_come_whole_from_threads() {
    for endpoint in ["tcp -h 127.0.0.1 -p 0", &unix_endpoint()] {
        let server = crate::blocking::Server::at(endpoint, settings());
        let client = floe::blocking::Communicator::with_settings(settings());
        let proxy = server.proxy_of(&client);
        let threads: Vec<_> = (1..5)
            .map(|seed| {
                let proxy = proxy.clone();
                thread::spawn(move || {
                    for len in [10, 5_000, 2_000_000, 100, 300_000, 40_000] {
                        let values = Values::of(len, seed);
                        assert!(values.echo(&proxy).wait().unwrap() == values, "{len}");
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_come_whole_when_they_are_compressed() {
    let server = transports::start_with("tcp -h 127.0.0.1 -p 0", settings()).await;
    let client = Communicator::with_settings(settings());
    let proxy = server.proxy_of(&client, "echo");
    for compression in [
        Compression::Bzip2,
        Compression::Zstd,
        Compression::ZstdStream,
    ] {
        let values = Values::of(100_000, 3);
        let compressed = proxy.ice_compression(compression);
        for proxy in [&compressed, &proxy, &compressed] {
            assert!(soon(values.echo(proxy)).await.unwrap() == values);
        }
    }
}

#[tokio::test]
async fn they_come_whole_without_the_wire() {
    let server = transports::start_with("tcp -h 127.0.0.1 -p 0", settings()).await;
    let proxy = server.proxy_of(&server.communicator, "echo");
    let values = Values::of(100_000, 3);
    assert!(soon(values.echo(&proxy)).await.unwrap() == values);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_let_go_of_when_they_are_written() {
    let server = transports::start_with("tcp -h 127.0.0.1 -p 0", settings()).await;
    let client = Communicator::with_settings(settings());
    let proxy = server.proxy_of(&client, "echo");
    let bytes = Values::of(LEN, 0).first;
    for _ in 0..3 {
        let echo = soon(echo_bytes(&proxy, &bytes)).await.unwrap();
        assert!(echo == bytes);
        // The writer lets go of them just after the peer has them.
        let let_go = async {
            while !bytes.is_unique() {
                tokio::task::yield_now().await;
            }
        };
        soon(let_go).await;
    }
}

/// A server of bare sockets that validates one connection, and does with it what it is told.
fn accept<T: Send + 'static>(
    settings: Settings,
    answer: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (Proxy, Communicator, thread::JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"IceP\x01\0\x01\0\x03\0\x0e\0\0\0")
            .unwrap();
        answer(stream)
    });
    let client = Communicator::with_settings(settings);
    let proxy = client.proxy(&format!("echo:tcp -h 127.0.0.1 -p {port}"));
    (proxy.unwrap(), client, accepted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_given_up_in_the_middle_leaves_its_message_and_the_next_one_whole() {
    let (begun, until_begun) = tokio::sync::oneshot::channel();
    let (given_up, until_given_up) = std::sync::mpsc::channel::<()>();
    let (proxy, _client, accepted) = accept(settings(), move |mut stream| {
        let mut start = vec![0; START_LEN];
        stream.read_exact(&mut start).unwrap();
        begun.send(()).unwrap();
        until_given_up.recv().unwrap();
        let first = read_message(&mut start.chain(&mut stream));
        [first, read_message(&mut stream)]
    });
    let [first, second] = [1, 2].map(|seed| Values::of(LEN, seed).first);
    {
        let call = Box::pin(echo_bytes(&proxy, &first));
        tokio::select! {
            answer = call => panic!("nobody answers, got {answer:?}"),
            begun = soon(until_begun) => begun.unwrap(),
        }
    }
    assert!(!first.is_unique(), "it is still being written");
    let next = {
        let (proxy, second) = (proxy.clone(), second.clone());
        tokio::spawn(async move { echo_bytes(&proxy, &second).await })
    };
    given_up.send(()).unwrap();
    let [(_, one), (_, other)] = tokio::task::spawn_blocking(|| accepted.join().unwrap())
        .await
        .unwrap();
    assert!(one.ends_with(&first) && other.ends_with(&second));
    let error = soon(next).await.unwrap().unwrap_err();
    assert!(
        matches!(error, InvokeError::PerhapsDispatched(_)),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_count_where_output_waits_and_what_waits_behind_them_never_left() {
    // Where the machine is so busy that a call ends before it has begun, it has more time in the next attempt.
    for limit in [100, 400, 1_600, 6_400, 25_600].map(Duration::from_millis) {
        if begin_and_wait_behind(limit).await {
            return;
        }
    }
    panic!("expected one of the calls to begin in time");
}

/// Makes two calls with this time limit to a peer that reads the header of the first; whether that came in time.
async fn begin_and_wait_behind(limit: Duration) -> bool {
    let mut settings = settings();
    settings.output_limit = 1_000_000;
    let (proxy, client, accepted) = accept(settings, |mut stream| {
        let connected = read_message(&mut stream);
        assert!(connected.1.ends_with(&NOTHING));
        let mut header = [0; HEADER_LEN];
        let has_begun = stream.read_exact(&mut header).is_ok() && header[8] == REQUEST;
        (stream, has_begun)
    });
    let oneway = proxy.ice_oneway();
    let sent = oneway.invoke("connect", OperationMode::Normal, &NOTHING);
    soon(sent).await.unwrap();

    let hasty = proxy.ice_timeout(Some(limit));
    let bytes = Values::of(LEN, 0).first;
    let start = Instant::now();
    let first = soon(echo_bytes(&hasty, &bytes)).await.unwrap_err();
    assert!(start.elapsed() >= limit);
    let is_timeout = |error: &LocalError| matches!(error, LocalError::Timeout { .. });
    let has_begun = match &first {
        InvokeError::PerhapsDispatched(error) if is_timeout(error) => true,
        InvokeError::NotDispatched(error) if is_timeout(error) => false,
        error => panic!("expected a timeout, got {error}"),
    };
    if has_begun {
        let behind = soon(echo_bytes(&hasty, &bytes)).await.unwrap_err();
        assert!(start.elapsed() >= 2 * limit);
        assert!(
            matches!(&behind, InvokeError::NotDispatched(error) if is_timeout(error)),
            "{behind}"
        );
    } else {
        client.abort();
    }
    let accepted = tokio::task::spawn_blocking(|| accepted.join().unwrap());
    let (_, has_come) = soon(accepted).await.unwrap();
    assert_eq!(has_begun, has_come, "{first}");
    has_begun
}

/// The type of a request, in its header.
const REQUEST: u8 = 0;
