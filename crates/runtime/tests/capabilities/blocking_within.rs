//! A thread that waits for a reply, runs a servant meanwhile, and waits in that for another reply; and replies that
//! somebody else has read before the thread begins to.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use floe::blocking::{Communicator, Wait};
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::{Dispatcher, OperationMode, Proxy, TypedProxy};

use crate::blocking::{Server, soon, until};
use crate::echo::NOTHING;
use crate::raw::header;

/// Times that something is tried which depends on who reads first.
const ROUNDS: usize = 20;

/// Calls something elsewhere for each request.
struct Forwarder {
    elsewhere: Proxy,
    count: AtomicUsize,
}

impl Dispatcher for Forwarder {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Forwarder {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        self.elsewhere.ice_ping().wait().unwrap();
        self.count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { request.returned_nothing() })
    }
}

/// Accepts a connection on loopback; its port.
pub(crate) fn peer(serve: impl FnOnce(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&header(3, 14)).unwrap();
        serve(stream);
    });
    port
}

/// Reads a twoway request, and returns a reply to it, without results.
pub(crate) fn reply_to_next(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = [0; 14];
    stream.read_exact(&mut head)?;
    let size = i32::from_le_bytes(head[10..].try_into().unwrap());
    let mut body = vec![0; size as usize - head.len()];
    stream.read_exact(&mut body)?;
    let mut reply = header(2, 14 + 4 + 1 + NOTHING.len() as i32);
    reply.extend(&body[..4]);
    reply.push(0);
    reply.extend(NOTHING);
    Ok(reply)
}

/// Answers a request, and calls back in the same write.
fn answer_and_call_back(mut stream: TcpStream) {
    let mut answer = reply_to_next(&mut stream).unwrap();
    let mut request = 0i32.to_le_bytes().to_vec();
    request.extend(b"\x08callback\x00\x00\x02op\x00\x00");
    request.extend(NOTHING);
    answer.extend(header(0, 14 + request.len() as i32));
    answer.extend(request);
    stream.write_all(&answer).unwrap();
    let mut rest = Vec::new();
    // Until the client is gone.
    let _ = stream.read_to_end(&mut rest);
}

/// Calls such a peer, which is answered by a servant that waits itself.
fn call_while_called_back(call: fn(&Proxy)) {
    soon(move || {
        let server = Server::start();
        let beyond = Communicator::new();
        let elsewhere = server.proxy_of(&beyond);
        elsewhere.ice_ping().wait().unwrap();
        for _ in 0..ROUNDS {
            let client = Communicator::new();
            let adapter = client.adapter_without_endpoints().unwrap();
            let forwarder = Arc::new(Forwarder {
                elsewhere: elsewhere.clone(),
                count: AtomicUsize::new(0),
            });
            adapter.add("callback", forwarder.clone()).unwrap();
            let port = peer(answer_and_call_back);
            let text = format!("o:tcp -h 127.0.0.1 -p {port}");
            let proxy: Proxy = client.proxy(&text).unwrap();
            let connection = proxy.ice_connection().wait().unwrap().unwrap();
            connection.set_adapter(Some(&adapter));
            call(&proxy);
            until(|| forwarder.count.load(Ordering::SeqCst) == 1);
        }
    });
}

#[test]
fn a_wait_within_a_wait_does_not_forget_that_the_outer_one_is_over() {
    call_while_called_back(|proxy| {
        let invoked = proxy.invoke("op", OperationMode::Normal, &NOTHING);
        invoked.wait().unwrap();
    });
}

#[test]
fn nor_does_one_within_a_wait_with_a_timeout() {
    call_while_called_back(|proxy| {
        let timed = proxy.ice_timeout(Some(Duration::from_secs(20)));
        timed.ice_ping().wait().unwrap();
    });
}

#[test]
fn a_reply_that_somebody_else_has_read_is_not_waited_for() {
    soon(|| {
        let port = peer(|mut stream| {
            while let Ok(reply) = reply_to_next(&mut stream) {
                stream.write_all(&reply).unwrap();
            }
        });
        let client = Communicator::new();
        let adapter = client.adapter_without_endpoints().unwrap();
        let text = format!("o:tcp -h 127.0.0.1 -p {port}");
        let proxy: Proxy = client.proxy(&text).unwrap();
        let connection = proxy.ice_connection().wait().unwrap().unwrap();
        // It is watched when it was idle for a millisecond.
        connection.set_adapter(Some(&adapter));
        for round in 0..1_000 {
            proxy.ice_ping().wait().unwrap();
            thread::sleep(Duration::from_micros(900 + round));
        }
    });
}
