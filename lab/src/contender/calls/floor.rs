//! The machine's own limit: bare sockets that carry as many bytes as the protocol would.
//!
//! They block, or ask again and again where a case polls. A call without a reply is one write, and so
//! is a batch. Values travel encoded, and nobody decodes them.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};

use super::case::{Case, IN_FLIGHT, Work};
use super::payload::{bytes, doubles, expect, records};
use super::socket_path;
use crate::contender::codec::value::Value;
use crate::contender::{Contender, Failure, Origin, announce};
use crate::measure::Effort;
use crate::sample::Sample;

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    refusal: |_| None,
    encoding: None,
    origin: Origin::Pair {
        serve: |case| serve(Case::parse(case)?),
        call: |case, address, effort| call(Case::parse(case)?, address, effort),
    },
};

/// Bytes of a request that calls an operation of the object `calls`, without the operation's name and the
/// encoded parameters.
///
/// ```text
/// | header 14 | id 4 | name 6 | category 1 | facet 1 | operation 1.. | mode 1 | context 1 | parameters 6.. |
/// ```
const REQUEST_LEN: usize = 35;

/// Bytes of the request that calls `nothing`.
const NOTHING_LEN: usize = REQUEST_LEN + "nothing".len();

/// Bytes of a reply without encoded results: header 14, request id 4, status 1, results 6.
const REPLY_LEN: usize = 25;

/// Bytes of a batch of so many calls: header 14, count 4, and requests without header and id.
fn batch_message_len(calls: usize) -> usize {
    18 + calls * (NOTHING_LEN - 18)
}

/// Bytes of the number that acknowledges a value.
const ACK_LEN: usize = 8;

/// Bytes of what is sent in one write, how often, and how many come back to all of them.
struct Shape {
    write_len: usize,
    write_count: usize,
    reply_len: usize,
    /// Calls that this makes.
    call_count: usize,
    /// The bytes at the end of a request, and of the reply if that is an echo.
    payload: Vec<u8>,
    is_echo: bool,
}

impl Shape {
    fn of(case: Case) -> Result<Self, Failure> {
        Ok(match case.work {
            Work::Twoway | Work::TwowayBlocking | Work::Ami => {
                Self::empty(NOTHING_LEN, 1, REPLY_LEN, 1)
            }
            Work::AmiMany => {
                let (asked, answered) = (IN_FLIGHT * NOTHING_LEN, IN_FLIGHT * REPLY_LEN);
                Self::empty(asked, 1, answered, IN_FLIGHT)
            }
            Work::Oneway => {
                let count = case.oneways();
                Self::empty(NOTHING_LEN, count, REPLY_LEN, count)
            }
            Work::Batch => {
                let (len, count) = case.batches();
                Self::empty(batch_message_len(len), count, REPLY_LEN, count * len)
            }
            Work::Echo(count) => {
                let payload = Value::Doubles(doubles(count)).to_bytes()?;
                let reply_len = REPLY_LEN + payload.len();
                Self {
                    is_echo: true,
                    ..Self::with("echo", payload, reply_len)
                }
            }
            Work::AckBytes(count) => {
                let payload = Value::Bytes(bytes(count)).to_bytes()?;
                Self::with("takeBytes", payload, REPLY_LEN + ACK_LEN)
            }
            Work::AckNested(count) => {
                let payload = Value::Nested(records(count)).to_bytes()?;
                Self::with("takeRecords", payload, REPLY_LEN + ACK_LEN)
            }
        })
    }

    fn empty(write_len: usize, write_count: usize, reply_len: usize, call_count: usize) -> Self {
        Self {
            write_len,
            write_count,
            reply_len,
            call_count,
            payload: Vec::new(),
            is_echo: false,
        }
    }

    fn with(operation: &str, payload: Vec<u8>, reply_len: usize) -> Self {
        let write_len = REQUEST_LEN + operation.len() + payload.len();
        Self {
            payload,
            ..Self::empty(write_len, 1, reply_len, 1)
        }
    }
}

