//! The machine's own limit: bare sockets that carry as many bytes as the protocol would.
//!
//! They block, or ask again and again where a case polls. A call without a reply is one write, and so
//! is a batch.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};

use super::case::{ALL, BATCH_LEN, BATCHES, Case, IN_FLIGHT, ONEWAYS, Work};
use super::socket_path;
use crate::contender::{Contender, Failure, Origin, announce};
use crate::measure::Effort;
use crate::sample::Sample;

pub(crate) const FLOOR: Contender = Contender {
    name: "floor",
    cases: ALL,
    encoding: None,
    origin: Origin::Pair {
        serve: |case| serve(Case::parse(case)?),
        call: |case, address, effort| call(Case::parse(case)?, address, effort),
    },
};

/// Bytes of the request that calls `nothing` of the object `calls`.
///
/// ```text
/// | header 14 | id 4 | name 6 | category 1 | facet 1 | operation 8 | mode 1 | context 1 | parameters 6 |
/// ```
const REQUEST_LEN: usize = 42;

/// Bytes of its reply: header 14, request id 4, status 1, results 6.
const REPLY_LEN: usize = 25;

/// Bytes of a batch: header 14, count 4, and requests without header and id.
const BATCH_MESSAGE_LEN: usize = 18 + BATCH_LEN * (REQUEST_LEN - 18);

/// Bytes of what is sent in one write, how often, and how many replies come to all of them.
struct Shape {
    write_len: usize,
    write_count: usize,
    reply_count: usize,
    /// Calls that this makes.
    call_count: usize,
}

impl Shape {
    fn of(work: Work) -> Self {
        let (write_len, write_count, reply_count, call_count) = match work {
            Work::Twoway | Work::TwowayBlocking | Work::Ami => (REQUEST_LEN, 1, 1, 1),
            Work::AmiMany => (IN_FLIGHT * REQUEST_LEN, 1, IN_FLIGHT, IN_FLIGHT),
            Work::Oneway => (REQUEST_LEN, ONEWAYS, 1, ONEWAYS),
            Work::Batch => (BATCH_MESSAGE_LEN, BATCHES, 1, BATCHES * BATCH_LEN),
        };
        Self {
            write_len,
            write_count,
            reply_count,
            call_count,
        }
    }
}

fn serve(case: Case) -> Result<(), Failure> {
    if case.is_unix {
        let path = socket_path("floor");
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
fn answer(case: Case, stream: impl Read + Write) -> io::Result<()> {
    let mut stream = Insistent(stream);
    let shape = Shape::of(case.work);
    let replies = vec![0; shape.reply_count * REPLY_LEN];
    let mut room = vec![0; shape.write_len.max(64 * 1024)];
    loop {
        let mut due = shape.write_len * shape.write_count;
        while due > 0 {
            let len = due.min(room.len());
            match stream.read(&mut room[..len])? {
                0 => return Ok(()),
                count => due -= count,
            }
        }
        stream.write_all(&replies)?;
    }
}

fn call(case: Case, address: &str, effort: Effort) -> Result<Sample, Failure> {
    if case.is_unix {
        let stream = UnixStream::connect(address)?;
        stream.set_nonblocking(case.is_polling)?;
        return Ok(ask(case, stream, effort)?);
    }
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(case.is_polling)?;
    Ok(ask(case, stream, effort)?)
}

fn ask(case: Case, stream: impl Read + Write, effort: Effort) -> io::Result<Sample> {
    let mut stream = Insistent(stream);
    let shape = Shape::of(case.work);
    let requests = vec![0; shape.write_len];
    let mut replies = vec![0; shape.reply_count * REPLY_LEN];
    let mut stopwatch = effort.stopwatch();
    loop {
        for _ in 0..shape.write_count {
            stream.write_all(&requests)?;
        }
        stream.read_exact(&mut replies)?;
        if !stopwatch.laps(shape.call_count) {
            return Ok(stopwatch.into_sample());
        }
    }
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
    use floe_wire::encoding::EncodingVersion;
    use floe_wire::message::{
        BatchWriter, Context, OperationMode, RequestHeader, RequestId, reply,
    };

    use super::*;
    use crate::contender::calls::floe::IDENTITY;

    #[test]
    fn requests_have_the_length_of_those_of_the_protocol() {
        let context = Context::new();
        let identity = IDENTITY.parse().unwrap();
        let header = RequestHeader {
            identity: &identity,
            facet: "",
            operation: "nothing",
            mode: OperationMode::Normal,
            context: &context,
        };
        let mut message = Vec::new();
        let id = RequestId(1);
        header
            .write(&mut message, id, EncodingVersion::V1_1, |_| ())
            .unwrap();
        assert_eq!(message.len(), REQUEST_LEN);

        let mut batch = BatchWriter::default();
        for _ in 0..BATCH_LEN {
            let full = batch.push(&header, 1 << 20, |encoder| {
                encoder.encapsulation(EncodingVersion::V1_1, |_| ());
            });
            assert!(full.unwrap().is_none());
        }
        assert_eq!(batch.finish().unwrap().len(), BATCH_MESSAGE_LEN);
    }

    #[test]
    fn replies_have_the_length_of_those_of_the_protocol() {
        let mut message = Vec::new();
        let id = RequestId(1);
        reply::write_returned(&mut message, id, EncodingVersion::V1_1, |_| ()).unwrap();
        assert_eq!(message.len(), REPLY_LEN);
    }
}
