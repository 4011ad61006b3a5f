//! Typed calls of threads that wait for nothing else. Such a thread sends its request and reads its reply itself. These
//! tests cover replies that do not come alone or immediately.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;

use floe::blocking::{Communicator, Wait};
use floe::codegen::OperationInfo;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Dispatcher, InvokeError, LocalError, OperationMode, Proxy, TypedProxy};

use crate::blocking::{Server, soon, until};
use crate::blocking_within::{peer, reply_to_next};
use crate::raw::header;

static OP: OperationInfo = OperationInfo {
    name: "op",
    mode: OperationMode::Normal,
    returns_data: true,
};
static ECHO: OperationInfo = OperationInfo { name: "echo", ..OP };
static SLOW: OperationInfo = OperationInfo { name: "slow", ..OP };

/// Calls an operation that returns its parameter.
fn text(
    proxy: &Proxy,
    operation: &'static OperationInfo,
    text: &str,
) -> Result<String, InvokeError> {
    let call = proxy.call(
        operation,
        |encoder| encoder.put(text),
        |decoder| decoder.get(),
    );
    call.wait()
}

/// Calls an operation that returns nothing.
fn nothing(proxy: &Proxy) -> Result<(), InvokeError> {
    proxy.call(&OP, |_| {}, |_| Ok(())).wait()
}

fn proxy_of(client: &Communicator, port: u16) -> Proxy {
    let proxy: Proxy = client
        .proxy(&format!("o:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    proxy
}

/// How a peer writes a reply.
type Answer = fn(&mut TcpStream, &[u8]) -> std::io::Result<()>;

fn whole(stream: &mut TcpStream, reply: &[u8]) -> std::io::Result<()> {
    stream.write_all(reply)
}

fn byte_by_byte(stream: &mut TcpStream, reply: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    reply.chunks(1).try_for_each(|byte| stream.write_all(byte))
}

fn behind_a_heartbeat(stream: &mut TcpStream, reply: &[u8]) -> std::io::Result<()> {
    stream.write_all(&[&header(3, 14), reply].concat())
}

fn before_half_a_heartbeat(stream: &mut TcpStream, reply: &[u8]) -> std::io::Result<()> {
    let heartbeat = header(3, 14);
    stream.write_all(&[reply, &heartbeat[..7]].concat())?;
    stream.write_all(&heartbeat[7..])
}

fn twice(stream: &mut TcpStream, reply: &[u8]) -> std::io::Result<()> {
    stream.write_all(&[reply, reply].concat())
}

fn behind_that_of_nobody(stream: &mut TcpStream, reply: &[u8]) -> std::io::Result<()> {
    let mut other = reply.to_vec();
    other[17] = 0x70;
    stream.write_all(&other)?;
    stream.write_all(reply)
}

#[test]
fn a_reply_may_come_in_pieces_and_among_others() {
    soon(|| {
        let ways: [Answer; 6] = [
            whole,
            byte_by_byte,
            behind_a_heartbeat,
            before_half_a_heartbeat,
            twice,
            behind_that_of_nobody,
        ];
        let port = peer(move |mut stream| {
            for way in ways.iter().cycle() {
                let Ok(reply) = reply_to_next(&mut stream) else {
                    return;
                };
                way(&mut stream, &reply).unwrap();
            }
        });
        let client = Communicator::new();
        let proxy = proxy_of(&client, port);
        for _ in 0..10 * ways.len() {
            nothing(&proxy).unwrap();
        }
    });
}

#[test]
fn replies_of_all_lengths_are_read() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        // Around the longest that is copied, the header and the size of a text included, and around long ones.
        for len in (0..120).chain([8_000, 40_000, 1]).chain((20..70).rev()) {
            let sent = "x".repeat(len);
            assert_eq!(text(&proxy, &ECHO, &sent).unwrap(), sent);
        }
        client.shutdown();
    });
}

#[test]
fn a_result_that_is_no_such_result_is_a_bad_reply_and_the_connection_lives_on() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let connection = proxy.ice_connection().wait().unwrap();
        let number = proxy.call(&ECHO, |encoder| encoder.put(&1i32), |decoder| decoder.get());
        let refused: Result<i64, InvokeError> = number.wait();
        assert!(
            matches!(refused, Err(InvokeError::BadReply(_))),
            "{refused:?}"
        );
        assert_eq!(text(&proxy, &ECHO, "more").unwrap(), "more");
        assert_eq!(proxy.ice_connection().wait().unwrap(), connection);
        client.shutdown();
    });
}