fn serve(case: Case) -> Result<(), Failure> {
    if case.is_unix {
        let path = socket_path();
        let listener = UnixListener::bind(&path)?;
        announce(&path)?;
        loop {
            let (stream, _) = listener.accept()?;
            stream.set_nonblocking(case.is_polling)?;
            answer(case, stream)?;
        }
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    announce(&listener.local_addr()?.to_string())?;
    loop {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(case.is_polling)?;
        answer(case, stream)?;
    }
}

/// Answers until the client is gone.
pub(crate) fn answer(case: Case, stream: impl Read + Write) -> Result<(), Failure> {
    let mut stream = Insistent(stream);
    let shape = Shape::of(case)?;
    let reply = vec![0; shape.reply_len];
    // What is written at once is there at once, as for a servant.
    let mut room = vec![0; shape.write_len.max(64 * 1024)];
    loop {
        let mut due = shape.write_len * shape.write_count;
        let mut filled = 0;
        while due > 0 {
            if filled == room.len() {
                filled = 0;
            }
            let end = room.len().min(filled + due);
            match stream.read(&mut room[filled..end])? {
                0 => return Ok(()),
                count => (due, filled) = (due - count, filled + count),
            }
        }
        if shape.is_echo {
            // A reply is shorter than a request by what stands before the values.
            stream.write_all(&room[shape.write_len - shape.reply_len..shape.write_len])?;
        } else {
            stream.write_all(&reply)?;
        }
    }
}

pub(crate) fn call(case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
    if case.is_unix {
        let stream = UnixStream::connect(address)?;
        stream.set_nonblocking(case.is_polling)?;
        return ask(case, stream, effort);
    }
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(case.is_polling)?;
    ask(case, stream, effort)
}

fn ask(case: Case, stream: impl Read + Write, effort: Effort) -> Result<Sample, Failure> {
    let mut stream = Insistent(stream);
    let shape = Shape::of(case)?;
    let mut request = vec![0; shape.write_len - shape.payload.len()];
    request.extend_from_slice(&shape.payload);
    let mut reply = vec![0; shape.reply_len];
    let mut ask = || {
        for _ in 0..shape.write_count {
            stream.write_all(&request)?;
        }
        stream.read_exact(&mut reply)
    };
    ask()?;
    let mut stopwatch = case.stopwatch(effort);
    loop {
        ask()?;
        if !stopwatch.laps(shape.call_count) {
            break;
        }
    }
    if shape.is_echo {
        let came = reply.ends_with(&shape.payload);
        expect("whether the same bytes came back", true, came)?;
    }
    Ok(stopwatch.into_sample())
}

/// A socket that may not block, and is asked until it has done what it shall.
struct Insistent<S>(S);

impl<S: Read> Read for Insistent<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        insist(|| self.0.read(buffer))
    }
}

impl<S: Write> Write for Insistent<S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        insist(|| self.0.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn insist<T>(mut ask: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match ask() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use floe_wire::encoding::EncodingVersion;
    use floe_wire::message::{
        BatchWriter, Context, OperationMode, RequestHead, RequestId, RequestTarget, reply,
    };

    use super::*;

    fn request(operation: &str) -> RequestHead<'_> {
        static TARGET: LazyLock<RequestTarget> =
            LazyLock::new(|| RequestTarget::new(&"calls".parse().unwrap(), ""));
        static CONTEXT: LazyLock<Context> = LazyLock::new(Context::new);
        RequestHead {
            target: &TARGET,
            operation,
            mode: OperationMode::Normal,
            context: &CONTEXT,
        }
    }

    fn shape(case: &str) -> Shape {
        Shape::of(Case::parse(case).unwrap()).unwrap()
    }

    #[test]
    fn requests_have_the_length_of_those_of_the_protocol() {
        for (operation, case, payload_len) in [
            ("nothing", "twoway", 0),
            ("echo", "echo-1000", 5 + 8 * 1_000),
            ("takeBytes", "ack-bytes-4", 1 + 4),
            ("takeRecords", "ack-nested-1", 1 + 1 + 4 * 16),
        ] {
            let mut message = Vec::new();
            request(operation)
                .write_with(&mut message, RequestId(1), |encoder| {
                    encoder.encapsulation(EncodingVersion::V1_1, |_| ());
                })
                .unwrap();
            let shape = shape(case);
            assert_eq!(message.len() + payload_len, shape.write_len, "{operation}");
            assert_eq!(shape.payload.len(), payload_len, "{operation}");
        }

        let mut batch = BatchWriter::default();
        let batches = shape("batch-x1000");
        for _ in 0..batches.call_count / batches.write_count {
            let full = batch.push(&request("nothing"), 1 << 20, |encoder| {
                encoder.encapsulation(EncodingVersion::V1_1, |_| ());
            });
            assert!(full.unwrap().is_none());
        }
        assert_eq!(batch.finish().unwrap().len(), batches.write_len);
        assert_eq!(crate::contender::calls::floe::IDENTITY, "calls");
    }

    #[test]
    fn replies_have_the_length_of_those_of_the_protocol() {
        let mut message = Vec::new();
        let id = RequestId(1);
        reply::write_returned(&mut message, id, EncodingVersion::V1_1, |_| ()).unwrap();
        assert_eq!(message.len(), REPLY_LEN);
        let echo = shape("echo-10");
        assert_eq!(echo.reply_len, REPLY_LEN + 1 + 8 * 10);
        let ack = shape("ack-nested-10");
        assert_eq!(ack.reply_len, REPLY_LEN + 8);
    }
}
