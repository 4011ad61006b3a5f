//! The machine's own limit: bare sockets, with a relay between pinger and replier that passes on what it reads.
//!
//! Messages have as many bytes as Floe's, and their number stands at the start.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Mutex;

use super::case::{Case, Payload};
use super::pinger::Pinger;
use super::{Clients, TopicsContender};
use crate::contender::calls::payload::{bytes, records};
use crate::contender::codec::value::Value;
use crate::contender::events::{Service, announce_service};
use crate::contender::{Contender, Failure, Origin, end_with_stdin};

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Topics(&TopicsContender {
        service: Service::Own(|_| relay()),
        clients: Clients::Own { ping, reply },
    }),
};

/// Bytes of a oneway request without its operation and parameters: header 14, id 4, identity about 17, facet, mode, context,
/// and the encapsulation's 6.
const REQUEST_LEN: usize = 46;

/// Bytes of the number of a message.
const NUMBER_LEN: usize = 4;

/// Bytes of an acknowledgement.
const ACK_LEN: usize = REQUEST_LEN + "acknowledge".len() + NUMBER_LEN;

/// The bytes that follow the number in a message.
fn rest_of_message(case: Case) -> Result<Vec<u8>, Failure> {
    let (operation, payload) = match case.payload {
        Payload::Bytes(count) => ("pingBytes", Value::Bytes(bytes(count))),
        Payload::Records(count) => ("pingRecords", Value::Nested(records(count))),
    };
    let mut rest = vec![0; REQUEST_LEN + operation.len()];
    rest.extend(payload.to_bytes()?);
    Ok(rest)
}

/// Passes on what the first connection sends to the second, and back.
fn relay() -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    announce_service(&listener.local_addr()?.to_string(), std::process::id())?;
    end_with_stdin();
    let (one, other) = (accepted(&listener)?, accepted(&listener)?);
    let (from, to) = (one.try_clone()?, other.try_clone()?);
    let back = std::thread::spawn(move || pass_on(to, from));
    pass_on(one, other)?;
    back.join().expect("passing on does not panic")?;
    Ok(())
}

fn accepted(listener: &TcpListener) -> Result<TcpStream, Failure> {
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) -> std::io::Result<()> {
    let mut room = vec![0; 256 * 1024];
    loop {
        match from.read(&mut room)? {
            0 => return Ok(()),
            count => to.write_all(&room[..count])?,
        }
    }
}

fn connected(address: &str) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn ping(case: Case, address: &str) -> Result<(), Failure> {
    let mut stream = connected(address)?;
    let writer = Mutex::new(stream.try_clone()?);
    let rest = rest_of_message(case)?;
    let publish = |number: i32| -> Result<(), Failure> {
        let message = [&number.to_le_bytes(), rest.as_slice()].concat();
        let mut writer = writer.lock().expect("writing does not panic");
        Ok(writer.write_all(&message)?)
    };
    end_with_stdin();
    let pinger = Pinger::new();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| -> Result<(), Failure> {
            let mut ack = [0; ACK_LEN];
            loop {
                stream.read_exact(&mut ack)?;
                pinger.answered(number_of(&ack), publish)?;
            }
        });
        pinger.probe(publish)?;
        reading.join().expect("reading does not panic")
    })
}

fn reply(case: Case, address: &str) -> Result<(), Failure> {
    let mut stream = connected(address)?;
    end_with_stdin();
    let rest = rest_of_message(case)?;
    let mut message = vec![0; NUMBER_LEN + rest.len()];
    let mut ack = [0; ACK_LEN];
    loop {
        stream.read_exact(&mut message)?;
        if !message.ends_with(&rest) {
            return Err("expected the message of the case, got another".into());
        }
        ack[..NUMBER_LEN].copy_from_slice(&message[..NUMBER_LEN]);
        stream.write_all(&ack)?;
    }
}

fn number_of(message: &[u8]) -> i32 {
    let number = message.first_chunk().copied();
    i32::from_le_bytes(number.unwrap_or_default())
}