#[test]
fn parameters_that_panic_leave_the_connection_as_it_was() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let connection = proxy.ice_connection().wait().unwrap();
        assert_eq!(text(&proxy, &ECHO, "before").unwrap(), "before");
        let hopeless = proxy.clone();
        let panicked = thread::spawn(move || {
            // The thread has waited before, so that the call is asked.
            assert_eq!(text(&hopeless, &ECHO, "here").unwrap(), "here");
            let encode = |encoder: &mut floe::encoding::Encoder<'_>| {
                encoder.put(&7i32);
                panic!("no such parameter");
            };
            let call = hopeless.call::<(), InvokeError>(&ECHO, encode, |_| Ok(()));
            call.wait()
        });
        assert!(panicked.join().is_err());
        assert_eq!(text(&proxy, &ECHO, "after").unwrap(), "after");
        assert_eq!(proxy.ice_connection().wait().unwrap(), connection);
        client.shutdown();
    });
}

#[test]
fn a_request_that_fills_the_transport_is_written_to_its_end_while_its_reply_is_waited_for() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let long = "long".repeat(200_000);
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (proxy, long) = (proxy.clone(), long.clone());
                thread::spawn(move || {
                    for _ in 0..5 {
                        assert_eq!(text(&proxy, &ECHO, &long).unwrap(), long);
                        let short = number.to_string();
                        assert_eq!(text(&proxy, &ECHO, &short).unwrap(), short);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        client.shutdown();
    });
}

#[test]
fn a_close_in_the_middle_of_a_call_waits_for_its_reply() {
    soon(|| {
        let server = Server::start();
        let client = Communicator::new();
        let proxy = server.proxy_of(&client);
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        let calling = {
            let proxy = proxy.clone();
            thread::spawn(move || {
                assert_eq!(text(&proxy, &ECHO, "first").unwrap(), "first");
                text(&proxy, &SLOW, "slow")
            })
        };
        until(|| server.slow_count() == 1);
        connection.close().wait();
        assert_eq!(calling.join().unwrap().unwrap(), "slow");
        // Over a new one.
        assert_eq!(text(&proxy, &ECHO, "again").unwrap(), "again");
        client.shutdown();
    });
}

#[test]
fn a_peer_that_closes_without_an_answer_is_asked_again_over_another_connection() {
    soon(|| {
        let port = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            thread::spawn(move || {
                for answered in [1, 0, 2] {
                    let (mut stream, _) = listener.accept().unwrap();
                    stream.write_all(&header(3, 14)).unwrap();
                    for _ in 0..answered {
                        let reply = reply_to_next(&mut stream).unwrap();
                        stream.write_all(&reply).unwrap();
                    }
                    if answered < 2 {
                        // The request that comes is not executed, says a graceful close.
                        reply_to_next(&mut stream).unwrap();
                        stream.write_all(&header(4, 14)).unwrap();
                        let _ = stream.read_to_end(&mut Vec::new());
                    }
                }
            });
            port
        };
        let client = Communicator::new();
        let proxy = proxy_of(&client, port);
        nothing(&proxy).unwrap();
        nothing(&proxy).unwrap();
    });
}

/// Calls back over the connection that it serves, which it must not, and tells how that ended.
#[derive(Default)]
struct Loops {
    back: Mutex<Option<Proxy>>,
    told: Mutex<Option<Result<(), InvokeError>>>,
}

impl Dispatcher for Loops {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Loops {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        let back = self.back.lock().unwrap().clone();
        if let Some(back) = back {
            *self.told.lock().unwrap() = Some(nothing(&back));
        }
        Box::pin(async move { request.returned_nothing() })
    }
}

#[test]
fn a_servant_that_calls_over_the_connection_that_its_thread_reads_is_refused() {
    soon(|| {
        // Answers a request, and calls back before.
        let port = peer(|mut stream| {
            while let Ok(reply) = reply_to_next(&mut stream) {
                let mut request = 0i32.to_le_bytes().to_vec();
                request.extend(b"\x05loops\x00\x00\x02op\x00\x00");
                request.extend(crate::echo::NOTHING);
                let size = 14 + request.len() as i32;
                stream
                    .write_all(&[&header(0, size), &request[..], &reply].concat())
                    .unwrap();
            }
        });
        let client = Communicator::new();
        let adapter = client.adapter_without_endpoints().unwrap();
        let loops = Arc::new(Loops::default());
        adapter.add("loops", loops.clone()).unwrap();
        let proxy = proxy_of(&client, port);
        proxy
            .ice_connection()
            .wait()
            .unwrap()
            .unwrap()
            .set_adapter(Some(&adapter));
        *loops.back.lock().unwrap() = Some(proxy.clone());
        nothing(&proxy).unwrap();
        nothing(&proxy).unwrap();
        until(|| loops.told.lock().unwrap().is_some());
        let told = loops.told.lock().unwrap().take();
        let is_refused = matches!(
            told,
            Some(Err(InvokeError::NotDispatched(
                LocalError::OwnReader { .. }
            )))
        );
        assert!(is_refused, "{told:?}");
    });
}
